//! The page of coherence protocols: what the model checker explores, and transition tables.

use super::Page;
use super::markdown::{Rows, code, prose};
use crate::commands::verify::transitions;

/// The page.
pub fn page() -> Page {
    let mut text = String::from("# Protocols\n\n");
    text.push_str(
        "`ccnuma verify NAME` explores every reachable state of these, with the handlers that the simulator runs.\n\n",
    );
    let mut list = Rows::new(&["protocol", "what it is"]);
    verify::protocols().for_each(|protocol| list.row([code(protocol.name), prose(protocol.description)]));
    text.push_str(&list.end());
    let mut tables: Vec<&str> = Vec::new();
    for family in verify::protocols().map(|protocol| protocol.transitions) {
        if !tables.contains(&family) {
            tables.push(family);
            text.push_str(&lowered(&transitions(family)));
            text.push('\n');
        }
    }
    Page::markdown("protocols.md", &text)
}

/// Markdown with every heading a level lower.
fn lowered(text: &str) -> String {
    text.lines().map(|line| if line.starts_with('#') { format!("#{line}\n") } else { format!("{line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_transition_table_is_on_the_page() {
        let crate_of_protocols = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol");
        let files = fs::read_dir(crate_of_protocols).expect("the crate").filter_map(Result::ok);
        let tables = files.filter(|file| file.file_name().to_string_lossy().starts_with("TRANSITIONS-"));
        let page = page().text;
        assert_eq!(tables.count(), page.matches("\n## Transitions of ").count());
        assert!(page.contains("\n## Transitions of the Origin's home\n") && !page.contains("Generated from"));
    }
}
