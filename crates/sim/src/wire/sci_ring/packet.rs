//! Send packets, and the table of those that their senders still hold.

use units::NodeId;

use super::spec::{BufferSizes, PacketSizes, PassTransmission, RingSpec, Slot};

/// The half of a transaction to which a packet belongs (Hexsel and Topham, appendix, logical protocol).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subaction {
    /// A request-send and its request-echo.
    Request,
    /// A response-send and its response-echo.
    Response,
}

impl Subaction {
    /// Both halves.
    pub const ALL: [Self; 2] = [Self::Request, Self::Response];

    /// The other half.
    #[inline]
    pub const fn other(self) -> Self {
        match self {
            Self::Request => Self::Response,
            Self::Response => Self::Request,
        }
    }
}

/// The format of a send packet, which gives its size ([`PacketSizes`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A command.
    Command,
    /// A command with an extended header.
    LongCommand,
    /// A packet with a line.
    Data,
}

/// A send packet as its sender gives it to the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The sender.
    pub from: NodeId,
    /// The target; the sender itself is possible, and reached around the whole ring.
    pub to: NodeId,
    /// Request or response.
    pub subaction: Subaction,
    /// The format.
    pub format: Format,
    /// The sender's own number for it.
    pub tag: u32,
}

/// The generation of retransmitted packets ([`super::intake::Intake`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Generation {
    A,
    B,
}

impl Generation {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The number of no record.
const NONE: u32 = u32::MAX;

/// A packet from its entry into the output buffer until its positive echo has returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) packet: Packet,
    pub(super) symbols: u32,
    /// The next record of its list.
    next: u32,
    /// The generation that its last negative echo carried.
    pub(super) generation: Option<Generation>,
    /// Status of its echo under way.
    pub(super) accepted: bool,
    /// The slot in which it entered the output buffer.
    pub(super) entered: Slot,
}

/// Records of all packets that senders hold, with room for the most that buffers allow.
#[derive(Clone, Debug)]
pub(super) struct Records {
    all: Vec<Record>,
    free: List,
}

impl Records {
    pub(super) fn new(spec: &RingSpec) -> Self {
        let empty = Record {
            packet: Packet {
                from: NodeId(0),
                to: NodeId(0),
                subaction: Subaction::Request,
                format: Format::Command,
                tag: 0,
            },
            symbols: 0,
            next: NONE,
            generation: None,
            accepted: false,
            entered: 0,
        };
        let count = most_held(&spec.buffers, &spec.sizes, spec.transmission) * spec.nodes;
        let mut records = Self { all: vec![empty; count as usize], free: List::EMPTY };
        for id in 0..count {
            let Self { all, free } = &mut records;
            free.push(all, id);
        }
        records
    }

    #[inline]
    pub(super) fn add(&mut self, packet: Packet, symbols: u32, entered: Slot) -> u32 {
        let id =
            self.free.pop(&self.all).expect("output and active buffers hold no more packets than there are records");
        self.all[id as usize] = Record { packet, symbols, next: NONE, generation: None, accepted: false, entered };
        id
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.free.push(&mut self.all, id);
    }

    #[inline]
    pub(super) fn push(&mut self, list: &mut List, id: u32) {
        list.push(&mut self.all, id);
    }

    #[inline]
    pub(super) fn pop(&self, list: &mut List) -> Option<u32> {
        list.pop(&self.all)
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Record {
        &self.all[id as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Record {
        &mut self.all[id as usize]
    }
}

/// The most packets that one node holds: in both output buffers and as copies in active buffers. With one outstanding
/// packet, copies of both subactions can wait for retransmission.
fn most_held(buffers: &BufferSizes, sizes: &PacketSizes, transmission: PassTransmission) -> u32 {
    2 * (buffers.output / sizes.shortest() + transmission.of_each())
}

/// A queue of records, linked through them.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.head == NONE
    }

    #[inline]
    fn push(&mut self, all: &mut [Record], id: u32) {
        all[id as usize].next = NONE;
        if self.head == NONE {
            self.head = id;
        } else {
            all[self.tail as usize].next = id;
        }
        self.tail = id;
    }

    #[inline]
    fn pop(&mut self, all: &[Record]) -> Option<u32> {
        let id = self.head;
        if id == NONE {
            return None;
        }
        self.head = all[id as usize].next;
        Some(id)
    }
}
