//! Data source of a sampled load, from the kernel's encoding of the processor's report (`union perf_mem_data_src` of
//! include/uapi/linux/perf_event.h).

use perf_event::data::{DataSource, MemLevel, MemLevelNum, MemOp, MemSnoop};
use perf_event_open_sys::bindings::PERF_MEM_HOPS_0;

/// Cache or memory that answered a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// A cache of the core's own, or it is not known.
    Near,
    /// Another cache or the memory of the own node.
    Local,
    /// A cache or the memory of another node.
    Remote,
    /// Another core's cache, which had changed the line.
    Modified,
}

/// Cache or memory that answered; none if the instruction refers to no memory, as half of AMD's samples.
pub(super) fn served(source: &DataSource) -> Option<Served> {
    if source.mem_op() == MemOp::NA {
        return None;
    }
    if source.mem_snoop().contains(MemSnoop::HITM) {
        return Some(Served::Modified);
    }
    Some(match by_number(source) {
        Level::Unknown => by_bits(source),
        Level::Own if !source.mem_remote() => Served::Near,
        Level::Own | Level::Beyond if is_far(source) => Served::Remote,
        // Memory with no other home than a node of its own, behind a link.
        Level::Linked => Served::Remote,
        Level::Own | Level::Beyond => Served::Local,
    })
}

/// Level by its number, which newer kernels report beside the bits or, for memories without a bit, alone.
enum Level {
    Unknown,
    /// A cache of one core.
    Own,
    /// A cache that several cores share, or memory.
    Beyond,
    /// Memory that is reached over CXL.
    Linked,
}

fn by_number(source: &DataSource) -> Level {
    match source.mem_lvl_num() {
        MemLevelNum::L1 | MemLevelNum::L2 | MemLevelNum::LFB => Level::Own,
        MemLevelNum::L3 | MemLevelNum::L4 | MemLevelNum::ANY_CACHE | MemLevelNum::RAM | MemLevelNum::PMEM => {
            Level::Beyond
        }
        number if number == CXL => Level::Linked,
        // Zero, from kernels that do not know of it, and what is no memory of any node.
        _ => Level::Unknown,
    }
}

/// The number has a name in the kernel and none in the parser.
const CXL: MemLevelNum = MemLevelNum(perf_event_open_sys::bindings::PERF_MEM_LVLNUM_CXL as u8);

/// Whether it came from another node: what is remote to a core is that of its own node yet if it is no hop away.
fn is_far(source: &DataSource) -> bool {
    source.mem_remote() && u32::from(source.mem_hops()) != PERF_MEM_HOPS_0
}

/// From the bits of levels that kernels have told from the beginning.
fn by_bits(source: &DataSource) -> Served {
    let far = MemLevel::REM_RAM1 | MemLevel::REM_RAM2 | MemLevel::REM_CCE1 | MemLevel::REM_CCE2;
    let level = source.mem_lvl();
    if is_far(source) || level.intersects(far) && u32::from(source.mem_hops()) != PERF_MEM_HOPS_0 {
        Served::Remote
    } else if level.intersects(far | MemLevel::L3 | MemLevel::LOC_RAM) {
        Served::Local
    } else {
        Served::Near
    }
}

#[cfg(test)]
mod tests {
    use perf_event::data::endian::Native;
    use perf_event::data::parse::{ParseConfig, Parser};
    use perf_event_open_sys::bindings as b;

    use super::*;

    /// The word that the kernel would write, from the constants of its header and where it puts them.
    fn word(op: u32, level: u32, snoop: u32, number: u32, remote: bool, hops: u32) -> DataSource {
        let word = u64::from(op) << b::PERF_MEM_OP_SHIFT
            | u64::from(level) << b::PERF_MEM_LVL_SHIFT
            | u64::from(snoop) << b::PERF_MEM_SNOOP_SHIFT
            | u64::from(number) << b::PERF_MEM_LVLNUM_SHIFT
            | u64::from(remote) << b::PERF_MEM_REMOTE_SHIFT
            | u64::from(hops) << b::PERF_MEM_HOPS_SHIFT;
        let bytes = word.to_ne_bytes();
        Parser::new(&bytes[..], ParseConfig::<Native>::default()).parse().unwrap()
    }

