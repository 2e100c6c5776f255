//! The service of misses: how far each went, and what it took.

/// The distance of a miss, by requester and home: the classes of the FLASH dissertation's Table 5.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Distance {
    /// The home is the requester's node, and no other was involved.
    #[default]
    Local,
    /// The home is the requester's node, and another was involved: two hops.
    LocalThird,
    /// The home is another node, and no third was involved: two hops.
    Remote,
    /// The home is another node, and a third was involved: three hops.
    RemoteThird,
}

/// The transaction of a miss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Transaction {
    /// The home answered alone: clean.
    #[default]
    Clean,
    /// The owner of a dirty or exclusive copy received an intervention.
    Owned,
    /// Copies at other nodes were invalidated.
    Invalidating,
}

/// The service of a miss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Service {
    /// The distance.
    pub distance: Distance,
    /// The transaction.
    pub transaction: Transaction,
}

impl Distance {
    /// Every distance, nearest first.
    pub const ALL: [Self; 4] = [Self::Local, Self::LocalThird, Self::Remote, Self::RemoteThird];

    /// The distance of a miss: `local` if the home is the requester's node, `third` if another node was involved.
    pub const fn of(local: bool, third: bool) -> Self {
        match (local, third) {
            (true, false) => Self::Local,
            (true, true) => Self::LocalThird,
            (false, false) => Self::Remote,
            (false, true) => Self::RemoteThird,
        }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::LocalThird => "local-third",
            Self::Remote => "remote",
            Self::RemoteThird => "remote-third",
        }
    }

    /// Whether the home is the requester's node.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Local | Self::LocalThird)
    }
}

impl Transaction {
    /// Every transaction.
    pub const ALL: [Self; 3] = [Self::Clean, Self::Owned, Self::Invalidating];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Owned => "owned",
            Self::Invalidating => "invalidating",
        }
    }
}

impl Service {
    /// Number of services.
    pub const COUNT: usize = Distance::ALL.len() * Transaction::ALL.len();

    /// Every service.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |distance| Transaction::ALL.into_iter().map(move |transaction| Self { distance, transaction });
        Distance::ALL.into_iter().flat_map(of)
    }

    /// Its index in [`Service::all`].
    pub const fn index(self) -> usize {
        self.distance as usize * Transaction::ALL.len() + self.transaction as usize
    }
}

/// Number of misses by service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissCounts {
    reads: [u64; Service::COUNT],
    writes: [u64; Service::COUNT],
    /// Writes among them that already had a shared copy.
    pub upgrades: u64,
}

impl MissCounts {
    /// Misses of stores or of loads with this service.
    pub const fn of(&self, writes: bool, service: Service) -> u64 {
        if writes { self.writes[service.index()] } else { self.reads[service.index()] }
    }

    /// Counts a miss.
    pub(crate) fn count(&mut self, writes: bool, service: Service) {
        let counts = if writes { &mut self.writes } else { &mut self.reads };
        counts[service.index()] += 1;
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            reads: std::array::from_fn(|index| self.reads[index] - before.reads[index]),
            writes: std::array::from_fn(|index| self.writes[index] - before.writes[index]),
            upgrades: self.upgrades - before.upgrades,
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            reads: std::array::from_fn(|index| self.reads[index] + other.reads[index]),
            writes: std::array::from_fn(|index| self.writes[index] + other.writes[index]),
            upgrades: self.upgrades + other.upgrades,
        }
    }
}
