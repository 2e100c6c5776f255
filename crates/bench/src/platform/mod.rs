//! The machine of an experiment, real or simulated: it places memory, runs kernels together, and reads a clock.

mod host;
mod kernel;
pub(crate) mod layout;
mod list_order;
mod simulated;

use std::error::Error;

use ::host::memory::PageKind;
use record::{Conditions, Disturbance};
use units::{Bytes, CpuId, Duration, NodeId};

pub use self::host::{HostOptions, HostPlatform};
pub use kernel::{Kernel, StreamOperation};
pub use layout::{Layout, LayoutError};
pub use list_order::ListOrder;
pub use simulated::SimulatedPlatform;

/// Memory of one node, handed out by [`Platform::allocate`].
///
/// A handle: the platform that made it knows where the memory is. It is valid until [`Platform::release_all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// The platform's number of this region.
    pub index: usize,
    /// The node whose memory it is.
    pub home: NodeId,
    /// Its size.
    pub size: Bytes,
}

/// One kernel on one processor over part of a region: a circular list (or an array) of `elements` that are `stride`
/// apart, on which it takes `count` steps from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The processor that executes it.
    pub cpu: CpuId,
    /// The kernel that is executed at each element.
    pub kernel: Kernel,
    /// The memory it works on.
    pub region: Region,
    /// Where in the region the first element is.
    pub offset: Bytes,
    /// From one element to the next.
    pub stride: Bytes,
    /// How many elements there are; a single one makes a list that stays in the first-level cache.
    pub elements: u64,
    /// The step with which it begins: a task that goes on where one of `n` steps ended begins with step `n`.
    pub first: u64,
    /// How many steps are taken, beginning again at the first element after the last.
    pub count: u64,
}

impl Task {
    /// Where in the region the elements end, each as large as a stride; those of the last array if there are several.
    pub fn end(&self) -> Bytes {
        Bytes(self.offset.0 + self.stride.0 * self.elements * self.kernel.arrays())
    }
}

/// Tasks that start together. The phase ends when all of them have ended.
#[derive(Clone, Copy, Debug)]
pub struct Phase<'a> {
    /// At most one task a processor.
    pub tasks: &'a [Task],
    /// Whether the first task to finish stops all others, so that a shared resource is loaded evenly to the end
    /// (`bwmp-read`, Prestor 2001 section 4.2.1).
    pub first_finisher_stops_all: bool,
}

impl<'a> Phase<'a> {
    /// Tasks that each run to their own end.
    pub fn new(tasks: &'a [Task]) -> Self {
        Self { tasks, first_finisher_stops_all: false }
    }
}

/// Measurement of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// From the common start until the last access of this task had completed, the clock's own cost taken off.
    pub elapsed: Duration,
    /// Steps taken: the task's count, or fewer if another task stopped it.
    pub steps: u64,
    /// Disturbances of the task meanwhile.
    pub disturbance: Disturbance,
}

