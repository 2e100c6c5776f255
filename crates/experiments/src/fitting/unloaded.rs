//! Latencies that a described machine should show, from the parts that its simulation runs with.

use fit::remote::Latency;
use machine::Description;

/// The latency of a read of each node's memory by a processor of each node, when nothing else happens; none of a machine
/// that cannot be simulated.
pub fn unloaded(description: &Description) -> Vec<Latency> {
    let reads = sim::unloaded_reads(description).unwrap_or_default();
    let latency = |read: sim::UnloadedRead| Latency {
        from: read.from,
        to: read.to,
        hops: read.hops,
        ns: read.time.as_ns(),
        error_ns: 0.0,
    };
    reads.into_iter().map(latency).collect()
}

#[cfg(test)]
mod tests {
    use fit::{HostFindings, remote, write_description};
    use units::Bytes;

    use super::*;

    fn host() -> HostFindings {
        HostFindings {
            title: "a host".into(),
            clock_mhz: 2100.0,
            nodes: 1,
            processors: 2,
            node_memory: Bytes::from_mib(20_480),
            line: Bytes(64),
            line_is_measured: true,
            first_cache: (Bytes::from_kib(48), 1.6),
            last_cache: (Bytes::from_mib(2), 5.2),
            local_ns: 96.0,
            penalty_ns: None,
            step_ns: None,
            line_ns: None,
            translation: Some((Bytes::from_kib(4), 2048, 9.5)),
        }
    }

    fn described(findings: &HostFindings) -> Description {
        let text = write_description("my.toml", findings, &unloaded).expect("a description");
        machine::parse("my.toml", &text).expect("its own text").description
    }

    #[test]
    fn a_host_becomes_a_machine_with_its_latency() {
        let reads = unloaded(&described(&host()));
        assert!((reads[0].ns - 96.0).abs() < 1.5, "{reads:?}");
    }

    #[test]
    fn distances_become_interfaces_and_routers() {
        let findings = HostFindings {
            nodes: 8,
            processors: 128,
            penalty_ns: Some(45.0),
            step_ns: Some(30.0),
            line_ns: Some(2.4),
            ..host()
        };
        let machine = described(&findings);
        let path = remote::fit(&unloaded(&machine)).expect("two distances and more");
        let (penalty, delay) = (path.penalty().expect("determined").value, path.delay().expect("determined").value);
        assert!((penalty - 45.0).abs() < 3.0, "{penalty}");
        assert!((delay - 30.0).abs() < 2.0, "{delay}");
        assert_eq!((machine.topology.processors, machine.memory.line_cycles), (16, 2));
    }

    #[test]
    fn a_router_without_bypass_takes_longer() {
        let stinger = machine::load("stinger").expect("built in");
        let delay = remote::fit(&unloaded(&stinger)).expect("many distances").delay().expect("determined").value;
        // Prestor 2001, section 4.3.2: 120 ns in the router and 23 to 59 ns on the cables.
        assert!((143.0..=185.0).contains(&delay), "{delay}");
    }
}
