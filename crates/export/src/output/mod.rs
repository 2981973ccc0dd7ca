//! The files of a set.

mod card;
mod folder;
mod manifest;
mod sink;
mod trainer;

pub(crate) use card::card;
pub(crate) use folder::{Folder, refuse_existing};
pub(crate) use manifest::to_json;
pub use manifest::{
    CorrectionsUsed, FileEntry, LakeVersion, Manifest, PairCounts, RequestEntry, SetCounts, Signatures, ToolsEntry,
    TrustUsed,
};
pub(crate) use sink::{Block, write_file};
pub(crate) use trainer::{Longest, configuration, dataset_info};
