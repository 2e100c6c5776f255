//! Tables of what controllers and processors of a simulated machine did in a run.

use std::collections::BTreeMap;

use record::{
    ControllerCacheStatistics, ControllerStatistics, HandlerStatistics, LinkInterfaceStatistics, ProcessorStatistics,
    SimulationRow,
};

use crate::simulations::processors;
use crate::{Column, Table};

/// The most controllers that a table shows: the busiest.
const CONTROLLERS: usize = 16;

/// Statistics of a run's controllers and processors: a table of controllers, one of handlers, and, as far as they were
/// counted, messages, invalidations, and where the processors' miss stall comes from.
pub fn simulation_statistics(row: &SimulationRow) -> Vec<Table> {
    let run = format!("{} on {} of {}, {}", row.program, processors(row), row.machine, row.protocol);
    let mut tables = Vec::new();
    if let Some(parts) = &row.controllers {
        tables.push(controllers(&run, parts));
        tables.push(handlers(parts));
        tables.push(messages(parts));
    }
    if let Some(parts) = &row.controllers {
        tables.extend(links(parts, row.mean_invalidations()));
    }
    if row.invalidations.iter().any(|&writes| writes > 0) {
        tables.push(invalidations(&row.invalidations));
    }
    tables.extend(miss_stall(row));
    tables
}

/// The busiest controllers.
fn controllers(run: &str, controllers: &[ControllerStatistics]) -> Table {
    let cached = controllers.iter().any(|each| each.instruction_cache.is_some() || each.data_cache.is_some());
    let remote = controllers.iter().any(|each| each.remote_access_cache.is_some());
    let mut columns = vec![
        Column::number("node", ""),
        Column::number("busy", "us"),
        Column::number("utilisation", "%"),
        Column::number("wait", "us"),
        Column::number("mean wait", "ns").detail(3),
        Column::number("bus", "us").detail(4),
        Column::number("memory", "us").detail(2),
    ];
    if cached {
        columns
            .extend([Column::number("I-cache misses", "").detail(6), Column::number("D-cache misses", "").detail(5)]);
    }
    let pages = controllers.iter().any(|each| each.pages.is_some());
    let cache = if pages { "device cache misses" } else { "RAC misses" };
    columns.extend(remote.then(|| Column::number(cache, "").detail(1)));
    if pages {
        let counts = ["remote misses", "refetches", "pages cached", "pages migrated", "pages copied"];
        columns.extend(counts.map(|name| Column::number(name, "").detail(1)));
    }
    let mut table = Table::new(format!("{run}: controllers"), columns);
    let mut busiest: Vec<_> = controllers.iter().collect();
    busiest.sort_by(|a, b| b.occupancy_ns.total_cmp(&a.occupancy_ns));
    for each in busiest.iter().take(CONTROLLERS) {
        let handled: u64 = each.handlers.values().map(|handler| handler.runs).sum();
        let misses = |cache: Option<ControllerCacheStatistics>| {
            cache.map_or_else(|| "-".to_owned(), |cache| cache.misses.to_string())
        };
        let mut cells = vec![
            each.node.to_string(),
            us(each.occupancy_ns),
            format!("{:.1}", each.utilisation_pct),
            us(each.queued_ns),
            mean(each.queued_ns, handled),
            us(each.bus_ns),
            us(each.memory_ns),
        ];
        if cached {
            cells.extend([misses(each.instruction_cache), misses(each.data_cache)]);
        }
        cells.extend(remote.then(|| misses(each.remote_access_cache)));
        if pages {
            let pages = each.pages.unwrap_or_default();
            let counts = [pages.misses, pages.refetches, pages.relocations, pages.migrations, pages.replications];
            cells.extend(counts.map(|count| count.to_string()));
        }
        table.row(cells);
    }
    if controllers.len() > CONTROLLERS {
        table.note(format!("the {CONTROLLERS} busiest of {} controllers", controllers.len()));
    }
    table
}

/// The handlers of all controllers together, the one that held them longest first.
fn handlers(controllers: &[ControllerStatistics]) -> Table {
    let mut sum: BTreeMap<&str, HandlerStatistics> = BTreeMap::new();
    for (name, handler) in controllers.iter().flat_map(|each| &each.handlers) {
        let total = sum.entry(name).or_default();
        total.runs += handler.runs;
        total.busy_ns += handler.busy_ns;
    }
    let busy: f64 = sum.values().map(|handler| handler.busy_ns).sum();
    let mut table = Table::new(
        "handlers",
        vec![
            Column::text("handler"),
            Column::number("runs", ""),
            Column::number("occupancy", "us"),
            Column::number("share", "%"),
            Column::number("mean", "ns"),
        ],
    );
    let mut longest: Vec<_> = sum.into_iter().collect();
    longest.sort_by(|a, b| b.1.busy_ns.total_cmp(&a.1.busy_ns));
    for (name, handler) in longest {
        let share = if busy > 0.0 { 100.0 * handler.busy_ns / busy } else { 0.0 };
        table.row([
            name.to_owned(),
            handler.runs.to_string(),
            us(handler.busy_ns),
            format!("{share:.1}"),
            mean(handler.busy_ns, handler.runs),
        ]);
    }
    table
}

