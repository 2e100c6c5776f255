//! State of the SCI model: the structures of the protocol, and their encoding in a few bytes.

use std::fmt::Write;

use protocol::sci::{
    CacheLine, CacheState, Command, MemoryLine, MemoryState, Operation, Outstanding, Report, Request, Response,
};
use protocol::{Agent, Version};
use units::{CpuId, LineAddr};

use super::HOME;

/// Most caches that an encoding can name.
pub const MAX_CACHES: usize = 4;
/// Contents older than the last store.
pub const STALE: Version = Version(0);
/// Contents of the last store.
pub const LATEST: Version = Version(1);
/// Contents that a store on the last contents creates; they exist only within a step.
pub const JUST_STORED: Version = Version(2);

/// Packet in flight on behalf of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Request of the cache.
    Request(Request),
    /// Response to its request.
    Response(Response),
}

/// The line in memory and in every cache, and the packet of each cache's transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub memory: MemoryLine,
    pub caches: [CacheLine; MAX_CACHES],
    pub packets: [Option<Packet>; MAX_CACHES],
}

impl State {
    /// Initial state: nothing cached, nothing in flight, memory latest.
    pub fn initial() -> Self {
        Self {
            memory: MemoryLine { version: LATEST, ..MemoryLine::default() },
            caches: [CacheLine::default(); MAX_CACHES],
            packets: [None; MAX_CACHES],
        }
    }

    /// Renumbers all contents after a store by `cpu`: its contents are the last ones now, and all others are older.
    pub fn renumber(&mut self, cpu: CpuId) {
        self.memory.version = STALE;
        for (other, line) in self.caches.iter_mut().enumerate() {
            line.version = if other == cpu.index() { LATEST } else { STALE };
        }
        for packet in self.packets.iter_mut().flatten() {
            let version = match packet {
                Packet::Request(request) => &mut request.version,
                Packet::Response(response) => &mut response.version,
            };
            *version = version.map(|_| STALE);
        }
    }

    /// Appends the encoding of the state in which each cache `c` has the name `names[c]`.
    pub fn encode(&self, names: &[u8], bytes: &mut Vec<u8>) {
        let name = |cpu: Option<CpuId>| cpu.map_or(0, |cpu| 1 + u32::from(names[cpu.index()]));
        let memory = Fields::default()
            .with(2, self.memory.state as u32)
            .with(3, name(self.memory.head))
            .with(2, self.memory.version.0);
        bytes.push(memory.word as u8);
        let start = bytes.len();
        bytes.resize(start + names.len() * BYTES_A_CACHE, 0);
        for (cpu, &new) in names.iter().enumerate() {
            let line = cache_fields(&self.caches[cpu], name);
            let packet = packet_fields(self.packets[cpu].as_ref(), name);
            let at = start + usize::from(new) * BYTES_A_CACHE;
            bytes[at..at + 3].copy_from_slice(&line.word.to_le_bytes()[..3]);
            bytes[at + 3..at + BYTES_A_CACHE].copy_from_slice(&packet.word.to_le_bytes()[..2]);
        }
    }

    /// Fingerprint of each cache, a number that does not depend on names, and that distinguishes most caches in
    /// different roles.
    pub fn fingerprints(&self, caches: usize) -> [u64; MAX_CACHES] {
        let anonymous = |cpu: Option<CpuId>| u32::from(cpu.is_some());
        std::array::from_fn(|cpu| {
            if cpu >= caches {
                return 0;
            }
            let head = u64::from(self.memory.head == Some(CpuId(cpu as u16)));
            let line = u64::from(cache_fields(&self.caches[cpu], anonymous).word);
            let packet = u64::from(packet_fields(self.packets[cpu].as_ref(), anonymous).word);
            head << 63 | line << 32 | packet
        })
    }

