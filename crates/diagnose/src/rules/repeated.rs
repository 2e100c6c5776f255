//! Repeated misses on pages of other nodes, on machines whose nodes could keep, move or copy pages (Lai and Falsafi 2000, Section 4.1).
//!
//! Misses on lines that a node had and has given up can be saved. A page that nobody writes can be copied to all of its readers; one
//! that a single node uses can migrate there; only a page cache helps with pages that several nodes read and write.

use std::collections::BTreeMap;

use units::{NodeId, counted};

use crate::survey::Survey;
use crate::{Class, Finding, Trial};

/// A page is a node's if it has more than this share of what is lost at it.
const MOST: f64 = 0.8;

/// The mechanisms, by the words that add them to a machine.
const REPLICATION: &str = "rep";
const MIGRATION: &str = "mig";
const PAGE_CACHE: &str = "r-numa";

/// Time lost at a page to repeated misses of other nodes.
#[derive(Default)]
struct PageUse {
    by_node: BTreeMap<NodeId, f64>,
    written: bool,
    home: Option<NodeId>,
    object: Option<usize>,
}

impl PageUse {
    /// Time lost by nodes other than the home.
    fn remote(&self) -> f64 {
        self.by_node.iter().filter(|(node, _)| Some(**node) != self.home).map(|(_, lost)| lost).sum()
    }

    /// The mechanism that would save it with the least effect on others.
    fn mechanism(&self) -> &'static str {
        let all: f64 = self.by_node.values().sum();
        let most = self.by_node.values().copied().fold(0.0, f64::max);
        match (self.written, most > MOST * all) {
            (_, true) => MIGRATION,
            (false, false) => REPLICATION,
            (true, false) => PAGE_CACHE,
        }
    }
}

/// Objects whose pages a mechanism would help that the machine could have.
pub fn misses(survey: &Survey<'_>) -> Vec<Finding> {
    if survey.run.page_mechanisms.is_empty() {
        return Vec::new();
    }
    let mut pages: BTreeMap<u64, PageUse> = BTreeMap::new();
    for line in &survey.lines {
        let page = pages.entry(line.at - line.at % survey.run.page_bytes).or_default();
        (page.home, page.object) = (page.home.or(line.home), line.object);
        for user in &line.users {
            page.written |= user.written != 0;
            *page.by_node.entry(user.node).or_default() += user.stalled.capacity + user.stalled.conflict;
        }
    }
    let mut found: BTreeMap<(Option<usize>, &'static str), (usize, f64)> = BTreeMap::new();
    for page in pages.values().filter(|page| page.remote() > 0.0) {
        let (count, lost) = found.entry((page.object, page.mechanism())).or_default();
        (*count, *lost) = (*count + 1, *lost + page.remote());
    }
    let offered = |word: &str| survey.run.page_mechanisms.iter().any(|offered| offered == word);
    let found = found.into_iter().filter(|((_, word), _)| offered(word));
    found.map(|((object, word), (pages, lost))| finding(survey, object, word, pages, lost)).collect()
}

fn finding(survey: &Survey<'_>, object: Option<usize>, word: &'static str, pages: usize, lost: f64) -> Finding {
    let name = survey.name(object);
    let (used, remedy) = match word {
        REPLICATION => ("several nodes read and none writes", "replicate such pages on their readers' nodes"),
        MIGRATION => ("one node uses most", "migrate such pages to that node"),
        _ => ("several nodes read and write", "cache such pages in the nodes' page caches"),
    };
    let have = if pages == 1 { "has" } else { "have" };
    let pages = counted(pages as u64, "page");
    Finding {
        class: Class::RepeatedMisses,
        site: survey.worst_site(|loss| loss.stalled_ns.capacity + loss.stalled_ns.conflict),
        cost: survey.share(lost * survey.saved_by_locality()),
        cost_unknown: false,
        bound: None,
        evidence: format!("{pages} of {name} that {used} {have} repeated remote misses (refetches)"),
        remedy: format!("{remedy}: -m {}+{word}", survey.run.machine),
        trial: Some(Trial::System(word)),
        object: object.map(|_| name),
        gain: None,
    }
}
