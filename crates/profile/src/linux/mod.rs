//! This computer: what Linux tells of nodes, links, processes and threads, and what it does not.

mod events;
mod nodes;
mod resctrl;
mod tasks;
mod touched;
mod tree;

use std::time::Instant;

use host::discovery::{Inventory, KernelFiles};
use trace::{Blind, Counter, ObjectKind};

pub use events::EventError;
pub use touched::{Lives, Touched};

use crate::{CounterSource, Sources};

/// Counters of this computer that are wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Events by name as monitoring units announce them, `uncore_imc/cas_count_read/`, beside those that are always counted.
    pub events: Vec<String>,
    /// Whether descendants of this process are watched.
    pub descendants: bool,
}

/// All sources of this computer.
///
/// # Errors
/// When an event is asked for that there is not.
pub fn sources(files: &KernelFiles, inventory: &Inventory, wanted: &Wanted) -> Result<Sources, EventError> {
    let clock = Clock(Instant::now());
    let mut all: Vec<Box<dyn CounterSource>> = vec![Box::new(nodes::Nodes::new(files, inventory, clock))];
    all.push(Box::new(nodes::Slow::new(files, inventory, clock)));
    all.push(Box::new(events::NodeEvents::new(files, inventory, &wanted.events, clock)?));
    all.push(Box::new(resctrl::Bandwidth::new(files, inventory, clock)));
    if wanted.descendants {
        if let Some(of_program) = resctrl::Bandwidth::of_program(files, inventory, clock) {
            all.push(Box::new(of_program));
        }
        all.push(Box::new(tasks::Tasks::new(files, inventory, std::process::id() as i32, clock)));
    }
    let cpus = inventory.cpus.iter().filter(|cpu| cpu.online).count();
    Ok(Sources::new(all, cpus))
}

/// The kernel's text under a name in `/proc/sys/kernel`, such as `hostname`.
pub fn told(files: &KernelFiles, name: &str) -> Option<String> {
    let text = files.text(&format!("proc/sys/kernel/{name}")).ok().flatten()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The name and the kernel's release in a [`title`]; none if it is the title of something else.
pub fn of_title(title: &str) -> Option<(String, String)> {
    let mut words = title.strip_prefix("Linux ")?.split(' ');
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

/// The computer in one line, as `uname -a` has it, from the kernel's files.
pub fn title(files: &KernelFiles, inventory: &Inventory) -> String {
    let text = |name: &str| told(files, name).unwrap_or_default();
    let (nodes, cpus) = (inventory.nodes.len(), inventory.cpus.iter().filter(|cpu| cpu.online).count());
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    format!(
        "{} {} {} {}: {nodes} node{}, {cpus} CPU{}",
        text("ostype"),
        text("hostname"),
        text("osrelease"),
        std::env::consts::ARCH,
        plural(nodes),
        plural(cpus)
    )
}

/// The one clock of this computer's sources: the kernel's monotonic one.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn now(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// A counter that the kernel counts in 64 bits in a file, by the name that it has there.
fn counted(of: ObjectKind, key: &str) -> Counter {
    let (unit, what) = meaning(key);
    let level = key.starts_with("nr_") || key.starts_with("Mem");
    let counter = if level { Counter::level } else { Counter::count };
    counter(of, &Counter::name_from(key), unit, what)
}

/// Unit and meaning of what the kernel counts (Documentation/admin-guide/numastat.rst, proc_vmstat(5), mm/vmstat.c).
fn meaning(key: &str) -> (&'static str, &'static str) {
    match key {
        "numa_hit" => ("pages", "pages allocated on the intended node (numa_hit)"),
        "numa_miss" => ("pages", "pages allocated here but intended for another node (numa_miss)"),
        "numa_foreign" => ("pages", "pages intended for this node but allocated elsewhere (numa_foreign)"),
        "interleave_hit" | "numa_interleave" => (
            "pages",
            "interleaved pages allocated on the intended node \
             (interleave_hit)",
        ),
        "local_node" | "numa_local" => ("pages", "pages allocated by processes running on the node (local_node)"),
        "other_node" | "numa_other" => ("pages", "pages allocated by processes running on another node (other_node)"),
        "numa_pte_updates" => ("", "page-table entries unmapped by NUMA balancing"),
        "numa_huge_pte_updates" => ("", "huge-page entries unmapped by NUMA balancing"),
        "numa_hint_faults" => ("", "NUMA hinting faults"),
        "numa_hint_faults_local" => ("", "NUMA hinting faults on local pages"),
        "numa_pages_migrated" => ("pages", "pages migrated by NUMA balancing"),
        "pgmigrate_success" => ("pages", "pages migrated for any reason"),
        "pgmigrate_fail" => ("pages", "failed page migrations"),
        "thp_migration_success" => ("", "transparent huge pages migrated whole"),
        "pgpromote_success" => ("pages", "pages promoted to a faster memory tier"),
        "pgpromote_candidate" => ("pages", "candidate pages for promotion"),
        "pgdemote_kswapd" | "pgdemote_direct" | "pgdemote_khugepaged" => (
            "pages",
            "pages demoted to a slower memory \
             tier",
        ),
        "pgfault" => ("", "page faults"),
        "pgmajfault" => ("", "major page faults"),
        "pswpin" | "pswpout" => ("pages", "pages swapped"),
        "nr_free_pages" => ("pages", "free pages"),
        "nr_anon_pages" => ("pages", "anonymous pages"),
        "nr_file_pages" => ("pages", "file pages"),
        "MemTotal" => ("KiB", "memory of the node"),
        "MemUsed" => ("KiB", "memory in use"),
        _ => ("", "/proc/vmstat counter"),
    }
}

/// Something that cannot be seen because a file is not there.
fn no_file(what: &str, path: &str, why: &str) -> Blind {
    Blind::new(what, format!("/{path}: {why}"), "")
}
