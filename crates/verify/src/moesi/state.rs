//! State of the bus model: the structures of the protocol, their encoding in one byte per cache, and the steps.

use std::fmt::{self, Write};

use protocol::Version;
use protocol::snoop::{Cache, Command, Device, Moesi, Operation, Recall, Rights};
use units::CpuId;

/// Most caches on the bus.
pub const MAX_CACHES: usize = 8;
/// Contents older than the last store.
pub const STALE: Version = Version(0);
/// Contents of the last store.
pub const LATEST: Version = Version(1);
/// Contents that a store on the last contents creates; they exist only within a step.
pub const JUST_STORED: Version = Version(2);

/// The line in every cache, at the device, in the node's memory (or block cache), and at the other nodes of the
/// cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub caches: [Cache; MAX_CACHES],
    pub device: Device,
    /// Contents of memory; meaningless, and [`STALE`], while the node has no right to the line.
    pub memory: Version,
    /// Contents at the other nodes; meaningless, and [`STALE`], while the node has the only right to the line.
    pub outside: Version,
}

impl State {
    /// Initial state: nothing is cached, and memory or the other nodes have the latest contents, according to the
    /// rights.
    pub fn initial(device: Device) -> Self {
        let here = device.rights != Rights::None;
        let (memory, outside) = if here { (LATEST, STALE) } else { (STALE, LATEST) };
        Self { caches: [Cache::default(); MAX_CACHES], device, memory, outside }
    }

    /// Renumbers all contents after a store by `cpu`, or by another node: all other contents are older.
    pub fn renumber(&mut self, cpu: Option<CpuId>) {
        self.memory = STALE;
        self.outside = if cpu.is_none() { LATEST } else { STALE };
        for (other, cache) in self.caches.iter_mut().enumerate() {
            cache.version = if cpu.is_some_and(|cpu| cpu.index() == other) { LATEST } else { STALE };
        }
    }

    /// Appends the encoding. No field names a cache, so the order of caches is insignificant if `sorted`.
    pub fn encode(&self, caches: usize, sorted: bool, bytes: &mut Vec<u8>) {
        let device = &self.device;
        let fetch = device.fetch.map_or(0, |rights| rights as u8);
        let recall = device.recall.map_or(0, |recall| 1 + recall as u8);
        bytes.push(device.rights as u8 | fetch << 2 | recall << 4);
        bytes.push(self.memory.0 as u8 | (self.outside.0 as u8) << 2);
        let start = bytes.len();
        bytes.extend(self.caches[..caches].iter().map(|cache| {
            let request = cache.request.map_or(0, |command| 1 + command as u8);
            cache.state as u8 | (cache.version.0 as u8) << 3 | request << 5
        }));
        if sorted {
            bytes[start..].sort_unstable();
        }
    }

    /// The state with this encoding.
    pub fn decode(bytes: &[u8]) -> Self {
        let field = |byte: u8, shift: u32, width: u32| usize::from(byte >> shift & ((1 << width) - 1));
        let version = |byte: u8, shift: u32| Version(field(byte, shift, 2) as u32);
        let device = Device {
            rights: Rights::ALL[field(bytes[0], 0, 2)],
            fetch: Some(Rights::ALL[field(bytes[0], 2, 2)]).filter(|&rights| rights != Rights::None),
            recall: [None, Some(Recall::Share), Some(Recall::Take)][field(bytes[0], 4, 2)],
        };
        let mut state = Self::initial(device);
        (state.memory, state.outside) = (version(bytes[1], 0), version(bytes[1], 2));
        for (cache, &byte) in state.caches.iter_mut().zip(&bytes[2..]) {
            let request = field(byte, 5, 3).checked_sub(1).map(|command| Command::ALL[command]);
            *cache = Cache { state: Moesi::ALL[field(byte, 0, 3)], version: version(byte, 3), request };
        }
        state
    }

    /// Description of the state in one line, for traces.
    pub fn describe(&self, caches: usize, cluster: bool) -> String {
        let mut text = String::new();
        for cache in &self.caches[..caches] {
            let copy = match cache.state {
                Moesi::Invalid => "I".to_owned(),
                state => format!("{state:?}{}", age(cache.version)),
            };
            let request = cache.request.map_or(String::new(), |command| format!(" requests {}", command.mnemonic()));
            let _infallible = write!(text, "{copy}{request} | ");
        }
        let _infallible = write!(text, "memory{}", age(self.memory));
        if cluster {
            let Device { rights, fetch, recall } = self.device;
            let _infallible = write!(text, " | node may {rights:?}");
            let _infallible = fetch.map_or(Ok(()), |fetch| write!(text, ", fetches {fetch:?}"));
            let _infallible = recall.map_or(Ok(()), |recall| write!(text, ", recall to {recall:?}"));
            let _infallible = write!(text, " | outside{}", age(self.outside));
        }
        text
    }
}

fn age(version: Version) -> &'static str {
    if version == LATEST { "" } else { " stale" }
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A processor starts an operation.
    Operate(CpuId, Operation),
    /// A cache, or the device, performs its bus request.
    Bus(Option<CpuId>, Command),
    /// The other nodes grant the right that the device has requested.
    Grant(Rights),
    /// The other nodes recall the line.
    Recall(Recall),
    /// Another node stores.
    StoreOutside,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operate(cpu, Operation::Load) => write!(f, "{cpu:?}: loads"),
            Self::Operate(cpu, Operation::Store) => write!(f, "{cpu:?}: stores"),
            Self::Operate(cpu, Operation::Evict) => write!(f, "{cpu:?}: evicts"),
            Self::Bus(Some(cpu), command) => write!(f, "bus: {} by {cpu:?}", command.mnemonic()),
            Self::Bus(None, command) => write!(f, "bus: {} by the device", command.mnemonic()),
            Self::Grant(rights) => write!(f, "device: is granted {rights:?}"),
            Self::Recall(recall) => write!(f, "device: receives a recall to {recall:?}"),
            Self::StoreOutside => write!(f, "outside: stores"),
        }
    }
}
