//! A machine description of a machine that was measured: what the simulator takes from the measurements, what it has to
//! assume, and what it cannot take.

use std::fmt::Write;

use machine::{Description, DescriptionError};
use units::Bytes;

use crate::remote::{self, Latency};

/// The machine whose values descriptions of unknown machines inherit where nobody measures them.
const FAMILY: &str = "origin2000-r12k-300";
/// The Hub's clock stands for nothing on other machines: one that makes a cycle a nanosecond.
const HUB_MHZ: f64 = 1000.0;
/// Entries of a translation buffer that can be simulated at most.
const MOST_TRANSLATIONS: u64 = machine::description::MOST_TRANSLATIONS as u64;
/// Miss registers of a processor that nobody has counted: as many as out-of-order cores of the last decades have at least.
const USUAL_MISSES: u32 = 8;

/// Measurements of a machine. Times are those of dependent loads, in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct HostFindings {
    /// The machine's title, in words.
    pub title: String,
    /// The clock of its processors as measured, in MHz.
    pub clock_mhz: f64,
    /// Nodes with memory.
    pub nodes: u32,
    /// Processors in all.
    pub processors: u32,
    /// Memory of a node.
    pub node_memory: Bytes,
    /// Unit of coherence.
    pub line: Bytes,
    /// Whether the P3 diagram shows this line too, or it is only announced.
    pub line_is_measured: bool,
    /// Size of the innermost cache, and the time of a load from it.
    pub first_cache: (Bytes, f64),
    /// Size of the outermost cache that was found, and the time of a load from it.
    pub last_cache: (Bytes, f64),
    /// A load from the memory of the processor's own node.
    pub local_ns: f64,
    /// Time that a load from another node's memory takes more, whatever its distance; `None` on a machine of one node.
    pub penalty_ns: Option<f64>,
    /// Time that each step of distance adds; `None` if all nodes are equally far.
    pub step_ns: Option<f64>,
    /// For how long a line holds the memory.
    pub line_ns: Option<f64>,
    /// Page, entries and cost of a miss of the translation buffer.
    pub translation: Option<(Bytes, u64, f64)>,
}

/// A line of the file being written: key, value, where it comes from.
struct Section {
    text: String,
}

impl Section {
    fn table(&mut self, name: &str) {
        let _infallible = writeln!(self.text, "\n[{name}]");
    }

    fn line(&mut self, key: &str, value: impl std::fmt::Display, source: &str) {
        let _infallible = writeln!(self.text, "{:<34} # {source}", format!("{key} = {value}"));
    }
}

/// Writes a description called `file` for a machine with these `findings`: a TOML text that `machine::parse` accepts, each
/// value marked as measured, calibrated or assumed. `unloaded` gives the latencies of reads on a described machine, from each
/// node to each, when nothing else happens.
///
/// # Errors
/// When what was measured lies outside of what a description can say.
pub fn write_description(
    file: &str,
    findings: &HostFindings,
    unloaded: &dyn Fn(&Description) -> Vec<Latency>,
) -> Result<String, DescriptionError> {
    // Twice: cycles that were fitted to a whole path follow from the description with all others in place.
    let draft = machine::parse(file, &text(findings, &Cycles::default()))?.description;
    let cycles = Cycles::fitted(findings, &unloaded(&draft));
    let written = text(findings, &cycles);
    machine::parse(file, &written)?;
    Ok(written)
}

/// The cycles that make paths as long as they were measured.
#[derive(Default)]
struct Cycles {
    memory_access: u32,
    interface: u32,
    router: u32,
}

impl Cycles {
    fn fitted(findings: &HostFindings, drafted: &[Latency]) -> Self {
        // The draft has no cycles of memory and network interface and one of each router: what is missing is theirs.
        let missing = |wanted: f64, drafted: Option<f64>| ((wanted - drafted.unwrap_or(0.0)).max(0.0)).round();
        let local: Vec<f64> = drafted.iter().filter(|read| read.hops == 0).map(|read| read.ns).collect();
        let local = (!local.is_empty()).then(|| local.iter().sum::<f64>() / local.len() as f64);
        let memory_access = missing(findings.local_ns, local) as u32;
        let path = remote::fit(drafted).ok();
        let delay = path.as_ref().and_then(|path| path.delay()).map(|delay| delay.value);
        let step = |step| missing(step, delay) / 2.0;
        let router = findings.step_ns.map_or(0.0, step).round() as u32;
        let penalty = findings.penalty_ns.unwrap_or(0.0);
        // Penalty and delay are measured together where there is one distance alone.
        let drafted = path.and_then(|path| path.penalty().or_else(|| path.remote_less_local()));
        let interface = (missing(penalty, drafted.map(|penalty| penalty.value)) / 2.0).round() as u32;
        Self { memory_access: memory_access.min(1000), interface: interface.min(1000), router: router.min(99) }
    }
}

fn text(findings: &HostFindings, cycles: &Cycles) -> String {
    let mut out = Section { text: heading(findings) };
    topology(&mut out, findings);
    processor(&mut out, findings);
    caches(&mut out, findings);
    translation(&mut out, findings);
    memory_path(&mut out, findings, cycles);
    network(&mut out, findings, cycles);
    out.text
}

