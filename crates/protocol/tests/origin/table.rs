//! The documented transition table equals that of the handler.

use std::fmt::Write;
use std::path::Path;

use protocol::origin::{DirectoryState, HomeCase, MessageKind, home_cases};

/// Environment variable: if set, the test writes the table instead of comparing it.
const UPDATE: &str = "UPDATE_TRANSITIONS";

const HEADING: &str = "\
# Transitions of the Origin's home

Generated from the home's handler by the test `origin` of this crate; set `UPDATE_TRANSITIONS=1` to write it anew.

\"Me\" is the processor that sent the message. Busy states also record the priority of a NACKed request.

";

fn render() -> String {
    let mut text = HEADING.to_owned();
    text += "| state | description |\n|---|---|\n";
    for state in DirectoryState::ALL {
        writeln!(text, "| {} | {} |", state.mnemonic(), state.description()).expect("strings take everything");
    }
    text += "\n| situation | message | transaction | sends | next state |\n|---|---|---|---|---|\n";
    home_cases().for_each(|case| row(&mut text, &case));
    text += "\n| situation | impossible message: reason |\n|---|---|\n";
    for case in home_cases() {
        if let Err(error) = case.result {
            writeln!(text, "| {} | {}: {} |", case.situation, case.kind.mnemonic(), error.reason)
                .expect("strings take everything");
        }
    }
    text += "\n| message | channel | carries the line |\n|---|---|---|\n";
    for kind in MessageKind::ALL {
        let data = if kind.carries_data() { "yes" } else { "" };
        writeln!(text, "| {} | {:?} | {data} |", kind.mnemonic(), kind.class()).expect("strings take everything");
    }
    text
}

fn row(text: &mut String, case: &HomeCase) {
    let Ok(work) = case.result else { return };
    let sent: Vec<_> = case.sent.as_slice().iter().map(|message| message.kind.mnemonic()).collect();
    let backoff = if case.backoff { " (queue nearly full)" } else { "" };
    writeln!(
        text,
        "| {} | {}{backoff} | {:?} | {} | {} |",
        case.situation,
        case.kind.mnemonic(),
        work.transaction,
        sent.join(" "),
        case.next.mnemonic()
    )
    .expect("strings take everything");
}

#[test]
fn the_documented_table_equals_that_of_the_handler() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("TRANSITIONS-origin.md");
    let rendered = render();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &rendered).expect("the crate's folder is writable");
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(documented, rendered, "set {UPDATE}=1 to write the table anew");
}

#[test]
fn mnemonics_are_unique() {
    let names: std::collections::BTreeSet<_> = MessageKind::ALL.iter().map(|kind| kind.mnemonic()).collect();
    assert_eq!(names.len(), MessageKind::ALL.len());
}
