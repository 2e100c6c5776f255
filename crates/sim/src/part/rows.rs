//! Rows of DRAM: a bank keeps the row of its last access open for a while. An access to it is sooner by the activation, and one to another
//! row later by the precharge; an idle memory has all rows closed.

use units::{Duration, Time};

/// Groups of banks of a channel, in which consecutive lines lie (DDR4 has four, since data of one group do not follow each other closely).
const GROUPS: u64 = 4;

/// Sizes and times of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowTiming {
    /// Lines of a row.
    pub lines: u64,
    /// To open a row.
    pub activate: Duration,
    /// To close one.
    pub precharge: Duration,
    /// From its last access until a row is closed.
    pub open: Duration,
    /// From the activation of a row of a bank to that of another.
    pub cycle: Duration,
}

/// The row that a bank has open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// Its number; `None` before the first access.
    number: Option<u64>,
    /// Its activation.
    opened: Time,
    /// Its last access.
    used: Time,
}

/// What an access finds in its bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// From when on it can start.
    pub from: Time,
    /// For how long it then has the bank.
    pub occupancy: Duration,
    /// By how much its data are later, or sooner, than those of an access to a bank without an open row.
    pub late: Duration,
    pub early: Duration,
    /// From its start to the activation of its row; `None` if the row is open.
    activated: Option<Duration>,
}

impl Opening {
    /// That of a bank without rows: free at `free`, and taken for `occupancy`.
    pub const fn without_rows(free: Time, occupancy: Duration) -> Self {
        Self { from: free, occupancy, late: Duration::ZERO, early: Duration::ZERO, activated: None }
    }
}

impl RowTiming {
    /// The bank and the row, among the `banks` of its channel (a multiple of [`GROUPS`]), of the line with this number there. Rows at multiples of a bank's size
    /// lie in different banks: the number of a row permutes them (Zhang, Zhu and Zhang 2000).
    pub fn place(&self, line: u64, banks: u64) -> (u64, u64) {
        let (group, of_group, each) = (line % GROUPS, line / GROUPS / self.lines, banks / GROUPS);
        let row = of_group / each;
        (group * each + (of_group + row) % each, row)
    }

    /// What an access to row `number` finds in a bank that has `row` open and is free at `free`; its data take `length`.
    pub fn opening(&self, row: &Row, number: u64, free: Time, length: Duration) -> Opening {
        let closed = row.number.is_none() || free > row.used + self.open;
        if !closed && row.number == Some(number) {
            return Opening { early: self.activate, ..Opening::without_rows(free, length) };
        }
        let late = if closed { Duration::ZERO } else { self.precharge };
        // A row stays open for the cycle of its bank less the precharge.
        let again = if row.number.is_some() { row.opened + (self.cycle - late) } else { free };
        let from = free.max(again);
        Opening { from, occupancy: late + self.activate, late, early: Duration::ZERO, activated: Some(late) }
    }
}

impl Row {
    /// An access to row `number` that found `opening` has started.
    pub fn note(&mut self, number: u64, start: Time, opening: &Opening) {
        if let Some(after) = opening.activated {
            (self.number, self.opened) = (Some(number), start + after);
        }
        self.used = start + opening.occupancy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: RowTiming = RowTiming {
        lines: 8,
        activate: Duration(10),
        precharge: Duration(12),
        open: Duration(100),
        cycle: Duration(50),
    };

    #[test]
    fn lines_of_a_page_lie_in_one_row_of_each_group() {
        let places: Vec<_> = (0..32).map(|line| ROWS.place(line, 16)).collect();
        assert!(places.iter().all(|place| place.1 == 0));
        assert_eq!([0, 1, 2, 3, 4].map(|line| places[line].0), [0, 4, 8, 12, 0]);
        assert_eq!(ROWS.place(32, 16), (1, 0), "the next bank of the group");
        assert_eq!(ROWS.place(32 * 4, 16), (1, 1), "the next row begins with the next bank");
        let mut all: Vec<_> = (0..16 * 8 * 3).map(|line| ROWS.place(line, 16)).collect();
        all.sort_unstable();
        let each = all.chunk_by(|one, other| one == other).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(each, [8; 48], "each row of each bank has all its lines");
    }

    #[test]
    fn an_open_row_is_sooner_and_another_one_later_than_none() {
        let mut row = Row::default();
        let at = |row: &Row, number, time| ROWS.opening(row, number, Time(time), Duration(3));
        let first = at(&row, 5, 1000);
        assert_eq!(
            (first.from, first.occupancy, first.late, first.early),
            (Time(1000), Duration(10), Duration(0), Duration(0))
        );
        row.note(5, Time(1000), &first);
        let hit = at(&row, 5, 1010);
        assert_eq!(
            (hit.from, hit.occupancy, hit.late, hit.early),
            (Time(1010), Duration(3), Duration(0), Duration(10))
        );
        row.note(5, Time(1010), &hit);
        let other = at(&row, 6, 1013);
        assert_eq!(
            (other.from, other.late),
            (Time(1038), Duration(12)),
            "the row has been open for a cycle less the precharge"
        );
        assert_eq!(other.occupancy, Duration(22));
        // Open up to 100 after its last access at 1013.
        assert_eq!([1112, 1113, 1114].map(|time| at(&row, 6, time).late), [12, 12, 0].map(Duration));
        assert_eq!([1113, 1114].map(|time| at(&row, 5, time).early), [10, 0].map(Duration));
        row.note(6, Time(1038), &other);
        assert_eq!(at(&row, 7, 1070).from, Time(1088), "its activation was at 1050");
    }
}
