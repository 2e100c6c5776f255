//! Input of users: files ([`text`], [`bytes`], [`open`]) and names that should be known ([`nearest`]).

mod file;
mod name;

pub use file::{HELD, WRITTEN, bytes, open, text};
pub use name::nearest;
