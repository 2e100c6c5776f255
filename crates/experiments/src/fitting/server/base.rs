//! The values of a description before anything is tuned, and those that measurements decide.

use machine::Description;
use machine::description::OnDieNetwork;

use super::cores;
use super::layout::{Laid, lay_out};
use super::observed::{Home, Kind, Observation, Place, measured};
use super::structure::{Family, Nearness, Structure};
use super::tuning::Tunable;
use super::values::Values;
use crate::variant::HITME;

/// A penalty of lines that are homed at their reader above this share of what memory takes longer than the third-level cache tells of
/// a directory in memory: it is a read of memory in place of a look-up (servers of Skylake-SP: 1.0 to 1.2 of it; of Haswell-EP: 0).
const DIRECTORY_SHARE: f64 = 0.4;
/// The most entries of a directory cache or probe filter that a description can have.
const MOST_ENTRIES: u64 = 1 << 24;
/// Snoop filters hold more lines than the cores they watch over have, by this factor (Skylake-SP: 24 Ki lines for 16 Ki).
const FILTER_OVER_CACHES: f64 = 1.5;

/// The link of a memory node, before its memory has been measured.
const MEMORY_LINK: [(&str, f64); 4] = [("latency_ns", 70.0), ("header_ns", 0.5), ("line_ns", 2.5), ("credits", 64.0)];

/// Whether homes keep a directory in memory, by the `penalty` of lines that are homed at their reader; as the family if nothing tells.
pub(super) fn has_directory(structure: &Structure, penalty: Option<f64>, observed: &[Observation]) -> bool {
    let of = |kind| measured(observed, kind);
    let read = of(Kind::Memory(Place::Local)).zip(of(Kind::Level(3))).map(|(memory, l3)| memory - l3);
    match (structure.family, penalty.zip(read)) {
        (Family::Zen2, _) => false,
        (_, Some((penalty, read))) => penalty > DIRECTORY_SHARE * read,
        (family, None) => family == Family::SkylakeSp,
    }
}

/// The structure, with the values of its family, and homes with or without a `directory`, which is `shown` by a measurement or assumed.
pub(super) fn values(structure: &Structure, clock_mhz: f64, directory: bool, shown: bool) -> Values {
    let mut values = Values::new(format!("as measured: {}", structure.title), structure.family.name());
    let laid = lay_out(structure);
    topology(&mut values, structure);
    cores::set(&mut values, structure.microarchitecture.as_deref());
    values.set("tlb", "page_kib", structure.page.0 >> 10, "announced");
    if let Some(vector) = structure.vector {
        values.set("processor", "vector_bytes", vector.0, "announced: what the measured STREAM loops use");
    }
    caches(&mut values, structure, clock_mhz);
    network(&mut values, structure, &laid);
    homes(&mut values, structure, laid.controllers, (directory, shown));
    values.set("memory", "controllers", laid.controllers, "assumed: memory controllers are not announced");
    if structure.memory_nodes > 0 {
        for (key, value) in MEMORY_LINK {
            values.set("memory_link", key, value, "assumed: eight lanes of 32 GT/s (CXL)");
        }
    }
    if structure.sockets > 4 {
        values.set("socket_link", "links", structure.sockets - 1, "assumed: every two sockets are joined");
    }
    values
}

fn topology(values: &mut Values, structure: &Structure) {
    values.set("topology", "processors", structure.cores(), "announced: cores");
    let of_node = structure.cores_per_socket / structure.nodes_per_socket;
    values.set("topology", "processors_per_node", of_node, "announced");
    if structure.memory_nodes > 0 {
        values.set("topology", "memory_nodes", structure.memory_nodes, "announced");
    }
    let memory = structure.node_memory.0 >> 20;
    values.set("topology", "node_memory_mib", memory, "announced, as far as an address can hold");
}

