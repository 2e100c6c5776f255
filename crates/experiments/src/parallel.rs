//! Independent jobs on all cores, their results delivered in the order of the jobs as soon as that order allows.

use std::collections::BTreeMap;
use std::sync::mpsc;

use rayon::prelude::*;

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
    mut finished: impl FnMut(usize),
    mut deliver: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A closed channel means that the receiver has failed: the remaining jobs end at once.
            let _closed = jobs
                .par_iter()
                .enumerate()
                .with_max_len(1)
                .try_for_each_with(sender, |sender, (index, job)| sender.send((index, work(job))).map_err(drop));
        });
        let mut waiting = BTreeMap::new();
        let (mut done, mut next) = (0, 0);
        for (index, result) in receiver {
            done += 1;
            finished(done);
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(&next) {
                deliver(next, result)?;
                next += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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
