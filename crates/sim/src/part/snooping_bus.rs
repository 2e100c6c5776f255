//! A snooping bus with separate address and data wires, which carries several transactions at once.
//!
//! A transaction takes the address wires when it is granted; every participant snoops it, and the combined reply is there
//! a fixed time later. Its data, if it has any, take the data wires when they are ready, in any order. As on the SGI
//! Challenge's bus, a table holds the transactions between grant and completion: a line has at most one of them, and a
//! full table grants none (Culler, Singh and Gupta, Parallel Computer Architecture, 1999, 6.4). A table of one entry is a
//! bus that is held for the whole transaction.

use std::collections::VecDeque;

use engine::{Grid, Server};
use units::{Duration, LineAddr, Time};

/// Times of a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnoopingBusTiming {
    /// Clock of the bus: address and data phases start at multiples of this.
    pub clock: Grid,
    /// Entries of the table of transactions.
    pub outstanding: usize,
    /// From a request at a participant's pins to its address phase on a free bus.
    pub arbitration: Duration,
    /// Occupancy of the address wires.
    pub address: Duration,
    /// From the start of an address phase to the combined snoop reply.
    pub snoop: Duration,
    /// Occupancy of the data wires by a line, turnaround included.
    pub data: Duration,
}

/// A bus with transactions named by `T`.
#[derive(Clone, Debug)]
pub struct SnoopingBus<T> {
    timing: SnoopingBusTiming,
    address: Server,
    data: Server,
    /// Requests in the order of their arrival.
    waiting: VecDeque<(T, LineAddr, Time)>,
    /// Lines of the transactions between grant and completion.
    table: Vec<LineAddr>,
}

impl<T: Copy> SnoopingBus<T> {
    /// An idle bus.
    pub fn new(timing: SnoopingBusTiming) -> Self {
        let (waiting, table) = (VecDeque::new(), Vec::with_capacity(timing.outstanding));
        Self { timing, address: Server::default(), data: Server::default(), waiting, table }
    }

    /// Requests the bus for a transaction on `line`, at `now`.
    pub fn request(&mut self, transaction: T, line: LineAddr, now: Time) {
        self.waiting.push_back((transaction, line, now));
    }

    /// Grants the bus to the oldest request whose line has no transaction under way, if the table has room. Returns the
    /// transaction and the start of its address phase. It is called after each request and each completion, until it
    /// grants none.
    pub fn grant(&mut self, now: Time) -> Option<(T, Time)> {
        if self.table.len() == self.timing.outstanding {
            return None;
        }
        let next = self.waiting.iter().position(|(_, line, _)| !self.table.contains(line))?;
        let (transaction, line, asked) = self.waiting.remove(next)?;
        self.table.push(line);
        let earliest = now.max(asked + self.timing.arbitration);
        let start = self.address.reserve_from(asked, earliest, self.timing.clock, self.timing.address);
        Some((transaction, start))
    }

    /// Withdraws the request that `is_it` selects. Returns whether it waited.
    pub fn withdraw(&mut self, is_it: impl Fn(T) -> bool) -> bool {
        let place = self.waiting.iter().position(|&(transaction, ..)| is_it(transaction));
        place.is_some_and(|place| self.waiting.remove(place).is_some())
    }

    /// The data of a granted transaction are ready at `now`: they take the data wires. Returns their start.
    pub fn transfer(&mut self, now: Time) -> Time {
        self.data.reserve(now, self.timing.clock, self.timing.data)
    }

    /// The transaction on `line` is complete.
    pub fn complete(&mut self, line: LineAddr) {
        self.table.retain(|&other| other != line);
    }

    /// Number of transactions requested or granted, and not complete.
    pub fn under_way(&self) -> usize {
        self.waiting.len() + self.table.len()
    }

    /// The address wires.
    pub const fn address(&self) -> &Server {
        &self.address
    }

    /// The data wires.
    pub const fn data(&self) -> &Server {
        &self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn timing(outstanding: usize) -> SnoopingBusTiming {
        SnoopingBusTiming {
            clock: Grid::new(Duration(10)),
            outstanding,
            arbitration: Duration(20),
            address: Duration(30),
            snoop: Duration(50),
            data: Duration(80),
        }
    }

    fn bus(outstanding: usize, requests: &[(char, u64)]) -> SnoopingBus<char> {
        let mut bus = SnoopingBus::new(timing(outstanding));
        for &(name, line) in requests {
            bus.request(name, LineAddr(line), Time(5));
        }
        bus
    }

    #[test]
    fn address_phases_follow_each_other_on_edges_of_the_clock() {
        let mut bus = bus(8, &[('a', 1), ('b', 2)]);
        assert_eq!(bus.grant(Time(5)), Some(('a', Time(30))), "arbitration ends at 25");
        assert_eq!(bus.grant(Time(5)), Some(('b', Time(60))));
        assert_eq!(bus.grant(Time(5)), None);
        assert_eq!(bus.address().queued(), Duration(25 + 55));
    }

    #[test]
    fn a_line_has_one_transaction_and_others_pass_it() {
        let mut bus = bus(8, &[('a', 1), ('b', 1), ('c', 2)]);
        let granted: Vec<_> = std::iter::from_fn(|| bus.grant(Time(5))).map(|(name, _)| name).collect();
        assert_eq!(granted, ['a', 'c']);
        bus.complete(LineAddr(1));
        assert_eq!(bus.grant(Time(200)), Some(('b', Time(200))));
        assert_eq!(bus.under_way(), 2);
    }

    #[test]
    fn a_full_table_grants_nothing_until_a_transaction_completes() {
        let mut bus = bus(1, &[('a', 1), ('b', 2)]);
        assert_eq!(bus.grant(Time(5)), Some(('a', Time(30))));
        assert_eq!(bus.grant(Time(500)), None);
        bus.complete(LineAddr(1));
        assert_eq!(bus.grant(Time(500)), Some(('b', Time(500))));
    }

    #[test]
    fn data_take_the_wires_in_the_order_in_which_they_are_ready() {
        let mut bus = bus(8, &[('a', 1), ('b', 2)]);
        assert!(bus.grant(Time(5)).is_some() && bus.grant(Time(5)).is_some());
        assert_eq!(bus.transfer(Time(101)), Time(110), "not before the next edge");
        assert_eq!(bus.transfer(Time(120)), Time(190), "not before the line before it has passed");
    }
}