fn caches(values: &mut Values, structure: &Structure, clock_mhz: f64) {
    values.set("processor", "clock_mhz", clock_mhz.round(), "measured");
    if structure.threads > 1 {
        values.set("processor", "threads", structure.threads, "announced");
    }
    let line = structure.line.0;
    for (table, shape) in [("l1", structure.l1), ("l2", structure.l2)] {
        match table {
            "l1" => values.set(table, "size_kib", shape.size.0 >> 10, "announced"),
            _ => values.set(table, "size_mib", shape.size.0 as f64 / f64::from(1 << 20), "announced"),
        }
        values.set(table, "ways", shape.ways, "announced");
        values.set(table, "line_bytes", line, "announced");
    }
    values.set("l2", "bus_clock_mhz", clock_mhz.round(), "assumed: the cores' clock");
    values.set("l2", "bus_width_bytes", line, "assumed: a line a cycle");
    values.set("l2", "fill_block_bytes", line, "assumed: a line");
    let slice = structure.l3.size.0 / u64::from(structure.slices_per_cluster);
    let source = format!("announced: {} a core cluster", structure.l3.size);
    values.set("l3_slice", "size_kib", slice >> 10, source);
    values.set("l3_slice", "ways", structure.l3.ways, "announced");
    if structure.family == Family::Zen2 {
        values.set("l3_slice", "clock_mhz", clock_mhz.round(), "assumed: the cores' clock");
    }
    if structure.family == Family::SkylakeSp {
        let lines = structure.l2.size.0 / line * u64::from(structure.cores_per_cluster());
        let sets = FILTER_OVER_CACHES * lines as f64 / f64::from(structure.slices_per_cluster) / 12.0;
        let sets = (sets.max(1.0) as u64).next_power_of_two();
        values.set("l3_slice", "filter_sets", sets, "assumed: half as many lines again as second-level caches");
        values.set("l3_slice", "filter_ways", 12, "default: skylake-sp");
    }
}

fn network(values: &mut Values, structure: &Structure, laid: &Laid) {
    let spelled = match laid.network {
        OnDieNetwork::Rings => "rings",
        OnDieNetwork::Mesh => "mesh",
        OnDieNetwork::IoDie => "io-die",
    };
    let family = structure.family.name();
    values.set("server", "network", format!("\"{spelled}\""), format!("assumed: as {family}"));
    values.set("server", "sockets", structure.sockets, "announced");
    values.set("server", "nodes_per_socket", structure.nodes_per_socket, "announced");
    values.set("server", "clusters_per_socket", structure.clusters_per_socket, "announced: third-level caches");
    if laid.network == OnDieNetwork::IoDie {
        values.set("server", "cores_per_cluster", structure.cores_per_cluster(), "announced");
        values.set(
            "server",
            "slices_per_cluster",
            structure.slices_per_cluster,
            "assumed: a power of two of sets each",
        );
        values.set("server", "clusters_per_die", laid.clusters_per_die, format!("assumed: as {family}"));
    }
    let rows: Vec<String> = laid.rows.iter().map(|row| format!("    \"{row}\",\n")).collect();
    values.set("server", "layout", format!("[\n{}]", rows.concat()), "assumed: no measurement shows positions");
}

/// Homes of a node with so many memory `controllers`, with a directory or without, as `shown` by a measurement or assumed.
fn homes(values: &mut Values, structure: &Structure, controllers: u32, (directory, shown): (bool, bool)) {
    let source = match shown {
        true => "measured: lines homed at their reader",
        false => "default: of the family; nothing measured shows it",
    };
    match (structure.family, directory) {
        (Family::Zen2, _) => {
            let lines = structure.l3.size.0 / structure.line.0 * u64::from(structure.clusters_per_socket);
            let of_socket = u64::from(controllers * structure.nodes_per_socket);
            let entries = (2 * lines / of_socket).next_power_of_two().clamp(1 << 17, MOST_ENTRIES);
            values.set("home", "kind", "\"probe-filter\"", "assumed: as zen2");
            values.set("home", "entries", entries, "assumed: all have twice the lines of the third-level caches");
        }
        (Family::HaswellEp, true) => {
            values.set("home", "kind", "\"directory\"", source);
            for (key, value) in ["entries", "ways"].into_iter().zip(HITME) {
                values.set("home", key, value, "assumed: HitME");
            }
        }
        (Family::SkylakeSp, false) => {
            values.set("home", "kind", "\"home-snoop\"", source);
            values.set("home", "entries", 0, "without a directory");
            values.set("home", "at_slice", false, "assumed");
        }
        (Family::HaswellEp, false) => values.set("home", "kind", "\"home-snoop\"", source),
        (Family::SkylakeSp, true) => {
            values.set("home", "kind", "\"directory\"", source);
            let at_slice = structure.clusters_per_socket == structure.nodes_per_socket;
            values.set("home", "at_slice", at_slice, "assumed: as skylake-sp");
        }
    }
}

