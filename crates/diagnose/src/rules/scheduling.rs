//! Scheduling by the operating system: threads wait for a processor, and are moved about (FLASH dissertation, 6.3).

use units::CpuId;

use super::waiting::spent;
use crate::survey::Survey;
use crate::{Class, Finding, Trial};

/// The name, in threads' accounts, of the time that ready threads wait for a processor.
const WAITING: &str = "waiting for a CPU";
/// Threads of a computer that change processors less often than so many times a second of their running lose little by it: refilling
/// the caches of a core takes up to a millisecond (Li, Ding and Shen, Quantifying the cost of context switch, 2007).
const FREQUENT_A_SECOND: f64 = 10.0;

/// Threads that are ready to run and wait for a processor, as the kernel's scheduler accounts for it: the run queue's delay.
pub fn run_queue(survey: &Survey<'_>) -> Option<Finding> {
    let run = survey.run;
    let waits: Vec<(f64, CpuId)> = run.threads.iter().map(|thread| (spent(thread, &[WAITING]), thread.cpu)).collect();
    let all: f64 = waits.iter().map(|(wait, _)| wait).sum();
    let (longest, thread) = waits.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    if all <= 0.0 {
        return None;
    }
    let (threads, usable) = (run.threads.len(), run.usable_processors as usize);
    let lived: f64 = run.threads.iter().map(|thread| thread.time_ns).sum();
    // A program that is over at once has waits, but no time that they are a share of.
    if lived <= 0.0 {
        return None;
    }
    let ran: f64 = run.threads.iter().map(|thread| spent(thread, &["busy"])).sum();
    let processors = if usable == 1 { "1 processor".to_owned() } else { format!("{usable} processors") };
    let working = if threads == 1 { "1 active thread".to_owned() } else { format!("{threads} active threads") };
    // With no more threads than processors it is others that have these.
    let remedy = if threads > usable {
        format!("run at most as many threads as there are usable processors, {processors} (OMP_NUM_THREADS, make -j)")
    } else {
        "reserve the processors for this program; other programs, a hypervisor or a CPU quota share them (taskset, \
         cpuset, an exclusive node of a batch system)"
            .to_owned()
    };
    Some(Finding {
        class: Class::RunQueue,
        object: None,
        site: None,
        cost: survey.share(all),
        cost_unknown: false,
        // A thread that waits longest ends no earlier than its own wait allows.
        bound: (run.time_ns > 0.0).then(|| (longest / run.time_ns).min(1.0)),
        evidence: format!(
            "threads spent {:.1} % of their time in the run queue and {:.1} % running; longest wait: {}, {:.3} s; \
             {working}, {processors} usable",
            100.0 * all / lived,
            100.0 * ran / lived,
            run.who(thread),
            longest / 1e9,
        ),
        remedy,
        trial: None,
        gain: None,
    })
}

/// Threads that change processors. What that costs only a run without it can tell.
pub fn migration(survey: &Survey<'_>) -> Option<Finding> {
    let threads = &survey.run.threads;
    let moves: u64 = threads.iter().map(|thread| thread.migrations).sum();
    let between_nodes: u64 = threads.iter().map(|thread| thread.node_moves).sum();
    let on_computer = survey.run.usable_processors > 0;
    if moves + between_nodes == 0 {
        return None;
    }
    if !on_computer {
        return Some(finding(format!("{moves} CPU migrations of threads"), "pin threads to processors", true));
    }
    let ran_s = threads.iter().map(|thread| spent(thread, &["busy"])).sum::<f64>() / 1e9;
    let a_second = moves as f64 / ran_s.max(f64::MIN_POSITIVE);
    let words = format!(
        "{moves} CPU migrations of threads, {a_second:.1} per second of running time, and {between_nodes} observed node \
         changes"
    );
    let remedy = "pin threads to processors (taskset, OMP_PROC_BIND=true, numactl --cpunodebind)";
    (a_second >= FREQUENT_A_SECOND || between_nodes > 0).then(|| finding(words, remedy, false))
}

fn finding(evidence: String, remedy: &str, can_pin: bool) -> Finding {
    Finding {
        class: Class::Migration,
        object: None,
        site: None,
        cost: 0.0,
        cost_unknown: true,
        bound: None,
        evidence,
        remedy: remedy.to_owned(),
        trial: can_pin.then_some(Trial::Pin),
        gain: None,
    }
}
