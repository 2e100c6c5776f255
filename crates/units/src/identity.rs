//! Identities: nodes, processors, routers, and addresses at three grains.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bytes;

macro_rules! identity {
    ($(#[$doc:meta])* $name:ident, $repr:ty, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// The number as an index into a per-object array.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

identity!(
    /// A compact node identifier (`cnodeid`): nodes are numbered from 0 without gaps.
    NodeId, u16, "n"
);
identity!(
    /// A compact processor identifier (`cpuid`): processors are numbered from 0 without gaps.
    CpuId, u16, "cpu"
);
identity!(
    /// A router, numbered from 0 in the order in which a topology creates them.
    RouterId, u16, "r"
);
identity!(
    /// A full-duplex link, numbered from 0 in the order in which a topology creates them.
    LinkId, u16, "link"
);
identity!(
    /// One direction of a link: channel `2 l` leaves the first end of link `l`, channel `2 l + 1` the second.
    ChannelId, u16, "ch"
);
identity!(
    /// A numbered port of a router; the Origin's routers count theirs from 1.
    Port, u16, "port"
);
identity!(
    /// A cache line: the physical address divided by the line size of the machine.
    LineAddr, u64, "line:"
);
identity!(
    /// A page: the physical address divided by the page size of the machine.
    PageAddr, u64, "page:"
);
identity!(
    /// A physical byte address.
    PhysicalAddr, u64, "phys:"
);
identity!(
    /// A virtual byte address: what programs name, of which the operating system says where it is.
    VirtualAddr, u64, "virt:"
);

impl ChannelId {
    /// The link that this channel is one direction of.
    #[inline]
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// The same link in the other direction.
    #[inline]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl PhysicalAddr {
    /// The cache line that holds this address. `line` is the line size, a power of two.
    #[inline]
    pub const fn line(self, line: Bytes) -> LineAddr {
        LineAddr(self.0 >> line.0.trailing_zeros())
    }

    /// The page that holds this address. `page` is the page size, a power of two.
    #[inline]
    pub const fn page(self, page: Bytes) -> PageAddr {
        PageAddr(self.0 >> page.0.trailing_zeros())
    }

    /// The address `bytes` further on.
    #[inline]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl VirtualAddr {
    /// The address `bytes` further on.
    #[inline]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

/// A number of things in words, of which one is a `name`: `1 page`, `2 pages`.
pub fn counted(number: u64, name: &str) -> String {
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

/// Prints ascending numbers as Linux does: `0-3,8`.
pub fn ranges(numbers: impl IntoIterator<Item = impl Into<usize>>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers.into_iter().map(Into::into) {
        match ranges.last_mut() {
            Some((_, last)) if number.checked_sub(1) == Some(*last) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}