/// The most cycles of most keys.
const MOST: f64 = 1000.0;

/// A core that reads a modified line out takes longer than to tell that it has a clean one, by this at least.
const READ_OUT_NS: f64 = 1.5;

/// A core answers a snoop so much later than the third-level cache at least, if its data are read as the family's are.
const SOON_NS: f64 = 3.0;

/// How many of the values that times decide are about private caches: the first ones.
pub(super) const PRIVATE: usize = 2;

/// The values that times decide, of the machine `start`, as far as `times` has anything that depends on them.
pub(super) fn times(structure: &Structure, start: &Description, times: &[Observation]) -> Vec<Tunable> {
    let of = |kind| measured(times, kind);
    let has = |kind| of(kind).is_some();
    let (Some(server), Some(slice), Some(home), Some(link)) =
        (&start.server, &start.l3_slice, &start.home, &start.socket_link)
    else {
        return Vec::new();
    };
    let period = |clock: units::Hertz| clock.period().as_ns();
    let (core, die) = (period(start.processor.clock), period(server.clock));
    let (l3, memory) = (period(slice.clock), period(home.memory_clock));
    let modified = |nearness, home| Kind::Core { nearness, modified: true, home };
    let cycles = Tunable::whole;
    let l2 = start.coherent_cache().hit_cycles;
    let mut all = vec![
        cycles(&[("l1", "hit_cycles")], core, (1.0, 100.0), start.l1.hit_cycles, Kind::Level(1)),
        cycles(&[("l2", "hit_cycles"), ("l2", "tag_check_cycles")], core, (1.0, 100.0), l2, Kind::Level(2)),
        cycles(&[("l3_slice", "lookup_cycles")], l3, (1.0, MOST), slice.lookup_cycles, Kind::Level(3)),
        cycles(
            &[("memory", "access_cycles")],
            memory,
            // An access has the opening of its row in it.
            (f64::from(start.banks.as_ref().map_or(1, |banks| banks.activate_cycles.max(1))), MOST),
            start.memory.access_cycles,
            Kind::Memory(Place::Local),
        ),
    ];
    if has(Kind::Translation) {
        let keys: &[_] = &[("tlb", "second_hit_cycles")];
        all.push(cycles(keys, core, (0.0, 100.0), start.tlb.second_hit_cycles, Kind::Translation));
    }
    // A core that answers as soon as the third-level cache shows that this one takes long to read a line.
    let (l3_ns, core_ns) = (of(Kind::Level(3)), of(modified(Nearness::SameCluster, Home::Both)));
    if l3_ns.zip(core_ns).is_some_and(|(l3, core)| core - l3 < SOON_NS) {
        all.push(cycles(&[("l3_slice", "data_cycles")], l3, (0.0, MOST), slice.data_cycles, Kind::Level(3)));
    }
    let near = [Nearness::SameCluster, Nearness::SameNode].map(|nearness| modified(nearness, Home::Both));
    if let Some(&kind) = near.iter().find(|kind| has(**kind)) {
        all.push(cycles(&[("l3_slice", "snoop_cycles")], l3, (1.0, MOST), slice.snoop_cycles, kind));
    }
    let clean = Kind::Core { nearness: Nearness::SameCluster, modified: false, home: Home::Both };
    if of(near[0]).zip(of(clean)).is_some_and(|(modified, clean)| modified - clean > READ_OUT_NS) {
        all.push(cycles(&[("l3_slice", "read_out_cycles")], l3, (0.0, MOST), slice.read_out_cycles, near[0]));
    }
    if server.network == OnDieNetwork::IoDie && has(near[1]) {
        all.push(cycles(&[("server", "gateway_cycles")], die, (1.0, MOST), server.gateway_cycles, near[1]));
    }
    if structure.nodes_per_socket > 1 && has(Kind::Memory(Place::Socket)) {
        let keys: &[_] = &[("server", "hop_cycles"), ("server", "column_cycles")];
        all.push(cycles(keys, die, (0.0, 100.0), server.hop_cycles, Kind::Memory(Place::Socket)));
    }
    if let Some(link) = start.memory_link.as_ref().filter(|_| has(Kind::Memory(Place::MemoryNode))) {
        let keys: &[_] = &[("memory_link", "latency_ns")];
        all.push(Tunable::time(keys, (1.0, 100_000.0), link.latency, Kind::Memory(Place::MemoryNode)));
    }
    if has(Kind::Memory(Place::OtherSocket)) {
        let keys: &[_] = &[("socket_link", "latency_ns")];
        all.push(Tunable::time(keys, (1.0, 10_000.0), link.latency, Kind::Memory(Place::OtherSocket)));
        let far = modified(Nearness::OtherSocket, Home::Owner);
        all.push(cycles(&[("home", "response_cycles")], die, (0.0, MOST), home.response_cycles, far));
        let far = modified(Nearness::OtherSocket, Home::Requester);
        all.push(cycles(&[("home", "request_cycles")], die, (0.0, MOST), home.request_cycles, far));
    }
    all
}

