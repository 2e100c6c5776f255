//! Which phases the crew runs: those whose kernels stay within its memory, whatever they do there.

use super::area::Area;
use super::{Crew, Elements, Job};
use crate::HostError;
use crate::kernels::{Operation, WORD};

impl Crew {
    /// Refuses a phase that must not be run: no kernel may leave the memory that it was given, follow what is no pointer, or
    /// wait for a thread that is not there.
    pub(super) fn check(&self, jobs: &[Job]) -> Result<(), HostError> {
        for (i, job) in jobs.iter().enumerate() {
            if jobs[..i].iter().any(|earlier| earlier.cpu == job.cpu) {
                return Err(HostError::Request(format!("CPU {} cannot run two kernels at once", job.cpu)));
            }
            self.check_elements(job)?;
        }
        for job in jobs.iter().filter(|job| job.operation.needs_list()) {
            self.check_list(job, jobs)?;
        }
        check_players(jobs)
    }

    /// Refuses elements that do not lie in their area as the operation needs them.
    fn check_elements(&self, job: &Job) -> Result<(), HostError> {
        let Job { operation, elements, .. } = job;
        self.area_of(reach(job)?)?;
        if elements.count < operation.elements_per_step() {
            let count = elements.count;
            return Err(HostError::Request(format!("{operation:?} visits more than {count} elements a step")));
        }
        // Areas begin with a page.
        let alignment = operation.alignment();
        if !elements.offset.0.is_multiple_of(alignment.0) {
            let offset = elements.offset;
            let accepted = format!("accepted: multiples of {alignment}");
            return Err(HostError::Request(format!("{operation:?} over elements from {offset} on; {accepted}")));
        }
        Ok(())
    }

    /// Refuses to follow pointers where there are none, or where another job may write over them.
    fn check_list(&self, job: &Job, jobs: &[Job]) -> Result<(), HostError> {
        let operation = job.operation;
        if !self.area_of(job.elements)?.has_list(job.elements) {
            return Err(HostError::Request(format!("{operation:?} needs a list, and these elements are not linked")));
        }
        for other in jobs {
            if reach(other)?.may_spoil(other.operation, &job.elements) {
                let (cpu, other) = (other.cpu, other.operation);
                let problem =
                    format!("{operation:?} follows pointers that {other:?} on CPU {cpu} may write over meanwhile");
                return Err(HostError::Request(problem));
            }
        }
        Ok(())
    }

    /// The area of these elements.
    pub(super) fn area_of(&self, elements: Elements) -> Result<&Area, HostError> {
        let area = self.areas.get(&elements.area);
        let area = area.ok_or_else(|| HostError::Request("this memory has been given back".to_owned()))?;
        let within = elements.range().is_some_and(|range| range.end <= area.size().0);
        match within && elements.stride >= WORD && elements.count > 0 {
            true => Ok(area),
            false => Err(HostError::Request(format!("{elements:?} are no elements of memory of {}", area.size()))),
        }
    }
}

/// The elements that a job works on, beside them those that it reads from.
pub(super) fn reach(job: &Job) -> Result<Elements, HostError> {
    let Job { operation, elements, .. } = job;
    let refused = || HostError::Request(format!("{operation:?} over {elements:?}: no memory has so many"));
    elements.arrays(operation.array_count()).ok_or_else(refused)
}

/// Refuses a ping-pong that is not one of two threads over one word.
fn check_players(jobs: &[Job]) -> Result<(), HostError> {
    if !jobs.iter().any(|job| matches!(job.operation, Operation::PingPong { .. })) {
        return Ok(());
    }
    match jobs {
        [
            Job { operation: Operation::PingPong { role: one }, .. },
            Job { operation: Operation::PingPong { role: other }, .. },
        ] if one != other && jobs[0].elements == jobs[1].elements => Ok(()),
        _ => {
            let accepted = "a ping-pong has a leader and a follower on the same elements, and nobody else";
            Err(HostError::Request(accepted.to_owned()))
        }
    }
}