/// Messages sent by all controllers together.
fn messages(controllers: &[ControllerStatistics]) -> Table {
    let mut sum: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in controllers.iter().flat_map(|each| &each.sent) {
        *sum.entry(name).or_default() += count;
    }
    let mut table = Table::new("messages", vec![Column::text("message"), Column::number("sent", "")]);
    sum.into_iter().for_each(|(name, count)| table.row([name.to_owned(), count.to_string()]));
    table
}

/// The link interfaces on an SCI ring, and their mean; `None` on other networks. `purged` is the mean number of elements
/// of a sharing list that a write purged, if any did.
fn links(controllers: &[ControllerStatistics], purged: Option<f64>) -> Option<Table> {
    let links: Vec<_> = controllers.iter().filter_map(|each| Some((each.node, each.link?))).collect();
    if links.is_empty() {
        return None;
    }
    let mut table = Table::new(
        "links",
        vec![
            Column::text("node"),
            Column::number("traffic", "MB/s"),
            Column::number("throughput", "MB/s").detail(1),
            Column::number("data", "MB/s"),
            Column::number("round trip", "ns"),
            Column::number("bypass FIFO in use", "%").detail(2),
            Column::number("packets", ""),
            Column::number("data packets", "%").detail(3),
            Column::number("retransmitted", "").detail(1),
        ],
    );
    let cells = |name: String, link: &LinkInterfaceStatistics| {
        vec![
            name,
            format!("{:.1}", link.traffic_mb_s),
            format!("{:.2}", link.throughput_mb_s),
            format!("{:.2}", link.data_mb_s),
            format!("{:.1}", link.round_trip_ns),
            format!("{:.1}", link.bypass_pct),
            link.packets.to_string(),
            format!("{:.1}", 100.0 * link.data_packets as f64 / link.packets.max(1) as f64),
            link.retransmissions.to_string(),
        ]
    };
    for (node, link) in links.iter().take(CONTROLLERS) {
        table.row(cells(node.to_string(), link));
    }
    let all: Vec<_> = links.iter().map(|(_, link)| *link).collect();
    let mean = LinkInterfaceStatistics::mean(&all);
    table.row(cells("mean".to_owned(), &mean));
    table.note(round_trip(&mean));
    let switches: Vec<_> = controllers.iter().filter_map(|each| Some((each.node, each.switch?))).collect();
    for (node, both) in switches.iter().take(CONTROLLERS) {
        for (side, link) in ["local ring", "ring of switches"].into_iter().zip(both) {
            table.row(cells(format!("switch of {node}, {side}"), link));
        }
    }
    if let Some(length) = purged {
        table.note(format!("mean number of sharing-list elements purged per write that invalidates: {length:.2}"));
    }
    Some(table)
}

/// The parts of a mean round trip, as a sentence.
fn round_trip(link: &LinkInterfaceStatistics) -> String {
    let parts = &link.round_trip_parts;
    let named = [
        ("active buffer", parts.active_buffer_ns),
        ("own packet", parts.own_packet_ns),
        ("recovery", parts.recovery_ns),
        ("passing packets", parts.passing_packet_ns),
        ("go bit", parts.go_bit_ns),
        ("unloaded", parts.unloaded_ns),
        ("bypass FIFOs", parts.bypass_ns),
    ];
    let repeated = link.round_trip_ns - named.iter().map(|(_, part)| part).sum::<f64>();
    let all = named.into_iter().chain([("retries", repeated.max(0.0))]);
    let listed: Vec<String> = all.map(|(name, part)| format!("{name} {part:.1}")).collect();
    format!("mean round trip (ns): {}", listed.join(", "))
}

/// Writes by the invalidations that each caused, in classes that double.
fn invalidations(histogram: &[u64]) -> Table {
    let mut table = Table::new(
        "invalidations per write",
        vec![Column::text("invalidations"), Column::number("writes", ""), Column::number("share", "%")],
    );
    let all: u64 = histogram.iter().sum();
    let (mut first, mut size) = (0, 1);
    while first < histogram.len() {
        let writes: u64 = histogram[first..].iter().take(size).sum();
        let class = if size == 1 { first.to_string() } else { format!("{first} to {}", first + size - 1) };
        table.row([class, writes.to_string(), format!("{:.1}", 100.0 * writes as f64 / all.max(1) as f64)]);
        first += size;
        // 0, 1, 2 to 3, 4 to 7, and so on.
        size = first.max(1);
    }
    table
}

