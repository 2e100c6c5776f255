//! Transactions of servers from the first message to the last: what is snooped, what waits for memory, and who supplies.

use std::collections::VecDeque;

use protocol::server::{
    Bits, CachingLine, CachingOutcome, CachingSite, ClusterState, CoreLine, CoreSite, Design, HomeKind, HomeLine,
    HomeOutcome, HomeSite, L3, L3Copy, Leaves, Message, MessageKind, Replaced, Sharing, access, at_caching_agent,
    at_core, at_home, evict, evict_directory_cache, evict_filter, evict_l3, evict_probe_filter,
};
use protocol::{Access, Agent, CopyState};
use units::{CpuId, LineAddr, NodeId};

const LINE: LineAddr = LineAddr(3);
const HOME: NodeId = NodeId(0);

/// One line on a machine of two clusters of two cores, whose messages arrive in the order in which they were sent.
struct World {
    design: Design,
    local: Option<NodeId>,
    cores: [CoreLine; 4],
    agents: [CachingLine; 2],
    home: HomeLine,
    queue: VecDeque<Message>,
    /// Messages sent, and when they left.
    log: Vec<(MessageKind, Leaves)>,
    /// Memory accesses: reads, writes and writes of directory bits.
    memory: (u32, u32, u32),
}

impl World {
    fn new(l3: L3, sharing: Sharing, home: HomeKind, local: Option<NodeId>) -> Self {
        let design = Design { clusters: 2, cores: 2, l3, sharing, home };
        assert_eq!(design.check(), Ok(()));
        Self {
            design,
            local,
            cores: Default::default(),
            agents: Default::default(),
            home: HomeLine::default(),
            queue: VecDeque::new(),
            log: Vec::new(),
            memory: (0, 0, 0),
        }
    }

    fn haswell() -> Self {
        Self::new(L3::Inclusive, Sharing::Mesif, HomeKind::HomeSnoop, Some(HOME))
    }

    fn early() -> Self {
        Self::new(L3::Inclusive, Sharing::Mesif, HomeKind::EarlySnoop, Some(HOME))
    }

    fn skylake(cached: bool) -> Self {
        Self::new(L3::Victim, Sharing::Mesif, HomeKind::Directory { cached }, Some(HOME))
    }

    fn zen() -> Self {
        Self::new(L3::Victim, Sharing::Moesi, HomeKind::ProbeFilter, None)
    }

    /// Performs an access to its end; returns the messages that were sent since.
    fn access(&mut self, core: usize, kind: Access) -> Vec<(MessageKind, Leaves)> {
        let site = CoreSite { core: CpuId(core as u16), line: LINE };
        let queue = &mut self.queue;
        access(&mut self.cores[core], &self.design, &site, kind, &mut |message| queue.push_back(message));
        self.run()
    }

    fn evict(&mut self, core: usize) -> Vec<(MessageKind, Leaves)> {
        let site = CoreSite { core: CpuId(core as u16), line: LINE };
        let queue = &mut self.queue;
        evict(&mut self.cores[core], &self.design, &site, &mut |message| queue.push_back(message));
        self.run()
    }

    fn replace(&mut self, cluster: usize, filter: bool) -> Vec<(MessageKind, Leaves)> {
        let site = CachingSite { cluster: NodeId(cluster as u16), line: LINE, home: HOME };
        let queue = &mut self.queue;
        let mut push = |message| queue.push_back(message);
        let replaced = if filter {
            evict_filter(&mut self.agents[cluster], &self.design, &site, &mut push)
        } else {
            evict_l3(&mut self.agents[cluster], &self.design, &site, &mut push)
        };
        assert_ne!(replaced, Replaced::Busy);
        self.run()
    }

    fn home_site(&self) -> HomeSite {
        HomeSite { home: HOME, line: LINE, local: self.local }
    }

