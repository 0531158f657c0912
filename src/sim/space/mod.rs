//! Where things are: the map, the routes over it, and who stands near whom.

pub(crate) mod arena;
#[cfg(test)]
mod arena_tests;
pub(crate) mod grid;
pub(crate) mod navigation;
pub(crate) mod obstacles;
mod raster;
pub(crate) mod solid;
pub(crate) mod ways;
