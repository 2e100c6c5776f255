//! Tables of the runs of a sweep.

use record::{RunState, SweepRunRow};

use crate::{Column, Table};

/// Digits of a key that a table shows: as many as tell runs apart.
const DIGITS: usize = 12;

/// A line per run, and how many there are in which state.
pub fn sweep_runs(rows: &[SweepRunRow]) -> Table {
    let mut table = Table::new("", vec![Column::text("key"), Column::text("state"), Column::text("run")]);
    for row in rows {
        let key = row.key.get(..DIGITS).unwrap_or(&row.key).to_owned();
        table.row([key, row.state.name().to_owned(), row.run.clone()]);
    }
    let count = |state| rows.iter().filter(|row| row.state == state).count();
    let [done, running, left] = [RunState::Done, RunState::Running, RunState::Left].map(count);
    table.note(format!("{} runs: {done} done, {running} running, {left} left", rows.len()));
    table
}
