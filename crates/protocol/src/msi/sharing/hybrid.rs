//! The hybrid representation: a header whose format depends on the number and location of the sharers, and a store of
//! long bit vectors.

use units::{LineAddr, NodeId};

use super::touches::Touches;
use super::{HeaderUse, Insertion, SetWork, SharingSet, Site, VECTOR_BITS, each_bit};

/// The two-level hybrid representation (FLASH dissertation, Section 5.2.2, Figures 5.3 and 5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hybrid {
    /// Nodes per neighbourhood, consecutive, at most 16: the local vector covers the home's neighbourhood.
    pub neighbourhood: u16,
    /// Pointers per header: 2 to [`Hybrid::MOST_POINTERS`].
    pub pointers: u8,
    /// Long vectors in the store, 1 or more.
    pub vectors: u32,
    /// Number of sharers from which on the set is `ALL_SHARED`.
    pub all_shared: u16,
}

impl Hybrid {
    /// Pointers of FLASH's header, which is also its capacity (Figure 5.4).
    pub const MOST_POINTERS: u8 = 5;

    /// FLASH's parameters: neighbourhoods are the metacubes of 16 nodes, headers have five pointers, and `ALL_SHARED`
    /// begins at 15/16 of the machine (60 of 64 processors).
    pub const fn flash(nodes: u16, vectors: u32) -> Self {
        Self { neighbourhood: 16, pointers: Self::MOST_POINTERS, vectors, all_shared: nodes - nodes / 16 }
    }

    fn is_near(&self, at: &Site, node: NodeId) -> bool {
        node.0 / self.neighbourhood == at.home.0 / self.neighbourhood
    }

    fn local_bit(&self, node: NodeId) -> u16 {
        1 << (node.0 % self.neighbourhood)
    }

    fn first_near(&self, at: &Site) -> u16 {
        at.home.0 - at.home.0 % self.neighbourhood
    }

    /// Format of a header after one more sharer: a line per format.
    fn next(&self, at: &Site, header: &HybridHeader, node: NodeId) -> Format {
        use HybridHeader as H;
        let pointers = u32::from(self.pointers);
        let near = self.is_near(at, node);
        match *header {
            H::Unshared => Format::OneSharer,
            H::OneSharer(only) if only == node => Format::Same,
            H::OneSharer(only) if near && self.is_near(at, only) => Format::LocalBitvector,
            H::OneSharer(_) => Format::LimitPtr,
            H::LocalBitvector { .. } if near => Format::Same,
            H::LocalBitvector { bits } if bits.count_ones() < pointers => Format::LimitPtr,
            H::LocalBitvector { .. } => Format::FullBitvector,
            H::LimitPtr { nodes, used } if nodes[..usize::from(used)].contains(&node) => Format::Same,
            H::LimitPtr { used, .. } if used < self.pointers => Format::Same,
            H::LimitPtr { .. } => Format::FullBitvector,
            H::FullBitvector { .. } | H::AllShared => Format::Same,
        }
    }
}

/// Format that a header changes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Same,
    OneSharer,
    LocalBitvector,
    LimitPtr,
    FullBitvector,
}

/// Sharing set in a directory header, in one of its formats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HybridHeader {
    /// `UNSHARED`.
    #[default]
    Unshared,
    /// `ONE_SHARER`: a single sharer, a special case that writes check for.
    OneSharer(NodeId),
    /// `LOCAL_BITVECTOR`: a bit for each node of the home's neighbourhood.
    LocalBitvector {
        /// One bit per node.
        bits: u16,
    },
    /// `LIMIT_PTR`: limited pointers.
    LimitPtr {
        /// Sharers: the first `used` elements.
        nodes: [NodeId; Hybrid::MOST_POINTERS as usize],
        /// Number of sharers.
        used: u8,
    },
    /// `FULL_BITVECTOR`: a long vector in the store.
    FullBitvector {
        /// Index of the vector.
        index: u32,
    },
    /// `ALL_SHARED`: every node counts as a sharer.
    AllShared,
}

impl HybridHeader {
    /// Name of the format, as in Figure 5.3.
    pub const fn mnemonic(&self) -> &'static str {
        match self {
            Self::Unshared => "UNSHARED",
            Self::OneSharer(_) => "ONE_SHARER",
            Self::LocalBitvector { .. } => "LOCAL_BITVECTOR",
            Self::LimitPtr { .. } => "LIMIT_PTR",
            Self::FullBitvector { .. } => "FULL_BITVECTOR",
            Self::AllShared => "ALL_SHARED",
        }
    }

    const fn form(&self) -> u8 {
        match self {
            Self::Unshared => 0,
            Self::OneSharer(_) => 1,
            Self::LocalBitvector { .. } => 2,
            Self::LimitPtr { .. } => 3,
            Self::FullBitvector { .. } => 4,
            Self::AllShared => 5,
        }
    }
}