    /// Delivers messages until there are none.
    fn run(&mut self) -> Vec<(MessageKind, Leaves)> {
        self.log.clear();
        self.log.extend(self.queue.iter().map(|message| (message.kind, Leaves::AtOnce)));
        while let Some(message) = self.queue.pop_front() {
            let mut sent = Vec::new();
            let busy = match message.to {
                Agent::Processor(core) => {
                    let site = CoreSite { core, line: LINE };
                    let push = &mut |message| sent.push((message, Leaves::AtOnce));
                    at_core(&mut self.cores[core.index()], &self.design, &site, &message, push).expect("possible");
                    false
                }
                Agent::Interface(cluster) => {
                    let site = CachingSite { cluster, line: LINE, home: HOME };
                    let push = &mut |message| sent.push((message, Leaves::AtOnce));
                    let at = &mut self.agents[cluster.index()];
                    at_caching_agent(at, &self.design, &site, &message, push).expect("possible") == CachingOutcome::Busy
                }
                _ => {
                    let site = self.home_site();
                    let push = &mut |message, leaves| sent.push((message, leaves));
                    match at_home(&mut self.home, &self.design, &site, &message, false, push).expect("possible") {
                        HomeOutcome::Busy => true,
                        HomeOutcome::Done(work) => {
                            self.memory.0 += u32::from(work.memory_read);
                            self.memory.1 += u32::from(work.memory_write);
                            self.memory.2 += u32::from(work.bits_write);
                            false
                        }
                    }
                }
            };
            if busy {
                self.queue.push_back(message);
            }
            self.log.extend(sent.iter().map(|&(message, leaves)| (message.kind, leaves)));
            self.queue.extend(sent.into_iter().map(|(message, _)| message));
        }
        self.log.clone()
    }
}

/// When a message of this type left, if one did.
fn left(log: &[(MessageKind, Leaves)], kind: MessageKind) -> Option<Leaves> {
    log.iter().find(|(sent, _)| *sent == kind).map(|&(_, leaves)| leaves)
}

/// On Skylake, a modified line that is homed at its reader is snooped for when the directory bits have been read; one that
/// is homed at its writer is found by the home's own look-up. On Haswell, neither waits for memory.
#[test]
fn a_directory_in_memory_delays_the_snoop_of_a_line_homed_at_its_reader() {
    for (reader, writer, waits) in [(0, 2, Leaves::AfterMemory), (2, 0, Leaves::AtOnce)] {
        for (mut world, expected) in [(World::skylake(true), waits), (World::haswell(), Leaves::AtOnce)] {
            world.access(writer, Access::Store);
            let log = world.access(reader, Access::Load);
            assert_eq!(left(&log, MessageKind::SnoopData), Some(expected), "reader {reader}: {log:?}");
            assert!(left(&log, MessageKind::ForwardedData).is_some(), "{log:?}");
            assert!(left(&log, MessageKind::Data).is_none(), "{log:?}");
            assert_eq!(world.cores[reader].copy, CopyState::SHARED);
            assert_eq!(world.cores[reader].contents, world.cores[writer].contents);
            assert_eq!(world.home.memory, world.cores[writer].contents, "MESIF writes shared data back");
        }
    }
}

/// A line that has moved between sockets is in the directory cache: the next snoop does not wait for memory. Without the
/// entry, it does.
#[test]
fn a_directory_cache_saves_the_wait_for_memory() {
    let mut world = World::skylake(true);
    world.access(2, Access::Store);
    world.access(0, Access::Store);
    world.access(2, Access::Store);
    assert_eq!(world.home.bits, Bits::Any);
    let log = world.access(0, Access::Load);
    assert!(world.home.entry.is_some());
    assert_eq!(left(&log, MessageKind::SnoopData), Some(Leaves::AtOnce), "{log:?}");
    world.access(2, Access::Store);
    evict_directory_cache(&mut world.home).expect("nothing is under way");
    let log = world.access(0, Access::Load);
    assert_eq!(left(&log, MessageKind::SnoopData), Some(Leaves::AfterMemory), "{log:?}");
}

/// A clean line in another core: an inclusive L3 that knows it to be shared answers itself, a victim L3 has the core supply
/// it.
#[test]
fn an_inclusive_l3_answers_shared_lines_and_a_victim_l3_does_not() {
    for (mut world, snoops) in [(World::haswell(), false), (World::skylake(false), true)] {
        world.access(0, Access::InstructionFetch);
        let log = world.access(1, Access::Load);
        assert_eq!(left(&log, MessageKind::CoreSnoopData).is_some(), snoops, "{log:?}");
        assert!(left(&log, MessageKind::ReadData).is_none(), "{log:?}");
    }
}

