//! Pages of machines: every parameter, its value and where it comes from.

use super::Page;
use super::markdown::{Rows, block, code, folded, prose};
use crate::failure::Failure;

/// A machine of each family, which the pages show: the smallest that has all parts.
const OF_FAMILIES: [&str; 9] = [
    "origin2000-r12k-300-32p",
    "flash-16p",
    "flash-scaled-16p",
    "flash-mesh-16p",
    "smp-4p",
    "dash-16p",
    "sci-ring-8p",
    "sci-ring-33-8p",
    "sci-rings-2x8",
];

/// The page that lists machines, and one that describes each.
///
/// # Errors
/// When a built-in machine is wrong, which a test rules out.
pub fn pages() -> Result<Vec<Page>, Failure> {
    let mut text = String::from("# Machines\n\n");
    text.push_str(
        "Machines that are built in, by the name that `-m` takes. A change of a parameter follows the name, as in ",
    );
    text.push_str("`-m arctic+l2.size_mib=16`; a TOML file of yours that inherits one of them is a machine, too: ");
    text.push_str("`ccnuma machines show arctic > mine.toml` is a beginning.\n\n");
    let mut list = Rows::new(&["machine", "processors", "what it is"]);
    let names: Vec<String> = machine::names().map(|(name, _)| name).collect();
    let mut sections = String::new();
    for name in names.iter().map(String::as_str).chain(OF_FAMILIES) {
        let resolved = machine::resolve(name).map_err(Failure::run)?;
        let described = &resolved.description;
        let link = format!("[{name}](#{})", name.replace('.', ""));
        list.row([link, described.topology.processors.to_string(), prose(&described.title)]);
        sections.push_str(&format!("## {name}\n\n{}.\n\n", prose(&described.title)));
        sections.push_str(&calibrated(&described.calibrated_on));
        sections.push_str(&folded(
            "parameters, and the file and line that each value is from",
            &block("toml", &resolved.to_toml()),
        ));
    }
    text.push_str(&list.end());
    text.push_str("Families have a machine for every size:\n\n");
    machine::families().for_each(|family| text.push_str(&format!("- {}\n", prose(&family))));
    text.push('\n');
    text.push_str(&sections);
    Ok(vec![Page::markdown("machines.md", &text)])
}

/// The figures that the machine was fitted to.
fn calibrated(on: &[String]) -> String {
    if on.is_empty() {
        return "Calibrated on no published figure: all that it shows are predictions.\n\n".to_owned();
    }
    let figures: Vec<String> = on.iter().map(|entry| code(entry)).collect();
    format!("Calibrated on {}; every other figure is a prediction.\n\n", figures.join(", "))
}
