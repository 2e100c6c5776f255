//! Tables of what a computer is made of: nodes and distances, cores, caches, pages, limits, notes.

use std::collections::{BTreeMap, BTreeSet};

use record::{TopologyPart, TopologyRow};
use units::{CpuId, ranges};

use crate::{Cell, Column, Table, Tone, heat};

/// The tables of a computer, without those that are empty.
pub fn tables(rows: &[TopologyRow]) -> Vec<Table> {
    let of = |part| rows.iter().filter(|row| row.part == part).collect::<Vec<_>>();
    let tables = [
        nodes(&of(TopologyPart::Node)),
        distances(&of(TopologyPart::Distance)),
        access(&of(TopologyPart::Access)),
        side_caches(&of(TopologyPart::SideCache)),
        cores(&of(TopologyPart::Core)),
        caches(&of(TopologyPart::Cache)),
        pages(&of(TopologyPart::Pages)),
        limits(&of(TopologyPart::Limit)),
        notes(&of(TopologyPart::Note)),
    ];
    tables.into_iter().filter(|table| !table.is_empty()).collect()
}

fn nodes(rows: &[&TopologyRow]) -> Table {
    let columns = vec![
        Column::number("node", ""),
        Column::text("kind"),
        Column::text("CPUs"),
        Column::number("memory", "MiB"),
        Column::number("free", "MiB"),
        Column::number("tier", ""),
    ];
    let mut table = Table::new("Nodes", columns);
    for row in rows {
        table.row([
            row.id.to_string(),
            text(&row.class),
            list(&row.cpus),
            mib(row.size_kib),
            mib(row.free_kib),
            number(row.tier),
        ]);
    }
    table
}

/// A matrix, unless there is a single node.
fn distances(rows: &[&TopologyRow]) -> Table {
    let names: BTreeSet<u32> = rows.iter().map(|row| row.id).collect();
    if names.len() < 2 {
        return Table::new("", Vec::new());
    }
    let mut columns = vec![Column::number("from \\ to", "")];
    columns.extend(names.iter().map(|name| Column::number(name.to_string(), "")));
    let mut table = Table::new("Distances announced by firmware (SLIT; 10 = local)", columns);
    let farthest = rows.iter().filter_map(|row| row.distance).max().unwrap_or(10);
    let heat = |distance: u32| Tone::Heat(heat::part(f64::from(distance), 10.0, f64::from(farthest)));
    let cell =
        |distance: Option<u32>| distance.map_or_else(Cell::default, |each| Cell::new(each.to_string(), heat(each)));
    for from in names {
        let line = rows.iter().filter(|row| row.id == from).map(|row| cell(row.distance));
        table.row(std::iter::once(Cell::from(from.to_string())).chain(line));
    }
    table
}

fn access(rows: &[&TopologyRow]) -> Table {
    let columns = vec![
        Column::text("from"),
        Column::text("to memory"),
        Column::text("initiator"),
        Column::number("read latency", "ns"),
        Column::number("write latency", "ns"),
        Column::number("read bandwidth", "MiB/s"),
        Column::number("write bandwidth", "MiB/s"),
    ];
    let mut table = Table::new("Latency and bandwidth announced by firmware (HMAT)", columns);
    for row in rows {
        let figures = [row.read_ns, row.write_ns, row.read_mib_s, row.write_mib_s].map(number);
        table.row([row.at.clone(), text(&row.to), text(&row.class)].into_iter().chain(figures));
    }
    table
}

fn side_caches(rows: &[&TopologyRow]) -> Table {
    let columns = vec![
        Column::text("memory"),
        Column::number("level", ""),
        Column::number("size", "MiB"),
        Column::number("line", "B"),
        Column::text("organisation"),
    ];
    let mut table = Table::new("Memory-side caches", columns);
    for row in rows {
        table.row([text(&row.to), row.id.to_string(), mib(row.size_kib), number(row.line_bytes), text(&row.class)]);
    }
    table
}

