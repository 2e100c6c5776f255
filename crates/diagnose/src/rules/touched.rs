//! Pages that are not where they are used, as page faults tell on a computer whose processor samples no loads.
//!
//! The kernel places a page near whoever touches it first, so that an array that one thread begins is all on one node (FLASH
//! dissertation, 6.2.2). Where the kernel balances nodes it lets pages fault again, which tells who uses them later. What the
//! distance costs faults do not tell.

use std::collections::{BTreeMap, BTreeSet};

use record::Evidence;
use units::{CpuId, NodeId};

use crate::survey::Survey;
use crate::{Class, Finding};

/// Smaller objects are not worth a word.
const PAGES: usize = 64;
/// One thread has touched an object if it has touched this much of it.
const NEARLY_ALL: f64 = 0.9;
/// Other nodes use an object if they were seen at more than this share of the pages that faulted again: of two nodes that use all of it
/// alike, each is first at half of them, and now and then at fewer.
const SEEN_ELSEWHERE: f64 = 0.25;

/// First and later users of an object's pages, as faults show them.
#[derive(Default)]
struct Seen {
    touchers: BTreeMap<CpuId, usize>,
    /// Pages that were used later, of these those that other nodes used than the page's, and those that only others did.
    used: usize,
    shared: usize,
    elsewhere: usize,
}

/// Objects whose pages are where one thread came first, or where nobody uses them.
pub fn placement(survey: &Survey<'_>) -> Vec<Finding> {
    let run = survey.run;
    let nodes: BTreeMap<CpuId, NodeId> = run.threads.iter().map(|thread| (thread.cpu, thread.node)).collect();
    let sampled = survey.lines.iter().flat_map(|line| &line.users).any(|user| user.stalled.misses() > 0.0);
    if sampled || nodes.values().collect::<BTreeSet<_>>().len() < 2 {
        return Vec::new();
    }
    let mut later: BTreeMap<u64, BTreeSet<NodeId>> = BTreeMap::new();
    for line in &survey.lines {
        let users = line.users.iter().filter(|user| user.count.unsettled > 0).map(|user| user.node);
        later.entry(line.at - line.at % run.page_bytes).or_default().extend(users);
    }
    let mut objects: BTreeMap<String, Seen> = BTreeMap::new();
    for page in &run.pages {
        let seen = objects.entry(survey.name(run.object_at(page.start))).or_default();
        if let Some(toucher) = page.toucher {
            *seen.touchers.entry(toucher).or_default() += 1;
        }
        let users = later.get(&page.start).filter(|users| !users.is_empty());
        if let (Some(users), Some(home)) = (users, page.home) {
            seen.used += 1;
            seen.shared += usize::from(users.iter().any(|node| *node != home));
            seen.elsewhere += usize::from(!users.contains(&home));
        }
    }
    objects.into_iter().filter_map(|(name, seen)| finding(survey, &name, &seen)).collect()
}

/// Memory that is on one node while threads run on several, as the kernel tells of whole processes. What is known page by page says more.
pub fn residence(survey: &Survey<'_>) -> Option<Finding> {
    let run = survey.run;
    let nodes: BTreeSet<NodeId> = run.threads.iter().map(|thread| thread.node).collect();
    let all: u64 = run.memory_kib.iter().sum();
    let (node, most) = run.memory_kib.iter().enumerate().max_by_key(|(_, kib)| **kib)?;
    let known_by_page = !run.unseen.contains_key(&Evidence::Touches) || !run.unseen.contains_key(&Evidence::Misses);
    let large = all * 1024 >= PAGES as u64 * run.page_bytes;
    if known_by_page || nodes.len() < 2 || !large || (*most as f64) < NEARLY_ALL * all as f64 {
        return None;
    }
    Some(Finding {
        class: Class::Misplaced,
        object: None,
        site: None,
        cost: 0.0,
        cost_unknown: true,
        bound: None,
        evidence: format!(
            "{:.0} % of {:.1} MiB are on node {node}, while threads ran on {} nodes",
            100.0 * *most as f64 / all as f64,
            all as f64 / 1024.0,
            nodes.len()
        ),
        remedy: "initialise data in the threads that use them (first touch), or run under numactl --interleave=all"
            .to_owned(),
        trial: None,
        gain: None,
    })
}

