//! Tables of machine descriptions and of the parts of a machine.

use record::{MachineRow, TopologyPart, TopologyRow};

use crate::{Column, Table, computer};

/// A line per machine description.
pub fn machines(rows: &[MachineRow]) -> Table {
    let mut table = Table::new(
        "",
        vec![
            Column::text("machine"),
            Column::number("CPUs", ""),
            Column::text("processor"),
            Column::number("clock", "MHz"),
            Column::number("L2 bus", "MHz").detail(1),
            Column::number("L2", "MiB"),
            Column::prose("description"),
        ],
    );
    for row in rows {
        table.row([
            row.name.clone(),
            row.processors.to_string(),
            row.processor.clone(),
            format!("{:.0}", row.clock_mhz),
            format!("{:.0}", row.l2_bus_mhz),
            row.l2_mib.to_string(),
            row.title.clone(),
        ]);
    }
    table
}

/// The tables of nodes, of routers, of links and of routes, or of what a computer is made of, without those that are empty.
pub fn topology(rows: &[TopologyRow]) -> Vec<Table> {
    // Simulated machines are drawn from routers and links; a computer tells distances instead.
    if rows.iter().any(|row| row.part == TopologyPart::Distance) {
        return computer::tables(rows);
    }
    let of = |part| rows.iter().filter(move |row| row.part == part);
    let tables = [
        nodes(of(TopologyPart::Node)),
        routers(of(TopologyPart::Router)),
        links(of(TopologyPart::Link)),
        routes(of(TopologyPart::Route)),
    ];
    tables.into_iter().filter(|table| !table.is_empty()).collect()
}

fn nodes<'a>(rows: impl Iterator<Item = &'a TopologyRow>) -> Table {
    let columns =
        vec![Column::number("node", ""), Column::text("name"), Column::text("CPUs"), Column::text("router port")];
    let mut table = Table::new("Nodes", columns);
    for row in rows {
        let cpus: Vec<String> = row.cpus.iter().map(ToString::to_string).collect();
        table.row([row.id.to_string(), row.at.clone(), cpus.join(" "), text(&row.to)]);
    }
    table
}

fn routers<'a>(rows: impl Iterator<Item = &'a TopologyRow>) -> Table {
    let columns = vec![Column::number("router", ""), Column::text("name"), Column::text("place")];
    let mut table = Table::new("Routers", columns);
    for row in rows {
        table.row([row.id.to_string(), row.at.clone(), text(&row.class)]);
    }
    table
}

fn links<'a>(rows: impl Iterator<Item = &'a TopologyRow>) -> Table {
    let columns = vec![
        Column::number("link", ""),
        Column::text("from"),
        Column::text("to"),
        Column::text("class"),
        Column::number("length", "m"),
        Column::number("delay", "ns"),
    ];
    let mut table = Table::new("Links", columns);
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    for row in rows {
        let (length, delay) = (number(row.length_m), number(row.delay_ns));
        table.row([row.id.to_string(), row.at.clone(), text(&row.to), text(&row.class), length, delay]);
    }
    table
}

fn routes<'a>(rows: impl Iterator<Item = &'a TopologyRow> + Clone) -> Table {
    // Where requests and replies take the same routes, no network is named.
    let networks = rows.clone().any(|row| row.class.is_some());
    let mut columns =
        vec![Column::text("from"), Column::text("to"), Column::number("hops", ""), Column::text("exit ports")];
    columns.extend(networks.then(|| Column::text("network")));
    let mut table = Table::new("Routes", columns);
    for row in rows {
        let hops = row.hops.map_or_else(String::new, |hops| hops.to_string());
        let network = networks.then(|| text(&row.class));
        table.row([row.at.clone(), text(&row.to), hops, text(&row.exits)].into_iter().chain(network));
    }
    table
}

fn text(field: &Option<String>) -> String {
    field.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use units::CpuId;

    use super::*;

    fn part(part: TopologyPart, id: u32) -> TopologyRow {
        TopologyRow {
            cpus: vec![CpuId(0), CpuId(1)],
            to: Some("/hw/peer".into()),
            class: Some("backplane".into()),
            length_m: Some(0.5),
            delay_ns: Some(2.5),
            ..TopologyRow::new("m", part, id, format!("/hw/{id}"))
        }
    }

    #[test]
    fn only_parts_that_are_there_get_a_table() {
        let tables = topology(&[part(TopologyPart::Link, 7), part(TopologyPart::Node, 0)]);
        let texts: Vec<String> = tables.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2);
        let last_line = |text: &str| text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(last_line(&texts[0]), "0 /hw/0 0 1 /hw/peer");
        assert_eq!(last_line(&texts[1]), "7 /hw/7 /hw/peer backplane 0.50 2.50");
    }
}
