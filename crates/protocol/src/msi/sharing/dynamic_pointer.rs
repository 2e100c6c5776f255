//! Dynamic pointer allocation: sharers in a linked list, whose links come from a store shared by the lines of a home.

use units::{LineAddr, NodeId};

use super::touches::Touches;
use super::{Insertion, SetWork, SharingSet, Site};

/// Dynamic pointer allocation (FLASH dissertation, Section 5.2.2).
///
/// The header holds the first sharer (the head link), and each further sharer takes a link from the store. Insertion
/// does not search for duplicates, so a sharer may be in the list twice. A replacement hint searches for one entry to
/// remove, and gives up after [`DynamicPointer::search`] elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DynamicPointer {
    /// Links in the store, 1 or more.
    pub links: u32,
    /// Elements of a list, the head link among them, that a replacement hint searches.
    pub search: u16,
}

impl DynamicPointer {
    /// Search limit of FLASH's replacement hints, in elements (FLASH dissertation, Section 5.2.2).
    pub const FLASH_SEARCH: u16 = 16;
}

/// Successor of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// Another link.
    Link(u32),
    /// End of the list, with the line whose header the list belongs to: reclamation finds the line from any of its
    /// links.
    Header(LineAddr),
    /// Next free link, for a free link.
    Free(Option<u32>),
}

#[derive(Clone, Copy, Debug)]
struct Link {
    node: NodeId,
    next: Next,
}

/// Link store shared by the lines of one home.
#[derive(Clone, Debug)]
pub struct LinkStore {
    /// The links that have been in use: memory of the host is taken as the store fills for the first time.
    links: Vec<Link>,
    /// The list of those that have been freed. Those that have never been in use follow it.
    free: Option<u32>,
    free_links: u32,
    touches: Touches,
}

impl LinkStore {
    fn new(links: u32) -> Self {
        Self { links: Vec::new(), free: None, free_links: links, touches: Touches::default() }
    }

    /// Number of free links.
    pub const fn free_links(&self) -> u32 {
        self.free_links
    }

    fn allocate(&mut self, node: NodeId, next: Next, work: &mut SetWork) -> Option<u32> {
        if self.free_links == 0 {
            return None;
        }
        let link = Link { node, next };
        let index = match self.free {
            Some(index) => {
                let freed = std::mem::replace(&mut self.links[index as usize], link);
                self.free = match freed.next {
                    Next::Free(following) => following,
                    Next::Link(_) | Next::Header(_) => unreachable!("the free list holds free links"),
                };
                index
            }
            None => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
        };
        self.touches.touch(index, work);
        self.free_links -= 1;
        work.allocated += 1;
        Some(index)
    }

    /// Reads a link. One that has never been in use is free.
    fn read(&mut self, index: u32, work: &mut SetWork) -> Link {
        self.touches.touch(index, work);
        self.links.get(index as usize).copied().unwrap_or(Link { node: NodeId(0), next: Next::Free(None) })
    }

    /// Frees a link that has been read.
    fn give_back(&mut self, index: u32, work: &mut SetWork) {
        self.links[index as usize].next = Next::Free(self.free);
        self.free = Some(index);
        self.free_links += 1;
        work.freed += 1;
    }

    /// Frees a link and returns its contents.
    fn release(&mut self, index: u32, work: &mut SetWork) -> Link {
        let link = self.read(index, work);
        self.give_back(index, work);
        link
    }

    /// Frees the links of a list, all of which have been read, from the first on.
    fn give_back_all(&mut self, first: Option<u32>, work: &mut SetWork) {
        let mut current = first;
        while let Some(index) = current {
            current = self.links[index as usize].following();
            self.give_back(index, work);
        }
    }
}

/// Head of a list, in a directory header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListHeader {
    /// Sharer in the head link; without it, the list is empty.
    head: Option<NodeId>,
    /// First link in the store.
    list: Option<u32>,
}

impl SharingSet for DynamicPointer {
    type Header = ListHeader;
    type Store = LinkStore;

    fn store(&self) -> LinkStore {
        LinkStore::new(self.links)
    }

    fn replacement_hints(&self) -> bool {
        true
    }

    #[inline]
    fn is_empty(&self, header: &ListHeader) -> bool {
        header.head.is_none()
    }

    #[inline]
    fn has_room(&self, _: &Site, header: &ListHeader, store: &LinkStore, adding: &[NodeId]) -> bool {
        adding.len() as u32 <= store.free_links + u32::from(header.head.is_none())
    }