fn heading(findings: &HostFindings) -> String {
    format!(
        "# Written from measurements, in the shape of the Origin: two cache levels, one Hub per node, routers.
# measured: as found. calibrated: chosen so that the simulated path takes the measured time.
# assumed: not measured, or the only value that can be simulated. All other values are inherited and were not measured.
title = {:?}
inherit = \"{FAMILY}\"
",
        findings.title
    )
}

/// The power of two that is nearest in ratio, from `least` to `most`.
fn power_of_two(value: f64, least: u64, most: u64) -> u64 {
    let power = value.max(1.0).log2().round() as u32;
    (1u64 << power.min(62)).clamp(least, most)
}

fn topology(out: &mut Section, findings: &HostFindings) {
    let nodes = findings.nodes.clamp(1, 256);
    let per_node = f64::from(findings.processors) / f64::from(findings.nodes.max(1));
    let memory = power_of_two(findings.node_memory.0 as f64 / f64::from(1 << 20), 64, 4096);
    out.table("topology");
    let note = format!(
        "2 on each of {} nodes; measured: {per_node:.0} per node, of which at most 2 can be simulated",
        findings.nodes
    );
    out.line("processors", nodes * 2, &note);
    let note = format!("measured: {} MiB, as far as an address can hold", findings.node_memory.0 >> 20);
    out.line("node_memory_mib", memory, &note);
    out.table("hypercube");
    for cable in ["module", "rack", "cube", "express", "metarouter"] {
        out.line(&format!("{cable}_cable_inches"), 0, "assumed: distances are in the routers' time");
    }
    out.line("backplane_m", 0.0, "assumed: as the cables");
    out.line("express_links", false, "assumed");
}

fn processor(out: &mut Section, findings: &HostFindings) {
    out.table("processor");
    out.line("clock_mhz", format!("{:.0}", findings.clock_mhz.clamp(50.0, 5000.0)), "measured");
    out.line("instruction_window", 512, "assumed: the most that a description can have");
    out.line("issue_width", 4, "assumed");
    out.line("outstanding_misses", USUAL_MISSES, "assumed");
    out.line("outstanding_stores", USUAL_MISSES, "assumed: as misses");
    out.line("outstanding_upgrades", USUAL_MISSES / 2, "assumed");
    for key in ["miss_to_request_cycles", "data_to_use_cycles", "own_invalidation_cycles"] {
        out.line(key, 0, "assumed: in the memory's time");
    }
}

fn caches(out: &mut Section, findings: &HostFindings) {
    let cycles = |ns: f64| (ns * findings.clock_mhz / 1e3).round();
    let (first, first_ns) = findings.first_cache;
    let (last, last_ns) = findings.last_cache;
    out.table("l1");
    let found = |size: Bytes| format!("measured: {size}; a power of two can be simulated");
    out.line("size_kib", power_of_two(first.0 as f64 / 1024.0, 1, 65536), &found(first));
    let line =
        if findings.line_is_measured { "measured, as announced" } else { "announced; the P3 diagram shows another" };
    out.line("line_bytes", findings.line.0, line);
    out.line("ways", 2, "assumed: two can be simulated");
    out.line("hit_cycles", cycles(first_ns).clamp(1.0, 100.0), &format!("measured: {first_ns:.2} ns"));
    out.table("l2");
    let kib = power_of_two(last.0 as f64 / 1024.0, 32, 64 << 10);
    let note = format!("measured: {last}, the outermost cache; 32 KiB to 64 MiB can be simulated");
    match kib {
        1024.. => out.line("size_mib", kib / 1024, &note),
        part => out.line("size_mib", part as f64 / 1024.0, &note),
    }
    out.line("line_bytes", findings.line.0, line);
    out.line("fill_block_bytes", findings.line.0.min(256), "assumed: the line");
    out.line("ways", 2, "assumed: two can be simulated");
    let beyond = cycles(last_ns - first_ns);
    let note = format!("measured: {last_ns:.2} ns, {beyond:.0} cycles beyond the first; 100 can be described");
    out.line("hit_cycles", beyond.clamp(1.0, 100.0), &note);
    out.line("bus_clock_mhz", format!("{:.0}", findings.clock_mhz.clamp(25.0, 5000.0)), "assumed: the processor's");
    out.line("bus_width_bytes", 64, "assumed");
    out.line("way_prediction", false, "assumed");
    for (key, value) in [("fill_write_cycles", 0), ("l1_writeback_cycles", 1), ("tag_check_cycles", 1)] {
        out.line(key, value, "assumed");
    }
}

fn translation(out: &mut Section, findings: &HostFindings) {
    out.table("tlb");
    let Some((page, entries, miss_ns)) = findings.translation else {
        out.line("miss_ns", 0, "assumed: page and entries were not found");
        return;
    };
    let note = format!("measured: {entries}; {MOST_TRANSLATIONS} can be simulated, larger pages make up for it");
    let simulated = entries.clamp(1, MOST_TRANSLATIONS);
    out.line("entries", simulated, &note);
    out.line("pages_per_entry", 1, "assumed");
    let kib = power_of_two(page.0 as f64 * entries as f64 / simulated as f64 / 1024.0, 4, 16384);
    out.line("page_kib", kib, &format!("measured: {page}; so large that as much is covered as was measured"));
    out.line("miss_ns", format!("{miss_ns:.2}"), "measured");
}

