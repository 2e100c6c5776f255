//! The experiments on a functional model of a coherent machine whose every latency is known.

mod mock;
mod results;
mod rounds;
mod states;
mod suites;
mod validation;
