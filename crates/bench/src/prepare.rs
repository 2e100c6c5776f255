//! Bringing the lines of one measurement into the state in which the requester is to find them.

use units::{Bytes, CpuId};

use crate::platform::{Kernel, Phase, Platform, PlatformError, Region, Task};
use crate::{Plan, Request, State, extent};

/// The lines of one measurement: a portion for each requester, side by side in memory of the home that no cache has seen
/// since it was allocated.
///
/// Every measurement gets fresh lines: whatever an earlier one left in directories and caches cannot matter to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    region: Region,
    /// From one element to the next.
    stride: Bytes,
    lines: u64,
    /// Arrays of a portion, `lines` each.
    arrays: u64,
}

impl Slice {
    /// Fresh lines for every requester of `plan`, `lines` each.
    pub(crate) fn allocate(platform: &mut dyn Platform, plan: &Plan, lines: u64) -> Result<Self, PlatformError> {
        let (stride, arrays) = (plan.element_stride(platform.layout()), plan.experiment.arrays());
        let region = platform.allocate(plan.placement.home, extent::of_lines(plan, platform.layout(), lines))?;
        let slice = Self { region, stride, lines, arrays };
        if plan.experiment.walks_a_list() {
            platform.arrange(&slice.portions(plan, plan.experiment.kernel(0)))?;
        }
        Ok(slice)
    }

    /// The platform's [ballast](Platform::ballast), in portions as large as it allows.
    pub(crate) fn ballast(platform: &mut dyn Platform, plan: &Plan) -> Result<Self, PlatformError> {
        let (stride, arrays) = (platform.layout().line, plan.experiment.arrays());
        let locals = &plan.placement.locals;
        let region = platform.ballast(plan.placement.home, locals)?;
        let lines = region.size.0 / stride.0 / arrays / locals.len() as u64;
        Ok(Self { region, stride, lines, arrays })
    }

    /// `kernel` on `cpu` over the portion of requester number `local`, each line once.
    pub(crate) fn portion(&self, local: usize, cpu: CpuId, kernel: Kernel) -> Task {
        let offset = Bytes(local as u64 * self.lines * self.arrays * self.stride.0);
        self.task(cpu, kernel, offset, self.lines)
    }

    /// `kernel` for each requester of `plan` on its own portion.
    pub(crate) fn portions(&self, plan: &Plan, kernel: Kernel) -> Vec<Task> {
        plan.placement.locals.iter().enumerate().map(|(i, &local)| self.portion(i, local, kernel)).collect()
    }

    /// `kernel` on `cpu` over the portions of all requesters, each line once.
    pub(crate) fn all(&self, cpu: CpuId, kernel: Kernel) -> Task {
        self.task(cpu, kernel, Bytes(0), self.region.size.0 / self.stride.0)
    }

    fn task(&self, cpu: CpuId, kernel: Kernel, offset: Bytes, elements: u64) -> Task {
        Task { cpu, kernel, region: self.region, offset, stride: self.stride, elements, first: 0, count: elements }
    }
}

/// Empties the caches of everyone who takes part in `plan` (of `slice` at least), as the thesis does between iterations
/// (Prestor 2001 section 4.2.2).
pub(crate) fn empty_caches(platform: &mut dyn Platform, plan: &Plan, slice: &Slice) -> Result<(), PlatformError> {
    let mut cpus = [plan.placement.locals.as_slice(), plan.placement.remotes.as_slice()].concat();
    cpus.sort_unstable();
    cpus.dedup();
    if platform.layout().real && matches!(plan.state, State::Shrd | State::Cexm) {
        // A real machine has to find out how to drop copies, when it first does: not once lines have been prepared.
        drop_lines(platform, slice, &cpus, Kernel::DropOwnCaches)?;
    }
    let tasks: Vec<Task> = cpus.iter().map(|&cpu| slice.all(cpu, Kernel::Flush)).collect();
    platform.run(Phase::new(&tasks)).map(drop)
}

/// Brings the lines of `slice` into the state of `plan`. On entry no cache holds them.
pub(crate) fn prepare(platform: &mut dyn Platform, plan: &Plan, slice: &Slice) -> Result<(), PlatformError> {
    match plan.state {
        // Memory has the only copy.
        State::Uown => Ok(()),
        State::Shrd => share(platform, plan, slice),
        // A load of an unowned line obtains it exclusive and clean.
        State::Cexh => own(platform, plan, slice, Kernel::TouchLoad),
        State::Cexm => {
            own(platform, plan, slice, Kernel::TouchLoad)?;
            drop_lines(platform, slice, &plan.placement.remotes, Kernel::DropCaches)
        }
        State::Dexd | State::Dext => own(platform, plan, slice, Kernel::TouchStore),
    }
}

/// Lets the owners touch the lines: a single one those of every requester, several those of one requester each.
fn own(platform: &mut dyn Platform, plan: &Plan, slice: &Slice, touch: Kernel) -> Result<(), PlatformError> {
    let tasks: Vec<Task> = match plan.placement.remotes.as_slice() {
        [owner] => vec![slice.all(*owner, touch)],
        owners => owners.iter().enumerate().map(|(local, &owner)| slice.portion(local, owner, touch)).collect(),
    };
    platform.run(Phase::new(&tasks)).map(drop)
}

/// Lets all sharers and then the requesters read the lines, so that the directory notes them all; then drops the copies
/// that the experiment does not want (Prestor 2001 sections 4.3.1 and 4.3.4).
///
/// The first reader obtains a line exclusive, the second makes it shared. A requester without sharers therefore reads by
/// a prefetch that asks for a shared copy.
fn share(platform: &mut dyn Platform, plan: &Plan, slice: &Slice) -> Result<(), PlatformError> {
    let placement = &plan.placement;
    // One after the other: their order is part of the experiment, and parallel readers would only delay each other.
    for &sharer in &placement.remotes {
        platform.run(Phase::new(&[slice.all(sharer, Kernel::TouchLoad)]))?;
    }
    let readers = if plan.is_shared_by_others() { &[] } else { placement.locals.as_slice() };
    let tasks = readers.iter().enumerate().map(|(i, &local)| {
        let shared_already = placement.remotes.iter().any(|&sharer| sharer != local);
        slice.portion(i, local, if shared_already { Kernel::TouchLoad } else { Kernel::TouchShared })
    });
    platform.run(Phase::new(&tasks.collect::<Vec<_>>()))?;

    let mut dropping: Vec<CpuId> = Vec::new();
    if plan.sharers_drop() {
        dropping.extend(placement.remotes.iter().filter(|sharer| !placement.locals.contains(sharer)));
    }
    if plan.experiment.request() != Request::Upgrade {
        dropping.extend(readers);
    }
    drop_lines(platform, slice, &dropping, Kernel::DropOwnCaches)
}

fn drop_lines(platform: &mut dyn Platform, slice: &Slice, cpus: &[CpuId], kernel: Kernel) -> Result<(), PlatformError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let tasks: Vec<Task> = cpus.iter().map(|&cpu| slice.all(cpu, kernel)).collect();
    platform.run(Phase::new(&tasks)).map(drop)
}
