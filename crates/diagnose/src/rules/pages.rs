//! Pages on the wrong node, and pages that nodes share of which they use different lines (FLASH dissertation, 2.3 and 6.2).
//!
//! Time lost at each page is compared by node. A node that loses most of it and is not the page's home shows that the page is
//! misplaced. If no node does, but each line is used by one of them, the page is shared falsely. If lines are used by many, they
//! communicate, and no place is right.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use units::{CpuId, NodeId, counted};

use crate::survey::{LineUse, Survey};
use crate::{Apart, Class, Finding, Trial};

/// A page belongs to a node that loses more than this share of what is lost at it.
const MOST: f64 = 0.6;
/// Lines are private if each has a user who loses so much of what is lost at it, on average.
const PRIVATE: f64 = 0.9;
/// Pages are all on one node if it has so much of what is lost at them.
const TOGETHER: f64 = 0.5;
/// So many nodes make a crowd.
const CROWD: usize = 4;

/// Time lost at a page.
#[derive(Default)]
struct PageUse {
    by_node: BTreeMap<NodeId, f64>,
    /// Time lost by those who lose most at each line.
    private: f64,
    /// Those processors, each with its line and its loss.
    users: Vec<(u64, CpuId, f64)>,
    home: Option<NodeId>,
    object: Option<usize>,
}

impl PageUse {
    fn add(&mut self, line: &LineUse) {
        let mut first: Option<(CpuId, f64)> = None;
        for user in &line.users {
            let lost = line.unexplained(user);
            *self.by_node.entry(user.node).or_default() += lost;
            if first.is_none_or(|(_, most)| lost > most) {
                first = Some((user.cpu, lost));
            }
        }
        if let Some((cpu, lost)) = first.filter(|(_, lost)| *lost > 0.0) {
            self.private += lost;
            self.users.push((line.at, cpu, lost));
        }
        (self.home, self.object) = (self.home.or(line.home), line.object);
    }

    fn lost(&self) -> f64 {
        self.by_node.values().sum()
    }

    fn remote(&self) -> f64 {
        self.by_node.iter().filter(|(node, _)| Some(**node) != self.home).map(|(_, lost)| lost).sum()
    }

    /// The node that loses most, and how much.
    fn first(&self) -> Option<(NodeId, f64)> {
        self.by_node.iter().map(|(&node, &lost)| (node, lost)).max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Misplaced and falsely shared pages of an object.
#[derive(Default)]
struct Seen {
    misplaced: Vec<(u64, NodeId, NodeId, f64)>,
    shared: f64,
    shared_pages: usize,
    most_nodes: usize,
    pieces: Vec<Apart>,
}

/// Objects with pages that are where they should not be.
pub fn placement(survey: &Survey<'_>) -> Vec<Finding> {
    let mut pages: FxHashMap<u64, PageUse> = FxHashMap::default();
    for line in &survey.lines {
        pages.entry(line.at - line.at % survey.run.page_bytes).or_default().add(line);
    }
    let mut pages: Vec<_> = pages.into_iter().collect();
    pages.sort_unstable_by_key(|(at, _)| *at);
    let mut objects: BTreeMap<Option<usize>, Seen> = BTreeMap::new();
    for (at, page) in &pages {
        let (Some(home), Some((first, most))) = (page.home, page.first()) else { continue };
        let (lost, remote) = (page.lost(), page.remote());
        if lost <= 0.0 {
            continue;
        }
        let seen = objects.entry(page.object).or_default();
        if first != home && most > MOST * lost {
            seen.misplaced.push((*at, home, first, most));
        } else if most <= MOST * lost && page.private > PRIVATE * lost {
            seen.shared += remote;
            seen.shared_pages += 1;
            seen.most_nodes = seen.most_nodes.max(page.by_node.values().filter(|lost| **lost > 0.0).count());
            let words = u32::MAX;
            seen.pieces.extend(page.users.iter().map(|&(line, cpu, _)| Apart { line, words, cpu }));
        }
    }
    objects.into_iter().flat_map(|(object, seen)| findings(survey, object, seen)).collect()
}

fn findings(survey: &Survey<'_>, object: Option<usize>, seen: Seen) -> Vec<Finding> {
    let (name, saved) = (survey.name(object), survey.saved_by_locality());
    let mut found = Vec::new();
    if !seen.misplaced.is_empty() {
        found.push(misplaced(survey, object, &seen.misplaced));
    }
    if seen.shared_pages > 0 {
        found.push(Finding {
            class: Class::PageFalseSharing,
            site: None,
            cost: survey.share(seen.shared * saved),
            cost_unknown: false,
            bound: None,
            evidence: format!(
                "{} of {name} {} used by up to {} nodes, but each line mostly by one node",
                counted(seen.shared_pages as u64, "page"),
                if seen.shared_pages == 1 { "is" } else { "are each" },
                seen.most_nodes
            ),
            remedy: format!(
                "lay out {name} so that the data of each thread fill whole pages, and let that thread touch them first"
            ),
            trial: Some(Trial::Separate(seen.pieces)),
            object: object.map(|_| name),
            gain: None,
        });
    }
    found
}

/// Pages that another node uses than the one they are on: (page, home, user, time that the user loses there).
fn misplaced(survey: &Survey<'_>, object: Option<usize>, pages: &[(u64, NodeId, NodeId, f64)]) -> Finding {
    let name = survey.name(object);
    let lost: f64 = pages.iter().map(|(_, _, _, lost)| lost).sum();
    let mut homes: BTreeMap<NodeId, f64> = BTreeMap::new();
    pages.iter().for_each(|(_, home, _, lost)| *homes.entry(*home).or_default() += lost);
    let mut users: Vec<NodeId> = pages.iter().map(|(_, _, user, _)| *user).collect();
    users.sort_unstable();
    users.dedup();
    let crowded = homes.iter().find(|(_, of)| **of > TOGETHER * lost).map(|(node, _)| *node);
    let crowded = crowded.filter(|_| users.len() >= CROWD);
    let toucher = pages.iter().filter_map(|(page, ..)| survey.run.page_at(*page)?.toucher).count();
    let (are, them, all_are) = if pages.len() == 1 { ("is", "it", "is") } else { ("are", "them", "are all") };
    let touched = match toucher {
        0 => String::new(),
        1 if pages.len() == 1 => "; it was placed by first touch".to_owned(),
        1 => "; one of them was placed by first touch".to_owned(),
        several => format!("; {several} of them were placed by first touch"),
    };
    let these = counted(pages.len() as u64, "page");
    let (class, evidence) = match crowded {
        Some(node) => (
            Class::NodeFalseSharing,
            format!("{these} of {name}, used by {} nodes, {all_are} on node {}{touched}", users.len(), node.0),
        ),
        None => (Class::Misplaced, format!("{these} of {name} {are} not on the node that uses {them} most{touched}")),
    };
    Finding {
        class,
        site: None,
        cost: survey.share(lost * survey.saved_by_locality()),
        cost_unknown: false,
        bound: None,
        evidence,
        remedy: format!(
            "initialise {name} in the threads that use it (first touch), in the same order, or place it explicitly"
        ),
        trial: Some(Trial::Place(pages.iter().map(|(page, _, user, _)| (*page, *user)).collect())),
        object: object.map(|_| name),
        gain: None,
    }
}
