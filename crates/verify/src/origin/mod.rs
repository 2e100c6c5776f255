//! The Origin protocol as the explorer needs it. A home with a nearly full output queue is explored with and without
//! backoff.

mod codec;
mod fault;

use std::fmt::Write;

use protocol::Access;
use protocol::contract::HomeLine;
use protocol::origin::{
    CacheLine, DirectoryEntry, DirectoryState, Geometry, HomeAnswer, HomeWork, Mesi, Message, MessageClass,
    MessageKind, OwnerAnswer, Pending, Protocol, Transaction,
};
use units::CpuId;

use crate::config::{Config, Limits};
use crate::directory::{Explored, Planted, View, limits};
use crate::directory_protocol;
use crate::litmus::Consistency;
use crate::model::{Property, Violation};

/// Registry entry of the protocol. The highest priority is the capacity of a packed state, which is also the Origin's
/// own limit.
pub(crate) const PROTOCOL: crate::Protocol = directory_protocol!(
    "origin",
    "SGI Origin 2000: directory, MESI caches, speculative replies, backoff (Prestor 2001, Chapters 3 and 4)",
    protocol::origin::TRANSITIONS,
    Limits { processors_per_node: 2, ..limits(&Access::ALL) },
    configurations,
    Consistency::Sequential,
    origin,
);

/// The protocol in a configuration.
pub fn origin(config: &Config) -> Protocol {
    let geometry = Geometry {
        nodes: config.caches.div_ceil(config.processors_per_node),
        processors_per_node: config.processors_per_node,
        priority_limit: config.priority_limit,
    };
    Protocol { geometry }
}

/// Configurations, small ones first, so that a fault is found soon. Stores alone reach every invalidation and
/// intervention between two processors of a node and two of another, and keep the state space small.
fn configurations() -> Vec<Config> {
    let on_one_node = Config { processors_per_node: 2, ..Config::new(2, 1) };
    let on_two_nodes = Config { processors_per_node: 2, accesses: vec![Access::Store], ..Config::new(4, 1) };
    let unevenly = Config { processors_per_node: 2, ..Config::new(3, 1) };
    vec![Config::new(2, 1), on_one_node, on_two_nodes, Config::new(2, 2), Config::new(3, 1), unevenly]
}

impl Explored for Protocol {
    const BACKS_OFF: bool = true;

    fn node(&self, cache: u8) -> u8 {
        self.geometry.node_of(CpuId(cache.into())).0 as u8
    }

    fn is_backoff(work: &HomeWork) -> bool {
        matches!(
            work.transaction,
            Transaction::BackoffInvalidate
                | Transaction::BackoffInterventionShared
                | Transaction::BackoffInterventionExclusive
        )
    }

    /// Checks that no request is granted before one of higher priority that a busy entry has NACKed.
    fn note(
        nacked: &mut u8,
        before: &HomeLine<DirectoryEntry>,
        message: &Message,
        work: &HomeWork,
    ) -> Result<(), Violation> {
        if message.kind.class() != MessageClass::Request || message.kind == MessageKind::Writeback {
            return Ok(());
        }
        let priority = message.priority;
        match (work.transaction, before.entry.state) {
            (Transaction::Nack, DirectoryState::BusyShared | DirectoryState::BusyExclusive | DirectoryState::Wait) => {
                *nacked = priority.max(*nacked);
            }
            (Transaction::Nack, _) => {}
            _ if priority < *nacked => {
                let detail =
                    format!("a request of priority {priority} is granted after one of priority {nacked} was NACKed");
                return Err(Violation { property: Property::BoundedOvertaking, detail });
            }
            // A bus error is no grant: the line is unchanged.
            (Transaction::BusError, _) => {}
            _ => *nacked = 0,
        }
        Ok(())
    }

    fn disagreement(&self, line: &View<'_, Self>) -> Option<String> {
        let (entry, memory_latest) = (&line.home().entry, line.memory_is_latest());
        let copies = || line.caches().iter().map(|cache| cache.state).enumerate();
        let uncached = copies().all(|(_, state)| state == Mesi::Invalid);
        let problem = match entry.state {
            DirectoryState::Unowned | DirectoryState::Poisoned if !uncached => "a cache has a copy",
            DirectoryState::Unowned if !memory_latest => "the last store is lost",
            DirectoryState::Unowned | DirectoryState::Poisoned => return None,
            DirectoryState::Shared => {
                let named = |cpu| entry.sharers.contains(self.geometry.node_of(CpuId(cpu as u16)));
                if copies().any(|(cpu, state)| state != Mesi::Invalid && (state != Mesi::Shared || !named(cpu))) {
                    "a cache has a copy that it does not include"
                } else if !memory_latest {
                    "memory is older than the last store"
                } else {
                    return None;
                }
            }
            DirectoryState::Exclusive => {
                let owned = line.caches()[entry.owner.index()].state;
                if copies().any(|(cpu, state)| state != Mesi::Invalid && cpu != entry.owner.index()) {
                    "a cache other than the owner's has a copy"
                } else if owned == Mesi::Shared {
                    "the owner's copy is a shared one"
                } else if owned != Mesi::Modified && !memory_latest {
                    "memory is older than the last store, and the owner has not modified the line"
                } else {
                    return None;
                }
            }
            DirectoryState::BusyShared | DirectoryState::BusyExclusive | DirectoryState::Wait => "it is busy",
        };
        Some(problem.to_owned())
    }

    fn faults(&self) -> Vec<Planted<Self>> {
        fault::faults()
    }

    fn describe_cache(line: &CacheLine) -> String {
        let mut text = match line.state {
            Mesi::Invalid => "I".to_owned(),
            Mesi::Shared => "S".to_owned(),
            Mesi::Exclusive => "E".to_owned(),
            Mesi::Modified => "M".to_owned(),
        };
        match line.pending {
            Pending::None => {}
            Pending::Request(request) => {
                text += " ";
                text += request.kind.mnemonic();
                if request.nacked {
                    text += " NACKed";
                }
                if request.home != HomeAnswer::Awaited {
                    let _infallible = write!(text, " home:{:?}", request.home);
                }
                if request.owner != OwnerAnswer::None {
                    let _infallible = write!(text, " owner:{:?}", request.owner);
                }
                if request.acknowledgements != 0 {
                    let _infallible = write!(text, " IVACK:{}", request.acknowledgements);
                }
                if request.invalidated {
                    text += " invalidated";
                }
                if request.deferred.is_some() {
                    text += " defers an intervention";
                }
            }
            Pending::Writeback { .. } => text += " WB",
            Pending::StaleIntervention => text += " waits for the crossed intervention",
            Pending::Intervention(_) => text += " defers an intervention",
        }
        text
    }

    fn describe_home(&self, line: &HomeLine<DirectoryEntry>, (): &()) -> String {
        let entry = &line.entry;
        let mut text = entry.state.mnemonic().to_owned();
        let _infallible = match entry.state {
            DirectoryState::Unowned | DirectoryState::Poisoned => Ok(()),
            DirectoryState::Shared => write!(text, " {:?}", entry.sharers),
            DirectoryState::Exclusive | DirectoryState::Wait => write!(text, " {:?}", entry.owner),
            DirectoryState::BusyShared | DirectoryState::BusyExclusive => {
                write!(text, " {:?}>{:?}", entry.former, entry.owner)
            }
        };
        if entry.priority > 0 {
            let _infallible = write!(text, " priority {}", entry.priority);
        }
        text
    }
}
