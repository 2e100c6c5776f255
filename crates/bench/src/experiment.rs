//! The experiments: which kernel is timed, which request it makes, in which states it means something.

use std::fmt;
use std::str::FromStr;

use record::Unit;
use serde::{Deserialize, Serialize};

use crate::platform::StreamOperation;
use crate::{Kernel, PlanError, State};

/// An experiment by the name that the thesis gives it (Prestor 2001 Tables 4.3 and 4.4, sections 4.2.3 and 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Bandwidth of independent loads.
    BwRead,
    /// Bandwidth of loads prefetched for reading.
    BwRdsh,
    /// Bandwidth of stores, nothing displaced.
    BwRdex,
    /// Bandwidth of stores, each displacing a dirty line.
    BwZero,
    /// Bandwidth of stores to lines that the requester shares.
    BwUpgrd,
    /// Bandwidth of loads of several requesters, all stopped by the first to finish.
    BwmpRead,
    /// Bandwidth of loads prefetched so that they displace little from the caches.
    BwReadNt,
    /// Bandwidth of whole lines stored past the caches.
    BwWriteNt,
    /// The loops of STREAM, each over three arrays.
    StreamCopy,
    /// `b = s * c`.
    StreamScale,
    /// `c = a + b`.
    StreamAdd,
    /// `a = b + s * c`.
    StreamTriad,
    /// Back-to-back latency of loads.
    LmbenchRead,
    /// Back-to-back latency of stores.
    LmbenchRdex,
    /// Back-to-back latency of stores to lines that the requester shares.
    LmbenchUpgrd,
    /// Back-to-back latency of atomic compare-and-swaps.
    LmbenchCas,
    /// One way of a line that is handed back and forth.
    PingPong,
    /// Latency of loads all over an array, at one size of it.
    AreaRead,
    /// Latency of loads by region of memory.
    RegionRead,
    /// Latency of loads while other processors load the memory with reads and writes.
    LoadedRead,
    /// The same while the others run STREAM's triad.
    LoadedTriad,
    /// Restart latency of loads.
    RestartRead,
    /// Restart latency of stores.
    RestartRdex,
    /// Access time of the read-use kernel at one array size and stride.
    P3Ru,
    /// Access time of the read-modify-write kernel at one array size and stride.
    P3Rmw,
}

/// Request of the requester at the home, as far as the preparation must distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// READ or RDSH: a copy to read.
    Read,
    /// RDEX: a copy to write.
    ReadExclusive,
    /// UPGRD: leave to write the copy that is there.
    Upgrade,
}

