//! Locks, reductions and teams, and that races are found where they are missing.

use workloads::{Array, LockKind, Locks, Reduction, RegionPlan, Shape, Share, SharedSums, Team, Thread, queue};

use crate::mock::{Kind, Reference, race, run_threads, shape};

const THREADS: usize = 4;
const ROUNDS: usize = 50;
const LOCKS: usize = 6;

/// How words are guarded.
#[derive(Clone, Copy, PartialEq)]
enum Guard {
    Apart,
    Packed,
    Nothing,
}

/// All threads add to each of some words, under its lock or without.
fn additions(guard: Guard, kind: LockKind) -> (Vec<u64>, Option<(usize, usize, usize)>) {
    let shape = Shape { locks: kind, ..shape(THREADS, 0) };
    let plan = Locks::<()>::plan(&shape, LOCKS);
    let plans = [plan.clone(), plan].into_iter().chain(Locks::<()>::ticket_plan(&shape, LOCKS));
    let (regions, ended) = run_threads(&shape, &plans.collect::<Vec<_>>(), |regions, thread| {
        let words = Array::<_, u64>::new(&regions[1]);
        let locks = match guard {
            Guard::Packed => Locks::packed(&shape, &regions[0], LOCKS, regions.get(2)),
            _ => Locks::new(&shape, &regions[0], LOCKS),
        };
        let add = |thread: &mut _, word| {
            let sum = words.load(thread, word);
            words.store(thread, word, sum + 1);
        };
        for word in (0..ROUNDS).flat_map(|_| 0..LOCKS) {
            match guard {
                Guard::Nothing => add(thread, word),
                _ => locks.critical(thread, word, |thread| add(thread, word)),
            }
        }
        0
    });
    let references: Vec<_> = ended.into_iter().map(|(references, _)| references).collect();
    ((0..LOCKS).map(|word| regions[1].word(word)).collect(), race(&references))
}

#[test]
fn a_lock_keeps_others_out_and_its_absence_is_found() {
    for (kind, name) in LockKind::ALL {
        for guard in [Guard::Apart, Guard::Packed] {
            assert_eq!(additions(guard, kind), (vec![(THREADS * ROUNDS) as u64; LOCKS], None), "{name}");
        }
    }
    assert_eq!(additions(Guard::Nothing, LockKind::LlSc).1, Some((0, 1, 0)));
}

/// The holder of the lock notes its ticket in the next free place.
#[test]
fn tickets_are_served_in_the_order_in_which_they_were_drawn() {
    let shape = Shape { locks: LockKind::AtMemory, ..shape(THREADS, 0) };
    let plans = [Locks::<()>::plan(&shape, 1), RegionPlan::unplaced(&shape, 1 + THREADS * ROUNDS)];
    let (regions, ended) = run_threads(&shape, &plans, |regions, thread| {
        let (locks, words) = (Locks::new(&shape, &regions[0], 1), Array::<_, u64>::new(&regions[1]));
        for _ in 0..ROUNDS {
            locks.critical(thread, 0, |thread| {
                let served = words.load(thread, 0);
                let ticket = thread.ticket.unwrap_or(u64::MAX);
                words.store(thread, 1 + served as usize, ticket);
                words.store(thread, 0, served + 1);
            });
        }
        0
    });
    let tickets: Vec<_> = (0..THREADS * ROUNDS).map(|served| regions[1].word(1 + served)).collect();
    assert_eq!(tickets, (0..(THREADS * ROUNDS) as u64).collect::<Vec<_>>());
    let references: Vec<_> = ended.into_iter().map(|(references, _)| references).collect();
    assert_eq!(race(&references), None);
}

/// Each thread waits with a node of its own; the lock is the first word of the region, nodes are lines behind it.
#[test]
fn a_queue_keeps_others_out() {
    let shape = shape(THREADS, 0);
    let lines = shape.line_words;
    let plans = [RegionPlan::unplaced(&shape, lines * (1 + THREADS)), RegionPlan::unplaced(&shape, 1)];
    let (regions, _) = run_threads(&shape, &plans, |regions, thread| {
        let (region, words) = (&regions[0], Array::<_, u64>::new(&regions[1]));
        let node = |name: u64| name as usize * lines;
        let own = thread.number() as u64 + 1;
        let mut tried = 0;
        for round in 0..ROUNDS {
            if round % 3 == 0 && queue::try_acquire(thread, region, 0, node, own) {
                tried += 1;
            } else {
                queue::acquire(thread, region, 0, node, own);
            }
            let sum = words.load(thread, 0);
            words.store(thread, 0, sum + 1);
            queue::release(thread, region, 0, node, own);
        }
        u64::from(tried > ROUNDS)
    });
    assert_eq!((regions[1].word(0), regions[0].word(0)), ((THREADS * ROUNDS) as u64, 0), "nobody is in the queue");
}

