//! Pages of the counters of simulated machines, and of the metrics that are computed from counters.

use sim::counters::{CounterUnit, Shape};

use super::Page;
use super::markdown::{Rows, code, prose};

/// Units of registers, with what they belong to.
const UNITS: &[(&str, CounterUnit)] = &[
    ("Hub of an Origin: memory and directory", CounterUnit::HubMemory),
    ("Hub of an Origin: input and output", CounterUnit::HubIo),
    ("Port of a router", CounterUnit::RouterPort { channel: 0 }),
    ("R10000: first counter", CounterUnit::Processor { second: false }),
    ("R10000: second counter", CounterUnit::Processor { second: true }),
    ("MAGIC: handlers", CounterUnit::MagicHandlers),
    ("MAGIC: messages", CounterUnit::MagicMessages),
    ("Any node: what the simulator alone can tell", CounterUnit::NodeTruth),
    ("Any thread: what the simulator alone can tell", CounterUnit::ThreadTruth),
];

/// The counters of simulated machines.
pub fn counters() -> Page {
    let mut text = String::from("# Counters\n\n");
    text.push_str(
        "The registers of simulated machines, by unit and mode: events of one mode are counted at the same time, ",
    );
    text.push_str("modes take turns. On a real computer the counters are those of its kernel: `ccnuma sar --list` tells them.\n\n");
    for (title, unit) in UNITS {
        text.push_str(&format!("## {title}\n\nPath {}; {}.\n\n", code(unit.edge()), shape(unit.shape())));
        let mut rows = Rows::new(&["mode", "counter", "what it counts"]);
        for mode in unit.modes() {
            for event in mode.events.iter().filter(|event| !event.name.is_empty()) {
                rows.row([prose(mode.name), code(event.name), prose(event.what)]);
            }
        }
        text.push_str(&rows.end());
    }
    Page::markdown("counters.md", &text)
}

fn shape(shape: Shape) -> String {
    match shape {
        Shape::Wrapping(bits) => format!("registers of {bits} bits, which wrap around"),
        Shape::Shifting(bits) => format!("a shift register of {bits} bits"),
        Shape::Halving(bits) => format!("registers of {bits} bits, which are halved together when one is full"),
    }
}

/// The metrics: formulas over counters.
pub fn metrics() -> Page {
    let mut text = String::from("# Metrics\n\n");
    text.push_str(
        "Metrics are formulas over counters, used by `sar`, `run`, `dump` and `report` alike. Those marked with * are ",
    );
    text.push_str("shown without being asked for. Your own are written in the same way (`--metrics FILE`).\n\n");
    let metrics = trace::metric::built_in();
    let mut groups: Vec<&str> = metrics.iter().map(|metric| metric.group.as_str()).collect();
    groups.dedup();
    for group in groups {
        text.push_str(&format!("## {group}\n\n"));
        let mut rows = Rows::new(&["metric", "of", "unit", "what it is", "formula"]);
        for metric in metrics.iter().filter(|metric| metric.group == group) {
            let name = format!("{}{}", code(&metric.name), if metric.main { "\\*" } else { "" });
            rows.row([name, metric.of.to_string(), metric.unit.clone(), prose(&metric.what), code(&metric.formula)]);
        }
        text.push_str(&rows.end());
    }
    Page::markdown("metrics.md", &text)
}
