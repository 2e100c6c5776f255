//! The documented transition tables equal those of the handlers.

use std::fmt::Write;
use std::path::Path;

use protocol::msi::{CacheLine, MessageKind, Msi, home_cases, node_cases};

/// Environment variable: if set, the test writes the tables instead of comparing them.
const UPDATE: &str = "UPDATE_TRANSITIONS";

const HEADING: &str = "\
# Transitions of FLASH's MSI protocol: home and node

Generated from the handlers by the test `msi` of this crate; set `UPDATE_TRANSITIONS=1` to write it anew.

The sharing set is a bit vector with replacement hints; another set changes the targets of `INVAL`, and can make a `GET` displace a
sharer. `NAK` and `NAKC` are FLASH's names for a NACK to the requester and to the home.

## Messages at the home

\"I\" am the node that sent the message.

| situation | message | transaction | sends | next state |
|---|---|---|---|---|
";

fn row(text: &mut String, cells: &[&str]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("strings take everything");
}

fn list(kinds: &[MessageKind]) -> String {
    kinds.iter().map(|kind| kind.mnemonic()).collect::<Vec<_>>().join(" ")
}

fn line(line: &CacheLine) -> String {
    let state = match line.state {
        Msi::Invalid => "INVALID",
        Msi::Shared => "SHARED",
        Msi::Dirty => "DIRTY",
    };
    line.request.map_or(state.to_owned(), |request| {
        let status = if request.nacked { "NACKed" } else { "sent" };
        let overtaken = if request.invalidated { ", INVAL received" } else { "" };
        format!("{state}, {} {status}{overtaken}", request.kind.mnemonic())
    })
}

fn render() -> String {
    let mut text = HEADING.to_owned();
    for case in home_cases(false).filter(|case| !case.situation.starts_with("COLLECTING")) {
        if let Ok(transaction) = case.result {
            let transaction = format!("{transaction:?}");
            let cells = [case.situation, case.kind.mnemonic(), &transaction, &list(&case.sent), case.next.mnemonic()];
            row(&mut text, &cells);
        }
    }
    text += "\n## Messages at the home that differ with acknowledgement to requester (`/IR`)\n\n";
    text += "| situation | message | transaction | sends | next state |\n|---|---|---|---|---|\n";
    for (base, case) in home_cases(false).zip(home_cases(true)) {
        let collecting = case.situation.starts_with("COLLECTING");
        if let Ok(transaction) = case.result
            && (collecting || base.sent != case.sent || base.next != case.next)
        {
            let transaction = format!("{transaction:?}");
            let cells = [case.situation, case.kind.mnemonic(), &transaction, &list(&case.sent), case.next.mnemonic()];
            row(&mut text, &cells);
        }
    }
    text += "\n## Messages at a node\n\n| situation | message | outcome | sends | next |\n|---|---|---|---|---|\n";
    for case in node_cases() {
        if let Ok(outcome) = case.result {
            let outcome = format!("{outcome:?}");
            row(&mut text, &[case.situation, case.kind.mnemonic(), &outcome, &list(&case.sent), &line(&case.next)]);
        }
    }
    text += "\n## Impossible cases, with reasons\n\n| situation | message: reason |\n|---|---|\n";
    let at_home = home_cases(false).filter_map(|case| Some((case.situation, case.kind, case.result.err()?)));
    let at_node = node_cases().filter_map(|case| Some((case.situation, case.kind, case.result.err()?)));
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("TRANSITIONS-msi.md");
    let rendered = render();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &rendered).expect("the table can be written");
    }
    let documented = std::fs::read_to_string(&path).expect("the table is there");
    assert!(documented == rendered, "TRANSITIONS-msi.md is out of date: run this test with {UPDATE}=1");
}

/// A request for a copy is answered, forwarded, or preceded by invalidations, or has a reason why it cannot arrive.
#[test]
fn every_request_is_answered_forwarded_or_preceded_by_invalidations() {
    let requests = [MessageKind::Get, MessageKind::GetExclusive, MessageKind::Upgrade];
    for case in home_cases(false).chain(home_cases(true)).filter(|case| requests.contains(&case.kind)) {
        match case.result {
            Ok(_) => assert!(!case.sent.is_empty(), "{case:?}"),
            Err(error) => assert!(!error.reason.is_empty(), "{case:?}"),
        }
    }
}
