//! What a machine description says that fits of back-to-back measurements should find: the path of a read, added up.
//!
//! The simulator that measures knows none of these sums. Waiting for an edge of another clock counts with half its period.
//! The sums are those of a Hub: a machine with another controller has none of those that pass it.

use machine::Description;
use machine::Topology;
use machine::description::{CachePort, Fill, HubSpec};
use machine::topology::Endpoint;
use units::{Bytes, Duration};

/// The latency of a read of local memory in a chain of dependent ones, in nanoseconds: from one line on the bus to the next.
///
/// The next request waits for its address; on a processor that fills whole lines also for the end of the fill, which holds
/// the secondary cache; and for the system bus, which the line holds. Bus transactions start at edges of the grid.
pub fn local_latency(description: &Description) -> Option<f64> {
    let (processor, coherent) = (&description.processor, description.coherent_cache());
    // A primary cache without others checks its tags as it is accessed.
    let outer = coherent.port.filter(|_| description.l2.is_some());
    let (hub, sysad, memory) = (description.hub.as_ref()?, &description.sysad, &description.memory);
    let core = |cycles: u32| ns(processor.clock.period()) * f64::from(cycles);
    // The level between a primary and a third one checks its tags first.
    let middle = description.l3.as_ref().and(description.l2.as_ref()).map_or(0.0, |l2| {
        ns(l2.bus_clock.period())
            * f64::from(l2.tag_check_cycles + if l2.way_prediction { l2.way_miss_cycles } else { 0 })
    });
    let bus = |cycles: u32| ns(hub.clock.period()) * f64::from(cycles);
    let on_grid = |time: f64| (time / bus(sysad.grid_cycles) - 1e-9).ceil() * bus(sysad.grid_cycles);
    // Times from the start of a line on the bus.
    let line = ns(hub.clock.period()) * (coherent.line.0 as f64 / sysad.width.0 as f64);
    let address = bus(sysad.critical_cycles) + core(processor.data_to_use_cycles + description.l1.hit_cycles);
    let cache_bus = |port: CachePort, cycles: u32| ns(port.clock.period()) * f64::from(cycles);
    let cache_free = match outer {
        Some(port) if port.fill == Fill::WholeLine => line + cache_bus(port, port.fill_write_cycles),
        _ => 0.0,
    };
    let tags = outer.map_or(0.0, |port| {
        cache_bus(port, port.tag_check_cycles + if port.way_prediction { port.way_miss_cycles } else { 0 })
    });
    let at_pins = (address + middle).max(cache_free) + tags + core(processor.miss_to_request_cycles);
    let request = on_grid(at_pins.max(line + bus(sysad.turnaround_cycles)));
    let to_memory = bus(sysad.request_cycles + hub.pi_request_cycles + hub.crossbar_cycles);
    let from_memory = bus(memory.access_cycles + hub.crossbar_cycles + hub.pi_reply_cycles);
    Some(on_grid(request + to_memory + from_memory))
}

/// What a read pays once for leaving its node and entering another, there and back, in nanoseconds: network interfaces, the
/// crossbar once more, the links between nodes and routers with their clock crossings, and for a line the lag that keeps
/// its end from overtaking. One link fewer than routers lies between these, which is taken off here because
/// [`router_delay`] counts one a router.
pub fn remote_penalty(description: &Description) -> Option<f64> {
    let hub = description.hub.as_ref()?;
    let cycle = ns(hub.clock.period());
    let interfaces = cycle * f64::from(hub.ni_out_cycles + hub.ni_in_cycles + hub.crossbar_cycles);
    // A message from a node waits for an edge of four link cycles, as does one to a node; inside, for the Hub's.
    let crossing = 4.0 * ns(description.link.node_clock.period()) / 2.0;
    let node_links = 2.0 * (mean_delay(description, true) + crossing) + cycle / 2.0;
    let router_link = mean_delay(description, false);
    Some(2.0 * (interfaces + node_links - router_link) + lag(description, hub))
}

/// What each router adds to a read, there and back, in nanoseconds: pin to pin, and a link between routers.
pub fn router_delay(description: &Description) -> f64 {
    let router = &description.router;
    let queue = if description.bypasses_queues() { 0 } else { router.queue_cycles };
    let pins = ns(router.clock.period()) * f64::from(router.bypass_cycles + queue);
    2.0 * (pins + mean_delay(description, false))
}

