//! Cache lines that are shared falsely (FLASH dissertation, 2.3.3 and 6.2.1).
//!
//! A processor loses a line because another stored to it, and comes back for words that nobody else stored to. Where no processor
//! ever touches what another stores to, all that coherence costs at the line is for nothing; else as much of it as misses turned
//! out to be false sharing.

use std::collections::BTreeMap;

use crate::survey::{LineUse, Survey, User};
use crate::{Apart, Class, Finding, Trial};

/// Whether no processor touches words of the line that another stores to.
fn is_disjoint(users: &[User]) -> bool {
    users.iter().enumerate().all(|(number, user)| {
        let others = users.iter().enumerate().filter(|(other, _)| *other != number);
        others.fold(0, |words, (_, other)| words | other.read | other.written) & user.written == 0
    })
}

/// Cost of false sharing at a line, in nanoseconds.
fn cost(line: &LineUse) -> f64 {
    let sum = |of: fn(&User) -> f64| line.users.iter().map(of).sum::<f64>();
    let count = |of: fn(&User) -> u64| line.users.iter().map(of).sum::<u64>();
    let falsely = count(|user| user.count.false_sharing);
    if falsely == 0 {
        return 0.0;
    }
    if is_disjoint(&line.users) {
        return sum(|user| user.stalled.sharing() + user.stalled.unsettled);
    }
    let truly = count(|user| user.count.true_sharing);
    let share = falsely as f64 / (falsely + truly) as f64;
    sum(|user| user.stalled.false_sharing) + share * sum(|user| user.stalled.upgrade)
}

/// Which words are whose: of each word the only one who stores to it, or else the only one who loads it.
fn owners(line: &LineUse) -> impl Iterator<Item = Apart> + '_ {
    let only = |of: fn(&User) -> u32, user: &User| {
        let others = line.users.iter().filter(|other| other.cpu != user.cpu);
        of(user) & !others.fold(0, |words, other| words | of(other))
    };
    let stored = line.users.iter().fold(0, |words, user| words | user.written);
    line.users.iter().filter_map(move |user| {
        let words = only(|user| user.written, user) | only(|user| user.read, user) & !stored;
        (words != 0).then_some(Apart { line: line.at, words, cpu: user.cpu })
    })
}

/// How processors store to a line that is shared falsely, of which the most have this many `writers`.
fn stored_by(writers: usize) -> String {
    match writers {
        // Stores from before the measurement are not seen.
        0 => "processors load different words of a line that was written before".to_owned(),
        1 => "one processor writes words of a line while others read other words of it".to_owned(),
        writers => format!("up to {writers} processors write different words of the same line"),
    }
}

/// False sharing of an object's lines.
#[derive(Default)]
struct Seen {
    cost: f64,
    lines: usize,
    falsely: u64,
    writers: usize,
    pieces: Vec<Apart>,
}

/// Objects with lines that are shared falsely. What they cost is explained from then on.
pub fn false_sharing(survey: &mut Survey<'_>) -> Vec<Finding> {
    let mut objects: BTreeMap<Option<usize>, Seen> = BTreeMap::new();
    for line in &mut survey.lines {
        let cost = cost(line);
        if cost <= 0.0 {
            continue;
        }
        line.explained += cost;
        let seen = objects.entry(line.object).or_default();
        seen.cost += cost;
        seen.lines += 1;
        seen.falsely += line.users.iter().map(|user| user.count.false_sharing).sum::<u64>();
        seen.writers = seen.writers.max(line.users.iter().filter(|user| user.written != 0).count());
        seen.pieces.extend(owners(line));
    }
    let survey = &*survey;
    let finding = |(object, seen): (Option<usize>, Seen)| {
        let Seen { cost, lines, falsely, writers, pieces } = seen;
        let name = survey.name(object);
        Finding {
            class: Class::LineFalseSharing,
            site: survey.worst_site(|loss| loss.stalled_ns.false_sharing),
            cost: survey.share(cost),
            cost_unknown: false,
            bound: None,
            evidence: format!(
                "{falsely} false-sharing misses on {lines} cache lines ({} bytes each) of {name}; {}",
                survey.run.line_bytes,
                stored_by(writers),
            ),
            remedy: format!(
                "pad {name} so that each thread's part has its own cache lines, preferably on a page that \
                 the thread touches first"
            ),
            trial: (!pieces.is_empty()).then_some(Trial::Separate(pieces)),
            object: object.map(|_| name),
            gain: None,
        }
    };
    objects.into_iter().map(finding).collect()
}
