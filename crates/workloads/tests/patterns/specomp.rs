//! Whose memory the programs after SpecOMP2001 use when pages lie with those who touch them first.

use std::collections::{BTreeMap, BTreeSet};

use workloads::{Applu, Apsi, Equake, Mgrid, Workload, Wupwise};

use crate::mock::{Kind, LINE_WORDS, race, run, shape};

/// Share of all lines touched between two barriers, after their memory was first touched, on pages that the thread itself
/// touched first, as if no line outlived a barrier in a cache. All that is placed by the program is left out.
fn local(program: Workload, threads: usize) -> f64 {
    let shape = shape(threads, 3);
    let placed: Vec<bool> = program.regions(&shape).iter().map(|plan| plan.parts[0].home.is_some()).collect();
    let run = run(&program, &shape);
    assert_eq!(run.check, Ok(()), "{program:?}");
    let mut first: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
    let mut lines = BTreeSet::new();
    for (thread, references) in run.references.iter().enumerate() {
        for each in references.iter().filter(|each| !placed[each.region] && each.kind != Kind::Synchronisation) {
            let page = (each.region, each.word / shape.page_words);
            let earliest = first.entry(page).or_insert((each.phase, thread));
            *earliest = (each.phase, thread).min(*earliest);
            lines.insert((thread, each.phase, each.line()));
        }
    }
    // Memory is touched first before the second barrier.
    let used: Vec<_> = lines.into_iter().filter(|&(_, phase, _)| phase > 1).collect();
    let home = |(region, line): (usize, usize)| first[&(region, line * LINE_WORDS / shape.page_words)].1;
    used.iter().filter(|&&(thread, _, line)| home(line) == thread).count() as f64 / used.len() as f64
}

#[test]
fn lattices_are_local_on_any_number_of_threads() {
    let program = Workload::Wupwise(Wupwise { sites: 2, time: 32, iterations: 2, unmeasured: 0 });
    let shares = [2, 4, 8].map(|threads| local(program, threads));
    assert!(shares.iter().all(|&share| share > 0.75), "{shares:?}");
}

/// The thinner the slices, the more of what their borders need is another's; a cube of twice the side makes up for it.
#[test]
fn slices_of_a_cube_are_less_local_the_more_there_are() {
    let program = |intervals| Workload::Mgrid(Mgrid { intervals, narrower: 1, rounds: 1, unmeasured: 0 });
    let shares = [2, 4, 8].map(|threads| local(program(16), threads));
    assert!(shares.windows(2).all(|pair| pair[1] < pair[0] - 0.03), "{shares:?}");
    assert!(local(program(32), 8) > shares[2] + 0.05);
    let bar = Workload::Mgrid(Mgrid { intervals: 32, narrower: 2, rounds: 1, unmeasured: 0 });
    assert!(local(bar, 8) > shares[2] + 0.02, "planes are as small, and slices thicker");
}

/// Scratch is most of what is used.
#[test]
fn scratch_is_local_if_its_users_initialise_it() {
    let program = |tuned| Workload::Applu(Applu { side: 14, planes: 5, rounds: 1, unmeasured: 0, tuned });
    for threads in [6, 8] {
        let [untuned, tuned] = [0, 1].map(|tuned| local(program(tuned), threads));
        assert!(untuned < 0.6 && tuned > 0.9, "{untuned} {tuned}");
    }
}

#[test]
fn columns_are_local_if_they_are_stored_and_touched_as_they_are_used() {
    let program = |tuned| Workload::Apsi(Apsi { breadth: 32, width: 8, levels: 8, rounds: 1, unmeasured: 0, tuned });
    for threads in [4, 8] {
        let shares = [0, 1, 2].map(|tuned| local(program(tuned), threads));
        let even = 1.0 / threads as f64;
        assert!((shares[0] - even).abs() < 0.1 * even, "{shares:?}");
        assert!(shares[1] > 0.7 && shares[2] > 0.7, "{shares:?}");
    }
}

/// Threads with less than a plane of the mesh add to nodes of several others.
#[test]
fn partial_sums_are_local_to_who_fills_them_if_threads_touch_their_own_first() {
    let program = |tuned| Workload::Equake(Equake { edge: 12, steps: 2, unmeasured: 0, tuned });
    for threads in [24, 32] {
        let [by_nodes, by_threads] = [1, 2].map(|tuned| local(program(tuned), threads));
        assert!(by_threads > by_nodes + 0.02, "{by_nodes} {by_threads}");
    }
}

/// Untuned, sums go through shared memory, where they are next to those of others: with each strip of 28 columns, each of four
/// sums.
#[test]
fn sums_that_nobody_declared_share_lines() {
    let (breadth, width, rounds, threads) = (9, 29, 2, 4);
    for (tuned, expected) in [(1, 4 * (breadth * 2 + threads) * rounds), (2, 0)] {
        let program = Workload::Apsi(Apsi { breadth, width, levels: 3, rounds, unmeasured: 0, tuned });
        let run = run(&program, &shape(threads as usize, 3));
        const PARTS: usize = 2;
        let stores: Vec<_> = run
            .references
            .iter()
            .map(|references| references.iter().filter(|each| each.region == PARTS && each.kind == Kind::Store))
            .map(|stores| stores.map(|each| each.line()).collect::<Vec<_>>())
            .collect();
        assert_eq!(stores.iter().flatten().count() as u64, expected);
        let lines: BTreeSet<_> = stores.iter().map(|stores| stores.iter().collect::<BTreeSet<_>>()).collect();
        assert_eq!(lines.len(), 1, "all threads store to the same lines");
    }
}

/// Shapes that divide by nothing, fewer points than threads, and all steps of tuning.
#[test]
fn results_are_right_whatever_the_shape() {
    let mut programs = Vec::new();
    for (side, planes, tuned) in [(4, 3, 0), (9, 4, 1), (17, 3, 0)] {
        programs.push(Workload::Applu(Applu { side, planes, rounds: 3, unmeasured: 1, tuned }));
    }
    for (breadth, width, levels, tuned) in [(3, 3, 2, 0), (5, 3, 7, 1), (11, 4, 3, 2)] {
        programs.push(Workload::Apsi(Apsi { breadth, width, levels, rounds: 3, unmeasured: 1, tuned }));
    }
    for (sites, time, iterations) in [(1, 1, 40), (1, 4, 40), (2, 3, 6), (3, 5, 2)] {
        programs.push(Workload::Wupwise(Wupwise { sites, time, iterations, unmeasured: 1 }));
    }
    for (intervals, narrower, rounds) in [(4, 1, 30), (16, 1, 2), (32, 8, 30), (16, 32, 5)] {
        programs.push(Workload::Mgrid(Mgrid { intervals, narrower, rounds, unmeasured: 1 }));
    }
    for program in programs {
        for threads in [1, 5, 6] {
            let run = run(&program, &shape(threads, 11));
            assert_eq!(run.check, Ok(()), "{program:?} on {threads} threads");
            assert_eq!((run.unordered, race(&run.references)), (None, None), "{program:?} on {threads} threads");
        }
    }
}