/// A long vector: the line that uses it, if any, and one bit per node of the machine.
#[derive(Clone, Copy, Debug)]
struct LongVector {
    line: Option<LineAddr>,
    bits: u64,
    next_free: Option<u32>,
}

/// Long-vector store shared by the lines of one home.
#[derive(Clone, Debug)]
pub struct VectorStore {
    /// The vectors that have been in use: memory of the host is taken as the store fills for the first time.
    vectors: Vec<LongVector>,
    /// The list of those that have been freed. Those that have never been in use follow it.
    free: Option<u32>,
    free_vectors: u32,
    touches: Touches,
}

impl VectorStore {
    fn new(vectors: u32) -> Self {
        Self { vectors: Vec::new(), free: None, free_vectors: vectors, touches: Touches::default() }
    }

    /// Number of free vectors.
    pub const fn free_vectors(&self) -> u32 {
        self.free_vectors
    }

    fn allocate(&mut self, line: LineAddr, bits: u64, work: &mut SetWork) -> u32 {
        debug_assert!(self.free_vectors > 0, "there was room");
        let vector = LongVector { line: Some(line), bits, next_free: None };
        let index = match self.free {
            Some(index) => {
                self.free = std::mem::replace(&mut self.vectors[index as usize], vector).next_free;
                index
            }
            None => {
                self.vectors.push(vector);
                self.vectors.len() as u32 - 1
            }
        };
        self.touches.touch(index, work);
        self.free_vectors -= 1;
        work.allocated += 1;
        index
    }

    /// Frees a vector that has been read.
    fn give_back(&mut self, index: u32, work: &mut SetWork) {
        self.vectors[index as usize] = LongVector { line: None, bits: 0, next_free: self.free };
        self.free = Some(index);
        self.free_vectors += 1;
        work.freed += 1;
    }
}

impl SharingSet for Hybrid {
    type Header = HybridHeader;
    type Store = VectorStore;

    /// Long vectors have a bit for each node.
    fn most_nodes(&self) -> u16 {
        VECTOR_BITS
    }

    fn store(&self) -> VectorStore {
        VectorStore::new(self.vectors)
    }

    /// Replacement hints: none, because the hybrid is designed to work without them (FLASH dissertation, Section
    /// 5.2.2).
    fn replacement_hints(&self) -> bool {
        false
    }

    #[inline]
    fn is_empty(&self, header: &HybridHeader) -> bool {
        *header == HybridHeader::Unshared
    }

    fn has_room(&self, at: &Site, header: &HybridHeader, store: &VectorStore, adding: &[NodeId]) -> bool {
        if store.free_vectors > 0 {
            return true;
        }
        let mut header = *header;
        adding.iter().all(|&node| {
            let fits = self.next(at, &header, node) != Format::FullBitvector;
            if fits {
                self.add(at, &mut header, node);
            }
            fits
        })
    }

    fn insert(
        &self,
        at: &Site,
        line: LineAddr,
        header: &mut HybridHeader,
        store: &mut VectorStore,
        node: NodeId,
        work: &mut SetWork,
    ) -> Insertion {
        let next = self.next(at, header, node);
        work.reformatted |= next != Format::Same;
        match (next, *header) {
            (Format::FullBitvector, _) => {
                let mut bits = 1 << node.0;
                self.visit(at, header, store, |node| bits |= 1 << node.0);
                *header = HybridHeader::FullBitvector { index: store.allocate(line, bits, work) };
                self.settle(header, store, work);
            }
            (_, HybridHeader::FullBitvector { index }) => {
                store.touches.touch(index, work);
                store.vectors[index as usize].bits |= 1 << node.0;
                self.settle(header, store, work);
            }
            (_, _) => self.add(at, header, node),
        }
        Insertion::Done
    }

    fn drain(
        &self,
        at: &Site,
        header: &mut HybridHeader,
        store: &mut VectorStore,
        work: &mut SetWork,
        mut visit: impl FnMut(NodeId, &SetWork),
    ) {
        // Figure 5.3 takes a written line through FULL_BITVECTOR if all share it; the invalidations are the same.
        let before = std::mem::take(header);
        if let HybridHeader::FullBitvector { index } = before {
            store.touches.touch(index, work);
        }
        self.visit(at, &before, store, |node| {
            work.walked += 1;
            visit(node, work);
        });
        if let HybridHeader::FullBitvector { index } = before {
            store.give_back(index, work);
        }
        work.reformatted |= before != HybridHeader::Unshared;
    }

    /// Selects a line to reclaim: that of a random vector, or of the next one in use.
    fn victim(&self, store: &mut VectorStore, random: u32, work: &mut SetWork) -> Option<LineAddr> {
        let start = random % self.vectors.max(1);
        (start..self.vectors).chain(0..start).find_map(|index| {
            store.touches.touch(index, work);
            store.vectors.get(index as usize)?.line
        })
    }

    /// Format checks of a header. The location of owner and sharers depends on the format, so every handler checks it
    /// first, including handlers that only forward or NACK a request (FLASH dissertation, Sections 5.2.2 and 5.3.1).
    #[inline]
    fn format_checks(&self, header_use: HeaderUse) -> u16 {
        (header_use == HeaderUse::Entry).into()
    }

