//! Locks and reductions, and that races are found where they are missing.

use workloads::{Array, Locks, Reduction, Thread};

use crate::mock::{Kind, race, run_threads, shape};

const THREADS: usize = 4;
const ROUNDS: usize = 50;
const LOCKS: usize = 6;

/// All threads add to each of some words, under its lock or without.
fn additions(locked: bool) -> (Vec<u64>, Option<(usize, usize, usize)>) {
    let shape = shape(THREADS, 0);
    let plan = Locks::<()>::plan(&shape, LOCKS);
    let (regions, ended) = run_threads(&shape, &[plan.clone(), plan], |regions, thread| {
        let (locks, words) = (Locks::new(&shape, &regions[0], LOCKS), Array::<_, u64>::new(&regions[1]));
        let add = |thread: &mut _, word| {
            let sum = words.load(thread, word);
            words.store(thread, word, sum + 1);
        };
        for word in (0..ROUNDS).flat_map(|_| 0..LOCKS) {
            if locked { locks.critical(thread, word, |thread| add(thread, word)) } else { add(thread, word) }
        }
        0
    });
    let references: Vec<_> = ended.into_iter().map(|(references, _)| references).collect();
    ((0..LOCKS).map(|word| regions[1].word(word)).collect(), race(&references))
}

#[test]
fn a_lock_keeps_others_out_and_its_absence_is_found() {
    assert_eq!(additions(true), (vec![(THREADS * ROUNDS) as u64; LOCKS], None));
    assert_eq!(additions(false).1, Some((0, 1, 0)));
}

#[test]
fn locks_lie_in_lines_of_their_own() {
    let shape = shape(THREADS, 0);
    let (_, ended) = run_threads(&shape, &[Locks::<()>::plan(&shape, LOCKS)], |regions, thread| {
        let locks = Locks::new(&shape, &regions[0], LOCKS);
        (0..LOCKS).for_each(|lock| locks.critical(thread, lock, |_| ()));
        0
    });
    let mut lines: Vec<_> = ended[0].0.iter().map(|each| (each.kind, each.line())).collect();
    assert!(lines.iter().all(|&(kind, _)| kind == Kind::Synchronisation));
    lines.dedup();
    assert_eq!(lines.len(), LOCKS);
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), LOCKS);
}

#[test]
fn reductions_follow_each_other_without_races() {
    for threads in [1, 2, 5] {
        let shape = shape(threads, 0);
        let (_, ended) = run_threads(&shape, &[Reduction::<()>::plan(&shape)], |regions, thread| {
            let mut reduction = Reduction::new(&shape, &regions[0]);
            let number = thread.number() as f64;
            let wrong = (0..10).filter(|&round| {
                let scale = f64::from(round);
                let largest = (threads - 1) as f64 * scale;
                let sum = largest * threads as f64 / 2.0;
                reduction.sum(thread, number * scale) != sum || reduction.max(thread, number * scale) != largest
            });
            wrong.count() as u64
        });
        let (references, wrong): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
        assert_eq!((race(&references), wrong), (None, vec![0; threads]));
    }
}