/// A value that one rate decides, or a time that falls with what is under way at once.
pub(super) struct Rate {
    pub(super) tunable: Tunable,
    /// Whether the figure rises with the value, or falls.
    pub(super) rises: bool,
    /// Other kinds of figures that depend on a whole number as much: it is settled among all of them.
    pub(super) others: &'static [Kind],
    /// Whether an earlier value has met the figure, or another one, and this one only makes up for what is left.
    pub(super) again: bool,
}

impl Rate {
    fn whole(
        keys: &'static [(&'static str, &'static str)],
        bounds: (f64, f64),
        value: u32,
        decided_by: Kind,
        rises: bool,
    ) -> Self {
        Self { tunable: Tunable::whole(keys, 1.0, bounds, value, decided_by), rises, others: &[], again: false }
    }
}

/// The values that rates decide, in the order in which they are tuned.
pub(super) fn rates(structure: &Structure, start: &Description, observed: &[Observation]) -> Vec<Rate> {
    let mut all = of_cores(start, observed);
    let of = |kind| measured(observed, kind);
    let (Some(server), Some(link)) = (&start.server, &start.socket_link) else { return all };
    let limited = |together: f64, place| is_limited(structure, (together, place), observed);
    let near = Kind::NodeReads(Place::Local);
    let near_is_limited = of(near).is_some_and(|rate| limited(rate, Place::Local));
    if let Some(rate) = of(near).filter(|_| near_is_limited) {
        let keys: &[_] = &[("memory", "line_cycles"), ("memory", "line_write_cycles")];
        let line = line_cycles(start, rate);
        all.push(Rate { others: &[Kind::NodeTriad], ..Rate::whole(keys, (1.0, MOST), line, near, false) });
    }
    if server.network == OnDieNetwork::IoDie && of(Kind::ClusterReads).is_some() {
        let (keys, cycles): (&[_], _) = (&[("server", "gateway_read_cycles")], server.gateway_read_cycles.max(1));
        all.push(Rate::whole(keys, (1.0, 100.0), cycles, Kind::ClusterReads, false));
    }
    let far = Kind::NodeReads(Place::OtherSocket);
    // Where neither wires nor links are the bottleneck, requests that homes have under way at once are.
    let trackers = start.home.as_ref().map_or(0, |home| home.trackers);
    let under_way = |decided_by, first| Rate::whole(&[("home", "trackers")], (8.0, 4096.0), first, decided_by, true);
    if near_is_limited && of(far).is_none() {
        all.push(under_way(near, trackers));
    }
    if let Some(rate) = of(Kind::NodeTriad).filter(|_| !near_is_limited) {
        let all_under_way = lines_under_way(start, rate, of(Kind::Memory(Place::Local))).unwrap_or(trackers);
        let triad = under_way(Kind::NodeTriad, all_under_way);
        // A rate that little limits is met without, or it is not.
        let again = !is_less(structure, Some(rate), of(Kind::CoreTriad));
        all.push(Rate { others: &[Kind::NodeReads(Place::Local)], again, ..triad });
    }
    if of(far).is_some_and(|rate| limited(rate, Place::OtherSocket)) {
        let tunable = Tunable::time(&[("socket_link", "line_ns")], (0.1, 1000.0), link.line, far);
        all.push(Rate { tunable, rises: false, others: &[], again: false });
        all.push(under_way(far, trackers));
    }
    all
}

