//! The snooping MOESI and MESI buses as the explorer needs them.
//!
//! The protocols `moesi` and `mesi` are the bus alone. In `moesi-cluster` a cluster device takes part, and the other nodes
//! of the cluster are one unbounded opponent: it issues recalls, grants the rights that the device requests, and stores
//! whenever the node has no right to the line.

mod cluster;

use protocol::Access;
use protocol::Version;
use protocol::snoop::{Cache, Command, Moesi, Reply, Snooping};

use crate::bus::{
    Alone, Beyond, BusPlant, ExploredBus, MAX_CACHES, PlantedBus, bus_faults, explore_bus, run_bus_litmus,
};
use crate::config::{Config, Limits};
use crate::litmus::Consistency;
use crate::model::Property;
pub use cluster::Cluster;

/// Registry entries of the bus alone, and of the bus with a cluster device.
pub(crate) const PROTOCOLS: &[crate::Protocol] = &[
    registered::<true, Alone>(
        "moesi",
        "snooping MOESI bus of an SMP node: atomic transactions, owners supply (Lai and Falsafi 2000, Section 5)",
    ),
    registered::<true, Cluster>(
        "moesi-cluster",
        "the same bus with a cluster device, and other nodes that take the line away and give it back",
    ),
    registered::<false, Alone>("mesi", "snooping MESI bus: a read of a modified copy brings memory up to date"),
];

const fn registered<const OWNED: bool, O: Beyond<Snooping<OWNED>>>(
    name: &'static str,
    description: &'static str,
) -> crate::Protocol {
    crate::Protocol {
        name,
        description,
        transitions: protocol::snoop::TRANSITIONS,
        limits: Limits {
            caches: MAX_CACHES as u16,
            lines: 1,
            processors_per_node: 1,
            priority: 1,
            accesses: &[Access::Load, Access::Store],
        },
        configurations: || [2, 3, 4].map(loads_and_stores).to_vec(),
        faults: bus_faults::<Snooping<OWNED>, O>,
        consistency: Consistency::Sequential,
        explore: explore_bus::<Snooping<OWNED>, O>,
        litmus: run_bus_litmus::<Snooping<OWNED>, O>,
    }
}

fn loads_and_stores(caches: u16) -> Config {
    Config { accesses: vec![Access::Load, Access::Store], ..Config::new(caches, 1) }
}

/// Faults with the configuration in which each is found.
fn planted<B: ExploredBus, O: Beyond<B>, const N: usize>(
    faults: [(&'static str, Property, BusPlant<B, O>); N],
) -> Vec<PlantedBus<B, O>> {
    let planted = |(name, breaks, plant)| PlantedBus { name, breaks, config: loads_and_stores(3), plant };
    faults.map(planted).into()
}

impl<const OWNED: bool> ExploredBus for Snooping<OWNED> {
    fn pack_cache(line: &Cache) -> u8 {
        let request = line.request.map_or(0, |command| 1 + command as u8);
        line.state as u8 | (line.version.0 as u8) << 3 | request << 5
    }

    fn unpack_cache(byte: u8) -> Cache {
        let request = usize::from(byte >> 5).checked_sub(1).map(|command| Command::ALL[command]);
        Cache { state: Moesi::ALL[usize::from(byte & 7)], version: Version((byte >> 3 & 3).into()), request }
    }

    #[rustfmt::skip]
    fn faults<O: Beyond<Self>>() -> Vec<PlantedBus<Self, O>> {
        use BusPlant::{DropMemoryWrite, Observe, Reply as Replied, Start};
        use Property as P;
        planted([
            // A cache keeps its copy when another cache takes the line to write.
            ("keep-copy", P::LatestValue, Observe(|before: &Cache, line: &mut Cache, command| if matches!(command, Command::ReadExclusive | Command::Upgrade) { *line = *before; })),
            // An owner leaves the supply of data to memory.
            ("owner-stays-silent", P::LatestValue, Replied(|_, reply| Reply { owner: None, ..reply })),
            // A modified copy is read, and neither stays owned (MOESI) nor updates memory (MESI).
            if OWNED {
                ("forget-ownership", P::DirectoryAgreement, Observe(|_, line: &mut Cache, command| if matches!((command, line.state), (Command::Read, Moesi::Owned)) { line.state = Moesi::Shared; }))
            } else {
                ("forget-update", P::DirectoryAgreement, DropMemoryWrite(|command| matches!(command, Command::ReadForeign)))
            },
            // A cache with a copy does not reply "shared".
            ("hide-copy", P::SingleWriter, Replied(|_, reply| Reply { shared: false, ..reply })),
            // An upgrade proceeds although the copy is gone.
            ("upgrade-nothing", P::ExpectedMessage, Observe(|before: &Cache, line: &mut Cache, _| if matches!(before.request, Some(Command::Upgrade)) { line.request = before.request; })),
            // The writeback buffer is not snooped.
            ("ignore-buffer", P::LatestValue, Replied(|line: &Cache, reply| if matches!(line.request, Some(Command::Writeback)) { Reply::default() } else { reply })),
            // A writeback proceeds although the line has changed owner.
            ("write-back-twice", if OWNED { P::ExpectedMessage } else { P::DirectoryAgreement }, Observe(|before: &Cache, line: &mut Cache, _| if matches!(before.request, Some(Command::Writeback)) { line.request = before.request; })),
            // An owned line is dropped as silently as a clean one.
            ("drop-owned", P::DirectoryAgreement, Start(|line: &mut Cache| if matches!(line.request, Some(Command::Writeback)) { *line = Cache::default(); })),
            // Memory ignores the data of a writeback.
            ("drop-writeback", P::DirectoryAgreement, DropMemoryWrite(|command| matches!(command, Command::Writeback))),
        ])
    }

    fn describe_cache(line: &Cache) -> String {
        let copy = if line.state == Moesi::Invalid { "I".to_owned() } else { format!("{:?}", line.state) };
        line.request.map_or(copy.clone(), |command| format!("{copy} requests {}", command.mnemonic()))
    }
}
