//! Metrics: formulas over counters, declared once in `counters/*.toml` and evaluated by one engine, live or afterwards.
//!
//! A formula names counters. One of the metric's own kind of objects stands alone (`busy`) and is what it counted in the
//! interval; `node.busy`, `process.faults` and `machine.faults` are those of the node on which the object is or runs, of its
//! process, and of the machine; `total.busy` is the sum over all objects of the kind. A level is its value at the end. Numbers
//! of the machine, such as `line_bytes`, are named like counters. `seconds` is how long the interval is. Operators are
//! `+ - * / == != < <= > >=`, functions `rate(x)`, `percent(part, whole)`, `capacity(counter)` (the most that it could have
//! counted), `min`, `max` and `if(condition, then, else)`.
//!
//! Metrics that cannot be computed have no value, never zero: a division by zero, a counter that was not read.

mod catalogue;
mod evaluate;
mod formula;
mod whole;

pub use catalogue::{CatalogueError, Metric, built_in, parse};
pub use evaluate::{Evaluator, Resolved};
pub use formula::{FormulaError, check};
pub use whole::{Overall, whole};
