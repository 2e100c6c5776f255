//! Counters that MAGIC's protocol code can keep in its own memory.

use super::unit::{CountedEvent, CountingMode};

/// Declares a mode with the runs and the cycles of each handler.
macro_rules! handlers {
    ($($name:ident $cycles:ident $text:literal;)*) => {
        &[CountingMode {
            name: "handlers",
            what: "runs of MAGIC's handlers, and cycles of its protocol processor that each took",
            events: &[$(
                CountedEvent { name: concat!("h_", stringify!($name)), what: concat!("runs of the handler ", $text) },
                CountedEvent { name: stringify!($cycles), what: concat!("protocol processor cycles of the handler ", $text) },
            )*],
        }]
    };
}

/// Runs and cycles of each handler, in the order of `Handler::ALL`.
pub const HANDLERS: &[CountingMode] = handlers! {
    request request_cycles "request";
    reply reply_cycles "reply";
    refusal refusal_cycles "refusal";
    read read_cycles "read";
    write write_cycles "write";
    write_invalidate write_invalidate_cycles "write-invalidate";
    forward forward_cycles "forward";
    refuse refuse_cycles "refuse";
    writeback writeback_cycles "writeback";
    sharing_writeback sharing_writeback_cycles "sharing-writeback";
    ownership_transfer ownership_transfer_cycles "ownership-transfer";
    forward_refused forward_refused_cycles "forward-refused";
    acknowledge acknowledge_cycles "acknowledge";
    last_acknowledge last_acknowledge_cycles "last-acknowledge";
    hint hint_cycles "hint";
    intervention intervention_cycles "intervention";
    supply supply_cycles "supply";
    supply_refused supply_refused_cycles "supply-refused";
    invalidate invalidate_cycles "invalidate";
    relay relay_cycles "relay";
    collect collect_cycles "collect";
};

/// Miss latencies as noted in message buffers, the number of those misses, and the misses that the buffers do not
/// cover.
pub const MESSAGES: &[CountingMode] = &[CountingMode {
    name: "messages",
    what: "cycle counts kept in message buffers, in protocol processor cycles",
    events: &[
        CountedEvent { name: "mbmisses", what: "misses that took action at other nodes" },
        CountedEvent { name: "mbcycles", what: "cycles from their request into the network to their reply" },
        CountedEvent { name: "mblocal", what: "misses answered without action at other nodes" },
    ],
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::Handler;

    #[test]
    fn every_handler_has_its_two_counters_in_order() {
        let names: Vec<_> = HANDLERS[0].events.iter().map(|event| event.name.to_owned()).collect();
        let of = |handler: &Handler| {
            let name = handler.name().replace('-', "_");
            [format!("h_{name}"), format!("{name}_cycles")]
        };
        assert_eq!(names, Handler::ALL.iter().flat_map(of).collect::<Vec<_>>());
    }
}