/// The cycles of a channel for a line with which those of a node move `rate` MB/s, all of them busy. Refresh, and rows that are opened,
/// take a part of that, so that it is where a search begins.
fn line_cycles(start: &Description, rate: f64) -> u32 {
    let channels = start.memory.controllers * start.banks.as_ref().map_or(1, |banks| banks.channels);
    let clock = start.home.as_ref().map_or(start.processor.clock, |home| home.memory_clock);
    let ns = f64::from(channels) * start.coherent_cache().line.0 as f64 / rate * 1e3;
    ((ns / clock.period().as_ns()).round() as u32).max(1)
}

/// The lines that each controller of a node has under way while they move `rate` MB/s, each for as long as a load takes (Little's law).
/// A part of that time is not the controller's, so that it is where a search begins.
fn lines_under_way(start: &Description, rate: f64, load_ns: Option<f64>) -> Option<u32> {
    let lines_per_ns = rate / 1e3 / start.coherent_cache().line.0 as f64;
    Some((lines_per_ns * load_ns? / f64::from(start.memory.controllers)).round() as u32)
}

/// A stream that is not faster than memory by this factor is of an array that others have driven out of the third-level cache.
const FASTER_THAN_MEMORY: f64 = 1.5;

/// Whether the stream from the third-level cache tells of that cache, and not of what others leave there.
fn streams_from_third_level(start: &Description, rates: &[Observation]) -> bool {
    if start.l3_slice.as_ref().is_some_and(|slice| slice.others_mb_per_s > 0) {
        return false;
    }
    let line = start.coherent_cache().line.0 as f64;
    let (stream, memory) = (measured(rates, Kind::Stream(3)), measured(rates, Kind::CoreReads(Place::Local)));
    // Bytes a nanosecond are a thousand MB/s.
    stream.zip(memory).is_none_or(|(ns, memory)| line / ns * 1e3 > FASTER_THAN_MEMORY * memory)
}