/// Where the miss stall comes from, in the terms of Equation 5.1 of the FLASH dissertation.
fn miss_stall(row: &SimulationRow) -> Option<Table> {
    let processors = row.processors.as_deref()?;
    type Term = fn(&ProcessorStatistics) -> Option<f64>;
    let terms: [(&str, Term); 4] = [
        ("Tm: unloaded local miss", |each| each.unloaded_ns),
        ("Tw: wait for the local controller", |each| each.wait_ns),
        ("Tp2p: network to the home and back", |each| each.communication_ns),
        ("Tc: coherence and remote contention", |each| each.coherence_ns),
    ];
    let mut table = Table::new(
        "miss stall time per processor",
        vec![Column::text("component"), Column::number("mean", "us"), Column::number("max", "us")],
    );
    for (name, term) in terms {
        let values: Option<Vec<f64>> = processors.iter().map(term).collect();
        let values = values.filter(|values| !values.is_empty())?;
        let sum: f64 = values.iter().sum();
        table.row([name.to_owned(), us(sum / values.len() as f64), us(values.into_iter().fold(0.0, f64::max))]);
    }
    Some(table)
}

fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1000.0)
}

fn mean(total: f64, count: u64) -> String {
    if count == 0 { "-".to_owned() } else { format!("{:.1}", total / count as f64) }
}

#[cfg(test)]
mod tests {
    use units::{CpuId, NodeId};

    use super::*;
    use crate::simulations::tests::{row, words};

    #[test]
    fn handlers_of_all_controllers_are_added_and_the_busiest_controller_stands_first() {
        let controller = |node, busy_ns| ControllerStatistics {
            node: NodeId(node),
            occupancy_ns: busy_ns,
            utilisation_pct: 1.0,
            queued_ns: 200.0,
            bus_ns: 0.0,
            memory_ns: 0.0,
            instruction_cache: None,
            data_cache: None,
            remote_access_cache: None,
            handlers: [("READ".into(), HandlerStatistics { runs: 4, busy_ns })].into(),
            sent: [("SRPLY".into(), 3)].into(),
            invalidations: vec![],
            pages: None,
            link: None,
            switch: None,
        };
        let controllers = Some(vec![controller(0, 1000.0), controller(1, 3000.0)]);
        let tables = simulation_statistics(&SimulationRow { controllers, ..row("uniform", 8) });
        let texts: Vec<String> = tables.iter().map(ToString::to_string).collect();
        let last = |text: &String| text.lines().last().map(str::to_owned).unwrap_or_default();
        assert_eq!(words(texts[0].lines().nth(3).expect("a row")), ["1", "3.0", "1.0", "0.2", "50.0", "0.0", "0.0"]);
        assert_eq!(words(&last(&texts[1])), ["READ", "8", "4.0", "100.0", "500.0"]);
        assert_eq!(words(&last(&texts[2])), ["SRPLY", "6"]);
        assert_eq!(tables.len(), 3, "neither invalidations nor stall were counted");
    }

    #[test]
    fn invalidations_are_put_into_classes_and_stall_is_averaged() {
        let processor = |cpu, wait_ns| ProcessorStatistics {
            cpu: CpuId(cpu),
            time_ns: 1.0,
            spent_ns: BTreeMap::new(),
            misses: BTreeMap::new(),
            references: 1,
            secondary_misses: 1,
            local_misses: Some(1),
            local_remote_action_misses: Some(0),
            remote_misses: Some(0),
            unloaded_ns: Some(1000.0),
            wait_ns: Some(wait_ns),
            communication_ns: Some(0.0),
            coherence_ns: Some(0.0),
            mix: None,
        };
        let with = SimulationRow {
            invalidations: vec![5, 0, 1, 1, 0, 0, 0, 0, 3],
            processors: Some(vec![processor(0, 500.0), processor(1, 1500.0)]),
            ..row("uniform", 8)
        };
        let texts: Vec<String> = simulation_statistics(&with).iter().map(ToString::to_string).collect();
        let rows: Vec<Vec<&str>> = texts[0].lines().skip(3).map(words).collect();
        let expected = ["0 5 50.0", "1 0 0.0", "2 to 3 2 20.0", "4 to 7 0 0.0", "8 to 15 3 30.0"];
        assert_eq!(rows, expected.map(words));
        let waiting = texts[1].lines().find(|line| line.contains("Tw")).expect("a row");
        assert!(words(waiting).ends_with(&["1.0", "1.5"]), "{}", texts[1]);
    }
}
