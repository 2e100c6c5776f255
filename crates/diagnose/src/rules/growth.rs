//! Communication and work that grow with the number of processors (FLASH dissertation, 2.3.1 and 6.1).
//!
//! The same program with the same data on fewer processors shows it: what misses, and what is computed, does not depend on how
//! many do it unless the program makes it so. Counts are compared, not times: that misses take longer on a busier machine is
//! contention, and another fault.

use std::collections::BTreeMap;

use super::waiting;
use crate::survey::{LineUse, Survey, User};
use crate::{Class, Finding};

/// Communication grows if there is this many times as much of it.
const GROWS: f64 = 1.5;

/// Counts of a run's misses, and its times.
struct Counts {
    remote: f64,
    local: f64,
    /// Mean cost of a miss of either kind, in nanoseconds.
    remote_ns: f64,
    local_ns: f64,
    busy_ns: f64,
    by_object: BTreeMap<Option<usize>, f64>,
}

fn counts(survey: &Survey<'_>) -> Counts {
    let mut by_object: BTreeMap<Option<usize>, f64> = BTreeMap::new();
    let (mut remote, mut local) = (0.0, 0.0);
    let (mut remote_ns, mut local_ns) = (0.0, 0.0);
    for line in &survey.lines {
        let all: f64 = line.users.iter().map(|user| user.stalled.misses()).sum();
        // Misses that have been explained belong to another fault.
        let left = if all > 0.0 { (1.0 - line.explained / all).max(0.0) } else { 1.0 };
        for user in &line.users {
            let misses = user.count.misses() as f64 * left;
            if line.home.is_some_and(|home| home != user.node) {
                (remote, remote_ns) = (remote + misses, remote_ns + line.unexplained(user));
                *by_object.entry(line.object).or_default() += misses;
            } else {
                (local, local_ns) = (local + misses, local_ns + line.unexplained(user));
            }
        }
    }
    let busy = |names: &[&str]| -> f64 {
        let of = |name: &&str| survey.run.threads.iter().filter_map(|thread| thread.spent_ns.get(*name)).sum::<f64>();
        names.iter().map(of).sum()
    };
    let price = |ns: f64, count: f64| if count > 0.0 { ns / count } else { 0.0 };
    let (remote_ns, local_ns) = (price(remote_ns, remote), price(local_ns, local));
    Counts {
        remote,
        local,
        remote_ns,
        local_ns,
        busy_ns: busy(&["busy", "primary", "secondary", "tertiary"]),
        by_object,
    }
}

/// Communication and computation of `many` beyond those of `few`, if that is much.
pub fn communication(many: &Survey<'_>, few: &Survey<'_>) -> Option<Finding> {
    let (now, then) = (counts(many), counts(few));
    let ratio = |now: f64, then: f64| if then > 0.0 { now / then } else { 1.0 };
    let (remote, all) = (ratio(now.remote, then.remote), ratio(now.remote + now.local, then.remote + then.local));
    // Where all processors together need no more time than fewer did, what is communicated more is made up for, as by caches that
    // together hold more (section 2.3): it does not keep the program from scaling.
    let grown = many.share(many.run.processor_ns() - few.run.processor_ns());
    if remote < GROWS && all < GROWS || grown <= 0.0 {
        return None;
    }
    let misses = (now.remote - then.remote) * now.remote_ns + (now.local - then.local) * now.local_ns;
    let busy = (now.busy_ns - then.busy_ns).max(0.0);
    let most = now.by_object.iter().max_by(|a, b| {
        let grown =
            |(object, now): &(&Option<usize>, &f64)| **now - then.by_object.get(*object).copied().unwrap_or(0.0);
        grown(a).total_cmp(&grown(b))
    });
    let object = most.and_then(|(object, _)| *object);
    let name = many.name(object);
    let is_remote = |line: &LineUse, user: &User| line.home.is_some_and(|home| home != user.node);
    let lost = many.lines.iter().flat_map(|line| line.users.iter().filter(|user| is_remote(line, user)));
    let lost: f64 = lost.map(|user| user.stalled.misses()).sum();
    let (processors, fewer) = (many.run.threads.len(), few.run.threads.len());
    Some(Finding {
        class: Class::Communication,
        site: None,
        cost: many.share(misses.max(0.0) + busy).min(grown),
        cost_unknown: false,
        // Were nothing remote, nobody to do more work than before, and all the rest evenly spread.
        bound: Some(many.share(lost + busy + waiting::waits(many).iter().sum::<f64>()).min(1.0)),
        evidence: format!(
            "from {fewer} to {processors} processors: misses x {all:.1}, remote misses x {remote:.1}, most of them on \
             {name}; busy time x {:.1}, total processor time +{:.0} %",
            ratio(now.busy_ns, then.busy_ns),
            100.0 * (ratio(many.run.processor_ns(), few.run.processor_ns()) - 1.0)
        ),
        remedy: "give each thread more work: a larger problem, fewer processors, or loops whose total work does not \
             grow with the number of threads"
            .to_owned(),
        trial: None,
        object: object.map(|_| name),
        gain: None,
    })
}