/// For how long a line that is read holds the memory, in nanoseconds, its share of the refreshes included.
pub fn memory_occupancy(description: &Description) -> Option<f64> {
    let (memory, cycle) = (&description.memory, ns(description.hub.as_ref()?.clock.period()));
    let refreshing = cycle * f64::from(memory.refresh_cycles) / ns(memory.refresh_interval);
    Some(cycle * f64::from(memory.line_cycles) / (1.0 - refreshing))
}

/// What a translation miss costs, in nanoseconds.
pub fn translation_miss(description: &Description) -> f64 {
    ns(description.tlb.miss)
}

/// The memory that one entry of the translation buffer covers.
pub fn translation_page(description: &Description) -> Bytes {
    Bytes(description.tlb.page.0 * u64::from(description.tlb.pages_per_entry))
}

/// The memory that the whole translation buffer covers.
pub fn translation_reach(description: &Description) -> Bytes {
    Bytes(translation_page(description).0 * u64::from(description.tlb.entries))
}

/// By how much the network is slower than the bus with a whole line, in nanoseconds: data go on into the bus so much later
/// that their end does not lag behind.
fn lag(description: &Description, hub: &HubSpec) -> f64 {
    let link = &description.link;
    let packets = description.data_packets() as f64;
    let node_packet = ns(link.node_clock.period()) * f64::from(link.micropacket_transfers);
    let on_network = packets * node_packet.max(ns(link.micropacket_time));
    let on_bus =
        ns(hub.clock.period()) * (description.coherent_cache().line.0 as f64 / description.sysad.width.0 as f64);
    (on_network - on_bus).max(0.0)
}

/// The mean time of a signal on a link, drivers included, in nanoseconds: of those at nodes, or of those between routers.
fn mean_delay(description: &Description, at_nodes: bool) -> f64 {
    let topology = Topology::new(description);
    let is_at_node = |ends: [Endpoint; 2]| ends.iter().any(|end| matches!(end, Endpoint::Node(_)));
    let chosen = topology.links().iter().filter(|link| is_at_node(link.ends) == at_nodes);
    let delays: Vec<f64> = chosen.map(|link| ns(link.delay)).collect();
    let mean = delays.iter().sum::<f64>() / delays.len().max(1) as f64;
    mean + ns(description.link.transceiver)
}

fn ns(duration: Duration) -> f64 {
    duration.as_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_near_what_was_published() {
        // Prestor 2001: Table 4.8 (local, 384 ns), section 4.3.2 (penalty 230 ns, 111 to 114 ns a router), section 2.1.
        let arctic = machine::load("arctic").expect("built in");
        let near =
            |ours: f64, theirs: f64, pct: f64| assert!((ours / theirs - 1.0).abs() * 100.0 < pct, "{ours} {theirs}");
        near(local_latency(&arctic).expect("a Hub"), 384.0, 10.0);
        near(remote_penalty(&arctic).expect("a Hub"), 230.0, 10.0);
        near(router_delay(&arctic), 112.5, 5.0);
        near(translation_miss(&arctic), 300.0, 1e-6);
        assert_eq!(translation_reach(&arctic), Bytes::from_mib(2));
        // The memory bandwidth of section 4.3.1 is about 620 MB/s.
        near(128.0 / memory_occupancy(&arctic).expect("a Hub") * 1e3, 620.0, 5.0);
    }

    #[test]
    fn sums_of_a_hub_are_not_made_up_for_another_controller() {
        let flash = machine::load("flash-4p").expect("a built-in family");
        assert_eq!((local_latency(&flash), remote_penalty(&flash), memory_occupancy(&flash)), (None, None, None));
    }

    #[test]
    fn a_router_without_bypass_takes_longer() {
        let stinger = machine::load("stinger").expect("built in");
        // Section 4.3.2: 120 ns in the router and 23 to 59 ns on the cables.
        assert!((143.0..=185.0).contains(&router_delay(&stinger)), "{}", router_delay(&stinger));
    }
}