#[test]
fn locks_lie_in_lines_of_their_own() {
    for (kind, words) in [(LockKind::LlSc, 1), (LockKind::AtMemory, 2)] {
        lines_of_locks(&Shape { locks: kind, ..shape(THREADS, 0) }, words * LOCKS);
    }
}

fn lines_of_locks(shape: &Shape, expected: usize) {
    let (_, ended) = run_threads(shape, &[Locks::<()>::plan(shape, LOCKS)], |regions, thread| {
        let locks = Locks::new(shape, &regions[0], LOCKS);
        (0..LOCKS).for_each(|lock| locks.critical(thread, lock, |_| ()));
        0
    });
    let mut lines: Vec<_> = ended[0].0.iter().map(|each| (each.kind, each.line())).collect();
    assert!(lines.iter().all(|&(kind, _)| kind == Kind::Synchronisation));
    lines.dedup();
    assert_eq!(lines.len(), expected);
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), expected);
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

/// The master stores a number alone, the team adds it up, the master takes the sum: over and over.
#[test]
fn what_the_master_does_alone_is_before_and_after_what_its_team_does() {
    for threads in [1, 2, 5] {
        let shape = shape(threads, 0);
        let plans = [Team::<()>::plan(&shape), SharedSums::<()>::plan(&shape, 2), SharedSums::<()>::plan(&shape, 1)];
        let (_, ended) = run_threads(&shape, &plans, |regions, thread| {
            let number = thread.number();
            let mut team = Team::new(&shape, &regions[0], number);
            let (sums, given) = (SharedSums::new(&shape, &regions[1], number), Array::<_, f64>::new(&regions[2]));
            let mut wrong = 0;
            for round in 0..10 {
                team.master(thread, |thread| given.store(thread, 0, f64::from(round)));
                team.parallel(thread, |thread, _| {
                    let value = given.load(thread, 0);
                    sums.clear(thread, 1);
                    (0..3).for_each(|_| sums.add(thread, 1, value));
                });
                let found = team.master(thread, |thread| sums.total(thread, 1));
                assert_eq!(found.is_some(), number == 0);
                wrong += u64::from(found.is_some_and(|sum| sum != f64::from(3 * round) * threads as f64));
            }
            let on = thread.measured.iter().map(|&(on, _)| on);
            assert!(on.eq([true, false].repeat(10)), "each section is measured");
            // References: a load of the number, the part cleared, three loads and stores, and of the master the fork.
            let inside: usize = thread.measured.chunks(2).map(|ends| ends[1].1 - ends[0].1).sum();
            assert_eq!(inside, 10 * (8 + usize::from(number == 0)), "and nothing but sections");
            wrong
        });
        let (references, wrong): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
        assert_eq!((race(&references), wrong), (None, vec![0; threads]));
    }
}

#[test]
fn shared_sums_of_several_threads_are_in_one_line() {
    let shape = shape(4, 0);
    let (_, ended) = run_threads(&shape, &[SharedSums::<()>::plan(&shape, 1)], |regions, thread| {
        SharedSums::new(&shape, &regions[0], thread.number()).add(thread, 0, 1.0);
        0
    });
    let lines: Vec<_> = ended.iter().flat_map(|(references, _)| references).map(|each| each.line()).collect();
    assert_eq!(lines, [(0, 0); 8]);
}

#[test]
fn what_one_thread_does_for_all_is_done_when_they_go_on() {
    let shape = shape(THREADS, 0);
    let (_, ended) = run_threads(&shape, &[SharedSums::<()>::plan(&shape, 1)], |regions, thread| {
        let (share, words) = (Share::new(&shape, thread.number()), Array::<_, u64>::new(&regions[0]));
        share.single(thread, |thread| words.store(thread, 0, 5));
        words.load(thread, 0)
    });
    let stores = |references: &[Reference]| references.iter().filter(|each| each.kind == Kind::Store).count();
    assert_eq!(
        ended.iter().map(|(references, found)| (stores(references), *found)).collect::<Vec<_>>(),
        [(1, 5), (0, 5), (0, 5), (0, 5)]
    );
}
