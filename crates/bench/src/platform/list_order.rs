//! The order in which lists are walked, on real and simulated machines.

use host::kernels::list::Order;
use units::Bytes;

/// In which order lists are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// By address; hardware prefetchers follow.
    Ascending,
    /// At random all over the list: prefetchers and translation gain nothing.
    #[default]
    Random,
    /// At random within a page, page by page at random: translation misses once a page.
    PageLocal,
}

impl ListOrder {
    const ALL: [Self; 3] = [Self::Ascending, Self::Random, Self::PageLocal];

    /// The order in words, as records name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Random => "random",
            Self::PageLocal => "random within pages",
        }
    }

    /// The order of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    /// The order of one list.
    pub(super) fn of(self, page: Bytes, seed: u64) -> Order {
        match self {
            Self::Ascending => Order::Ascending,
            Self::Random => Order::Random { seed },
            Self::PageLocal => Order::PageLocal { page, seed },
        }
    }
}
