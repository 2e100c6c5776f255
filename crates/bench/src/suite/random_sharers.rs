//! Upgrades of lines that a random set of nodes shares: what a store costs by the number of copies that it invalidates
//! (FLASH dissertation, section 5.3.1, Figures 5.7 and 5.8).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::NodeId;

use super::scope::SuiteScope;
use crate::{Experiment, Layout, Placement, Plan, Series, Settings, State};

/// The most sharers of the dissertation: beyond them its measuring thread shared a processor with one of them.
const MOST_SHARERS: usize = 60;
/// Lines of each measurement unless the user says otherwise: their lists of sharers exceed what a controller of FLASH caches
/// of its directory from some dozen sharers on, as those of a program that shares much do.
const LINES: u64 = 2048;

/// Every number of sharers, each with as many random sets as the scope wants.
pub(super) fn plans(layout: &Layout, scope: &SuiteScope) -> Vec<Plan> {
    let others = layout.nodes().filter(|&node| !layout.cpus_of(node).is_empty()).count().saturating_sub(1);
    (1..=others.min(MOST_SHARERS)).flat_map(|sharers| random_sharers(layout, sharers, scope)).collect()
}

/// Upgrades of lines of the requester's node that it shares with `sharers` other nodes, one plan for each of the scope's
/// random sets. The sharers keep their copies, so that a protocol that hears of dropped ones has still to invalidate them.
///
/// The bandwidth of upgrades is measured, as in the dissertation, whose processors had a single request outstanding: what
/// a line takes is the latency only on a machine with `processor.outstanding_misses = 1`.
///
/// Equal numbers of sharers get equal sets on equal layouts. No plans if the machine has not so many other nodes.
pub fn random_sharers(layout: &Layout, sharers: usize, scope: &SuiteScope) -> Vec<Plan> {
    let mut with_processors = layout.nodes().filter(|&node| !layout.cpus_of(node).is_empty());
    let Some(home) = with_processors.next() else { return Vec::new() };
    let others: Vec<NodeId> = with_processors.collect();
    if sharers == 0 || sharers > others.len() {
        return Vec::new();
    }
    let first = |node: NodeId| layout.cpus_of(node)[0];
    let settings = Settings {
        lines: scope.settings.lines,
        sharers_drop: Some(false),
        // Other sets take the place of repetitions.
        iterations: 1,
        ..scope.settings.clone()
    };
    let draw = |draw: u32| {
        let chosen = drawn(&others, sharers, (sharers as u64) << 32 | u64::from(draw));
        let placement = Placement::new(home, first(home), chosen.into_iter().map(first));
        let mut plan = Plan::new(Experiment::BwUpgrd, State::Shrd, placement, settings.clone());
        // Small caches hold fewer lines, and the time of each is the same.
        let most = plan.most_lines(layout).unwrap_or(LINES);
        plan.settings.lines = plan.settings.lines.or(Some(LINES.min(most)));
        plan.in_series(Series::RandomSharers)
    };
    (0..scope.draws).map(draw).collect()
}

/// `count` different ones of `nodes` in random order.
fn drawn(nodes: &[NodeId], count: usize, seed: u64) -> Vec<NodeId> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut nodes = nodes.to_vec();
    for position in 0..count {
        let left = (nodes.len() - position) as u128;
        let chosen = (u128::from(random.next_u64()) * left) >> 64;
        nodes.swap(position, position + chosen as usize);
    }
    nodes.truncate(count);
    nodes
}

/// Nanoseconds for each line of an upgrade bandwidth in MB/s.
pub fn upgrade_latency(line: units::Bytes, mb_per_s: f64) -> f64 {
    line.0 as f64 / mb_per_s * 1000.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use units::{Bytes, CpuId, Duration};

    use super::*;

    fn layout(nodes: u16) -> Layout {
        let sizes = (Bytes(128), Bytes::from_kib(32), Bytes::from_mib(2));
        let cpus = (0..nodes).map(|node| vec![CpuId(node)]).collect();
        Layout::new("crossbar", cpus, |a, b| u32::from(a != b), sizes, Duration(4444)).expect("a layout")
    }

    fn scope(draws: u32) -> SuiteScope {
        SuiteScope { draws, ..SuiteScope::whole(Settings::simulated()) }
    }

    #[test]
    fn sets_differ_from_draw_to_draw_and_never_hold_the_requester() {
        let plans = random_sharers(&layout(64), 8, &scope(50));
        assert_eq!(plans.len(), 50);
        let mut sets = BTreeSet::new();
        for plan in &plans {
            let set: BTreeSet<CpuId> = plan.placement.remotes.iter().copied().collect();
            assert_eq!((set.len(), plan.placement.home, plan.placement.locals[0]), (8, NodeId(0), CpuId(0)));
            assert!(!set.contains(&CpuId(0)) && !plan.sharers_drop());
            sets.insert(set);
        }
        assert!(sets.len() > 45, "only {} different sets", sets.len());
        // 400 draws of 63 nodes: each is drawn some 6 times, and none is left out or preferred.
        let times = |cpu: u16| plans.iter().filter(|plan| plan.placement.remotes.contains(&CpuId(cpu))).count();
        let (least, most) = (1..64).map(times).fold((50, 0), |(least, most), n| (n.min(least), n.max(most)));
        assert!(least >= 1 && most <= 18, "{least} to {most}");
        assert_eq!(plans, random_sharers(&layout(64), 8, &scope(50)), "equal seeds give equal sets");
    }

    #[test]
    fn all_other_nodes_are_one_set_and_more_are_none() {
        let plans = random_sharers(&layout(8), 7, &scope(3));
        for plan in &plans {
            let set: BTreeSet<u16> = plan.placement.remotes.iter().map(|cpu| cpu.0).collect();
            assert_eq!(set, (1..8).collect());
        }
        assert!(random_sharers(&layout(8), 8, &scope(3)).is_empty());
        assert!(random_sharers(&layout(8), 0, &scope(3)).is_empty());
        assert_eq!(super::plans(&layout(8), &scope(3)).len(), 7 * 3);
        assert_eq!(super::plans(&layout(64), &scope(1)).len(), 60);
    }

    #[test]
    fn a_line_at_a_bandwidth_is_a_latency() {
        assert_eq!(upgrade_latency(Bytes(128), 64.0), 2000.0);
    }
}
