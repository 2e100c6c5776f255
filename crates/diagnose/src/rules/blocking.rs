//! Loops that use more pages at a time than the translation buffer knows (FLASH dissertation, 6.2.3).

use std::collections::BTreeMap;

use crate::survey::Survey;
use crate::{Class, Finding, Trial};

/// Cost of the refills of the translation buffer, and the object that most of them are for.
pub fn translation(survey: &Survey<'_>) -> Option<Finding> {
    let mut objects: BTreeMap<Option<usize>, (f64, u64)> = BTreeMap::new();
    for line in &survey.lines {
        let of = objects.entry(line.object).or_default();
        for user in &line.users {
            *of = (of.0 + user.stalled.translation, of.1 + user.count.translation);
        }
    }
    let lost: f64 = objects.values().map(|(lost, _)| lost).sum();
    let (object, (most, refills)) = objects.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let misses = survey.local + survey.remote;
    let name = survey.name(object);
    Some(Finding {
        class: Class::Blocking,
        site: survey.worst_site(|loss| loss.stalled_ns.translation),
        cost: survey.share(lost),
        cost_unknown: false,
        bound: None,
        evidence: format!(
            "{refills} TLB misses on {name}, {:.0} % of all TLB miss time; {misses} cache misses in all",
            if lost > 0.0 { 100.0 * most / lost } else { 0.0 }
        ),
        remedy: format!(
            "store {name} in the order of the loops, or block the loops so that they stay within a page; larger pages \
             also help"
        ),
        trial: Some(Trial::Machine("tlb.miss_ns", "0")),
        object: object.map(|_| name),
        gain: None,
    })
}
