//! Parallel programs, generic over a [`Thread`] that is simulated or real; each checks its own results.
//!
//! A [`Program`] says which memory it wants and where, what each of its threads does, and what must have come out. It knows
//! neither simulator nor host: whoever runs it places the memory and lends it the threads.

mod blocks;
mod data;
mod loops;
mod matrix;
mod parallel;
mod parameter;
mod program;
mod random;
mod recording;
mod registry;
mod replay;
mod scene;
mod specomp;
mod splash;
mod synthetic;
mod thread;
mod unoptimised;

pub use blocks::Blocks;
pub use data::{Data, DataKind};
pub use loops::{Cg, Ge, Mmult, Paths, Stream};
pub use matrix::{Matrix, MatrixError};
pub use parallel::{Array, Barrier, BarrierKind, Element, Held, Locks, Reduction, Share, SharedSums, Team, queue};
pub use parameter::{Declared, Parameter, ParameterError, Settings};
pub use program::{LockKind, Part, Program, RegionPlan, Shape, Wrong};
pub use recording::{Record, RecordedRegion, Recording};
pub use registry::{ProgramError, Workload};
pub use replay::{Replay, ReplayError};
pub use scene::{Scene, SceneError};
pub use specomp::{Applu, Apsi, Art, Equake, Fma3d, Gafort, Mgrid, Swim, Wupwise};
pub use splash::{Barnes, Cholesky, Fft, Fmm, Lu, Mp3d, Ocean, Radix, Raytrace, Water};
pub use synthetic::{Counters, HotSpot, Migratory, Private, ProducerConsumer, Uniform, WideReadSharing};
pub use thread::{SPIN, Thread};
pub use unoptimised::{Code, Compiled};
