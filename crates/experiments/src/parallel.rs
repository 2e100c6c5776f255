//! Independent jobs on all cores, their results delivered in the order of the jobs as soon as that order allows.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use rayon::prelude::*;

/// Has jobs of this process run so many at a time, in place of one a core: to be called before the first.
///
/// # Errors
/// When jobs have begun, in words.
pub fn limit(at_a_time: usize) -> Result<(), String> {
    rayon::ThreadPoolBuilder::new().num_threads(at_a_time).build_global().map_err(|error| error.to_string())
}

/// Runs `work` on each of `jobs` on all cores.
///
/// `finished` is called, on the calling thread, with the number of jobs done each time one finishes, in whatever order
/// they do. `deliver` is called there with each result in the order of `jobs`: the first is delivered as soon as it is
/// there, and what is delivered does not depend on the number of cores. When `deliver` fails, jobs that have not
/// started are dropped.
///
/// # Errors
/// The first error of `deliver`.
pub fn in_order<J: Sync, R: Send, E>(
    jobs: &[J],
    work: impl Fn(&J) -> R + Send + Sync,
    finished: impl FnMut(usize),
    deliver: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    longest_first(jobs, |_| 0, work, finished, deliver)
}

/// The results of `work` on each of `jobs`, in their order, run on all cores. `finished` is called as by [`in_order`].
///
/// # Errors
/// The first error of `work` in the order of the jobs; jobs that have not started by then are dropped.
pub fn collected<J: Sync, R: Send, E: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, E> + Send + Sync,
    finished: impl FnMut(usize),
) -> Result<Vec<R>, E> {
    collected_longest_first(jobs, |_| 0, work, finished)
}

/// As [`collected`], but jobs of great `cost` start first, as by [`longest_first`].
///
/// # Errors
/// As there.
pub fn collected_longest_first<J: Sync, R: Send, E: Send>(
    jobs: &[J],
    cost: impl Fn(&J) -> u64,
    work: impl Fn(&J) -> Result<R, E> + Send + Sync,
    finished: impl FnMut(usize),
) -> Result<Vec<R>, E> {
    let mut results = Vec::with_capacity(jobs.len());
    let keep = |_, result: Result<R, E>| {
        results.push(result?);
        Ok(())
    };
    longest_first(jobs, cost, work, finished, keep)?;
    Ok(results)
}

/// As [`in_order`], but jobs of great `cost` start first, so that no core is left alone with one at the end. Jobs of equal cost
/// start in their order.
///
/// # Errors
/// The first error of `deliver`.
pub fn longest_first<J: Sync, R: Send, E>(
    jobs: &[J],
    cost: impl Fn(&J) -> u64,
    work: impl Fn(&J) -> R + Send + Sync,
    mut finished: impl FnMut(usize),
    mut deliver: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let mut starts: Vec<(Reverse<u64>, usize)> =
        jobs.iter().enumerate().map(|(index, job)| (Reverse(cost(job)), index)).collect();
    starts.sort();
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let place = |index: usize| results[index].lock().unwrap_or_else(PoisonError::into_inner);
    let run = |index: usize| {
        let result = work(&jobs[index]);
        *place(index) = Some(result);
    };
    let (mut done, mut next, mut outcome) = (0, 0, Ok(()));
    let mut ended = || {
        done += 1;
        finished(done);
        while next < jobs.len() && outcome.is_ok() {
            let Some(result) = place(next).take() else { break };
            outcome = deliver(next, result);
            next += 1;
        }
        outcome.is_ok()
    };
    on_all_cores(&starts, &run, &mut ended);
    outcome
}

/// Runs the jobs of these numbers, behind their costs, on all cores, started in this order. `ended` is called on the calling thread once for each that
/// has ended; when it returns false, jobs that have not started are dropped. Compiled once, whatever the jobs are.
fn on_all_cores(starts: &[(Reverse<u64>, usize)], run: &(dyn Fn(usize) + Sync), ended: &mut dyn FnMut() -> bool) {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let next = AtomicUsize::new(0);
            (0..rayon::current_num_threads().min(starts.len())).into_par_iter().with_max_len(1).for_each_with(
                sender,
                |sender, _| {
                    while let Some(&(_, index)) = starts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        run(index);
                        if sender.send(()).is_err() {
                            // A delivery has failed: the remaining jobs end at once.
                            return;
                        }
                    }
                },
            );
        });
        // The receiver is dropped before the scope waits for the jobs: they hear of a failed delivery.
        let _ = receiver.into_iter().all(|()| ended());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_arrive_in_the_order_of_the_jobs() {
        // Early jobs take longest, so that they finish last.
        let jobs: Vec<u64> = (0..40).collect();
        let work = |job: &u64| {
            std::thread::sleep(std::time::Duration::from_micros(100 * (40 - job)));
            job * 2
        };
        let (mut delivered, mut counts) = (Vec::new(), Vec::new());
        let result: Result<(), ()> = in_order(
            &jobs,
            work,
            |done| counts.push(done),
            |index, value| {
                delivered.push((index, value));
                Ok(())
            },
        );
        assert_eq!(result, Ok(()));
        assert_eq!(delivered, (0..40).map(|i| (i, i as u64 * 2)).collect::<Vec<_>>());
        assert_eq!(counts, (1..=40).collect::<Vec<_>>());
    }

    #[test]
    fn costly_jobs_start_first_and_are_delivered_in_their_place() {
        let started = std::sync::Mutex::new(Vec::new());
        let jobs: Vec<u64> = (0..64).collect();
        let work = |job: &u64| {
            started.lock().expect("nobody fails").push(*job);
            std::thread::sleep(std::time::Duration::from_micros(500));
            *job
        };
        let mut delivered = Vec::new();
        let deliver = |_, value| {
            delivered.push(value);
            Ok::<_, ()>(())
        };
        assert_eq!(longest_first(&jobs, |job| *job, work, |_| {}, deliver), Ok(()));
        assert_eq!(delivered, jobs);
        // Whoever takes a job may be held up before it says so, by as much as each other thread has one of its own.
        let (started, threads) = (started.into_inner().expect("nobody failed"), rayon::current_num_threads() as u64);
        assert!(started[0] >= 64 - threads.min(64), "{started:?}");
    }

    #[test]
    fn a_failed_delivery_stops_what_has_not_started() {
        let started = AtomicUsize::new(0);
        let jobs = vec![(); 10_000];
        let work = |_: &()| {
            started.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_micros(200));
        };
        let result = in_order(&jobs, work, |_| {}, |index, ()| if index == 3 { Err("full") } else { Ok(()) });
        assert_eq!(result, Err("full"));
        assert!(started.load(Ordering::Relaxed) < jobs.len());
    }
}
