//! The counters of a router port.

use units::Duration;

use super::unit::{CountedEvent, CountingMode};

/// A vector operation that fetches all four registers of a port (Prestor 2001, 5.3.1).
pub const VECTOR_READ: Duration = Duration(5_000_000);

/// One tick of the 50 MHz clock of a port's registers: a micropacket on the link (Prestor 2001, Table 5.4).
pub const TICK: Duration = Duration(20_000);

/// Ticks of waiting in a queue that age a message by one. Prestor 2001 gives no rate, only that waiting messages age.
pub const AGE_TICKS: u64 = 1;

/// Entries of a virtual channel's queue in the last class of the histogram, which means full (Prestor 2001, Table 5.4).
pub const FULL: u32 = 15;
/// Entries at which the class before the last begins.
pub const HALF_FULL: u32 = 8;

const fn event(name: &'static str, what: &'static str) -> CountedEvent {
    CountedEvent { name, what }
}

/// The three modes (Prestor 2001, Table 5.4).
pub const MODES: &[CountingMode] = &[
    CountingMode {
        name: "utilisation",
        what: "link utilisation, in micropackets",
        events: &[
            event("linkbypass", "micropackets received that bypassed the queue"),
            event("linkreceived", "micropackets received from the link"),
            event("linksent", "micropackets sent to the link"),
            event("linkclock", "50 MHz clock"),
        ],
    },
    CountingMode {
        name: "queue",
        what: "DAMQ histogram: used entries of a virtual channel's receive queue, by the 50 MHz clock",
        events: &[
            event("damq0", "ticks with no entry used"),
            event("damq1", "ticks with 1 to 7 entries used"),
            event("damq8", "ticks with 8 to 14 entries used"),
            event("damq15", "ticks with 15 entries or more used"),
        ],
    },
    CountingMode {
        name: "age",
        what: "age histogram of micropackets sent to the link",
        events: &[
            event("age0", "micropackets of age 0 to 63"),
            event("age64", "micropackets of age 64 to 127"),
            event("age128", "micropackets of age 128 to 191"),
            event("age192", "micropackets of age 192 to 255"),
        ],
    },
];
