//! What processors know of where virtual pages are: the look-up on the way of every reference.

use std::cell::Cell;
use std::rc::Rc;

use units::{PhysicalAddr, VirtualAddr};

/// Where a page is, and what may be done to it: the address of its frame, and rights in the bits below.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Translation(u64);

impl Translation {
    const READ: u64 = 1;
    const WRITE: u64 = 2;

    /// Nothing is known of the page: a reference traps.
    pub const NONE: Self = Self(0);

    /// The page is in the frame that begins at `frame`, to be loaded from, and stored to if `writable`.
    pub const fn new(frame: PhysicalAddr, writable: bool) -> Self {
        Self(frame.0 | Self::READ | if writable { Self::WRITE } else { 0 })
    }
}

/// A processor's translations, by virtual page. All processors have the same while no page ever moves; else each has what
/// its translation buffer was last filled with.
#[derive(Clone, Debug, Default)]
pub struct Translations {
    pages: Rc<[Cell<Translation>]>,
    page_shift: u32,
    /// Whether what was known may have become wrong by the time at which the translation buffer is filled again.
    changing: bool,
}

impl Translations {
    /// Nothing known of `pages` pages of `1 << page_shift` bytes.
    pub fn new(pages: usize, page_shift: u32, changing: bool) -> Self {
        Self { pages: (0..pages).map(|_| Cell::default()).collect(), page_shift, changing }
    }

    /// Where `at` is, if it is known and may be stored to (`writes`) or loaded from.
    ///
    /// # Panics
    /// If the address is in no region: the program's fault.
    #[inline]
    pub fn look_up(&self, at: VirtualAddr, writes: bool) -> Option<PhysicalAddr> {
        let Translation(bits) = self.pages[(at.0 >> self.page_shift) as usize].get();
        let needed = if writes { Translation::READ | Translation::WRITE } else { Translation::READ };
        let offset = (1 << self.page_shift) - 1;
        (bits & needed == needed).then_some(PhysicalAddr(bits & !offset | at.0 & offset))
    }

    /// A virtual page is known to be where `translation` says.
    pub fn set(&self, page: usize, translation: Translation) {
        self.pages[page].set(translation);
    }

    /// What is known of a virtual page.
    pub fn get(&self, page: usize) -> Translation {
        self.pages[page].get()
    }

    /// Whether what was known may have become wrong.
    pub fn is_changing(&self) -> bool {
        self.changing
    }

    /// The translation buffer has no entry for the `1 << entry_shift` bytes of number `entry`: if pages move, what was known
    /// of them no longer counts.
    #[inline]
    pub fn missed(&self, entry: u64, entry_shift: u32) {
        if self.changing {
            let first = (entry << (entry_shift - self.page_shift)) as usize;
            let last = (first + (1 << (entry_shift - self.page_shift))).min(self.pages.len());
            self.pages[first..last].iter().for_each(|page| page.set(Translation::NONE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_where_it_was_last_said_to_be() {
        let translations = Translations::new(3, 14, false);
        let at = VirtualAddr((2 << 14) + 40);
        assert_eq!(translations.look_up(at, false), None);
        translations.set(2, Translation::new(PhysicalAddr(7 << 14), false));
        assert_eq!(translations.look_up(at, false), Some(PhysicalAddr((7 << 14) + 40)));
        assert_eq!(translations.look_up(at, true), None, "it may only be read");
        translations.missed(1, 15);
        assert!(translations.look_up(at, false).is_some(), "pages do not move");
    }

    #[test]
    fn where_pages_move_a_missing_entry_forgets_its_pages() {
        let translations = Translations::new(3, 14, true);
        (0..3).for_each(|page| translations.set(page, Translation::new(PhysicalAddr((page as u64) << 14), true)));
        translations.missed(0, 15);
        let known: Vec<_> = (0..3).map(|page| translations.get(page) != Translation::NONE).collect();
        assert_eq!(known, [false, false, true]);
        translations.missed(1, 15);
        assert_eq!(translations.get(2), Translation::NONE, "the last entry reaches beyond the last page");
    }
}
