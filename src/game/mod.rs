//! Matches, and what they are made of.

pub mod data;
