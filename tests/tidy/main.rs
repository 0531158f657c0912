//! What can be checked by reading the repository: its sources, its layers, its documents.

mod reliability;
mod sources;
