//! The plans of the suite `fit`: what the description of a server follows from, in minutes, with pairs of processors sampled.

use host::discovery::Relation;
use units::{Bytes, CpuId, NodeId};

use super::plans::Collector;
use super::scope::SuiteScope;
use crate::{Experiment, Layout, Placement, Series, Settings, State};

/// Pairs of each class of which every transaction is measured: cores of one class are near or far on their die.
const PAIRS_OF_A_CLASS: usize = 3;
/// Processors that pass lines to the first one at most: classes show among so many.
const PARTNERS: usize = 64;
/// Elements of the lists that tell the cost of a translation: many more than the first level of a translation buffer has entries,
/// fewer than the second has, more lines than a first-level cache holds, and few enough for a second-level cache.
const TRANSLATIONS: u64 = 1024;
/// The page that one entry of the translation buffer maps: the smallest of x86-64, and the usual one of AArch64.
const PAGE: u64 = 4 << 10;

/// Bandwidths of one processor out of each level of its caches, and lists of equally many lines that differ in pages.
pub(super) fn reaches(layout: &Layout, scope: &SuiteScope) -> Vec<crate::Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_with_memory();
    let Some(local) = collector.nearest(home) else { return collector.plans };
    let placement = Placement::new(home, local, None);
    let mut inside = Bytes(0);
    for cache in [layout.l1, layout.l2, layout.outermost] {
        // Beyond the level inside, and within this one though others may use a part of it.
        let array = if inside.0 == 0 { cache.0 / 8 } else { (2 * inside.0).min(cache.0 / 4 * 3) };
        let array = Bytes(array.min(scope.largest_area.0));
        let array = Bytes(array.0 / layout.line.0 * layout.line.0);
        if cache > inside && array > inside {
            let settings = Settings { array, stride: layout.line, ..scope.settings.clone() };
            collector.add_with(Series::P3, Experiment::P3Ru, State::Uown, placement.clone(), settings);
        }
        inside = cache;
    }
    // On the pages of the other lists, too: a hypervisor may have given small ones for large ones.
    let apart = PAGE + layout.line.0;
    let large = scope.pages.iter().map(|&pages| (apart, Some(pages)));
    for (stride, pages) in [(layout.line.0, None), (apart, None)].into_iter().chain(large) {
        let array = Bytes(stride * TRANSLATIONS);
        let settings = Settings { array, stride: Bytes(stride), pages, ..scope.settings.clone() };
        collector.add_with(Series::Hierarchy, Experiment::AreaRead, State::Uown, placement.clone(), settings);
    }
    collector.plans
}

/// Modified lines of every other core, read by the first processor, which shows the classes of pairs; and every transaction between a
/// few pairs of each class, with lines of the requester's node, of the owner's, and of a third.
pub(super) fn pairs(layout: &Layout, scope: &SuiteScope) -> Vec<crate::Plan> {
    let mut collector = Collector::new(layout, scope);
    let first = collector.first_with_memory();
    let Some(local) = collector.nearest(first) else { return collector.plans };
    let others: Vec<CpuId> = layout.cpus().filter(|&cpu| cpu != local && layout.is_first_thread(cpu)).collect();
    let sampled = spread(&others, PARTNERS);
    for &remote in &sampled {
        let home = collector.homes(local, Some(remote))[0];
        let placement = Placement::new(home, local, Some(remote));
        collector.add(Series::Pairs, Experiment::LmbenchRead, State::Dexd, placement);
    }
    for owner in owners_by_class(layout, local) {
        for home in collector.homes(local, Some(owner)) {
            for (experiment, state) in [
                (Experiment::LmbenchRead, State::Dexd),
                (Experiment::LmbenchRead, State::Cexh),
                (Experiment::LmbenchRead, State::Shrd),
                (Experiment::LmbenchRdex, State::Dext),
                (Experiment::LmbenchCas, State::Dext),
                (Experiment::LmbenchUpgrd, State::Shrd),
            ] {
                let placement = Placement::new(home, local, Some(owner));
                let known = collector
                    .plans
                    .iter()
                    .any(|plan| plan.placement == placement && (plan.experiment, plan.state) == (experiment, state));
                if !known {
                    collector.add(Series::Pairs, experiment, state, placement);
                }
            }
        }
    }
    collector.plans
}

