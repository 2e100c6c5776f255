//! Computers of many kinds, each from a copy of the files that its kernel shows.

mod builder;
mod odd;
mod servers;
mod small;