    /// Decodes the state with this encoding.
    pub fn decode(caches: usize, bytes: &[u8]) -> Self {
        let mut state = Self::initial();
        let mut memory = Fields { word: u32::from(bytes[0]), length: 0 };
        state.memory.state = MemoryState::ALL[memory.take(2) as usize];
        state.memory.head = named(memory.take(3));
        state.memory.version = Version(memory.take(2));
        for (cpu, bytes) in bytes[1..].chunks_exact(BYTES_A_CACHE).enumerate().take(caches) {
            let line = Fields { word: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]), length: 0 };
            let packet = Fields { word: u32::from_le_bytes([bytes[3], bytes[4], 0, 0]), length: 0 };
            state.caches[cpu] = cache_line(line);
            state.packets[cpu] = packet_of(packet, CpuId(cpu as u16));
        }
        state
    }

    /// Description of the state in one line, for traces: memory, caches with their neighbours, packets in flight.
    pub fn describe(&self, caches: usize) -> String {
        let mut text = format!("{}{}{}", self.memory.state.mnemonic(), to(self.memory.head), age(self.memory.version));
        for (line, packet) in self.caches.iter().zip(&self.packets).take(caches) {
            let _infallible = write!(text, " | {}", line.state.mnemonic());
            if line.state.is_readable() {
                text += age(line.version);
            }
            if line.forward.is_some() || line.backward.is_some() {
                let _infallible = write!(text, "{}{}", from(line.backward), to(line.forward));
            }
            let _infallible = match packet {
                None => Ok(()),
                Some(Packet::Request(request)) => write!(text, " {}", request.command.mnemonic()),
                Some(Packet::Response(response)) => write!(text, " {:?}", response.report),
            };
        }
        text
    }
}

/// Bytes per cache, for its line and its packet.
const BYTES_A_CACHE: usize = 5;

/// A word of bit fields, written and read in the same order, from the low end.
#[derive(Clone, Copy, Default)]
struct Fields {
    word: u32,
    length: u32,
}

impl Fields {
    /// Adds a field.
    fn with(self, width: u32, value: u32) -> Self {
        debug_assert!(value < 1 << width);
        Self { word: self.word | value << self.length, length: self.length + width }
    }

    /// Next field.
    fn take(&mut self, width: u32) -> u32 {
        let value = self.word >> self.length & ((1 << width) - 1);
        self.length += width;
        value
    }
}

fn named(name: u32) -> Option<CpuId> {
    name.checked_sub(1).map(|cpu| CpuId(cpu as u16))
}

fn cache_fields(line: &CacheLine, name: impl Fn(Option<CpuId>) -> u32) -> Fields {
    let fields = Fields::default()
        .with(5, line.state as u32)
        .with(3, name(line.forward))
        .with(3, name(line.backward))
        .with(2, line.version.0);
    match line.outstanding {
        None => fields.with(2, 0),
        Some(Outstanding { operation, command }) => fields.with(2, 1 + operation as u32).with(4, command as u32),
    }
}

fn cache_line(mut fields: Fields) -> CacheLine {
    CacheLine {
        state: CacheState::ALL[fields.take(5) as usize],
        forward: named(fields.take(3)),
        backward: named(fields.take(3)),
        version: Version(fields.take(2)),
        outstanding: fields.take(2).checked_sub(1).map(|operation| Outstanding {
            operation: Operation::ALL[operation as usize],
            command: Command::ALL[fields.take(4) as usize],
        }),
    }
}

fn packet_fields(packet: Option<&Packet>, name: impl Fn(Option<CpuId>) -> u32) -> Fields {
    let contents = |version: Option<Version>| version.map_or(0, |version| 1 + version.0);
    match packet {
        None => Fields::default(),
        Some(Packet::Request(request)) => {
            let to = match request.to {
                Agent::Processor(cpu) => Some(cpu),
                _ => None,
            };
            let fields = Fields::default().with(2, 1).with(2, contents(request.version)).with(3, name(request.pointer));
            fields.with(4, request.command as u32).with(3, name(to))
        }
        Some(Packet::Response(response)) => {
            let fields =
                Fields::default().with(2, 2).with(2, contents(response.version)).with(3, name(response.pointer));
            fields.with(3, response.report as u32)
        }
    }
}

fn packet_of(mut fields: Fields, cpu: CpuId) -> Option<Packet> {
    let (kind, version) = (fields.take(2), fields.take(2).checked_sub(1).map(Version));
    let (line, pointer) = (LineAddr(0), named(fields.take(3)));
    match kind {
        1 => {
            let command = Command::ALL[fields.take(4) as usize];
            let to = named(fields.take(3)).map_or(Agent::Home(HOME), Agent::Processor);
            Some(Packet::Request(Request { line, to, source: cpu, command, pointer, version }))
        }
        2 => {
            let report = Report::ALL[fields.take(3) as usize];
            Some(Packet::Response(Response { line, to: cpu, report, pointer, version }))
        }
        _ => None,
    }
}

fn age(version: Version) -> &'static str {
    if version == LATEST { "" } else { " stale" }
}

fn to(cpu: Option<CpuId>) -> String {
    cpu.map_or(String::new(), |cpu| format!(">{cpu:?}"))
}

fn from(cpu: Option<CpuId>) -> String {
    cpu.map_or(" ".to_owned(), |cpu| format!(" {cpu:?}<"))
}
