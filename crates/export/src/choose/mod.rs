//! Who is in, who is not, and why.

mod across;
mod caps;
mod funnel;
mod pairs;
mod reason;
mod select;
mod sets;
mod split;

pub(crate) use across::{Everyone, everyone};
pub(crate) use caps::cap;
pub use funnel::FunnelStep;
pub(crate) use funnel::funnel;
pub(crate) use pairs::{Pair, pairs};
pub use reason::Reason;
pub(crate) use select::{needed, selected};
pub(crate) use sets::{Excluded, candidates};
pub use split::Split;
