//! Extents of experiments: elements of arrays, chunks of regions, lines in play; and which of them are possible.

use std::collections::BTreeMap;

use units::{Bytes, NodeId};

use crate::{Experiment, Layout, Plan, PlanError, loaded};

/// The elements of the arrays of strided loops are double words.
pub(crate) const WORD: Bytes = Bytes(8);
/// Lines of a chunk of a mapped region that are loaded: all over it, at random.
pub(crate) const LINES_OF_CHUNK: u64 = 512;
/// Lines of a sample of `ping-pong`: where the home of a line is within a socket, and so how far it travels, depends on its
/// address, by 15 % either way on a mesh of some dozen cores.
pub(crate) const LINES_IN_PLAY: u64 = 16;

/// Checks a stride over the double words of an array.
///
/// # Errors
/// When the stride is not a multiple of a double word, or exceeds the array.
pub(crate) fn check_stride(array: Bytes, stride: Bytes) -> Result<(), PlanError> {
    if stride.0 == 0 || !stride.0.is_multiple_of(WORD.0) || stride > array {
        let accepted = format!("a multiple of {WORD} up to the array size of {array}");
        return Err(PlanError::new("--stride", stride.0.to_string(), "no stride over double words", accepted));
    }
    Ok(())
}

/// Checks the chunks of an array that is mapped.
///
/// # Errors
/// When there is no whole chunk, or a chunk has not room for the lines that are loaded.
pub(crate) fn check_chunks(array: Bytes, chunk: Bytes, layout: &Layout) -> Result<(), PlanError> {
    let least = Bytes(LINES_OF_CHUNK * 2 * layout.line.0);
    if chunk < least || chunk > array {
        let accepted = format!("{least} up to the array of {array}");
        return Err(PlanError::new("--chunk", chunk.to_string(), "no chunks of the array", accepted));
    }
    Ok(())
}

/// From one loaded line of a chunk to the next: a line less than its share of the chunk, which may be a power of two, so that the
/// lines are of all sets of a cache.
pub(crate) fn chunk_stride(chunk: Bytes, line: Bytes) -> Bytes {
    Bytes((chunk.0 / LINES_OF_CHUNK / line.0 - 1) * line.0)
}

/// The memory of so many lines of `plan` for each of its requesters.
pub(crate) fn of_lines(plan: &Plan, layout: &Layout, lines: u64) -> Bytes {
    let requesters = plan.placement.locals.len() as u64;
    let elements = lines.saturating_mul(plan.experiment.arrays()).saturating_mul(requesters);
    Bytes(elements.saturating_mul(plan.element_stride(layout).0))
}

impl Plan {
    /// How much memory of which nodes a sample needs on a machine of this layout, without what fills caches before it.
    pub fn memory(&self, layout: &Layout) -> BTreeMap<NodeId, Bytes> {
        let home = self.placement.home;
        let parts = match self.experiment {
            experiment if experiment.is_loaded() => loaded::parts(self, layout),
            experiment if experiment.ranges_over_an_array() || experiment == Experiment::RegionRead => {
                vec![(home, self.settings.array)]
            }
            experiment if experiment.is_ping_pong() => vec![(home, of_lines(self, layout, LINES_IN_PLAY))],
            _ => vec![(home, of_lines(self, layout, self.lines(layout)))],
        };
        let mut memory = BTreeMap::new();
        for (node, size) in parts {
            let all: &mut Bytes = memory.entry(node).or_default();
            all.0 = all.0.saturating_add(size.0);
        }
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_beyond_the_array_is_refused() {
        let error = check_stride(Bytes(1024), Bytes(2048)).expect_err("two elements do not fit");
        assert!(error.to_string().starts_with("--stride 2048: "), "{error}");
    }
}
