//! Nodes that many want something of at the same time (FLASH dissertation, 2.3.2).
//!
//! A hot spot shows in the controllers: one is held far longer than the others. What it costs is by how much misses on its lines
//! are dearer than remote misses elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use units::NodeId;

use crate::survey::Survey;
use crate::{Class, Finding, Trial};

/// A controller is hot if it is held this many times as long as the middle one,
const HOTTER: f64 = 2.0;
/// and for this much of the time, in percent.
const HELD_PCT: f64 = 40.0;
/// An object is at fault if it has so much of what is lost at the node.
const MOST: f64 = 0.5;

/// The hottest node, with the object that makes it so.
pub fn hot_spots(survey: &Survey<'_>) -> Option<Finding> {
    let load = &survey.run.utilisation_pct;
    let (hot, held) = load.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut sorted = load.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    if held < HELD_PCT || held < HOTTER * middle {
        return None;
    }
    let hot = NodeId(hot as u16);
    let (mut there, mut there_count, mut elsewhere, mut elsewhere_count) = (0.0, 0, 0.0, 0);
    let mut objects: BTreeMap<Option<usize>, (f64, BTreeSet<u64>)> = BTreeMap::new();
    for line in &survey.lines {
        for user in line.users.iter().filter(|user| Some(user.node) != line.home) {
            let lost = line.unexplained(user);
            if line.home == Some(hot) {
                (there, there_count) = (there + lost, there_count + user.count.misses());
                let of = objects.entry(line.object).or_default();
                of.0 += lost;
                of.1.insert(line.at - line.at % survey.run.page_bytes);
            } else {
                (elsewhere, elsewhere_count) = (elsewhere + lost, elsewhere_count + user.count.misses());
            }
        }
    }
    let price = |lost: f64, count: u64| if count > 0 { lost / count as f64 } else { 0.0 };
    let (here, other) = (price(there, there_count), price(elsewhere, elsewhere_count));
    let (object, (lost, pages)) = objects.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    if lost < MOST * there || here <= other {
        return None;
    }
    let name = survey.name(object);
    let elsewhere = match elsewhere_count {
        0 => "no remote misses elsewhere to compare with".to_owned(),
        _ => format!("a remote miss elsewhere {other:.0} ns"),
    };
    let mut nodes: Vec<NodeId> = survey.run.threads.iter().map(|thread| thread.node).collect();
    nodes.dedup();
    let dealt = pages.iter().zip(nodes.iter().cycle()).map(|(&page, &node)| (page, node)).collect();
    Some(Finding {
        class: Class::HotSpot,
        site: None,
        cost: survey.share(lost * (1.0 - other / here)),
        cost_unknown: false,
        bound: None,
        evidence: format!(
            "controller of node {}: {held:.0} % utilisation (median node: {middle:.0} %); each miss on {name} there costs \
             its processor {here:.0} ns, {elsewhere}",
            hot.0
        ),
        remedy: format!("distribute {name} over the nodes, or replicate its read-only part on each"),
        trial: (pages.len() > 1).then_some(Trial::Place(dealt)),
        object: object.map(|_| name),
        gain: None,
    })
}
