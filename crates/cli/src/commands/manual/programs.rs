//! The page of built-in programs and their parameters.

use workloads::Workload;

use super::Page;
use super::markdown::{Rows, code, prose};

/// The page.
pub fn page() -> Page {
    let mut text = String::from("# Programs\n\n");
    text.push_str(
        "The programs that `ccnuma sim`, `diagnose`, `report` and `run -m` run, each of which checks its own ",
    );
    text.push_str("results. A parameter is a flag, as in `ccnuma sim -m arctic fft --points 4096`.\n\n");
    for program in Workload::all() {
        let rows = experiments::program_rows(&program);
        let summary = rows.first().map_or("", |row| row.summary.as_str());
        text.push_str(&format!("## {}\n\n{}\n\n", program.name(), prose(summary)));
        let mut table = Rows::new(&["parameter", "what it is", "default", "least", "most"]);
        for row in &rows {
            let numbers = [row.default, row.least, row.most].map(|number| number.to_string());
            table.row([code(&format!("--{}", row.parameter)), prose(&row.meaning)].into_iter().chain(numbers));
        }
        text.push_str(&table.end());
    }
    Page::markdown("programs.md", &text)
}
