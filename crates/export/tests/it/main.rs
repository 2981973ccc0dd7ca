//! What an export writes, seen from outside.

mod caps;
mod changes;
mod cheats;
mod choosing;
mod dialects;
mod lake;
mod masks;
mod preference;
mod real;
mod rows;
mod secrets;
mod speed;
mod split;
mod tokens;
mod whole;
