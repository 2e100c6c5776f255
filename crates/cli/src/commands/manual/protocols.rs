//! The page of coherence protocols: what the model checker explores, and transition tables.

use super::Page;
use super::markdown::{Rows, code, prose};

/// The transition tables, which tests of the crate `protocol` derive from its handlers and hold current.
const TRANSITIONS: &[&str] = &[
    include_str!("../../../../protocol/TRANSITIONS-origin.md"),
    include_str!("../../../../protocol/TRANSITIONS-msi.md"),
    include_str!("../../../../protocol/TRANSITIONS-sci.md"),
    include_str!("../../../../protocol/TRANSITIONS-snoop.md"),
    include_str!("../../../../protocol/TRANSITIONS-cluster.md"),
    include_str!("../../../../protocol/TRANSITIONS-server.md"),
];

/// The page.
pub fn page() -> Page {
    let mut text = String::from("# Protocols\n\n");
    text.push_str(
        "`ccnuma verify NAME` explores every reachable state of these, with the handlers that the simulator runs.\n\n",
    );
    let mut list = Rows::new(&["protocol", "what it is"]);
    verify::protocols().for_each(|protocol| list.row([code(protocol.name), prose(protocol.description)]));
    text.push_str(&list.end());
    for table in TRANSITIONS {
        text.push_str(&lowered(table));
        text.push('\n');
    }
    Page::markdown("protocols.md", &text)
}

/// Markdown with every heading a level lower. What it says of how it was generated concerns the repository alone.
fn lowered(text: &str) -> String {
    let lines = text.lines().map(|line| if line.starts_with('#') { format!("#{line}\n") } else { format!("{line}\n") });
    lines.filter(|line| !line.starts_with("Generated from")).collect()
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
        assert_eq!(tables.count(), TRANSITIONS.len());
        assert!(page().text.contains("\n## Transitions of the Origin's home\n"));
    }
}
