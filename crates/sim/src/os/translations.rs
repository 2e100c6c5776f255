//! Translations of virtual pages at each processor: the lookup of every reference.

use std::cell::Cell;
use std::rc::Rc;

use units::{PhysicalAddr, VirtualAddr};

/// The translation of a page: the address of its frame, with access rights in the bits below.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Translation(u64);

impl Translation {
    const READ: u64 = 1;
    const WRITE: u64 = 2;

    /// No translation: a reference traps.
    pub const NONE: Self = Self(0);

    /// A translation to the frame that begins at `frame`, for loads, and for stores if `writable`.
    pub const fn new(frame: PhysicalAddr, writable: bool) -> Self {
        Self(frame.0 | Self::READ | if writable { Self::WRITE } else { 0 })
    }
}

/// A processor's translations by virtual page. All processors share the same ones while no page moves; otherwise each
/// has the ones that were entered at its last TLB refills.
#[derive(Clone, Debug, Default)]
pub struct Translations {
    pages: Rc<[Cell<Translation>]>,
    page_shift: u32,
    /// Whether a translation may become outdated between TLB refills.
    changing: bool,
    /// The address space by large pages: whether each is mapped by one. Empty if none is.
    large: Rc<[bool]>,
    large_shift: u32,
}

impl Translations {
    /// Empty translations of `pages` pages of `1 << page_shift` bytes.
    pub fn new(pages: usize, page_shift: u32, changing: bool) -> Self {
        let pages = (0..pages).map(|_| Cell::default()).collect();
        Self { pages, page_shift, changing, large: Rc::default(), large_shift: 0 }
    }

    /// The same with these parts of the address space, of `1 << large_shift` bytes each, mapped by large pages.
    pub fn with_large(self, large: &[bool], large_shift: u32) -> Self {
        Self { large: large.into(), large_shift, ..self }
    }

    /// The tag of the TLB entry for `at`: its large page or, without one, the number `entry` of its small pages.
    #[inline]
    pub fn tag(&self, at: u64, entry: u64) -> u64 {
        /// Tells tags of large pages from those of small ones.
        const LARGE: u64 = 1 << 63;
        let page = at >> self.large_shift;
        if self.large.get(page as usize).is_some_and(|large| *large) { LARGE | page } else { entry }
    }

    /// The physical address of `at`, if its translation is valid for a store (`writes`) or a load.
    ///
    /// # Panics
    /// If the address lies in no mapped region, which is a fault of the program.
    #[inline]
    pub fn look_up(&self, at: VirtualAddr, writes: bool) -> Option<PhysicalAddr> {
        let Translation(bits) = self.pages[(at.0 >> self.page_shift) as usize].get();
        let needed = if writes { Translation::READ | Translation::WRITE } else { Translation::READ };
        let offset = (1 << self.page_shift) - 1;
        (bits & needed == needed).then_some(PhysicalAddr(bits & !offset | at.0 & offset))
    }

    /// Sets the translation of a virtual page.
    pub fn set(&self, page: usize, translation: Translation) {
        self.pages[page].set(translation);
    }

    /// The translation of a virtual page.
    pub fn get(&self, page: usize) -> Translation {
        self.pages[page].get()
    }

    /// Whether a translation may become outdated.
    pub fn is_changing(&self) -> bool {
        self.changing
    }

    /// A TLB miss on `at`, in an entry of `1 << entry_shift` bytes: if pages move, the translations that it covers are
    /// dropped. Large pages do not move.
    #[inline]
    pub fn missed(&self, at: u64, entry_shift: u32) {
        if self.changing {
            let first = (at >> entry_shift << (entry_shift - self.page_shift)) as usize;
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
        translations.missed(1 << 15, 15);
        assert!(translations.look_up(at, false).is_some(), "pages do not move");
    }

    #[test]
    fn an_entry_for_a_large_page_has_a_tag_of_its_own() {
        let translations = Translations::new(12, 14, false).with_large(&[false, true, false], 16);
        let tag = |page: u64| translations.tag(page << 14, page / 2);
        assert_eq!((tag(0), tag(3), tag(8), tag(11)), (0, 1, 4, 5), "small pages, two in an entry");
        assert!(tag(4) == tag(7) && tag(4) > 1 << 62, "{}", tag(4));
        assert_eq!(translations.tag(1 << 40, 7), 7, "beyond the address space");
    }

    #[test]
    fn where_pages_move_a_missing_entry_forgets_its_pages() {
        let translations = Translations::new(3, 14, true);
        (0..3).for_each(|page| translations.set(page, Translation::new(PhysicalAddr((page as u64) << 14), true)));
        translations.missed(0, 15);
        let known: Vec<_> = (0..3).map(|page| translations.get(page) != Translation::NONE).collect();
        assert_eq!(known, [false, false, true]);
        translations.missed(1 << 15, 15);
        assert_eq!(translations.get(2), Translation::NONE, "the last entry reaches beyond the last page");
    }
}