impl Experiment {
    /// All experiments.
    pub const ALL: [Self; 25] = [
        Self::BwRead,
        Self::BwRdsh,
        Self::BwRdex,
        Self::BwZero,
        Self::BwUpgrd,
        Self::BwmpRead,
        Self::BwReadNt,
        Self::BwWriteNt,
        Self::StreamCopy,
        Self::StreamScale,
        Self::StreamAdd,
        Self::StreamTriad,
        Self::LmbenchRead,
        Self::LmbenchRdex,
        Self::LmbenchUpgrd,
        Self::LmbenchCas,
        Self::PingPong,
        Self::AreaRead,
        Self::RegionRead,
        Self::LoadedRead,
        Self::LoadedTriad,
        Self::RestartRead,
        Self::RestartRdex,
        Self::P3Ru,
        Self::P3Rmw,
    ];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::BwRead => "bw-read",
            Self::BwRdsh => "bw-rdsh",
            Self::BwRdex => "bw-rdex",
            Self::BwZero => "bw-zero",
            Self::BwUpgrd => "bw-upgrd",
            Self::BwmpRead => "bwmp-read",
            Self::BwReadNt => "bw-read-nt",
            Self::BwWriteNt => "bw-write-nt",
            Self::StreamCopy => "stream-copy",
            Self::StreamScale => "stream-scale",
            Self::StreamAdd => "stream-add",
            Self::StreamTriad => "stream-triad",
            Self::LmbenchRead => "lmbench-read",
            Self::LmbenchRdex => "lmbench-rdex",
            Self::LmbenchUpgrd => "lmbench-upgrd",
            Self::LmbenchCas => "lmbench-cas",
            Self::PingPong => "ping-pong",
            Self::AreaRead => "area-read",
            Self::RegionRead => "region-read",
            Self::LoadedRead => "loaded-read",
            Self::LoadedTriad => "loaded-triad",
            Self::RestartRead => "restart-read",
            Self::RestartRdex => "restart-rdex",
            Self::P3Ru => "p3-ru",
            Self::P3Rmw => "p3-rmw",
        }
    }

    /// Its request at the home.
    pub fn request(self) -> Request {
        match self {
            Self::BwRead
            | Self::BwRdsh
            | Self::BwmpRead
            | Self::BwReadNt
            | Self::LmbenchRead
            | Self::RestartRead
            | Self::AreaRead
            | Self::RegionRead
            | Self::LoadedRead
            | Self::LoadedTriad
            | Self::P3Ru => Request::Read,
            Self::BwRdex
            | Self::BwZero
            | Self::BwWriteNt
            | Self::StreamCopy
            | Self::StreamScale
            | Self::StreamAdd
            | Self::StreamTriad
            | Self::LmbenchRdex
            | Self::LmbenchCas
            | Self::PingPong
            | Self::RestartRdex
            | Self::P3Rmw => Request::ReadExclusive,
            Self::BwUpgrd | Self::LmbenchUpgrd => Request::Upgrade,
        }
    }

    /// The kernel that is timed; for the restart experiments, the one with `work` additions.
    pub fn kernel(self, work: u32) -> Kernel {
        match self {
            Self::BwRead | Self::BwmpRead => Kernel::Sum,
            Self::BwRdsh => Kernel::SumPrefetch,
            Self::BwRdex | Self::BwZero | Self::BwUpgrd => Kernel::Fill,
            Self::BwReadNt => Kernel::SumNonTemporal,
            Self::BwWriteNt => Kernel::FillNonTemporal,
            Self::StreamCopy => Kernel::Stream(StreamOperation::Copy),
            Self::StreamScale => Kernel::Stream(StreamOperation::Scale),
            Self::StreamAdd => Kernel::Stream(StreamOperation::Add),
            Self::StreamTriad => Kernel::Stream(StreamOperation::Triad),
            Self::LmbenchRead | Self::RestartRead | Self::AreaRead | Self::RegionRead => Kernel::Walk { work },
            Self::LoadedRead | Self::LoadedTriad => Kernel::Walk { work },
            Self::LmbenchRdex | Self::LmbenchUpgrd | Self::RestartRdex => Kernel::Modify { work },
            Self::LmbenchCas => Kernel::CompareExchange,
            Self::PingPong => Kernel::PingPong,
            Self::P3Ru => Kernel::ReadUse,
            Self::P3Rmw => Kernel::ReadModifyWrite,
        }
    }

    /// The unit of its figures.
    pub fn unit(self) -> Unit {
        if self.is_bandwidth() { Unit::MegabytesPerSecond } else { Unit::Nanoseconds }
    }

    /// Whether it measures a bandwidth.
    pub fn is_bandwidth(self) -> bool {
        match self {
            Self::BwRead | Self::BwRdsh | Self::BwRdex | Self::BwZero | Self::BwUpgrd | Self::BwmpRead => true,
            Self::BwReadNt | Self::BwWriteNt => true,
            _ => self.is_stream(),
        }
    }

    /// Whether it is a loop of STREAM.
    pub fn is_stream(self) -> bool {
        self.arrays() > 1
    }

    /// Whether it is a restart search.
    pub fn is_restart(self) -> bool {
        matches!(self, Self::RestartRead | Self::RestartRdex)
    }

    /// Whether it is a point of a P3 diagram.
    pub fn is_p3(self) -> bool {
        matches!(self, Self::P3Ru | Self::P3Rmw)
    }

    /// Whether it is a latency while other processors load the memory.
    pub fn is_loaded(self) -> bool {
        matches!(self, Self::LoadedRead | Self::LoadedTriad)
    }

    /// Whether two processors take turns.
    pub fn is_ping_pong(self) -> bool {
        self == Self::PingPong
    }

    /// Whether it is measured over the whole of an array that is as it is in the middle of a long run, rather than on lines
    /// that were brought into a state.
    pub fn ranges_over_an_array(self) -> bool {
        self.is_p3() || self.is_loaded() || matches!(self, Self::AreaRead | Self::RegionRead)
    }

    /// How many arrays it works on, one after the other.
    pub fn arrays(self) -> u64 {
        self.kernel(0).arrays()
    }

    /// Lines moved by one step of its kernel, as STREAM counts them: those read and those written by the program.
    pub fn lines_per_step(self) -> u64 {
        match self.kernel(0) {
            Kernel::Stream(operation) => operation.arrays().0.len() as u64 + 1,
            _ => 1,
        }
    }

    /// Whether its kernel follows the pointers of a list, whose order the platform chooses.
    pub fn walks_a_list(self) -> bool {
        self.kernel(0).walks_a_list()
    }

    /// The order in which a kernel that walks no list visits its elements.
    pub fn order(self) -> &'static str {
        if self.is_ping_pong() { "one line at a time" } else { "ascending" }
    }

    /// The states in which it means something (Prestor 2001 Tables 4.1 and 4.6): an upgrade needs a shared copy, a
    /// downgrade a read and a transfer a write; lines displaced by `bw-zero` do not fit a remote cache either, and what
    /// ranges over an array or hands a line back and forth finds the states that it makes itself.
    pub fn states(self) -> &'static [State] {
        match self {
            Self::BwUpgrd | Self::LmbenchUpgrd => &[State::Shrd],
            Self::BwZero => &[State::Uown, State::Shrd, State::Cexm],
            Self::PingPong | Self::BwWriteNt => &[State::Uown],
            _ if self.ranges_over_an_array() || self.is_stream() => &[State::Uown],
            _ if self.request() == Request::Read => &[State::Uown, State::Shrd, State::Cexh, State::Cexm, State::Dexd],
            _ => &[State::Uown, State::Shrd, State::Cexh, State::Cexm, State::Dext],
        }
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Experiment {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        Self::ALL.into_iter().find(|experiment| experiment.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(" ");
            PlanError::new("EXPERIMENT", name, "unknown experiment", names)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_serialised_alike() {
        for experiment in Experiment::ALL {
            assert_eq!(experiment.name().parse(), Ok(experiment));
            assert_eq!(serde_json::to_value(experiment).expect("a string"), experiment.name());
        }
        for state in State::ALL {
            assert_eq!(state.name().to_lowercase().parse(), Ok(state));
            assert_eq!(serde_json::to_value(state).expect("a string"), state.name());
        }
    }

    #[test]
    fn dirty_owners_distinguish_reads_from_writes() {
        for experiment in Experiment::ALL {
            let downgrades = experiment.states().contains(&State::Dexd);
            let transfers = experiment.states().contains(&State::Dext);
            assert!(!downgrades || experiment.request() == Request::Read, "{experiment}");
            assert!(!transfers || experiment.request() == Request::ReadExclusive, "{experiment}");
        }
    }
}
