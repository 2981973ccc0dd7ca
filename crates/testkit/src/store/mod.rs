//! An object store that fails, delays, lies and lists late, at a call that a test names.

mod faults;
mod faulty;
mod upload;

pub use faults::{Call, Fault, Faults, Op};
pub use faulty::FaultyStore;
