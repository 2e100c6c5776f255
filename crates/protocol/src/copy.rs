//! State of a cached copy as a processor uses it: its rights, and whether the copy is newer than memory.
//!
//! A cache holds one byte per copy. Three bits are the same for every processor: the right to read or to write without
//! a request, and whether an eviction must write the copy back. The other five are a tag of the protocol: list states,
//! forwarders and other states that only the protocol distinguishes. One cache therefore serves every protocol, with a
//! single hit rule.

use std::fmt;

use crate::Access;

/// Rights of a processor to its copy of a line: the accesses that need no request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Rights {
    /// None: there is no copy.
    #[default]
    None,
    /// Loads; other caches may have copies.
    Read,
    /// Loads and stores; there is no other copy.
    Write,
}

/// State of a cached copy in one byte: rights in bits 0 and 1, newer than memory in bit 2, the protocol's tag in bits 3
/// to 7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CopyState(u8);

impl CopyState {
    /// No copy.
    pub const INVALID: Self = Self::new(Rights::None, false);
    /// Read-only copy that need not be written back.
    pub const SHARED: Self = Self::new(Rights::Read, false);
    /// The only copy, same as memory.
    pub const EXCLUSIVE: Self = Self::new(Rights::Write, false);
    /// Read-only copy that is newer than memory: its cache writes it back.
    pub const OWNED: Self = Self::new(Rights::Read, true);
    /// The only copy, newer than memory.
    pub const MODIFIED: Self = Self::new(Rights::Write, true);

    /// Number of tags that a protocol can give a copy: 0 to 31.
    pub const TAGS: u8 = 32;
    const DIRTY: u8 = 1 << 2;
    const TAG_SHIFT: u32 = 3;

    /// Creates a state with tag 0.
    #[inline]
    pub const fn new(rights: Rights, dirty: bool) -> Self {
        Self(rights as u8 | if dirty { Self::DIRTY } else { 0 })
    }

    /// The same state with the protocol's `tag`, below [`Self::TAGS`].
    #[inline]
    #[must_use]
    pub const fn with_tag(self, tag: u8) -> Self {
        debug_assert!(tag < Self::TAGS);
        Self(self.0 & ((1 << Self::TAG_SHIFT) - 1) | tag << Self::TAG_SHIFT)
    }

    /// Rights of the processor.
    #[inline]
    pub const fn rights(self) -> Rights {
        match self.0 & 3 {
            0 => Rights::None,
            1 => Rights::Read,
            _ => Rights::Write,
        }
    }

    /// Whether there is a copy.
    #[inline]
    pub const fn is_valid(self) -> bool {
        self.0 & 3 != 0
    }

    /// Whether the copy is newer than memory, so that an eviction writes it back.
    #[inline]
    pub const fn is_dirty(self) -> bool {
        self.0 & Self::DIRTY != 0
    }

    /// The protocol's tag.
    #[inline]
    pub const fn tag(self) -> u8 {
        self.0 >> Self::TAG_SHIFT
    }

    /// The state as a byte.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// State of a byte that [`Self::bits`] returned.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The hit rule: the state after an access that hits, or `None` if the access needs a request. A load needs the
    /// right to read and a store the right to write, and a store makes the copy newer than memory. A page copy engine
    /// reads memory, so its reads never hit.
    #[inline]
    pub const fn after(self, access: Access) -> Option<Self> {
        match (self.rights(), access) {
            (Rights::None, _) | (_, Access::PoisonRead) => None,
            (Rights::Read, Access::Store | Access::WritePrefetch) => None,
            (Rights::Write, Access::Store | Access::WritePrefetch) => Some(Self(self.0 | Self::DIRTY)),
            (
                Rights::Read | Rights::Write,
                Access::Load | Access::InstructionFetch | Access::ReadPrefetch | Access::UncachedRead,
            ) => Some(self),
        }
    }
}

/// Debug name: one of the five combinations in use, with the tag if it is not 0.
impl fmt::Debug for CopyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.rights(), self.is_dirty()) {
            (Rights::None, _) => "Invalid",
            (Rights::Read, false) => "Shared",
            (Rights::Read, true) => "Owned",
            (Rights::Write, false) => "Exclusive",
            (Rights::Write, true) => "Modified",
        })?;
        if self.tag() != 0 { write!(f, "({})", self.tag()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_holds_rights_dirtiness_and_a_tag() {
        for (rights, dirty) in [
            (Rights::None, false),
            (Rights::Read, false),
            (Rights::Read, true),
            (Rights::Write, false),
            (Rights::Write, true),
        ] {
            for tag in 0..CopyState::TAGS {
                let state = CopyState::new(rights, dirty).with_tag(tag);
                assert_eq!((state.rights(), state.is_dirty(), state.tag()), (rights, dirty, tag));
                assert_eq!(CopyState::from_bits(state.bits()), state);
                assert_eq!(state.is_valid(), rights != Rights::None);
            }
        }
    }

    #[test]
    fn a_store_hits_only_where_it_may_write_and_keeps_the_tag() {
        assert_eq!(CopyState::SHARED.after(Access::Store), None);
        assert_eq!(CopyState::OWNED.after(Access::Store), None, "others have copies");
        assert_eq!(CopyState::EXCLUSIVE.after(Access::Store), Some(CopyState::MODIFIED));
        assert_eq!(CopyState::EXCLUSIVE.with_tag(7).after(Access::Store), Some(CopyState::MODIFIED.with_tag(7)));
        assert_eq!(CopyState::OWNED.after(Access::Load), Some(CopyState::OWNED));
        for access in Access::ALL {
            assert_eq!(CopyState::INVALID.after(access), None);
        }
        assert_eq!(CopyState::MODIFIED.after(Access::PoisonRead), None);
    }
}