    fn record_touches(&self, store: &mut VectorStore, on: bool) {
        store.touches.record(on);
    }

    fn touched(&self, store: &mut VectorStore, visit: impl FnMut(u32)) {
        store.touches.hand_out(visit);
    }

    fn snapshot(&self, at: &Site, header: &HybridHeader, store: &VectorStore, visit: impl FnMut(NodeId)) -> u8 {
        self.visit(at, header, store, visit);
        header.form()
    }

    fn restore(&self, _: &Site, line: LineAddr, store: &mut VectorStore, form: u8, nodes: &[NodeId]) -> HybridHeader {
        match (form, nodes) {
            (1, [only]) => HybridHeader::OneSharer(*only),
            (2, _) => {
                HybridHeader::LocalBitvector { bits: nodes.iter().fold(0, |bits, &node| bits | self.local_bit(node)) }
            }
            (3, _) => {
                let mut pointers = [NodeId(0); Self::MOST_POINTERS as usize];
                pointers[..nodes.len()].copy_from_slice(nodes);
                HybridHeader::LimitPtr { nodes: pointers, used: nodes.len() as u8 }
            }
            (4, _) => {
                let bits = nodes.iter().fold(0, |bits, node| bits | 1 << node.0);
                HybridHeader::FullBitvector { index: store.allocate(line, bits, &mut SetWork::default()) }
            }
            (5, _) => HybridHeader::AllShared,
            (_, _) => HybridHeader::Unshared,
        }
    }

    fn entries_held(&self, header: &HybridHeader, _: &VectorStore) -> u32 {
        u32::from(matches!(header, HybridHeader::FullBitvector { .. }))
    }

    fn entries_in_use(&self, store: &VectorStore) -> u32 {
        self.vectors - store.free_vectors
    }

    fn class(&self, at: &Site, node: NodeId) -> u16 {
        u16::from(!self.is_near(at, node))
    }
}

impl Hybrid {
    /// Adds a node to a header whose next format is not the long vector.
    fn add(&self, at: &Site, header: &mut HybridHeader, node: NodeId) {
        let mut pointers = [NodeId(0); Self::MOST_POINTERS as usize];
        *header = match (self.next(at, header, node), *header) {
            (Format::OneSharer, _) => HybridHeader::OneSharer(node),
            (Format::LocalBitvector, HybridHeader::OneSharer(only)) => {
                HybridHeader::LocalBitvector { bits: self.local_bit(only) | self.local_bit(node) }
            }
            (Format::LimitPtr, HybridHeader::OneSharer(only)) => {
                pointers[..2].copy_from_slice(&[only, node]);
                HybridHeader::LimitPtr { nodes: pointers, used: 2 }
            }
            (Format::LimitPtr, HybridHeader::LocalBitvector { bits }) => {
                let mut used = 0;
                each_bit(bits.into(), |bit| {
                    pointers[used] = NodeId(self.first_near(at) + bit);
                    used += 1;
                });
                pointers[used] = node;
                HybridHeader::LimitPtr { nodes: pointers, used: used as u8 + 1 }
            }
            (_, HybridHeader::LocalBitvector { bits }) => {
                HybridHeader::LocalBitvector { bits: bits | self.local_bit(node) }
            }
            (_, HybridHeader::LimitPtr { mut nodes, used }) if !nodes[..usize::from(used)].contains(&node) => {
                nodes[usize::from(used)] = node;
                HybridHeader::LimitPtr { nodes, used: used + 1 }
            }
            (_, same) => same,
        };
    }

    /// Changes a vector with enough sharers to `ALL_SHARED`, and frees it.
    fn settle(&self, header: &mut HybridHeader, store: &mut VectorStore, work: &mut SetWork) {
        if let HybridHeader::FullBitvector { index } = *header
            && store.vectors[index as usize].bits.count_ones() >= u32::from(self.all_shared)
        {
            store.give_back(index, work);
            *header = HybridHeader::AllShared;
            work.reformatted = true;
        }
    }

    /// Calls `visit` with every node of the set.
    fn visit(&self, at: &Site, header: &HybridHeader, store: &VectorStore, mut visit: impl FnMut(NodeId)) {
        match *header {
            HybridHeader::Unshared => {}
            HybridHeader::OneSharer(only) => visit(only),
            HybridHeader::LocalBitvector { bits } => {
                each_bit(bits.into(), |bit| visit(NodeId(self.first_near(at) + bit)));
            }
            HybridHeader::LimitPtr { nodes, used } => nodes[..usize::from(used)].iter().for_each(|&node| visit(node)),
            HybridHeader::FullBitvector { index } => {
                each_bit(store.vectors[index as usize].bits, |bit| visit(NodeId(bit)));
            }
            HybridHeader::AllShared => (0..at.nodes).for_each(|node| visit(NodeId(node))),
        }
    }
}