/// Where a core is, without the core itself.
fn above_core(row: &TopologyRow) -> &str {
    row.at.rsplit_once("/core").map_or(row.at.as_str(), |(above, _)| above)
}

/// A line for all cores that share socket, die, cluster, node and kind; clusters of a die are merged where there are many.
fn cores(rows: &[&TopologyRow]) -> Table {
    /// As many lines as can be taken in at a glance.
    const MOST_LINES: usize = 24;
    let all = |row: &TopologyRow| above_core(row).to_owned();
    let without_cluster = |row: &TopologyRow| {
        let above = above_core(row);
        above.rsplit_once("/cluster").map_or(above, |(above, _)| above).to_owned()
    };
    let finest = grouped(rows, all);
    // Clusters of one core say nothing.
    let single = finest.values().all(|cores| cores.len() < 2);
    let groups = if single || finest.len() > MOST_LINES { grouped(rows, without_cluster) } else { finest };
    let columns = vec![
        Column::text("place"),
        Column::text("node"),
        Column::text("kind"),
        Column::number("cores", ""),
        Column::number("threads", ""),
        Column::text("CPUs"),
    ];
    let mut table = Table::new("Cores", columns);
    for ((place, node, kind), cores) in groups {
        let mut cpus: Vec<CpuId> = cores.iter().flat_map(|row| row.cpus.iter().copied()).collect();
        cpus.sort_unstable();
        let threads = cpus.len().to_string();
        let place = if place.is_empty() { "(unknown)".to_owned() } else { place };
        table.row([place, node, kind, cores.len().to_string(), threads, list(&cpus)]);
    }
    table
}

type Group<'a> = BTreeMap<(String, String, String), Vec<&'a TopologyRow>>;

fn grouped<'a>(rows: &[&'a TopologyRow], place: impl Fn(&TopologyRow) -> String) -> Group<'a> {
    let mut groups = Group::new();
    for row in rows {
        groups.entry((place(row), text(&row.to), text(&row.class))).or_default().push(row);
    }
    groups
}

/// A line for all caches that are alike.
fn caches(rows: &[&TopologyRow]) -> Table {
    let columns = vec![
        Column::text("cache"),
        Column::text("kind"),
        Column::number("size", "KiB"),
        Column::number("line", "B"),
        Column::number("ways", ""),
        Column::number("count", ""),
        Column::number("CPUs each", ""),
        Column::text("CPUs of the first").detail(1),
    ];
    let mut table = Table::new("Caches announced by the processor", columns);
    let mut alike: BTreeMap<_, Vec<&TopologyRow>> = BTreeMap::new();
    for row in rows {
        let key = (row.at.clone(), text(&row.class), row.size_kib, row.line_bytes, row.ways, row.cpus.len());
        alike.entry(key).or_default().push(row);
    }
    for ((level, kind, size, line, ways, users), caches) in alike {
        let first = list(&caches[0].cpus);
        let count = caches.len().to_string();
        table.row([level, kind, number(size), number(line), number(ways), count, users.to_string(), first]);
    }
    table
}

fn pages(rows: &[&TopologyRow]) -> Table {
    let columns = vec![
        Column::number("page", "KiB"),
        Column::text("kind"),
        Column::text("node"),
        Column::number("pages", ""),
        Column::number("free", ""),
    ];
    let mut table = Table::new("Pages", columns);
    for row in rows {
        table.row([number(row.size_kib), text(&row.class), row.at.clone(), number(row.pages), number(row.free_pages)]);
    }
    table
}

fn limits(rows: &[&TopologyRow]) -> Table {
    let mut table = Table::new("Limits of this process", vec![Column::text("limit"), Column::text("value")]);
    for row in rows {
        let size = row.size_kib.map(|kib| if kib < 1024 { format!("{kib} KiB") } else { format!("{} MiB", kib >> 10) });
        let cpus = (!row.cpus.is_empty()).then(|| list(&row.cpus));
        table.row([row.at.clone(), size.or(cpus).or_else(|| row.class.clone()).unwrap_or_else(|| "none".to_owned())]);
    }
    table
}

