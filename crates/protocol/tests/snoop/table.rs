//! The documented transition tables equal those of the handlers.

use std::fmt::Write;
use std::path::Path;

use protocol::snoop::{Command, Moesi, Recall, Reply, Rights, cache_cases, device_cases};

/// Environment variable: if set, the test writes the tables instead of comparing them.
const UPDATE: &str = "UPDATE_TRANSITIONS";

const HEADING: &str = "\
# Transitions of the snooping participants of the MOESI bus

Generated from the handlers by the test `snoop` of this crate; set `UPDATE_TRANSITIONS=1` to write it anew.

On a MESI bus (`mesi`, `cluster/mesi`, `cluster/RC`) caches read by `BusRdF`, which brings memory up to date, so that none is Owned.

";

fn render() -> String {
    let mut text = HEADING.to_owned();
    text += "## A cache\n\n| state | another's transaction | reply | next state |\n|---|---|---|---|\n";
    for case in cache_cases() {
        if let Ok((reply, next)) = case.result {
            let (state, command) = (case.state, case.command.mnemonic());
            writeln!(text, "| {state:?} | {command} | {} | {next:?} |", reply_text(reply))
                .expect("strings take everything");
        }
    }
    text += "\n## The device of a cluster\n\n| rights of the node | transaction of a cache | reply | requested right |\n|---|---|---|---|\n";
    for case in device_cases() {
        if let Ok((reply, fetch)) = case.result {
            let (rights, command) = (right(case.rights), case.command.mnemonic());
            let fetch = fetch.map_or("", right);
            writeln!(text, "| {rights} | {command} | {} | {fetch} |", reply_text(reply))
                .expect("strings take everything");
        }
    }
    text += "\n## Impossible cases, with reasons\n\n";
    let errors = cache_cases().filter_map(|case| case.result.err());
    for error in errors.chain(device_cases().filter_map(|case| case.result.err())) {
        writeln!(text, "- {} {}: {}.", error.message, error.state, error.reason).expect("strings take everything");
    }
    text
}

fn reply_text(reply: Reply) -> &'static str {
    match (reply.retry, reply.owner.is_some(), reply.shared) {
        (true, _, _) => "retry",
        (false, true, _) => "owner",
        (false, false, true) => "shared",
        (false, false, false) => "",
    }
}

fn right(rights: Rights) -> &'static str {
    match rights {
        Rights::None => "none",
        Rights::Read => "read",
        Rights::Write => "write",
    }
}

#[test]
fn the_documented_tables_equal_those_of_the_handlers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("TRANSITIONS-snoop.md");
    let rendered = render();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &rendered).expect("the crate's folder is writable");
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(documented, rendered, "set {UPDATE}=1 to write the tables anew");
}

#[test]
fn lists_are_in_order() {
    assert!(Moesi::ALL.iter().enumerate().all(|(index, &state)| state as usize == index));
    assert!(Command::ALL.iter().enumerate().all(|(index, &command)| command as usize == index));
    assert!(Rights::ALL.iter().enumerate().all(|(index, &rights)| rights as usize == index));
    assert!(Rights::ALL.is_sorted(), "more is greater");
    assert!(Recall::Take.remaining() < Recall::Share.remaining());
}