/// Why a platform could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlatformError {
    /// The node does not exist or has no memory.
    #[error("node {node} has no memory on {machine}; accepted: {accepted}")]
    NoMemory {
        /// The node asked for.
        node: NodeId,
        /// The machine.
        machine: String,
        /// Nodes that are accepted.
        accepted: String,
    },
    /// The processor does not exist or may not be used.
    #[error("CPU {cpu} cannot be used on {machine}; accepted: {accepted}")]
    NoProcessor {
        /// The processor asked for.
        cpu: CpuId,
        /// The machine.
        machine: String,
        /// Processors that are accepted.
        accepted: String,
    },
    /// The node's memory is used up.
    #[error("node {home} has no {size} left: {reason}")]
    OutOfMemory {
        /// The node.
        home: NodeId,
        /// The size that was asked for.
        size: Bytes,
        /// The machine's reason.
        reason: String,
    },
    /// A task cannot be run as it stands: a processor with two tasks, or elements beyond the end of the region.
    #[error("task on CPU {cpu}: {reason}")]
    BadTask {
        /// The processor of the task.
        cpu: CpuId,
        /// The problem with the task.
        reason: String,
    },
    /// This machine has no such thing.
    #[error("{machine} cannot {what}: {reason}")]
    Unsupported {
        /// The operation that was asked for, as in "run ping-pong".
        what: String,
        /// The machine.
        machine: String,
        /// Why not.
        reason: String,
    },
    /// The machine failed while it ran.
    #[error("{machine}: {source}")]
    Failed {
        /// The machine.
        machine: String,
        /// Its error.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// A machine on which experiments run. There are two kinds: a simulated machine, and the computer itself.
///
/// [`crate::conformance::check`] holds every implementation to what is said here.
pub trait Platform {
    /// The places of the machine and the sizes of its caches.
    fn layout(&self) -> &Layout;

    /// From now on regions consist of such pages; `None` for those that the platform was set up with.
    ///
    /// # Errors
    /// When the machine has no such pages to choose.
    fn choose_pages(&mut self, pages: Option<PageKind>) -> Result<(), PlatformError>;

    /// Memory on node `home`, aligned to a page, not cached anywhere. A platform never places it elsewhere in silence.
    ///
    /// # Errors
    /// When `home` has no memory, or not enough, or the placement did not happen.
    fn allocate(&mut self, home: NodeId, size: Bytes) -> Result<Region, PlatformError> {
        self.allocate_across(&[(home, size)])
    }

    /// The same with consecutive parts on several nodes; all parts but the last are whole pages. The region's home is
    /// that of the first part.
    ///
    /// # Errors
    /// As for [`Platform::allocate`].
    fn allocate_across(&mut self, parts: &[(NodeId, Bytes)]) -> Result<Region, PlatformError>;

    /// Memory on node `home`, large enough that `cpus` displace what their caches hold when they share it among them and use all
    /// of it. Its contents are nobody's; it may be the same as at an earlier call, in caches from then.
    ///
    /// # Errors
    /// As for [`Platform::allocate`].
    fn ballast(&mut self, home: NodeId, cpus: &[CpuId]) -> Result<Region, PlatformError> {
        let caches = self.layout().l2.0 * cpus.len() as u64;
        self.allocate(home, Bytes(2 * caches))
    }

    /// Makes memory ready for the lists that `tasks` will walk; afterwards no cache holds it. To be called before lines
    /// are brought into a state, since linking a list writes to all of them.
    ///
    /// # Errors
    /// When a task leaves its region, or two lists overlap.
    fn arrange(&mut self, tasks: &[Task]) -> Result<(), PlatformError>;

    /// Conditions of the regions since the latest release and of the clock: kinds of pages, the order in which lists are walked,
    /// the cores' frequency.
    fn conditions(&self) -> Conditions;

    /// Gives all regions back. Lines of theirs that are still in caches are lost.
    fn release_all(&mut self);

    /// Runs a phase; returns one measurement a task, in the order of the tasks.
    ///
    /// # Errors
    /// When a processor does not exist or has two tasks, a task leaves its region, or the machine fails.
    fn run(&mut self, phase: Phase<'_>) -> Result<Vec<Measurement>, PlatformError>;
}

/// Refuses a phase whose tasks name unknown processors, a processor twice, or memory outside of their region: the
/// check that every platform makes first.
///
/// # Errors
/// [`PlatformError::NoProcessor`] or [`PlatformError::BadTask`] for the first such task.
pub fn check_phase(layout: &Layout, phase: Phase<'_>) -> Result<(), PlatformError> {
    for (i, task) in phase.tasks.iter().enumerate() {
        let bad = |reason: String| Err(PlatformError::BadTask { cpu: task.cpu, reason });
        if layout.node_of(task.cpu).is_none() {
            return Err(PlatformError::NoProcessor {
                cpu: task.cpu,
                machine: layout.machine().to_owned(),
                accepted: layout.accepted_cpus(),
            });
        }
        if phase.tasks[..i].iter().any(|earlier| earlier.cpu == task.cpu) {
            return bad("a processor runs one task a phase".to_owned());
        }
        if task.count == 0 || task.elements == 0 || task.stride == Bytes(0) {
            return bad(format!("{} steps over {} elements {} apart", task.count, task.elements, task.stride));
        }
        if task.end() > task.region.size {
            return bad(format!("its elements end at {}, its region at {}", task.end(), task.region.size));
        }
    }
    Ok(())
}