fn notes(rows: &[&TopologyRow]) -> Table {
    let mut table = Table::new("", vec![Column::prose("Notes")]);
    for row in rows {
        table.row([text(&row.class)]);
    }
    table
}

fn text(field: &Option<String>) -> String {
    field.clone().unwrap_or_default()
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn mib(kib: Option<u64>) -> String {
    number(kib.map(|kib| kib >> 10))
}

/// CPUs as the kernel lists them: `0-3,8`.
pub(crate) fn list(cpus: &[CpuId]) -> String {
    ranges(cpus.iter().map(|cpu| cpu.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes; of four cores, two share a cluster.
    fn rows() -> Vec<TopologyRow> {
        let row = |part, id: u32, at: &str| TopologyRow::new("host", part, id, at);
        let cpus = |numbers: &[u16]| numbers.iter().copied().map(CpuId).collect::<Vec<_>>();
        let mut rows = vec![
            TopologyRow { cpus: cpus(&[0, 1, 2, 3]), size_kib: Some(1 << 20), ..row(TopologyPart::Node, 0, "node0") },
            TopologyRow { size_kib: Some(1 << 20), tier: Some(22), ..row(TopologyPart::Node, 5, "node5") },
        ];
        for (from, line) in [(0, [10, 24]), (5, [24, 10])] {
            rows.extend(line.map(|distance| TopologyRow {
                distance: Some(distance),
                ..row(TopologyPart::Distance, from, &format!("node{from}"))
            }));
        }
        for (core, cluster) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
            let at = format!("/socket0/cluster{cluster}/core{core}");
            rows.push(TopologyRow { cpus: cpus(&[core]), ..row(TopologyPart::Core, core.into(), &at) });
            let cache = row(TopologyPart::Cache, core.into(), "L1");
            rows.push(TopologyRow { cpus: cpus(&[core]), size_kib: Some(32), ..cache });
        }
        rows.push(TopologyRow { class: Some("a note".into()), ..row(TopologyPart::Note, 0, "") });
        rows
    }

    fn words(text: &str) -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn alike_parts_share_a_line() {
        let texts: Vec<String> = tables(&rows()).iter().map(ToString::to_string).collect();
        let all = words(&texts.concat());
        for line in [
            "0 0-3 1024",
            "5 1024 22",
            "0 10▁ 24█",
            "5 24█ 10▁",
            "/socket0/cluster0 2 2 0-1",
            "/socket0/cluster1 2 2 2-3",
            "L1 32 4 1 0",
            "a note",
        ] {
            assert!(all.iter().any(|found| found == line), "no `{line}` in {all:#?}");
        }
        assert_eq!(texts.len(), 5, "tables without rows are left out");
    }

    #[test]
    fn a_single_node_has_no_matrix() {
        let one: Vec<TopologyRow> = rows().into_iter().filter(|row| row.id == 0).collect();
        assert!(tables(&one).iter().all(|table| !table.to_string().contains("SLIT")));
    }

    #[test]
    fn the_drawing_shows_every_node_and_distance() {
        let svg = crate::computer_drawing("a title", &rows());
        let document = roxmltree::Document::parse(&svg).expect("XML");
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
        for text in ["a title", "node0", "node5", "CPUs 0-3", "24"] {
            assert!(texts.contains(&text), "no `{text}` in {texts:?}");
        }
        let shaded = |fill: &str| fill.len() == 7 && fill != "#FFFFFF" && fill != "#010101" && fill != "#000000";
        let cells = document.descendants().filter(|node| {
            node.has_tag_name("rect") && node.attribute("rx").is_none() && node.attribute("fill").is_some_and(shaded)
        });
        assert_eq!(cells.count(), 4);
    }
}
