//! The cluster's device on the bus, and the other nodes behind it.

use std::fmt;

use protocol::contract::BusAgent;
use protocol::snoop::{Command, Device, Protocol, Recall, Reply, Rights};
use protocol::{ProtocolError, Version};
use units::NodeId;

use super::planted;
use crate::bus::{Beyond, BusPlant, PlantedBus, STALE, age};
use crate::model::Property;

/// The device, and the contents of the line at the other nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cluster {
    device: Device,
    contents: Version,
}

/// A step of the other nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClusterStep {
    /// They grant the right that the device has requested.
    Grant(Rights),
    /// They recall the line.
    Recall(Recall),
    /// One of them stores.
    Store,
}

impl fmt::Display for ClusterStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant(rights) => write!(f, "device: is granted {rights:?}"),
            Self::Recall(recall) => write!(f, "device: receives a recall to {recall:?}"),
            Self::Store => write!(f, "outside: stores"),
        }
    }
}

impl BusAgent<Protocol> for Cluster {
    fn snoop(&mut self, node: NodeId, command: Command) -> Result<Reply, ProtocolError> {
        self.device.snoop(node, command)
    }

    fn request(&self) -> Option<Command> {
        self.device.request()
    }

    fn complete(&mut self) {
        self.device.complete();
    }
}

impl Beyond<Protocol> for Cluster {
    type Step = ClusterStep;

    fn rights(&self) -> Rights {
        self.device.rights
    }

    fn contents(&mut self) -> Option<&mut Version> {
        Some(&mut self.contents)
    }

    /// The data of a recall go to the other nodes.
    fn hand_over(&mut self, memory: &mut Version, on_bus: Option<Version>) {
        self.contents = on_bus.unwrap_or(self.contents);
        if self.device.rights == Rights::None {
            *memory = STALE;
        }
    }

    fn steps(&self, memory: Version, visit: &mut dyn FnMut(ClusterStep, Self, Version, bool)) {
        let mut granted = *self;
        if let Some(rights) = granted.device.grant() {
            let memory = granted.contents;
            if rights == Rights::Write {
                granted.contents = STALE;
            }
            visit(ClusterStep::Grant(rights), granted, memory, false);
        }
        for recall in [Recall::Share, Recall::Take] {
            let mut recalled = *self;
            if recalled.device.recall(recall) {
                visit(ClusterStep::Recall(recall), recalled, memory, false);
            }
        }
        if self.device.rights == Rights::None {
            visit(ClusterStep::Store, Self { contents: self.contents.next(), ..*self }, memory, true);
        }
    }

    fn is_internal(step: ClusterStep) -> bool {
        matches!(step, ClusterStep::Grant(_))
    }

    fn is_quiet(&self) -> bool {
        self.device.fetch.is_none() && self.device.recall.is_none()
    }

    fn pack(&self) -> u8 {
        let Device { rights, fetch, recall } = self.device;
        let fetch = fetch.map_or(0, |rights| rights as u8);
        let recall = recall.map_or(0, |recall| 1 + recall as u8);
        rights as u8 | fetch << 2 | recall << 4 | (self.contents.0 as u8) << 6
    }

    fn unpack(byte: u8) -> Self {
        let field = |shift: u32| usize::from(byte >> shift & 3);
        let device = Device {
            rights: Rights::ALL[field(0)],
            fetch: Some(Rights::ALL[field(2)]).filter(|&rights| rights != Rights::None),
            recall: [None, Some(Recall::Share), Some(Recall::Take)][field(4)],
        };
        Self { device, contents: Version(field(6) as u32) }
    }

    #[rustfmt::skip]
    fn faults() -> Vec<PlantedBus<Protocol, Self>> {
        use BusPlant::{DropMemoryWrite, ReplyBeyond, RequestBeyond};
        use Property as P;
        planted([
            // The device lets a cache write a line that the node may only read.
            ("write-without-right", P::SingleWriter, ReplyBeyond(|_, command, reply| if command == Command::Upgrade { Reply::default() } else { reply })),
            // The device does not reply "shared" for a line of which other nodes have copies.
            ("hide-other-nodes", P::SingleWriter, ReplyBeyond(|_, _, reply| Reply { shared: false, ..reply })),
            // The device retries a transaction without requesting the right.
            ("forget-fetch", P::DeadlockFreedom, ReplyBeyond(forget_fetch)),
            // The device downgrades copies that it should invalidate.
            ("take-half", P::SingleWriter, RequestBeyond(|_| Command::ReadForeign)),
            // The block cache is not updated when another node reads.
            ("forget-update", P::DirectoryAgreement, DropMemoryWrite(|command| command == Command::ReadForeign)),
            // The device retries writebacks while a recall is outstanding.
            ("retry-writebacks", P::DeadlockFreedom, ReplyBeyond(|_, command, reply| if command == Command::Writeback { Reply { retry: true, ..reply } } else { reply })),
        ])
    }

    fn describe(&self) -> String {
        let Device { rights, fetch, recall } = self.device;
        let fetch = fetch.map_or(String::new(), |fetch| format!(", fetches {fetch:?}"));
        let recall = recall.map_or(String::new(), |recall| format!(", recall to {recall:?}"));
        format!(" | node may {rights:?}{fetch}{recall} | outside{}", age(self.contents))
    }
}

fn forget_fetch(cluster: &mut Cluster, _: Command, reply: Reply) -> Reply {
    cluster.device.fetch = None;
    reply
}
