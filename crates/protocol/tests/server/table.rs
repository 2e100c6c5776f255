//! The documented transition tables equal those of the handlers.

use std::fmt::Write;
use std::path::Path;

use protocol::ProtocolError;
use protocol::server::{
    CachingOutcome, DESIGNS, HomeOutcome, Leaves, MessageKind, caching_cases, core_cases, describe_caching,
    describe_home, home_cases,
};

/// Environment variable: if set, the test writes the tables instead of comparing them.
const UPDATE: &str = "UPDATE_TRANSITIONS";

const HEADING: &str = "\
# Transitions of the protocol of servers: cores, caching agents and homes

Generated from the handlers by the test `server` of this crate; set `UPDATE_TRANSITIONS=1` to write it anew.

A message with `*` leaves when memory has been read. Home snoop is the design of `server/haswell` and `server/snoop`, early snoop that of
`server/early` and `server/snoop-early`, the directory that of `server/directory`, the directory with a cache that of `server/cod` and
`server/skylake`, and the probe filter that of `server/zen`.
";

fn row(text: &mut String, cells: &[&str]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("strings take everything");
}

fn list(kinds: &[MessageKind]) -> String {
    kinds.iter().map(|kind| kind.mnemonic()).collect::<Vec<_>>().join(" ")
}

/// Impossible cases that are collected at the end: table, situation, message, reason.
type Impossible = Vec<[String; 4]>;

fn impossible(cases: &mut Impossible, table: &str, situation: &str, kind: MessageKind, error: &ProtocolError) {
    cases.push([table.to_owned(), situation.to_owned(), kind.mnemonic().to_owned(), error.reason.to_owned()]);
}

fn homes(text: &mut String, cases: &mut Impossible) {
    for (name, design) in DESIGNS {
        write!(text, "\n## A home: {name}\n\n\"I\" am the caching agent that sent the message.\n\n").expect("strings");
        *text += "| situation | message | sends | next |\n|---|---|---|---|\n";
        for case in home_cases(design) {
            let sent = |sent: &[(MessageKind, Leaves)]| {
                let star = |leaves| if leaves == Leaves::AfterMemory { "*" } else { "" };
                let each = sent.iter().map(|&(kind, leaves)| format!("{}{}", kind.mnemonic(), star(leaves)));
                each.collect::<Vec<_>>().join(" ")
            };
            match &case.result {
                Ok(HomeOutcome::Busy) => row(text, &[case.situation, case.kind.mnemonic(), "waits", ""]),
                Ok(HomeOutcome::Done(_)) => {
                    let next = describe_home(&case.next);
                    row(text, &[case.situation, case.kind.mnemonic(), &sent(&case.sent), &next]);
                }
                Err(error) => impossible(cases, name, case.situation, case.kind, error),
            }
        }
    }
}

fn agents(text: &mut String, cases: &mut Impossible) {
    for (name, design) in DESIGNS.into_iter().filter(|(name, _)| *name != "directory") {
        write!(text, "\n## A caching agent: {name}\n\nMessages of cores are from core 0.\n\n").expect("strings");
        *text += "| situation | message | sends | next |\n|---|---|---|---|\n";
        for case in caching_cases(design) {
            match &case.result {
                Ok(CachingOutcome::Busy) => row(text, &[case.situation, case.kind.mnemonic(), "waits", ""]),
                Ok(CachingOutcome::Done(_)) => {
                    let next = describe_caching(&case.next);
                    row(text, &[case.situation, case.kind.mnemonic(), &list(&case.sent), &next]);
                }
                Err(error) => impossible(cases, name, case.situation, case.kind, error),
            }
        }
    }
}

fn render() -> String {
    let (mut text, mut cases) = (HEADING.to_owned(), Impossible::new());
    text += "\n## A core\n\nCompletions grant the right to write.\n\n| situation | message | sends | next |\n|---|---|---|---|\n";
    for case in core_cases() {
        match &case.result {
            Ok(_) => {
                let next = format!("{:?}", case.next.copy);
                row(&mut text, &[case.situation, case.kind.mnemonic(), &list(&case.sent), &next]);
            }
            Err(error) => impossible(&mut cases, "core", case.situation, case.kind, error),
        }
    }
    agents(&mut text, &mut cases);
    homes(&mut text, &mut cases);
    text += "\n## Impossible cases, with reasons\n\n| table | situation | message | reason |\n|---|---|---|---|\n";
    for [table, situation, message, reason] in &cases {
        row(&mut text, &[table, situation, message, reason]);
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("TRANSITIONS-server.md");
    let rendered = render();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &rendered).expect("the table can be written");
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(documented == rendered, "TRANSITIONS-server.md is out of date: run this test with {UPDATE}=1");
}

#[test]
fn impossible_cases_have_reasons() {
    let mut cases = Impossible::new();
    homes(&mut String::new(), &mut cases);
    agents(&mut String::new(), &mut cases);
    assert!(!cases.is_empty());
    assert!(cases.iter().all(|[.., reason]| !reason.is_empty()), "{cases:?}");
}
