//! Large memory kept between samples: to map, populate and check it page by page takes longer than to measure it.
//!
//! Small memory is mapped afresh for every sample, so that samples see different pages; in large memory there are enough.

use host::crew::AreaId;
use host::memory::PageKind;
use units::{Bytes, NodeId};

/// Smaller memory is not kept.
const LEAST: Bytes = Bytes::from_mib(8);
/// So much is kept in all, the latest first.
const MOST: Bytes = Bytes::from_mib(2048);

/// A request, and the area that was given for it.
#[derive(Debug)]
struct Lot {
    parts: Vec<(NodeId, Bytes)>,
    pages: PageKind,
    area: AreaId,
}

impl Lot {
    fn size(&self) -> u64 {
        self.parts.iter().map(|(_, size)| size.0).sum()
    }
}

/// Areas in use that are worth keeping, and areas kept.
#[derive(Debug, Default)]
pub(super) struct Parking {
    used: Vec<Lot>,
    parked: Vec<Lot>,
}

impl Parking {
    /// An area like this that is not in use.
    pub(super) fn take(&mut self, parts: &[(NodeId, Bytes)], pages: PageKind) -> Option<AreaId> {
        let found = self.parked.iter().position(|lot| lot.parts == parts && lot.pages == pages)?;
        Some(self.parked.remove(found).area)
    }

    /// `area` is now in use for what was asked for.
    pub(super) fn note(&mut self, area: AreaId, parts: &[(NodeId, Bytes)], pages: PageKind) {
        let lot = Lot { parts: parts.to_vec(), pages, area };
        if lot.size() >= LEAST.0 {
            self.used.push(lot);
        }
    }

    /// `area` is no longer in use. The areas that are to be given back.
    pub(super) fn park(&mut self, area: AreaId) -> Vec<AreaId> {
        let Some(found) = self.used.iter().position(|lot| lot.area == area) else { return vec![area] };
        self.parked.push(self.used.remove(found));
        let mut given_back = Vec::new();
        while self.parked.iter().map(Lot::size).sum::<u64>() > MOST.0 {
            given_back.push(self.parked.remove(0).area);
        }
        given_back
    }
}
