//! The `ccnuma` command.
fn main() {}
