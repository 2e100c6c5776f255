//! Threads that wait for each other: at locks, because others have more to do, or because only one has anything to do (FLASH
//! dissertation, 6.3).

use std::collections::{BTreeMap, BTreeSet};

use record::ThreadTime;
use units::CpuId;

use crate::survey::Survey;
use crate::{Class, Finding};

/// One thread works alone at times if it has more to do than all others, which have equally much: they differ by no more than this
/// share of what it has more than any of them.
const ALONE: f64 = 0.5;

/// Share of the others' mean from which on the thread that has made them has a part of their work: assumed.
const PART: f64 = 0.5;

pub(super) fn spent(thread: &ThreadTime, names: &[&str]) -> f64 {
    names.iter().filter_map(|name| thread.spent_ns.get(*name)).sum()
}

/// Lines that threads wait for: locks, which many store to, or else flags, which one stores to and the others watch.
struct Awaited {
    by_cpu: BTreeMap<CpuId, f64>,
    by_object: BTreeMap<Option<usize>, f64>,
    lines: BTreeSet<u64>,
}

fn awaited(survey: &Survey<'_>, locks: bool) -> Awaited {
    let mut found = Awaited { by_cpu: BTreeMap::new(), by_object: BTreeMap::new(), lines: BTreeSet::new() };
    for line in &survey.lines {
        let writers = line.users.iter().filter(|user| user.written != 0).count();
        if (writers >= 2) != locks {
            continue;
        }
        for user in line.users.iter().filter(|user| user.stalled.lock > 0.0) {
            *found.by_cpu.entry(user.cpu).or_default() += user.stalled.lock;
            *found.by_object.entry(line.object).or_default() += user.stalled.lock;
            found.lines.insert(line.at);
        }
    }
    found
}

fn busy(thread: &ThreadTime) -> f64 {
    spent(thread, &["busy", "primary", "secondary", "tertiary"])
}

/// The threads that share the work: all but a first one that has made the others and then waits for their end (`pthread_join`). It has no
/// part of their work that could be larger or smaller, and its wait is no lack of work.
fn workers<'a>(survey: &Survey<'a>) -> &'a [ThreadTime] {
    match &survey.run.threads[..] {
        [first, others @ ..] if others.len() >= 2 && spent(first, &["idle"]) > 0.0 => {
            let mean = others.iter().map(busy).sum::<f64>() / others.len() as f64;
            if busy(first) < PART * mean { others } else { &survey.run.threads }
        }
        all => all,
    }
}

/// How long each thread waits for others, in nanoseconds, in the order of threads: at barriers, for locks and flags, or with nothing
/// to do.
pub(super) fn waits(survey: &Survey<'_>) -> Vec<f64> {
    let [locks, flags] = [true, false].map(|locks| awaited(survey, locks).by_cpu);
    let of = |thread: &ThreadTime| {
        let at = |awaited: &BTreeMap<CpuId, f64>| awaited.get(&thread.cpu).copied().unwrap_or(0.0);
        spent(thread, &["barrier", "idle"]) + at(&locks) + at(&flags)
    };
    survey.run.threads.iter().map(of).collect()
}

/// Locks, by the thread that waits longest for them: the others then wait for it (FLASH dissertation, 6.3).
pub fn locks(survey: &Survey<'_>) -> Option<Finding> {
    let Awaited { by_cpu, by_object, lines } = awaited(survey, true);
    let longest = by_cpu.values().copied().fold(0.0, f64::max);
    let all: f64 = by_cpu.values().sum();
    let (object, _) = by_object.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let name = survey.name(*object);
    let (time, least) = (survey.run.time_ns, waits(survey).into_iter().reduce(f64::min));
    Some(Finding {
        class: Class::Locks,
        site: survey.worst_site(|loss| loss.stalled_ns.lock),
        cost: if time > 0.0 { longest / time } else { 0.0 },
        cost_unknown: false,
        // Whoever waits least has all its own work to do.
        bound: least.filter(|_| time > 0.0).map(|least| (least / time).min(1.0)),
        evidence: format!(
            "threads spend {:.1} % of their time waiting for {} contended lines of {name} (longest: {:.1} %)",
            100.0 * survey.share(all),
            lines.len(),
            100.0 * longest / time.max(f64::MIN_POSITIVE)
        ),
        remedy: format!("acquire {name} less often, hold them for less time, or give each thread a part of its own"),
        trial: None,
        object: object.map(|_| name),
        gain: None,
    })
}

/// Threads of which some have more to do than others, or of which one works alone.
pub fn imbalance(survey: &Survey<'_>) -> Vec<Finding> {
    let threads = workers(survey);
    let mut busy: Vec<(f64, CpuId)> = threads.iter().map(|thread| (busy(thread), thread.cpu)).collect();
    busy.sort_by(|a, b| b.0.total_cmp(&a.0));
    let [(first, cpu), (second, _), ..] = busy[..] else { return Vec::new() };
    let mean = busy.iter().map(|(busy, _)| busy).sum::<f64>() / busy.len() as f64;
    let waits: f64 = waits(survey).iter().skip(survey.run.threads.len() - threads.len()).sum();
    // Threads at a lock wait for its holder, not for a thread that has more to do.
    let locks = awaited(survey, true).by_cpu;
    let others = waits - threads.iter().filter_map(|thread| locks.get(&thread.cpu)).sum::<f64>();
    let uneven = (first - mean).max(0.0) * busy.len() as f64;
    let last = busy.last().map_or(second, |(busy, _)| *busy);
    let alone = second - last < ALONE * (first - second);
    let (class, remedy) = if alone && busy.len() > 2 {
        (Class::Serial, "parallelise the serial part".to_owned())
    } else {
        (
            Class::Imbalance,
            "distribute the work in smaller pieces (dynamic scheduling), or weighted by its cost".to_owned(),
        )
    };
    // Whoever has more to do makes others wait no longer than they do wait.
    let cost = survey.share(uneven.min(others));
    vec![Finding {
        class,
        object: None,
        site: survey.worst_site(|loss| loss.stalled_ns.barrier),
        cost,
        cost_unknown: false,
        // Spread evenly over the run's every phase, all work together takes as long as it does now.
        bound: Some(survey.share(waits)),
        evidence: format!(
            "{} is busy for {:.1} % of the time, the mean is {:.1} %; {:.1} % of all time is waiting",
            survey.run.who(cpu),
            100.0 * first / survey.run.time_ns.max(f64::MIN_POSITIVE),
            100.0 * mean / survey.run.time_ns.max(f64::MIN_POSITIVE),
            100.0 * survey.share(others)
        ),
        remedy,
        trial: None,
        gain: None,
    }]
}
