//! The plans of the suites that no thesis had: what one asks of any machine first.

use host::discovery::Relation;
use host::memory::PageKind;
use record::MLC_MIXES;
use units::{Bytes, CpuId, NodeId};

use super::plans::Collector;
use super::scope::SuiteScope;
use crate::{Experiment, Layout, Placement, Plan, Series, Settings, State, Traffic};

/// The areas of the hierarchy: from less than any first-level cache, four sizes an octave.
const SMALLEST_AREA: u64 = 4 << 10;
/// Up to here there are several areas an octave.
const DENSE: Bytes = Bytes::from_mib(64);
/// The memory over which the traffic of all processors together ranges at most, and that of each at least.
const TRAFFIC: Bytes = Bytes::from_mib(1024);
const LEAST_TRAFFIC: Bytes = Bytes::from_mib(8);
/// The pauses of a curve of latency against load, in cycles, from almost idle to as fast as can be.
const PAUSES: [u32; 7] = [4096, 1024, 256, 128, 64, 16, 0];
/// The mixes of reads and writes of such curves.
const MIXES: [(u32, u32); 3] = [(1, 0), (2, 1), (1, 1)];
/// The delays that Intel MLC injects between accesses for its loaded latencies, in cycles.
const DELAYS: [u32; 19] =
    [0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20_000];
/// Lines that a sample of a bandwidth moves, if they are to come from memory: a millisecond of one processor, which weighs
/// far more than getting up to speed and is seldom interrupted.
const STREAMED_LINES: u64 = 256 << 10;

/// Latency all over areas of growing size.
pub(super) fn hierarchy(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_with_memory();
    let Some(local) = collector.nearest(home) else { return collector.plans };
    let most =
        scope.settings.array.max(Bytes(4 * layout.l2.0)).max(Bytes(2 * layout.outermost.0)).min(scope.largest_area);
    for pages in scope.kinds_of_pages() {
        for array in areas(most, scope.areas_per_octave) {
            let settings = Settings { array, pages, ..scope.settings.clone() };
            let stride = settings.stride.min(Bytes(array.0 / 16));
            let settings = Settings { stride, ..settings };
            let placement = Placement::new(home, local, None);
            collector.add_with(Series::Hierarchy, Experiment::AreaRead, State::Uown, placement, settings);
        }
    }
    collector.plans
}

/// Areas whose latencies show a hierarchy: from 4 KiB, less than any first-level cache, to `most`, `steps` evenly from one power of
/// two to the next; beyond 64 MiB powers of two alone.
pub fn areas(most: Bytes, steps: u32) -> Vec<Bytes> {
    let octaves = (0..).map(|octave| SMALLEST_AREA << octave).take_while(|&size| size <= most.0);
    let within = |size: u64| (0..u64::from(steps)).map(move |step| size + size * step / u64::from(steps));
    // Beyond most caches one size an octave tells enough, and each takes a second.
    let worthwhile = |&size: &u64| size <= most.0 && (size <= DENSE.0 || size.is_power_of_two());
    octaves.flat_map(within).filter(worthwhile).map(Bytes).collect()
}

/// Every transaction between a requester and owners of every kind of nearness, with lines of the requester's node and, if
/// that is another, of the owner's.
pub(super) fn places(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_with_memory();
    let Some(local) = collector.nearest(home) else { return collector.plans };
    for home in collector.homes(local, None) {
        for (experiment, state) in [
            (Experiment::LmbenchRead, State::Uown),
            (Experiment::LmbenchRdex, State::Uown),
            (Experiment::RestartRead, State::Uown),
        ] {
            collector.add(Series::Places, experiment, state, Placement::new(home, local, None));
        }
    }
    for owner in representatives(layout, local) {
        for home in collector.homes(local, Some(owner)) {
            for (experiment, state) in [
                (Experiment::LmbenchRead, State::Shrd),
                (Experiment::LmbenchRdex, State::Shrd),
                (Experiment::LmbenchUpgrd, State::Shrd),
                (Experiment::LmbenchRead, State::Cexh),
                (Experiment::LmbenchRdex, State::Cexh),
                (Experiment::LmbenchRead, State::Cexm),
                (Experiment::LmbenchRead, State::Dexd),
                (Experiment::LmbenchRdex, State::Dext),
                (Experiment::LmbenchCas, State::Dext),
            ] {
                collector.add(Series::Places, experiment, state, Placement::new(home, local, Some(owner)));
            }
        }
    }
    collector.plans
}