/// Modified data in another core of the cluster are supplied without the home, and the L3 takes them.
#[test]
fn modified_data_pass_through_the_l3() {
    for mut world in [World::haswell(), World::skylake(true), World::zen()] {
        world.access(0, Access::Store);
        let log = world.access(1, Access::Load);
        let kinds: Vec<_> = log.iter().map(|&(kind, _)| kind).collect();
        use MessageKind::{CoreRead, CoreRspSData, CoreSnoopData, GoData};
        assert_eq!(kinds, [CoreRead, CoreSnoopData, CoreRspSData, GoData]);
        assert_eq!(world.agents[0].l3, L3Copy::Dirty);
    }
}

/// Reads of a remote cluster write the directory bits, and a probe filter in the home does not.
#[test]
fn the_first_remote_read_writes_the_directory_bits() {
    let mut world = World::skylake(true);
    world.access(2, Access::Load);
    assert_eq!((world.home.bits, world.memory), (Bits::Any, (1, 0, 1)));
    let mut world = World::zen();
    world.access(2, Access::Load);
    assert_eq!(world.memory, (1, 0, 0));
}

/// MOESI: dirty data are shared and not written to memory; the owner supplies the next reader.
#[test]
fn an_owner_shares_dirty_data_without_memory() {
    let mut world = World::zen();
    world.access(0, Access::Store);
    let (_, writes, _) = world.memory;
    world.access(2, Access::Load);
    assert_eq!(world.agents[0].state, ClusterState::Owned);
    assert_eq!(world.memory.1, writes);
    world.evict(2);
    world.replace(1, false);
    let log = world.access(3, Access::Load);
    assert_eq!(left(&log, MessageKind::ForwardedData), Some(Leaves::AtOnce), "{log:?}");
    assert_eq!(world.memory.0, 1, "only the first access has read memory");
}

/// With early snoop, the requester's agent snoops beside its request, and the home completes the read.
#[test]
fn early_snoops_are_sent_beside_the_request() {
    let mut world = World::early();
    world.access(2, Access::Store);
    let log = world.access(0, Access::Load);
    let position = |kind| log.iter().position(|&(sent, _)| sent == kind).expect("sent");
    assert_eq!(position(MessageKind::SnoopData), position(MessageKind::ReadData) + 1);
    assert!(position(MessageKind::GoData) < position(MessageKind::CompletionAck));
    assert_eq!(world.home.memory, world.cores[0].contents);
}

/// A replacement in the snoop filter takes the line from the cores, and the L3 keeps modified data.
#[test]
fn a_filter_replacement_invalidates_cores() {
    let mut world = World::skylake(true);
    world.access(0, Access::Store);
    let stored = world.cores[0].contents;
    world.replace(0, true);
    assert_eq!(world.cores[0].copy, CopyState::INVALID);
    assert_eq!((world.agents[0].l3, world.agents[0].contents, world.agents[0].cores), (L3Copy::Dirty, stored, 0));
    world.replace(0, false);
    assert_eq!((world.agents[0].state, world.home.memory), (ClusterState::Invalid, stored));
}

/// A replacement in the probe filter takes the line from every cluster.
#[test]
fn a_probe_filter_replacement_invalidates_clusters() {
    let mut world = World::zen();
    world.access(0, Access::Store);
    world.access(2, Access::Load);
    let site = world.home_site();
    let queue = &mut world.queue;
    evict_probe_filter(&mut world.home, &world.design, &site, &mut |message, _| queue.push_back(message))
        .expect("nothing is under way");
    world.run();
    assert_eq!(world.home.entry, None);
    assert!(world.cores.iter().all(|core| !core.copy.is_valid()));
    assert!(world.agents.iter().all(|agent| agent.state == ClusterState::Invalid));
    assert_eq!(world.home.memory.0, 1);
}
