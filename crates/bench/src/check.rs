//! Whether a state was prepared indeed, by the one signature that every machine has: what a load of the owner costs.

use std::fmt;

use units::CpuId;

use crate::platform::{Kernel, Phase, Platform, PlatformError, Task};
use crate::prepare::{Slice, empty_caches, prepare};
use crate::sample::ns_per_step;
use crate::{Plan, State};

/// Up to this share of misses the owner still has its lines, from the rest upwards it has lost them.
const FEW: f64 = 0.25;

/// Misses cost so many times as much as hits, or nothing can be told.
const APART: f64 = 1.5;

/// Verdict on a prepared state, from the latencies of the owner's own loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    owner: CpuId,
    /// Whether the owner should still have its lines.
    held: bool,
    /// Its load in the prepared state, in a state in which it has the line for certain, and in one in which nobody has.
    prepared_ns: f64,
    hit_ns: f64,
    miss_ns: f64,
}

impl Verdict {
    /// The share of loads that missed: 0 if all were as fast as hits, 1 if all were as slow as misses.
    fn missed(&self) -> f64 {
        let span = (self.miss_ns - self.hit_ns).max(f64::MIN_POSITIVE);
        ((self.prepared_ns - self.hit_ns) / span).clamp(0.0, 1.0)
    }

    /// Whether hits and misses were far enough apart to tell: not on a computer that was busy with something else.
    fn tells(&self) -> bool {
        self.miss_ns >= APART * self.hit_ns
    }

    /// Whether that fits the state, or nothing can be said.
    pub(crate) fn is_as_expected(&self) -> bool {
        let fits = if self.held { self.missed() <= FEW } else { self.missed() >= 1.0 - FEW };
        fits || !self.tells()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, prepared_ns, hit_ns, miss_ns, .. } = self;
        if !self.tells() {
            return write!(f, "hits ({hit_ns:.1} ns) and misses ({miss_ns:.1} ns) of CPU {owner} do not differ");
        }
        write!(
            f,
            "{:.0} % of the lines were in the cache of CPU {owner} ({prepared_ns:.1} ns; hits {hit_ns:.1}, misses \
             {miss_ns:.1})",
            100.0 * (1.0 - self.missed())
        )
    }
}

/// Whether the state is one that the owner's or a sharer's loads tell something about, and the plan walks the list that they
/// need.
pub(crate) fn applies(plan: &Plan) -> bool {
    let shared = plan.state == State::Shrd && !plan.placement.remotes.is_empty() && !plan.sharers_drop();
    (plan.state.needs_owner() || shared) && plan.experiment.walks_a_list()
}

/// Prepares the state once more, and lets the first owner walk the first requester's list.
pub(crate) fn state(plan: &Plan, platform: &mut dyn Platform) -> Result<Verdict, PlatformError> {
    let owner = plan.placement.remotes[0];
    let lines = plan.lines(platform.layout());
    let slice = Slice::allocate(platform, plan, lines)?;
    empty_caches(platform, plan, &slice)?;
    prepare(platform, plan, &slice)?;
    let list = slice.portions(plan, Kernel::Walk { work: 0 })[0];
    let mut walk = |kernel| -> Result<f64, PlatformError> {
        Ok(ns_per_step(platform.run(Phase::new(&[Task { cpu: owner, kernel, ..list }]))?[0]))
    };
    let prepared_ns = walk(Kernel::Walk { work: 0 })?;
    let hit_ns = walk(Kernel::Walk { work: 0 })?;
    walk(Kernel::Flush)?;
    let miss_ns = walk(Kernel::Walk { work: 0 })?;
    Ok(Verdict { owner, held: plan.state != State::Cexm, prepared_ns, hit_ns, miss_ns })
}