/// Those of a core: what it has under way at once, and its second-level cache.
fn of_cores(start: &Description, rates: &[Observation]) -> Vec<Rate> {
    let most = f64::from(machine::description::MOST_MISSES);
    let (processor, reads) = (&start.processor, Kind::CoreReads(Place::Local));
    // A prefetcher needs a miss register beside the reference's, however slow what was measured is (an emulated processor is).
    let least = if start.prefetch.is_some() { 2.0 } else { 1.0 };
    let mut all = Vec::new();
    if measured(rates, Kind::Stream(2)).is_some() {
        let interval = start.l2.as_ref().map_or(0.0, |l2| l2.tag_interval_cycles).max(1.0);
        let keys: &[_] = &[("l2", "tag_interval_cycles")];
        let tunable = Tunable::tenths(keys, (1.0, 100.0), interval, Kind::Stream(2));
        all.push(Rate { tunable, rises: true, others: &[], again: false });
    }
    let keys: &[_] = &[("processor", "outstanding_misses")];
    let registers = Rate::whole(keys, (least, most), processor.outstanding_misses, reads, true);
    // Effects of DRAM on one core's reads are known less well than the third-level cache.
    let streams = streams_from_third_level(start, rates);
    let all_three: &[_] = &[Kind::CoreReads(Place::OtherSocket), Kind::CoreTriad, Kind::Stream(3)];
    all.push(Rate { others: if streams { all_three } else { &all_three[..2] }, ..registers });
    if let Some(prefetch) = &start.prefetch {
        all.push(Rate::whole(&[("prefetch", "degree")], (1.0, most), prefetch.degree, reads, true));
    }
    // One stream has as many lines under way as its prefetcher goes ahead, the three of a triad as many as there are registers.
    let keys: &[_] = &[("processor", "outstanding_misses")];
    let registers = Rate::whole(keys, (least, most), processor.outstanding_misses, Kind::CoreTriad, true);
    all.push(Rate { again: true, ..registers });
    if let Some(prefetch) = &start.prefetch {
        let ahead = Rate::whole(&[("prefetch", "degree")], (1.0, most), prefetch.degree, reads, true);
        all.push(Rate { again: true, others: &[Kind::CoreTriad], ..ahead });
    }
    if let Some(slice) = start.l3_slice.as_ref().filter(|_| streams) {
        let keys: &[_] = &[("l3_slice", "occupancy_cycles")];
        let occupancy = Rate::whole(keys, (1.0, 100.0), slice.occupancy_cycles.max(1), Kind::Stream(3), true);
        all.push(Rate { others: &[Kind::NodeReads(Place::Local), Kind::NodeTriad], ..occupancy });
    }
    let keys: &[_] = &[("processor", "outstanding_stores")];
    all.push(Rate::whole(keys, (1.0, most), processor.outstanding_stores, Kind::CoreTriad, true));
    if let Some(prefetch) = &start.prefetch {
        let ahead = Rate::whole(&[("prefetch", "degree")], (1.0, most), prefetch.degree, Kind::CoreTriad, true);
        all.push(Rate { others: &[Kind::CoreReads(Place::Local)], ..ahead });
    }
    let keys: &[_] = &[("processor", "outstanding_upgrades")];
    all.push(Rate::whole(keys, (1.0, most), processor.outstanding_upgrades, Kind::Upgrade, false));
    all
}

/// A node's rate below this share of what its cores read one by one is limited by something that they share.
const LIMITED: f64 = 0.85;

/// Whether something that the cores of a node share limits what they read `together` from a place: each alone would read more.
pub(super) fn is_limited(structure: &Structure, (together, from): (f64, Place), rates: &[Observation]) -> bool {
    is_less(structure, Some(together), measured(rates, Kind::CoreReads(from)).or(Some(f64::INFINITY)))
}

/// Whether the rate of the cores of a node together is less than each `alone` has.
fn is_less(structure: &Structure, together: Option<f64>, alone: Option<f64>) -> bool {
    let cores = f64::from(structure.cores_per_socket / structure.nodes_per_socket);
    together.zip(alone).is_some_and(|(together, alone)| together < LIMITED * alone * cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(structure: &Structure) -> Description {
        let values = values(structure, 2000.0, false, false);
        values.described("tests").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn cores_have_the_operations_of_their_microarchitecture() {
        let mut structure = Structure::of_tests();
        structure.microarchitecture = Some("Golden Cove".to_owned());
        let (fitted, built_in) = (described(&structure), machine::load("xeon-8480-2s").expect("a machine"));
        assert_eq!(fitted.latency, built_in.latency);
        assert_ne!(fitted.latency, machine::load("epyc-7702-2s").expect("a machine").latency, "the family's");
    }

    #[test]
    fn the_probe_filters_of_a_socket_have_twice_the_lines_of_its_caches() {
        let structure = Structure::of_tests();
        let fitted = described(&structure);
        let of_socket = u64::from(fitted.memory.controllers * structure.nodes_per_socket);
        let entries = u64::from(fitted.home.as_ref().expect("a server").entries) * of_socket;
        assert_eq!(entries, 2 * (256 << 20) / 64);
        let built_in = machine::load("epyc-7702-2s").expect("a machine");
        assert_eq!(entries, u64::from(built_in.home.expect("a server").entries * built_in.memory.controllers) * 4);
    }
}