/// Whether the distance between lines matters, which tells of caches that fetch more than one at a time: memory and the
/// nearest other processor's lines, with more and more lines left out.
pub(super) fn spacing(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_with_memory();
    let Some(local) = collector.nearest(home) else { return collector.plans };
    let owner = representatives(layout, local).first().copied();
    for spacing in [1, 2, 4, 8] {
        let settings = Settings { spacing, ..scope.settings.clone() };
        for (state, remote) in [(State::Uown, None), (State::Dexd, owner)] {
            if state == State::Uown || remote.is_some() {
                let placement = Placement::new(home, local, remote);
                collector.add_with(Series::Spacing, Experiment::LmbenchRead, state, placement, settings.clone());
            }
        }
    }
    collector.plans
}

/// One processor for each nearness to `local`, the first of them.
fn representatives(layout: &Layout, local: CpuId) -> Vec<CpuId> {
    let first = |relation| layout.cpus().find(|&cpu| layout.relation(local, cpu) == relation);
    Relation::ALL.into_iter().filter(|&relation| relation != Relation::Same).filter_map(first).collect()
}

/// Lines that every processor has modified, read, exchanged and stored to by every other, and handed back and forth; with
/// lines of the reader's node, of the writer's, and of a third.
pub(super) fn cores(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let cpus: Vec<CpuId> = layout.cpus().collect();
    for &local in &cpus {
        for &remote in cpus.iter().filter(|&&remote| remote != local) {
            for home in collector.homes(local, Some(remote)) {
                let placement = Placement::new(home, local, Some(remote));
                for (experiment, state) in [
                    (Experiment::LmbenchRead, State::Dexd),
                    (Experiment::LmbenchRdex, State::Dext),
                    (Experiment::LmbenchCas, State::Dext),
                ] {
                    collector.add(Series::Cores, experiment, state, placement.clone());
                }
                if local < remote {
                    collector.add(Series::Cores, Experiment::PingPong, State::Uown, placement);
                }
            }
        }
    }
    collector.plans
}

/// Latency and bandwidth of the memory of every node from every node with processors: of one processor, and of all of them.
pub(super) fn nodes(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    for home in layout.nodes().filter(|&node| layout.has_memory(node)) {
        for node in layout.nodes() {
            let cpus = layout.cpus_of(node);
            let Some(&local) = cpus.first() else { continue };
            let alone = Placement::new(home, local, None);
            collector.add(Series::Nodes, Experiment::LmbenchRead, State::Uown, alone.clone());
            collector.add_streaming(Series::Nodes, Experiment::BwRead, alone);
            if cpus.len() > 1 {
                if layout.real {
                    let together = Placement { home, locals: cpus.to_vec(), remotes: Vec::new() };
                    collector.add_streaming(Series::Nodes, Experiment::BwmpRead, together);
                } else {
                    // As in a program that runs for long: directories have what an earlier pass of the processors has left there.
                    let again = Placement::again(home, cpus.to_vec());
                    collector.add(Series::Nodes, Experiment::BwmpRead, State::Cexm, again);
                }
            }
        }
    }
    collector.plans
}

/// The bandwidth of one processor and of all on its node, by what is done to memory.
pub(super) fn bandwidth(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_with_memory();
    let Some(local) = collector.nearest(home) else { return collector.plans };
    let everyone = layout.cpus_of(layout.node_of(local).expect("it has a node")).to_vec();
    let mut crews = vec![vec![local]];
    if everyone.len() > 1 {
        crews.push(everyone);
    }
    for locals in crews {
        for experiment in [
            Experiment::BwRead,
            Experiment::BwRdsh,
            Experiment::BwReadNt,
            Experiment::BwWriteNt,
            Experiment::StreamCopy,
            Experiment::StreamScale,
            Experiment::StreamAdd,
            Experiment::StreamTriad,
        ] {
            let passes = experiment.kernel(0).passes_caches();
            if !passes || layout.passes_caches {
                let placement = Placement { home, locals: locals.clone(), remotes: Vec::new() };
                collector.add_streaming(Series::Bandwidth, experiment, placement);
            }
        }
    }
    collector.plans
}

