//! Where a region is in simulated memory: one stretch, or several on different nodes that follow each other.

use units::{Bytes, PhysicalAddr};

/// The stretches of a region, in order.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// Each with the offset in the region at which it ends.
    stretches: Vec<(PhysicalAddr, u64)>,
}

impl Extents {
    /// Adds a stretch at the end.
    pub(super) fn push(&mut self, base: PhysicalAddr, size: Bytes) {
        let end = self.size().0 + size.0;
        self.stretches.push((base, end));
    }

    /// The size of the whole.
    pub(super) fn size(&self) -> Bytes {
        Bytes(self.stretches.last().map_or(0, |&(_, end)| end))
    }

    /// The address at `offset`.
    ///
    /// # Panics
    /// If the region ends before.
    #[inline]
    pub(super) fn at(&self, offset: u64) -> PhysicalAddr {
        let (base, end) = self.stretches[0];
        if offset < end { base.offset(offset) } else { self.beyond_first(offset) }
    }

    fn beyond_first(&self, offset: u64) -> PhysicalAddr {
        let stretch = self.stretches.partition_point(|&(_, end)| end <= offset);
        self.stretches[stretch].0.offset(offset - self.stretches[stretch - 1].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_in_the_next_stretch() {
        let mut extents = Extents::default();
        for (base, size) in [(0x1_0000, 0x100), (0x9_0000, 0x200), (0x5_0000, 0x80)] {
            extents.push(PhysicalAddr(base), Bytes(size));
        }
        assert_eq!(extents.size(), Bytes(0x380));
        let at = |offset| extents.at(offset).0;
        assert_eq!(
            [at(0), at(0xff), at(0x100), at(0x2ff), at(0x300), at(0x37f)],
            [0x1_0000, 0x1_00ff, 0x9_0000, 0x9_01ff, 0x5_0000, 0x5_007f]
        );
    }
}