/// Bus, Hub and memory: no part of them was measured by itself, their sum was.
fn memory_path(out: &mut Section, findings: &HostFindings, cycles: &Cycles) {
    out.table("hub");
    out.line("clock_mhz", HUB_MHZ, "assumed: a cycle is a nanosecond");
    for key in ["pi_request_cycles", "pi_reply_cycles", "crossbar_cycles", "release_cycles"] {
        out.line(key, 0, "assumed: in the memory's time");
    }
    out.line("ni_message_ns", 0, "assumed");
    let source = match findings.penalty_ns {
        Some(penalty) => format!("calibrated: a remote load takes {penalty:.1} ns more"),
        None => "no other node was measured".to_owned(),
    };
    out.line("ni_out_cycles", cycles.interface.div_ceil(2), &source);
    out.line("ni_in_cycles", cycles.interface / 2, &source);
    out.line("directory_only_cycles", 1, "assumed");
    out.line("directory_cycles", cycles.memory_access, "assumed: as the data");
    out.table("sysad");
    out.line("width_bytes", findings.line.0.min(64), "assumed: a line a cycle");
    for (key, value) in [("grid_cycles", 1), ("request_cycles", 1), ("critical_cycles", 1), ("turnaround_cycles", 0)] {
        out.line(key, value, "assumed");
    }
    out.table("memory");
    let source = format!("calibrated: a load from local memory takes {:.1} ns", findings.local_ns);
    out.line("access_cycles", cycles.memory_access, &source);
    match findings.line_ns {
        Some(ns) => out.line("line_cycles", ns.round().clamp(1.0, 1000.0), &format!("measured: {ns:.2} ns a line")),
        None => out.line("line_cycles", 1, "assumed: memory is not the bottleneck"),
    }
    out.line("refresh_cycles", 0, "assumed: in the memory's time");
}

fn network(out: &mut Section, findings: &HostFindings, cycles: &Cycles) {
    out.table("router");
    out.line("clock_mhz", HUB_MHZ, "assumed: a cycle is a nanosecond");
    let source = match findings.step_ns {
        Some(step) => format!("calibrated: a step of distance adds {step:.1} ns"),
        None => "assumed: all nodes are equally far".to_owned(),
    };
    out.line("bypass_cycles", 1 + cycles.router, &source);
    out.line("queue_cycles", 0, "assumed");
    out.table("link");
    out.line("micropacket_ns", 1, "assumed: links are no bottleneck");
    out.line("node_clock_mhz", 8000, "assumed: as the links");
    out.line("transceiver_ns", 0, "assumed: in the routers' time");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostFindings {
        HostFindings {
            title: "a \"host\"".into(),
            clock_mhz: 3100.0,
            nodes: 1,
            processors: 2,
            node_memory: Bytes::from_mib(23_000),
            line: Bytes(64),
            line_is_measured: true,
            first_cache: (Bytes::from_kib(48), 1.6),
            last_cache: (Bytes::from_mib(2), 5.2),
            local_ns: 96.0,
            penalty_ns: None,
            step_ns: None,
            line_ns: None,
            translation: Some((Bytes::from_kib(4), 2048, 9.5)),
        }
    }

    fn described(findings: &HostFindings) -> Description {
        let text = write_description("my.toml", findings, &|_| Vec::new()).expect("a description");
        machine::parse("my.toml", &text).expect("its own text").description
    }

    #[test]
    fn a_host_becomes_a_machine_with_its_caches() {
        let machine = described(&host());
        assert_eq!(machine.name, "my");
        assert_eq!((machine.l1.size, machine.l1.hit_cycles), (Bytes::from_kib(64), 5));
        assert_eq!((machine.coherent_cache().size, machine.coherent_cache().hit_cycles), (Bytes::from_mib(2), 11));
        // 256 entries that cover what 2048 of 4 KiB do.
        assert_eq!(crate::held::translation_reach(&machine), Bytes::from_mib(8));
        assert_eq!(machine.topology.processors, 2);
    }

    #[test]
    fn a_last_cache_of_less_than_a_mebibyte_is_described_as_it_is() {
        let machine = described(&HostFindings { last_cache: (Bytes::from_kib(448), 4.0), ..host() });
        assert_eq!(machine.coherent_cache().size, Bytes::from_kib(512));
    }

    #[test]
    fn every_value_says_where_it_comes_from() {
        let text = write_description("my.toml", &host(), &|_| Vec::new()).expect("a description");
        let values = text.lines().filter(|line| line.contains(" = ") && !line.starts_with(['#', 't', 'i']));
        for line in values {
            assert!(line.contains('#'), "{line}");
        }
        assert!(text.contains("title = \"a \\\"host\\\"\""), "{text}");
    }
}
