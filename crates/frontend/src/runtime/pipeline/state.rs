//! Late results between two blocks, and the effect of a block on them.

use super::flow::Flow;
use super::place::{Place, Word};

/// A place whose value is there so many slots after the next instruction issues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Late {
    pub(super) place: Place,
    pub(super) slots: u32,
}

/// A block is entered with so much `late`. Returns what is late behind it, and the slots in which nothing could issue.
pub(super) fn follow(flow: &Flow, late: &[Late], window: u32) -> (Box<[Late]>, u32) {
    // Slots from the block's beginning at which results are there.
    let mut ready = vec![0_i64; flow.ids];
    for late in late {
        let id = match late.place {
            Place::Register(number) => Some(usize::from(number)),
            Place::Word(word) => flow.entries.iter().find(|(entry, _)| *entry == word).map(|&(_, id)| id),
        };
        if let Some(id) = id {
            ready[id] = i64::from(late.slots);
        }
    }
    let (stalls, latest) = issue(flow, &mut ready, window as usize);
    let end = i64::from(flow.slots) + stalls;
    // An instruction that is not done when the one a window behind it issues has that wait: the next block has no room for it.
    let stalls = stalls + (latest - end - i64::from(window - 1)).max(0);
    let end = i64::from(flow.slots) + stalls;
    let mut behind: Vec<Late> = Vec::new();
    let mut add = |place, at: i64| {
        if at > end {
            behind.push(Late { place, slots: (at - end) as u32 });
        }
    };
    for &(place, id) in &flow.exits {
        add(place, ready[id]);
    }
    for late in late {
        let place = match late.place {
            Place::Register(_) => Some(late.place).filter(|place| !flow.exits.iter().any(|(exit, _)| exit == place)),
            Place::Word(word) if flow.overwritten.contains(&word) => None,
            Place::Word(Word { base, offset }) => {
                let moved = flow.moved[usize::from(base)];
                moved.map(|by| Place::Word(Word { base, offset: offset.wrapping_sub(by) }))
            }
        };
        if let Some(place) = place {
            add(place, i64::from(late.slots));
        }
    }
    behind.sort_unstable();
    behind.dedup_by_key(|late| late.place);
    (behind.into(), stalls as u32)
}

/// Issues a block in order: when its results are `ready`. Returns the slots in which nothing could issue, and when the latest of
/// its results is there.
fn issue(flow: &Flow, ready: &mut [i64], window: usize) -> (i64, i64) {
    let (mut stalls, mut latest) = (0, 0);
    // By instruction, when all before it are done.
    let mut before: Vec<i64> = Vec::new();
    for step in &flow.steps {
        if before.len() <= step.instruction {
            before.resize(step.instruction + 1, latest);
        }
        if let Some(oldest) = (step.instruction + 1).checked_sub(window) {
            stalls += (before[oldest] - i64::from(step.slot) - stalls).max(0);
        }
        let operands = step.inputs.iter().map(|&input| ready[input]).fold(i64::from(step.slot) + stalls, i64::max);
        let start = step.unit.map_or(operands, |(unit, _)| operands.max(ready[unit]));
        if let Some((unit, slots)) = step.unit {
            ready[unit] = start + i64::from(slots);
        }
        ready[step.output] = start + i64::from(step.latency);
        latest = latest.max(ready[step.output]);
    }
    (stalls, latest)
}
