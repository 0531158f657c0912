//! Space: the map, paths over it, and which units are near.

pub(crate) mod arena;
#[cfg(test)]
mod arena_tests;
pub(crate) mod grid;
pub(crate) mod navigation;
pub(crate) mod obstacles;
mod raster;
pub(crate) mod solid;
pub(crate) mod ways;