/// Latency of each node's memory from the first processor of each node, and what one processor and all cores of a node read of the
/// nearest memory at each distance from the first node.
pub(super) fn memory(layout: &Layout, scope: &SuiteScope) -> Vec<crate::Plan> {
    let mut collector = Collector::new(layout, scope);
    let homes: Vec<NodeId> = layout.nodes().filter(|&node| layout.has_memory(node)).collect();
    for &home in &homes {
        for node in layout.nodes() {
            let Some(&local) = layout.cpus_of(node).first() else { continue };
            collector.add(Series::Nodes, Experiment::LmbenchRead, State::Uown, Placement::new(home, local, None));
        }
    }
    let Some(reads) = layout.nodes().find(|&node| !layout.cpus_of(node).is_empty()) else { return collector.plans };
    let together = first_threads(layout, layout.cpus_of(reads));
    let mut seen = Vec::new();
    for home in std::iter::once(reads).chain(layout.nodes_by_distance(reads)).filter(|home| homes.contains(home)) {
        let hops = layout.hops(reads, home);
        if seen.contains(&hops) {
            continue;
        }
        seen.push(hops);
        collector.add_streaming(Series::Nodes, Experiment::BwRead, Placement::new(home, together[0], None));
        if together.len() > 1 {
            let placement = Placement { home, locals: together.clone(), remotes: Vec::new() };
            collector.add_streaming(Series::Nodes, Experiment::BwmpRead, placement);
        }
    }
    collector.plans
}

/// Plans for the read bandwidth of the cores that share a cluster with the first processor, where a node has several clusters;
/// and for STREAM's triad on one core and on all of its node.
pub(super) fn rates(layout: &Layout, scope: &SuiteScope) -> Vec<crate::Plan> {
    let mut collector = Collector::new(layout, scope);
    let home = collector.first_with_memory();
    let Some(local) = collector.nearest(home) else { return collector.plans };
    let node = layout.node_of(local).map_or(&[][..], |node| layout.cpus_of(node));
    let all = first_threads(layout, node);
    let near = |&cpu: &CpuId| {
        matches!(layout.relation(local, cpu), Relation::Same | Relation::SmtSibling | Relation::SameCluster)
    };
    let cluster: Vec<CpuId> = all.iter().copied().filter(near).collect();
    if cluster.len() < all.len() && cluster.len() > 1 {
        let placement = Placement { home, locals: cluster, remotes: Vec::new() };
        collector.add_streaming(Series::Bandwidth, Experiment::BwmpRead, placement);
    }
    let crews = if all.len() > 1 { vec![vec![local], all] } else { vec![vec![local]] };
    for locals in crews {
        let placement = Placement { home, locals, remotes: Vec::new() };
        collector.add_streaming(Series::Bandwidth, Experiment::StreamTriad, placement);
    }
    collector.plans
}

/// Up to [`PAIRS_OF_A_CLASS`] owners of each nearness to `local`, far apart in number; of SMT siblings one.
fn owners_by_class(layout: &Layout, local: CpuId) -> Vec<CpuId> {
    let mut owners = Vec::new();
    for relation in Relation::ALL.into_iter().filter(|&relation| relation != Relation::Same) {
        let siblings = relation == Relation::SmtSibling;
        let is_it = |&cpu: &CpuId| layout.relation(local, cpu) == relation && (siblings || layout.is_first_thread(cpu));
        // Nodes of one socket are no nearness of their own, and each of them is of interest.
        for node in layout.nodes() {
            let all: Vec<CpuId> = layout.cpus_of(node).iter().copied().filter(is_it).collect();
            owners.extend(spread(&all, if siblings { 1 } else { PAIRS_OF_A_CLASS }));
        }
    }
    owners
}

/// The first thread of each core among `cpus`.
fn first_threads(layout: &Layout, cpus: &[CpuId]) -> Vec<CpuId> {
    cpus.iter().copied().filter(|&cpu| layout.is_first_thread(cpu)).collect()
}

/// At most `most` of `all`, evenly spread, the first and the last among them.
fn spread(all: &[CpuId], most: usize) -> Vec<CpuId> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|number| all[number * (all.len() - 1) / (most - 1).max(1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Suite;

    fn layout(machine: &str) -> Layout {
        let description = machine::load(machine).unwrap_or_else(|error| panic!("{error}"));
        Layout::simulated(&description).expect("a layout")
    }

    #[test]
    fn pairs_are_sampled_by_class_and_every_plan_is_possible() {
        for (machine, most) in [("xeon-8180-2s", 200), ("epyc-7702-2s", 700), ("xeon-e5-2699v3-2s", 200)] {
            let layout = layout(machine);
            let scope = SuiteScope::whole(Settings::simulated());
            let plans = Suite::Fit.plans(&layout, &scope).expect("possible");
            assert!(plans.len() < most, "{machine}: {} plans", plans.len());
            let pairs = pairs(&layout, &scope);
            let classes = |relation| {
                pairs.iter().any(|plan| {
                    plan.state == State::Cexh
                        && layout.relation(plan.placement.locals[0], plan.placement.remotes[0]) == relation
                })
            };
            assert!(classes(Relation::SameSocket) && classes(Relation::OtherSocket), "{machine}");
            assert_eq!(classes(Relation::SameCluster), machine == "epyc-7702-2s");
        }
    }

    #[test]
    fn a_sample_is_spread_over_all() {
        let all: Vec<CpuId> = (0..100).map(CpuId).collect();
        assert_eq!(spread(&all, 3), [CpuId(0), CpuId(49), CpuId(99)]);
        assert_eq!(spread(&all[..2], 3), all[..2]);
    }
}