/// Latency while the other processors of the node load its memory, at several mixes and paces.
pub(super) fn loaded(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_with_memory();
    let Some(local) = collector.nearest(home) else { return collector.plans };
    let node = layout.node_of(local).expect("it has a node");
    let mut locals = layout.cpus_of(node).to_vec();
    // Threads of the requester's own core would slow it down without any memory.
    locals.retain(|&cpu| layout.relation(local, cpu) != Relation::SmtSibling);
    if locals.len() < 2 {
        return collector.plans;
    }
    for (reads, writes) in MIXES.into_iter().take(scope.mixes) {
        for pause in PAUSES.into_iter().step_by(scope.every_pause) {
            let array = scope.settings.array.min(share_of(layout, locals.len() as u64));
            let settings = Settings { traffic: Traffic { reads, writes, pause }, array, ..scope.settings.clone() };
            let placement = Placement { home, locals: locals.clone(), remotes: Vec::new() };
            collector.add_with(Series::Loaded, Experiment::LoadedRead, State::Uown, placement, settings);
        }
    }
    collector.plans
}

/// Plans for the figures of Intel MLC under load of all processors ([`load_of_all`]): the latency by the delay between accesses,
/// and the bandwidths of its mixes of reads and writes, and of a loop like STREAM's triad.
pub(super) fn under_load(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let Some(placement) = load_of_all(layout) else { return collector.plans };
    let requesters = (placement.locals.len() + placement.remotes.len()) as u64;
    let array = scope.settings.array.min(share_of(layout, requesters));
    let reads = DELAYS.into_iter().step_by(scope.every_pause).map(|pause| (1, 0, pause));
    // Reads alone without a delay are the first of these already.
    let peaks = MLC_MIXES.into_iter().filter(|mix| mix.stores > 0).map(|mix| (mix.loads, mix.stores, 0));
    for (reads, writes, pause) in reads.chain(peaks) {
        let settings = Settings { traffic: Traffic { reads, writes, pause }, array, ..scope.settings.clone() };
        collector.add_with(Series::Loaded, Experiment::LoadedRead, State::Uown, placement.clone(), settings);
    }
    let settings = Settings { array, ..scope.settings.clone() };
    collector.add_with(Series::Loaded, Experiment::LoadedTriad, State::Uown, placement, settings);
    collector.plans
}

/// All processors that load the memory of their own nodes, as a placement of [`Experiment::LoadedRead`]: the first one of the first
/// node with memory measures, and other threads of its core are left out. `None` where there is no other.
pub fn load_of_all(layout: &Layout) -> Option<Placement> {
    let usable = |node: &NodeId| layout.has_memory(*node) && !layout.cpus_of(*node).is_empty();
    let home = layout.nodes().find(usable)?;
    let local = *layout.cpus_of(home).first()?;
    let disturbs = |cpu: CpuId| layout.relation(local, cpu) == Relation::SmtSibling;
    let of_node = |node: NodeId| layout.cpus_of(node).iter().copied().filter(|&cpu| !disturbs(cpu));
    let others = layout.nodes().filter(|node| *node != home && usable(node));
    let placement = Placement { home, locals: of_node(home).collect(), remotes: others.flat_map(of_node).collect() };
    (placement.locals.len() + placement.remotes.len() > 1).then_some(placement)
}

/// The array of each of so many processors that load memory.
fn share_of(layout: &Layout, requesters: u64) -> Bytes {
    Bytes(TRAFFIC.0 / requesters / layout.line.0 * layout.line.0).max(LEAST_TRAFFIC)
}

