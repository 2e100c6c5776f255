//! Elements of the crew's memory: where they lie, and whose pointers a kernel over them writes over.

use std::ops::Range;

use units::Bytes;

use super::AreaId;
use crate::kernels::{Operation, WORD};

/// Elements of an area: the first is `offset` from its start, the next `stride` further.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Elements {
    /// The area.
    pub area: AreaId,
    /// Where its first element begins.
    pub offset: Bytes,
    /// From one element to the next.
    pub stride: Bytes,
    /// How many there are.
    pub count: u64,
}

impl Elements {
    /// Bytes of their area that they take; nothing if no memory has so many.
    pub(super) fn range(&self) -> Option<Range<u64>> {
        let end = self.stride.0.checked_mul(self.count)?.checked_add(self.offset.0)?;
        Some(self.offset.0..end)
    }

    /// As many arrays of them, one after the other; nothing if those are too many to count.
    pub(super) fn arrays(&self, arrays: u64) -> Option<Self> {
        Some(Self { count: self.count.checked_mul(arrays)?, ..*self })
    }

    /// Whether some byte belongs to both.
    pub(super) fn overlap(&self, other: &Self) -> bool {
        let common = |a: Range<u64>, b: Range<u64>| a.start < b.end && b.start < a.end;
        self.area == other.area && self.range().zip(other.range()).is_some_and(|(a, b)| common(a, b))
    }

    /// Whether `operation` over these elements may write over a pointer of a list through `list`. Both begin at words.
    ///
    /// Operations that do not [destroy](Operation::destroys_lists) lists store to word 1 of their elements. That is never
    /// word 0 of an element of the list unless the two lie a multiple of the strides' greatest common divisor apart; so
    /// touching all elements keeps lists through parts of them, or through every fourth.
    pub(super) fn may_spoil(&self, operation: Operation, list: &Self) -> bool {
        if !operation.stores() || !self.overlap(list) {
            return false;
        }
        let distance = (self.offset.0 + WORD.0).abs_diff(list.offset.0);
        operation.destroys_lists() || distance.is_multiple_of(common_divisor(self.stride.0, list.stride.0))
    }
}

/// The greatest common divisor, by Euclid.
fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn elements(offset: u64, stride: u64, count: u64) -> Elements {
        Elements { area: AreaId(0), offset: Bytes(8 * offset), stride: Bytes(8 * stride), count }
    }

    proptest! {
        /// Compared with all words that are stored to.
        #[test]
        fn pointers_that_are_written_over_are_foreseen(
            (offset, stride, count) in (0..40_u64, 2..20_u64, 1..20_u64),
            (list_offset, list_stride, list_count) in (0..40_u64, 2..20_u64, 1..20_u64),
        ) {
            let (stores, list) = (elements(offset, stride, count), elements(list_offset, list_stride, list_count));
            let written = |word: u64| (0..count).any(|i| offset + i * stride + 1 == word);
            let spoilt = (0..list_count).any(|i| written(list_offset + i * list_stride));
            let foreseen = stores.may_spoil(Operation::Fill, &list);
            prop_assert!(foreseen || !spoilt);
            prop_assert!(!stores.may_spoil(Operation::TouchLoad, &list));
            let same_grid = stride % list_stride == 0 && offset.abs_diff(list_offset) % list_stride == 0;
            prop_assert!(!(same_grid && foreseen), "the same grid keeps its lists");
        }
    }

    #[test]
    fn what_cannot_be_counted_takes_no_bytes() {
        assert_eq!(elements(1, 2, 3).range(), Some(8..56));
        assert_eq!(elements(0, 8, u64::MAX / 64 + 2).range(), None);
        assert_eq!(Elements { offset: Bytes(u64::MAX), ..elements(0, 2, 1) }.range(), None);
        assert_eq!(elements(0, 8, u64::MAX / 3 + 1).arrays(3), None);
        assert_eq!(elements(0, 8, 5).arrays(3), Some(elements(0, 8, 15)));
    }
}
