//! The documented transition tables equal those of the handlers.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use protocol::sci::{CacheState, Command, MemoryState, Report, Response, cache_cases, memory_cases, response_cases};

/// Environment variable: if set, the test writes the tables instead of comparing them.
const UPDATE: &str = "UPDATE_TRANSITIONS";

const HEADING: &str = "\
# Transitions of SCI's typical set: memory and caches

Generated from the handlers by the test `sci` of this crate; set `UPDATE_TRANSITIONS=1` to write it anew.

`Nack` is the NACK that the standard calls nullified.

";

fn render() -> String {
    let mut text = HEADING.to_owned();
    text += "| memory | description |\n|---|---|\n";
    for state in MemoryState::ALL {
        row(&mut text, &[state.mnemonic(), state.description()]);
    }
    text += "\n| cache | description |\n|---|---|\n";
    for state in CacheState::ALL {
        row(&mut text, &[state.mnemonic(), state.description()]);
    }
    text += "\n## Requests at memory\n\n\"I\" is the cache that sent the request.\n\n";
    text += "| situation | command | response | next state |\n|---|---|---|---|\n";
    for case in memory_cases() {
        if let Ok((response, _)) = case.result {
            row(&mut text, &[case.situation, case.command.mnemonic(), &answer(&response), case.next.state.mnemonic()]);
        }
    }
    text +=
        "\n## Requests at a cache\n\n`NEXT` comes from the element before and `PREV` from the element behind; from ";
    text += "other senders they are NACKed in every state.\n\n| state | command | response | next state |\n|---|---|---|---|\n";
    for case in cache_cases() {
        if let Ok((response, _)) = case.result {
            let (state, next) = (case.state.mnemonic(), case.next.mnemonic());
            row(&mut text, &[state, case.command.mnemonic(), &answer(&response), next]);
        }
    }
    text += "\n## Responses at the requester\n\n| state | operation | request | response | next state | next request |\n|---|---|---|---|---|---|\n";
    for case in response_cases() {
        if let Ok(progress) = case.result {
            let next_request = progress.next.map_or("", |request| request.command.mnemonic());
            let (operation, report) = (format!("{:?}", case.operation), format!("{:?}", case.report));
            let (state, request, next) = (case.state.mnemonic(), case.command.mnemonic(), case.next.mnemonic());
            row(&mut text, &[state, &operation, request, &report, next, next_request]);
        }
    }
    text += "\n## Impossible cases, with reasons\n\n";
    for case in memory_cases() {
        if let Err(error) = case.result {
            impossible(&mut text, case.situation, case.command.mnemonic(), error.reason);
        }
    }
    // Each reason is one line: many states share it.
    let errors: Vec<_> = cache_cases().filter_map(|case| case.result.err()).collect();
    let reasons: BTreeSet<_> = errors.iter().map(|error| (error.message, error.reason)).collect();
    for (message, reason) in reasons {
        let same = errors.iter().filter(|error| (error.message, error.reason) == (message, reason));
        let states: Vec<_> = same.map(|error| error.state).collect();
        impossible(&mut text, &states.join(", "), message, reason);
    }
    text
}

fn row(text: &mut String, cells: &[&str]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("strings take everything");
}

fn impossible(text: &mut String, situation: &str, message: &str, reason: &str) {
    writeln!(text, "- {message} at {situation}: {reason}.").expect("strings take everything");
}

fn answer(response: &Response) -> String {
    let pointer = if response.pointer.is_some() { " + pointer" } else { "" };
    let data = if response.version.is_some() { " + data" } else { "" };
    format!("{:?}{pointer}{data}", response.report)
}

#[test]
fn the_documented_tables_equal_those_of_the_handlers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("TRANSITIONS-sci.md");
    let rendered = render();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &rendered).expect("the crate's folder is writable");
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(documented, rendered, "set {UPDATE}=1 to write the tables anew");
}

#[test]
fn names_are_unique_and_listed_in_order() {
    let commands: BTreeSet<_> = Command::ALL.iter().map(|command| command.mnemonic()).collect();
    assert_eq!(commands.len(), Command::ALL.len());
    let states: BTreeSet<_> = CacheState::ALL.iter().map(|state| state.mnemonic()).collect();
    assert_eq!(states.len(), CacheState::ALL.len());
    for (index, &command) in Command::ALL.iter().enumerate() {
        assert_eq!(command as usize, index);
    }
    for (index, &state) in CacheState::ALL.iter().enumerate() {
        assert_eq!(state as usize, index);
    }
    for (index, &report) in Report::ALL.iter().enumerate() {
        assert_eq!(report as usize, index);
    }
}