    fn load(level: u32, snoop: u32, number: u32, remote: bool, hops: u32) -> Option<Served> {
        served(&word(b::PERF_MEM_OP_LOAD, level | b::PERF_MEM_LVL_HIT, snoop, number, remote, hops))
    }

    /// As kernels told before 4.14: bits of levels alone.
    #[test]
    fn levels_are_told_by_bits() {
        let cases = [
            (b::PERF_MEM_LVL_L1, b::PERF_MEM_SNOOP_NONE, Served::Near),
            (b::PERF_MEM_LVL_LFB, b::PERF_MEM_SNOOP_NONE, Served::Near),
            (b::PERF_MEM_LVL_L3, b::PERF_MEM_SNOOP_HIT, Served::Local),
            (b::PERF_MEM_LVL_L3, b::PERF_MEM_SNOOP_HITM, Served::Modified),
            (b::PERF_MEM_LVL_LOC_RAM, b::PERF_MEM_SNOOP_MISS, Served::Local),
            (b::PERF_MEM_LVL_REM_RAM1, b::PERF_MEM_SNOOP_NONE, Served::Remote),
            (b::PERF_MEM_LVL_REM_CCE1, b::PERF_MEM_SNOOP_HITM, Served::Modified),
            (b::PERF_MEM_LVL_REM_CCE2, b::PERF_MEM_SNOOP_HIT, Served::Remote),
            (b::PERF_MEM_LVL_NA, b::PERF_MEM_SNOOP_NA, Served::Near),
        ];
        for (level, snoop, expected) in cases {
            for unknown in [0, b::PERF_MEM_LVLNUM_NA] {
                assert_eq!(load(level, snoop, unknown, false, 0), Some(expected), "level {level:#x} snoop {snoop:#x}");
            }
        }
    }

    /// As newer kernels tell: a number, whether it is remote, and hops; of some memories nothing else.
    #[test]
    fn levels_are_told_by_number_and_hops() {
        let cases = [
            (b::PERF_MEM_LVLNUM_L2, false, 0, Served::Near),
            (b::PERF_MEM_LVLNUM_L2, true, b::PERF_MEM_HOPS_0, Served::Local),
            (b::PERF_MEM_LVLNUM_RAM, false, 0, Served::Local),
            (b::PERF_MEM_LVLNUM_RAM, true, b::PERF_MEM_HOPS_1, Served::Remote),
            (b::PERF_MEM_LVLNUM_RAM, true, 0, Served::Remote),
            (b::PERF_MEM_LVLNUM_ANY_CACHE, true, b::PERF_MEM_HOPS_0, Served::Local),
            (b::PERF_MEM_LVLNUM_ANY_CACHE, true, b::PERF_MEM_HOPS_1, Served::Remote),
            (b::PERF_MEM_LVLNUM_PMEM, false, 0, Served::Local),
            (b::PERF_MEM_LVLNUM_PMEM, true, b::PERF_MEM_HOPS_2, Served::Remote),
            (b::PERF_MEM_LVLNUM_CXL, false, 0, Served::Remote),
            (b::PERF_MEM_LVLNUM_IO, false, 0, Served::Near),
        ];
        for (number, remote, hops, expected) in cases {
            assert_eq!(load(0, 0, number, remote, hops), Some(expected), "number {number} remote {remote} hops {hops}");
        }
    }

    /// Reports of AMD's processors before Zen 4 for their own last-level cache and for the core complex beside it.
    #[test]
    fn another_cache_of_the_same_node_is_not_remote() {
        let both = b::PERF_MEM_LVL_L3 | b::PERF_MEM_LVL_REM_CCE1;
        let cases = [(both, false), (b::PERF_MEM_LVL_REM_CCE1, true)];
        for (level, remote) in cases {
            for number in [b::PERF_MEM_LVLNUM_ANY_CACHE, 0] {
                assert_eq!(load(level, 0, number, remote, b::PERF_MEM_HOPS_0), Some(Served::Local), "level {level:#x}");
            }
        }
    }

    #[test]
    fn what_is_no_reference_was_served_by_nobody() {
        assert_eq!(served(&word(b::PERF_MEM_OP_NA, b::PERF_MEM_LVL_NA, b::PERF_MEM_SNOOP_NA, 0, false, 0)), None);
        let store = word(b::PERF_MEM_OP_STORE, b::PERF_MEM_LVL_L1, 0, 0, false, 0);
        assert_eq!(served(&store), Some(Served::Near));
    }
}
