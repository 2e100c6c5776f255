//! SCI's typical set as the explorer needs it. Only one line is explored, because nothing in the protocol connects two
//! lines.

mod codec;
mod fault;

use protocol::Access;
use protocol::sci::{CacheLine, CacheState, MemoryLine, MemoryState, Protocol};
use units::CpuId;

use crate::config::{Config, Limits};
use crate::directory::{Explored, Planted, View, limits};
use crate::directory_protocol;
use crate::litmus::Consistency;

/// Registry entry of the protocol.
pub(crate) const PROTOCOL: crate::Protocol = directory_protocol!(
    "sci",
    "SCI's typical set: a doubly linked list of sharers, without ordering of packets (IEEE 1596-1992)",
    protocol::sci::TRANSITIONS,
    Limits { lines: 1, priority: 1, ..limits(&[Access::Load, Access::Store]) },
    || [2, 3, 4].map(loads_and_stores).to_vec(),
    Consistency::Sequential,
    |_: &Config| Protocol,
);

fn loads_and_stores(caches: u16) -> Config {
    Config { accesses: vec![Access::Load, Access::Store], ..Config::new(caches, 1) }
}

impl Explored for Protocol {
    /// From the head that memory names, forward and backward pointers must agree, the state of every element must match
    /// its position, and no cache outside the list may have a copy.
    fn disagreement(&self, line: &View<'_, Self>) -> Option<String> {
        let (memory, caches) = (line.home(), line.caches());
        if memory.state != MemoryState::Gone && !line.memory_is_latest() {
            return Some("its copy is older than the last store".to_owned());
        }
        if (memory.state == MemoryState::Home) != memory.head.is_none() {
            return Some("it names a head without a list, or none with one".to_owned());
        }
        let (mut reached, mut before, mut next) = (0, None, memory.head);
        while let Some(cpu) = next {
            let element = &caches[cpu.index()];
            reached += 1;
            if reached > caches.len() {
                return Some("the list is a circle".to_owned());
            }
            let expected = CacheState::in_list(memory.state, before.is_none(), element.forward.is_none());
            if element.state != expected {
                let (found, expected) = (element.state.mnemonic(), expected.mnemonic());
                return Some(format!("{cpu:?} is {found} where the list has {expected}"));
            }
            if element.backward != before {
                return Some(format!("{cpu:?} names {:?} before it, and the list has {before:?}", element.backward));
            }
            (before, next) = (Some(cpu), element.forward);
        }
        let copies = caches.iter().filter(|&cache| *cache != CacheLine::default()).count();
        (copies != reached).then(|| format!("{copies} caches have copies, and {reached} are in the list"))
    }

    fn faults(&self) -> Vec<Planted<Self>> {
        fault::faults()
    }

    fn describe_cache(line: &CacheLine) -> String {
        let before = line.backward.map_or(String::new(), |cpu| format!(" {cpu:?}<"));
        format!("{}{before}{}", line.state.mnemonic(), to(line.forward))
    }

    fn describe_home(&self, line: &MemoryLine, (): &()) -> String {
        format!("{}{}", line.state.mnemonic(), to(line.head))
    }
}

fn to(cpu: Option<CpuId>) -> String {
    cpu.map_or(String::new(), |cpu| format!(" >{cpu:?}"))
}
