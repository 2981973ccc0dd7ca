//! How rows look to a trainer. A dialect renders turns and closes rows; it decides nothing.

pub(crate) mod trl;
