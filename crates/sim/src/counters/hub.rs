//! The Hub's counters: memory and directory in six modes, input and output one pair of events at a time.

use units::Duration;

use super::unit::{CountedEvent, CountingMode};

/// An uncached load of a register of the own Hub (Prestor 2001, 5.3.1).
pub const REGISTER_READ: Duration = Duration(300_000);

const fn event(name: &'static str, what: &'static str) -> CountedEvent {
    CountedEvent { name, what }
}

/// The six modes of the memory and directory section, in the order of Prestor 2001, Table 5.2. The registers of each
/// are those of section 5.3.2 and Figure 5.5; their order within a mode is ours.
pub const MEMORY_MODES: &[CountingMode] = &[
    CountingMode {
        name: "activity",
        what: "memory activity breakdown, in Hub cycles",
        events: &[
            event("mdidle", "memory idle cycles"),
            event("mdblocked", "cycles in which memory was blocked for want of room to send"),
            event("mdrefresh", "memory refresh cycles"),
            event("mddir", "cycles busy with requests that need the directory alone"),
            event("mdmem", "cycles busy with requests that need memory and directory"),
            event("mdmisc", "cycles busy with anything else"),
        ],
    },
    CountingMode {
        name: "outgoing",
        what: "outgoing message classification",
        events: &[
            event("outdata", "responses with data, speculative ones included"),
            event("outwback", "writeback acknowledgements"),
            event("outivn", "interventions and invalidations"),
            event("outboff", "backoff interventions and invalidations"),
            event("outnack", "negative acknowledgements"),
            event("outmisc", "other outgoing messages"),
        ],
    },
    CountingMode {
        name: "interventions",
        what: "outgoing intervention/invalidation classification",
        events: &[
            event("ivnshared", "interventions for a shared copy"),
            event("ivnexcl", "interventions for an exclusive copy"),
            event("inval", "invalidations, one for all sharers of a line: they are told apart later, on their way out"),
            event("boffshared", "backoff interventions for a shared copy"),
            event("boffexcl", "backoff interventions for an exclusive copy"),
            event("boffinval", "backoff invalidations"),
        ],
    },
    CountingMode {
        name: "incoming",
        what: "incoming message classification",
        events: &[
            event("inread", "read requests"),
            event("inwback", "lines written back, by owners asked for them too"),
            event("inrev", "revision messages without data"),
            event("infop", "fetch-and-op requests (the simulated programs make none)"),
            event("infophit", "fetch-and-op requests that hit in the Hub's cache (there are none)"),
            event("inmisc", "other incoming messages"),
        ],
    },
    CountingMode {
        name: "directory",
        what: "directory state for read classification",
        events: &[
            event("diruown", "read requests that found the line unowned"),
            event("dirshrd", "read requests that found the line shared"),
            event("direxclown", "read requests by the line's exclusive owner itself"),
            event("direxcl", "read requests that found another processor's exclusive line"),
            event("dirbusy", "read requests that found the line busy"),
            event("dirpois", "read requests that found the line poisoned"),
        ],
    },
    CountingMode {
        name: "local",
        what: "count of requests by local processors",
        events: &[
            event("lp0read", "read requests by local processor 0"),
            event("lp0wback", "writeback requests by local processor 0"),
            event("lp1read", "read requests by local processor 1"),
            event("lp1wback", "writeback requests by local processor 1"),
            event("lioread", "read requests by local I/O: lines that the block transfer engine reads here"),
            event(
                "liowinv",
                "write invalidate requests by local I/O: lines that the block transfer engine writes here",
            ),
        ],
    },
];

/// The events that the counter of the input and output section can select (Prestor 2001, Table 5.3), and the pairs of
/// both directions: the counter increments on either of the two selected events.
pub const IO_MODES: &[CountingMode] = &[
    io(&[event("xbowsent", "micropackets transmitted to the XBow (0xF0; nothing is attached)")]),
    io(&[event("xbowreceived", "micropackets received from the XBow (0x0F; nothing is attached)")]),
    io(&[event("xbowdatareceived", "data-only micropackets received from the XBow (0xF1)")]),
    io(&[event("xbowdatasent", "data-only micropackets transmitted to the XBow (0x1F)")]),
    io(&[event("iosent", "micropackets that the I/O section transmitted to the crossbar (0xF2)")]),
    io(&[event("ioreceived", "micropackets that the I/O section received from the crossbar (0x2F)")]),
    io(&[event("iodatareceived", "data-only micropackets received from the crossbar (0xF3)")]),
    io(&[event("iodatasent", "data-only micropackets transmitted to the crossbar (0x3F)")]),
    io(&[event("iomoved", "micropackets between I/O section and crossbar (0xF2 or 0x2F)")]),
    io(&[event("iodatamoved", "data-only micropackets between I/O section and crossbar (0xF3 or 0x3F)")]),
];

const fn io(events: &'static [CountedEvent]) -> CountingMode {
    CountingMode { name: events[0].name, what: events[0].what, events }
}

/// Counters of a node that only the simulator has.
pub const NODE_TRUTH: &[CountingMode] = &[CountingMode {
    name: "simulator",
    what: "what no counter of the machine tells, in nanoseconds",
    events: &[
        event("busbusy", "ns for which the bus to the processors was held"),
        event(
            "ctlbusy",
            "ns for which the controller was held: a Hub's memory and directory, MAGIC's protocol processor",
        ),
        event("ctlqueued", "ns that messages waited for the controller"),
        event("membusy", "ns for which memory was held"),
    ],
}];
