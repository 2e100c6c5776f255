//! The choice of barriers and locks, where it costs more than the wait for others does.

use record::{Attribution, ThreadTime};

use crate::{Class, Finding, Trial};

/// Threads that spend a smaller share of their time on locks than this are not asked to take others.
const WORTH_OTHER_LOCKS: f64 = 0.05;

fn share(run: &Attribution, thread: &ThreadTime, cause: &str) -> f64 {
    thread.spent_ns.get(cause).copied().unwrap_or(0.0) / run.time_ns.max(f64::MIN_POSITIVE)
}

fn finding(cost: Option<f64>, evidence: String, remedy: String, trial: Trial) -> Finding {
    Finding {
        class: Class::Synchronisation,
        object: None,
        site: None,
        cost: cost.unwrap_or(0.0),
        cost_unknown: cost.is_none(),
        bound: None,
        evidence,
        remedy,
        trial: Some(trial),
        gain: None,
    }
}

/// Findings about the kinds of barriers and locks of a run whose program can have others. The last thread at a barrier waits for
/// nobody: the time that the thread that waits least spends there, all spend on the barrier itself. The gain of locks of another
/// kind shows only in a run with them.
pub fn choice(run: &Attribution, barrier: &str, locks: &str) -> Vec<Finding> {
    let shares = |cause: &'static str| run.threads.iter().map(move |thread| share(run, thread, cause));
    let mut findings = Vec::new();
    if run.threads.len() < 2 {
        return findings;
    }
    let least = shares("barrier").fold(1.0, f64::min);
    if !matches!(barrier, "ideal" | "tree") {
        findings.push(finding(
            Some(least),
            format!("every thread spends at least {:.1} % of its time at barriers (kind: `{barrier}`)", 100.0 * least),
            "use a tree barrier: few threads per counter, without system calls".to_owned(),
            Trial::Synchronise("barrier", "tree"),
        ));
    }
    let all = shares("lock").sum::<f64>() / run.threads.len() as f64;
    if locks != "queue" && all >= WORTH_OTHER_LOCKS {
        findings.push(finding(
            None,
            format!("threads spend {:.1} % of their time on locks (kind: `{locks}`)", 100.0 * all),
            "use a queue lock: each waiter spins on a word of its own, without system calls".to_owned(),
            Trial::Synchronise("locks", "queue"),
        ));
    }
    findings.retain(|finding| finding.cost_unknown || finding.cost >= crate::WORTH_TELLING);
    findings
}