    #[inline]
    fn insert(
        &self,
        _: &Site,
        line: LineAddr,
        header: &mut ListHeader,
        store: &mut LinkStore,
        node: NodeId,
        work: &mut SetWork,
    ) -> Insertion {
        if header.head.is_none() {
            header.head = Some(node);
        } else {
            header.list = store.allocate(node, header.list.map_or(Next::Header(line), Next::Link), work);
            debug_assert!(header.list.is_some(), "there was room");
        }
        Insertion::Done
    }

    /// Removes a sharer by limited search: an entry beyond the limit remains, and costs an unnecessary invalidation
    /// later.
    fn remove(&self, _: LineAddr, header: &mut ListHeader, store: &mut LinkStore, node: NodeId, work: &mut SetWork) {
        work.walked += 1;
        if header.head == Some(node) {
            let following = header.list.map(|first| store.release(first, work));
            header.head = following.map(|link| link.node);
            header.list = following.and_then(|link| link.following());
            return;
        }
        let (mut previous, mut current) = (None, header.list);
        while let Some(index) = current.filter(|_| work.walked < self.search) {
            work.walked += 1;
            let link = store.read(index, work);
            if link.node == node {
                store.give_back(index, work);
                match previous {
                    Some(previous) => {
                        store.touches.touch(previous, work);
                        store.links[previous as usize].next = link.next;
                    }
                    None => header.list = link.following(),
                }
                return;
            }
            (previous, current) = (current, link.following());
        }
    }

    /// Empties the list. The links are freed after the last invalidation, because none has to wait for them.
    fn drain(
        &self,
        _: &Site,
        header: &mut ListHeader,
        store: &mut LinkStore,
        work: &mut SetWork,
        mut visit: impl FnMut(NodeId, &SetWork),
    ) {
        let ListHeader { head, list } = std::mem::take(header);
        if let Some(head) = head {
            work.walked += 1;
            visit(head, work);
        }
        let mut current = list;
        while let Some(index) = current {
            work.walked += 1;
            let link = store.read(index, work);
            visit(link.node, work);
            current = link.following();
        }
        store.give_back_all(list, work);
    }

    /// Selects a line to reclaim, from a random link, or the next one in use, whose list is followed to its end.
    fn victim(&self, store: &mut LinkStore, random: u32, work: &mut SetWork) -> Option<LineAddr> {
        let start = random % self.links.max(1);
        let mut links = (start..self.links).chain(0..start).map(|index| store.read(index, work).next);
        let mut next = links.find(|next| !matches!(next, Next::Free(_)))?;
        loop {
            work.walked += 1;
            next = match next {
                Next::Link(index) => store.read(index, work).next,
                Next::Header(line) => return Some(line),
                Next::Free(_) => unreachable!("no list runs into a free link"),
            };
        }
    }

    fn record_touches(&self, store: &mut LinkStore, on: bool) {
        store.touches.record(on);
    }

    fn touched(&self, store: &mut LinkStore, visit: impl FnMut(u32)) {
        store.touches.hand_out(visit);
    }

    fn snapshot(&self, _: &Site, header: &ListHeader, store: &LinkStore, mut visit: impl FnMut(NodeId)) -> u8 {
        header.head.into_iter().for_each(&mut visit);
        let links = std::iter::successors(header.list, |&index| store.links[index as usize].following());
        links.for_each(|index| visit(store.links[index as usize].node));
        0
    }

    /// Order of the list: it decides whether a replacement hint, whose search is limited, finds its entry.
    fn is_ordered(&self) -> bool {
        true
    }

    fn restore(&self, at: &Site, line: LineAddr, store: &mut LinkStore, _: u8, nodes: &[NodeId]) -> ListHeader {
        let mut header = ListHeader::default();
        let mut work = SetWork::default();
        let [head, list @ ..] = nodes else { return header };
        header.head = Some(*head);
        for &node in list.iter().rev() {
            self.insert(at, line, &mut header, store, node, &mut work);
        }
        header
    }

    fn entries_held(&self, header: &ListHeader, store: &LinkStore) -> u32 {
        std::iter::successors(header.list, |&index| store.links[index as usize].following()).count() as u32
    }

    fn entries_in_use(&self, store: &LinkStore) -> u32 {
        self.links - store.free_links
    }
}

impl Link {
    fn following(self) -> Option<u32> {
        match self.next {
            Next::Link(index) => Some(index),
            Next::Header(_) => None,
            Next::Free(_) => unreachable!("no list runs into a free link"),
        }
    }
}