fn finding(survey: &Survey<'_>, name: &str, seen: &Seen) -> Option<Finding> {
    let pages: usize = seen.touchers.values().sum();
    let (first, most) = seen.touchers.iter().max_by_key(|(_, pages)| **pages)?;
    let threads = survey.run.threads.len();
    let evidence = if seen.elsewhere >= PAGES && 2 * seen.elsewhere > seen.used {
        format!(
            "at {} of {} pages of {name} sampled by NUMA balancing, only other nodes were seen",
            seen.elsewhere, seen.used
        )
    } else if pages >= PAGES
        && *most as f64 > NEARLY_ALL * pages as f64
        && (seen.used < PAGES || seen.shared as f64 > SEEN_ELSEWHERE * seen.used as f64)
    {
        format!(
            "{most} of {pages} pages of {name} were first touched by {} and are on its node; {threads} threads on \
             several nodes are active",
            survey.run.who(*first)
        )
    } else {
        return None;
    };
    Some(Finding {
        class: Class::Misplaced,
        object: Some(name.to_owned()),
        site: None,
        cost: 0.0,
        cost_unknown: true,
        bound: None,
        evidence,
        remedy: format!(
            "initialise {name} in the threads that use it (first touch); or numactl --interleave if every thread uses \
             all of it"
        ),
        trial: None,
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use record::{Attribution, DataObject, LineLoss, Losses, PageHome, ThreadTime};

    use super::*;

    /// Two threads on two nodes; an array of 100 pages on node 0, all of them first touched by thread 0.
    fn run(later: bool) -> Attribution {
        let thread = |number: u16| ThreadTime {
            cpu: CpuId(number),
            node: NodeId(number),
            time_ns: 1e9,
            spent_ns: BTreeMap::new(),
            migrations: 0,
            node_moves: 0,
            title: Some(format!("p:{number}")),
        };
        let page = |number: u64| PageHome { start: number * 4096, home: Some(NodeId(0)), toucher: Some(CpuId(0)) };
        let loss = |number: u64| LineLoss {
            cpu: CpuId(1),
            site: 0,
            line: Some(number * 4096),
            count: Losses { unsettled: u64::from(later), ..Losses::default() },
            stalled_ns: Losses::default(),
            interventions: 0,
            invalidations: 0,
            read: 1,
            written: 0,
        };
        Attribution {
            time_ns: 1e9,
            line_bytes: 64,
            page_bytes: 4096,
            threads: (0..2).map(thread).collect(),
            objects: vec![DataObject { name: "array".into(), start: 0, bytes: 100 * 4096, site: None }],
            pages: (0..100).map(page).collect(),
            losses: (0..100).map(loss).collect(),
            ..Attribution::default()
        }
    }

    #[test]
    fn one_that_came_first_is_told_and_so_are_others_that_came_later() {
        for (later, part) in [(false, "first touched by thread p:0"), (true, "only other nodes were seen")] {
            let run = run(later);
            let found = placement(&Survey::new(&run));
            assert_eq!(found.len(), 1, "{found:?}");
            let Finding { class, object, cost_unknown, evidence, .. } = &found[0];
            assert_eq!((*class, object.as_deref(), *cost_unknown), (Class::Misplaced, Some("array"), true));
            assert!(evidence.contains(part), "{evidence}");
        }
    }

    #[test]
    fn what_all_nodes_use_is_told_and_what_only_its_own_uses_is_not() {
        for (users, found) in [(vec![0, 1], 1), (vec![0], 0)] {
            let mut run = run(true);
            let losses = std::mem::take(&mut run.losses);
            let by = |loss: LineLoss| users.iter().map(move |&user| LineLoss { cpu: CpuId(user), ..loss });
            run.losses = losses.into_iter().flat_map(by).collect();
            assert_eq!(placement(&Survey::new(&run)).len(), found, "{users:?}");
        }
    }

    /// A page that faults again tells of the one user that came first.
    #[test]
    fn pages_at_some_of_which_another_node_was_first_are_told_and_those_with_few_strangers_are_not() {
        for (strangers, found) in [(40, 1), (26, 1), (25, 0), (0, 0)] {
            let mut run = run(true);
            let by = |(page, loss): (usize, &mut LineLoss)| loss.cpu = CpuId(u16::from(page < strangers));
            run.losses.iter_mut().enumerate().for_each(by);
            assert_eq!(placement(&Survey::new(&run)).len(), found, "{strangers} of 100");
        }
    }

    #[test]
    fn memory_on_one_node_is_told_where_pages_are_not_known() {
        let deaf = BTreeMap::from([(Evidence::Touches, "no".to_owned()), (Evidence::Misses, "no".to_owned())]);
        let known = Attribution { memory_kib: vec![960, 40], unseen: deaf, ..run(false) };
        let found = residence(&Survey::new(&known)).expect("a finding");
        assert!(found.evidence.starts_with("96 % of 1.0 MiB are on node 0"), "{}", found.evidence);
        let spread = Attribution { memory_kib: vec![500, 500], ..known.clone() };
        let by_page = Attribution { unseen: BTreeMap::new(), ..known.clone() };
        let small = Attribution { memory_kib: vec![96, 0], ..known };
        for other in [spread, by_page, small] {
            assert_eq!(residence(&Survey::new(&other)), None);
        }
    }

    #[test]
    fn on_one_node_nothing_is_far() {
        let mut run = run(true);
        run.threads[1].node = NodeId(0);
        assert_eq!(placement(&Survey::new(&run)), []);
    }
}
