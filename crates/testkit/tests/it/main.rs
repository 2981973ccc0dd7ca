//! What is in the repository is what the code makes, and fits the published schemas.

mod demo;
mod fixtures;
mod schemas;
mod table;
