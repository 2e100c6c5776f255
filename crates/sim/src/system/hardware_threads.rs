//! Hardware threads of processors over time: which of a core's wait, and which may go on beside another.

use units::CpuId;

use super::programs::Running;
use super::{Controller, System};
use crate::processor::Wait;

impl<C: Controller> System<C> {
    /// Number of hardware threads.
    #[inline]
    pub(super) fn hardware_threads(&self) -> u16 {
        self.threads.running.len() as u16
    }

    /// Whether the processors have more than one hardware thread.
    #[inline(always)]
    pub(super) fn has_several_threads(&self) -> bool {
        C::HARDWARE_THREADS && self.threads.running.len() > self.processors.len()
    }

    /// The processor of a hardware thread, which is named by its first one.
    #[inline(always)]
    pub fn core_of(&self, thread: CpuId) -> CpuId {
        let cores = self.processors.len() as u16;
        if !C::HARDWARE_THREADS || thread.0 < cores { thread } else { CpuId(thread.0 % cores) }
    }

    /// Acts on each hardware thread of a processor, its first one first.
    #[inline(always)]
    pub(super) fn for_each_thread(&mut self, core: CpuId, mut act: impl FnMut(&mut Self, CpuId)) {
        act(self, core);
        if self.has_several_threads() {
            let further = (core.0..self.hardware_threads()).step_by(self.processors.len()).skip(1);
            further.for_each(|thread| act(self, CpuId(thread)));
        }
    }

    /// The programs on the other hardware threads of a core.
    pub(super) fn running_beside(&self, cpu: CpuId) -> impl Iterator<Item = &Running> {
        let threads = (self.core_of(cpu).0..self.hardware_threads()).step_by(self.processors.len());
        threads
            .filter(move |&other| other != cpu.0)
            .filter_map(|other| self.threads.running[usize::from(other)].as_ref())
    }

    /// Whether another hardware thread of the core may go on at the next event. Only one that waits for a miss cannot: what completes
    /// it acts on the core.
    pub(super) fn may_be_joined(&self, cpu: CpuId) -> bool {
        let waits_far = |running: &Running| {
            matches!(running.wait, Some(Wait::Value(_) | Wait::Miss(_) | Wait::AnyMiss | Wait::AllMisses))
        };
        self.running_beside(cpu).any(|running| !waits_far(running))
    }

    /// Resumes the program on `cpu` at the present time: at once, unless other hardware threads of its core may have been woken, too.
    #[inline]
    pub(super) fn resume_now(&mut self, cpu: CpuId) {
        if self.has_several_threads() { self.resume_at(cpu, self.kernel.now) } else { self.resume(cpu) }
    }
}
