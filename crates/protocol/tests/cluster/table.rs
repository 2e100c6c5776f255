//! The documented transition tables equal those of the handlers.

use std::fmt::Write;
use std::path::Path;

use protocol::cluster::{HomeOutcome, Intervention, Lane, Line, MessageKind, NodeCase, home_cases, node_cases};
use protocol::snoop::Rights;

/// Environment variable: if set, the test writes the tables instead of comparing them.
const UPDATE: &str = "UPDATE_TRANSITIONS";

const HEADING: &str = "\
# Transitions of the protocol between the nodes of a cluster: home and device

Generated from the handlers by the test `cluster` of this crate; set `UPDATE_TRANSITIONS=1` to write it anew.

The device's part on the bus is among the transitions of the snooping participants
(`ccnuma verify moesi --transitions`).

## Messages at the home

\"I\" am the node that sent the message, or for which an owner reports.

| situation | message | transaction | sends | next state |
|---|---|---|---|---|
";

fn row(text: &mut String, cells: &[&str]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("strings take everything");
}

fn list(kinds: &[MessageKind]) -> String {
    kinds.iter().map(|kind| kind.mnemonic()).collect::<Vec<_>>().join(" ")
}

fn line(line: &Line) -> String {
    let mut text = match line.rights {
        Rights::None => "no right",
        Rights::Read => "may read",
        Rights::Write => "may write",
    }
    .to_owned();
    if let Some(request) = line.request {
        let invalidated = if request.invalidated { ", INVAL received" } else { "" };
        write!(text, ", {} sent{invalidated}", request.kind.mnemonic()).expect("strings take everything");
    }
    if line.is_collecting() {
        write!(text, ", {} INVAL_ACK outstanding", line.collection.balance).expect("strings take everything");
    }
    if line.writeback.is_some() {
        text += ", WB sent";
    }
    match line.intervention {
        None => {}
        Some(Intervention::Share { .. }) => text += ", to share",
        Some(Intervention::Take { .. }) => text += ", to give away",
        Some(Intervention::Invalidate { .. }) => text += ", to invalidate",
        Some(Intervention::Replace) => text += ", to replace",
    }
    text
}

fn of_node(text: &mut String, case: &NodeCase) {
    if let Ok(outcome) = &case.result {
        let outcome = format!("{outcome:?}");
        row(text, &[case.situation, case.kind.mnemonic(), &outcome, &list(&case.sent), &line(&case.next)]);
    }
}

fn render() -> String {
    let mut text = HEADING.to_owned();
    for case in home_cases() {
        let transaction = match case.result {
            Ok(HomeOutcome::Done(work)) => format!("{:?}", work.transaction),
            Ok(HomeOutcome::Busy) => "waits".to_owned(),
            Err(_) => continue,
        };
        let cells = [case.situation, case.kind.mnemonic(), &transaction, &list(&case.sent), case.next.mnemonic()];
        row(&mut text, &cells);
    }
    let columns = "| situation | message | outcome | sends | next |\n|---|---|---|---|---|\n";
    text += "\n## Messages at a device\n\nA grant of the right to write announces one acknowledgement.\n\n";
    text += columns;
    node_cases(false).for_each(|case| of_node(&mut text, &case));
    text += "\n## Messages at a device that differ with early grant\n\n";
    text += columns;
    for (base, case) in node_cases(false).zip(node_cases(true)) {
        if base.result != case.result || base.sent != case.sent || base.next != case.next {
            of_node(&mut text, &case);
        }
    }
    text += "\n## Impossible cases, with reasons\n\n| situation | message: reason |\n|---|---|\n";
    let at_home = home_cases().filter_map(|case| Some((case.situation, case.kind, case.result.err()?)));
    let at_node = node_cases(false).filter_map(|case| Some((case.situation, case.kind, case.result.err()?)));
    for (situation, kind, error) in at_home.chain(at_node) {
        row(&mut text, &[situation, &format!("{}: {}", kind.mnemonic(), error.reason)]);
    }
    text += "\n## Messages\n\n| message | network | carries the line |\n|---|---|---|\n";
    for kind in MessageKind::ALL {
        let data = if kind.carries_data() { "yes" } else { "" };
        row(&mut text, &[kind.mnemonic(), &format!("{:?}", kind.lane()), data]);
    }
    text
}

#[test]
fn the_documented_tables_equal_those_of_the_handlers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("TRANSITIONS-cluster.md");
    let rendered = render();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &rendered).expect("the table can be written");
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(documented == rendered, "TRANSITIONS-cluster.md is out of date: run this test with {UPDATE}=1");
}

/// A request is answered or forwarded, or it waits, and only then sends nothing.
#[test]
fn every_request_is_answered_or_waits() {
    for case in home_cases().filter(|case| case.kind.lane() == Lane::Request) {
        match case.result {
            Ok(outcome) => assert_eq!(case.sent.is_empty(), outcome == HomeOutcome::Busy, "{case:?}"),
            Err(error) => assert!(!error.reason.is_empty(), "{case:?}"),
        }
    }
}