/// Lines that another cache has, read by the first processor of each node: clean and modified ones of another core of its node, and
/// modified ones of every other node, homed at the writer and at the reader.
pub(super) fn transfers(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    let readers: Vec<(NodeId, CpuId)> =
        layout.nodes().filter_map(|node| Some((node, *layout.cpus_of(node).first()?))).collect();
    let with_memory = |node: &NodeId| layout.has_memory(*node);
    if let Some(&(node, reader)) = readers.iter().find(|(node, _)| with_memory(node)) {
        let is_other_core =
            |&&cpu: &&CpuId| !matches!(layout.relation(reader, cpu), Relation::Same | Relation::SmtSibling);
        if let Some(&writer) = layout.cpus_of(node).iter().find(is_other_core) {
            for state in [State::Cexh, State::Dexd] {
                let placement = Placement::new(node, reader, Some(writer));
                collector.add(Series::Transfers, Experiment::LmbenchRead, state, placement);
            }
        }
    }
    for &(reads, reader) in &readers {
        for &(writes, writer) in readers.iter().filter(|&&(node, _)| node != reads) {
            for home in [writes, reads].into_iter().filter(|node| with_memory(node)) {
                let placement = Placement::new(home, reader, Some(writer));
                collector.add(Series::Transfers, Experiment::LmbenchRead, State::Dexd, placement);
            }
        }
    }
    collector.plans
}

/// A map of every node's memory, from its own processors or those nearest to it.
pub(super) fn regions(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let mut collector = Collector::new(layout, scope);
    for home in layout.nodes().filter(|&node| layout.has_memory(node)) {
        if let Some(local) = collector.nearest(home) {
            let settings = Settings { array: scope.mapped, ..scope.settings.clone() };
            let placement = Placement::new(home, local, None);
            collector.add_with(Series::Regions, Experiment::RegionRead, State::Uown, placement, settings);
        }
    }
    collector.plans
}

impl SuiteScope {
    /// The kinds of pages that a comparison of them runs over.
    fn kinds_of_pages(&self) -> Vec<Option<PageKind>> {
        if self.pages.is_empty() { vec![None] } else { self.pages.iter().copied().map(Some).collect() }
    }
}

impl Collector<'_> {
    /// The first node with memory, one with processors if there is any.
    pub(super) fn first_with_memory(&self) -> NodeId {
        let with_memory = || self.layout.nodes().filter(|&node| self.layout.has_memory(node));
        let both = with_memory().find(|&node| !self.layout.cpus_of(node).is_empty());
        both.or_else(|| with_memory().next()).unwrap_or(NodeId(0))
    }

    /// The first processor of the nearest node that has any.
    pub(super) fn nearest(&self, node: NodeId) -> Option<CpuId> {
        let nodes = std::iter::once(node).chain(self.layout.nodes_by_distance(node));
        nodes.into_iter().find_map(|node| self.first(node))
    }

    /// Where lines can be, relative to a requester and an owner: on the requester's node, on the owner's, and on the first
    /// other; as far as those have memory.
    pub(super) fn homes(&self, local: CpuId, owner: Option<CpuId>) -> Vec<NodeId> {
        let near = [Some(local), owner].into_iter().flatten().filter_map(|cpu| self.layout.node_of(cpu));
        let mut homes: Vec<NodeId> = near.filter(|&node| self.layout.has_memory(node)).collect();
        homes.dedup();
        let from = homes.first().copied().unwrap_or(NodeId(0));
        let third = self.layout.nodes_by_distance(from).into_iter();
        homes.extend(third.filter(|node| self.layout.has_memory(*node)).find(|node| !homes.contains(node)));
        homes
    }

    /// A bandwidth over so much memory that it comes from there, whatever the caches hold. Those of a simulated machine are empty, and
    /// nothing interrupts it: it takes the lines of any bandwidth.
    pub(super) fn add_streaming(&mut self, series: Series, experiment: Experiment, placement: Placement) {
        let streamed = self.layout.real.then_some(STREAMED_LINES / experiment.arrays());
        let settings = Settings { lines: self.scope.settings.lines.or(streamed), ..self.scope.settings.clone() };
        self.add_with(series, experiment, State::Uown, placement, settings);
    }
}
