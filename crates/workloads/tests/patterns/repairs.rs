//! Effects of the faults of programs after SpecOMP2001 on memory, and of their repairs.

use std::collections::{BTreeMap, BTreeSet};

use workloads::{Art, Equake, Fma3d, Gafort, Workload};

use crate::mock::{Kind, Run, race, run, shape};

const THREADS: usize = 6;

/// Numbers of threads that store to each line, and to each page, of a region when phase `from` has come.
fn writers(run: &Run, region: usize, from: usize) -> [Vec<usize>; 2] {
    let mut lines: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
    let mut pages: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
    for (thread, references) in run.references.iter().enumerate() {
        let own = references.iter().filter(|each| (each.kind, each.region) == (Kind::Store, region));
        for each in own.filter(|each| each.phase >= from) {
            lines.entry(each.line()).or_default().insert(thread);
            pages.entry(each.word / shape(THREADS, 0).page_words).or_default().insert(thread);
        }
    }
    [lines, BTreeMap::from_iter(pages.into_iter().map(|(page, threads)| ((region, page), threads)))]
        .map(|of| of.values().map(BTreeSet::len).collect())
}

/// Sixteen bytes apart, variables of two threads are in a line of 32 bytes, and all are on a page.
#[test]
fn what_threads_note_of_their_matches_shares_lines_and_a_page_unless_tuned() {
    let noted = |tuned| {
        let run = run(&Workload::Art(Art { positions: 5, window: 4, patterns: 3, tuned }), &shape(THREADS, 3));
        assert_eq!(run.check, Ok(()));
        // Memory has been touched first before the second barrier.
        writers(&run, 4, 2)
    };
    let [lines, pages] = noted(0);
    assert_eq!((lines, pages), (vec![2; 9], vec![THREADS]));
    let [lines, pages] = noted(1);
    assert_eq!((lines, pages), (vec![1; THREADS], vec![1; THREADS]));
}

/// Markers are stored to by loop 1 and by rows, and loaded by rows and loop 3.
#[test]
fn markers_take_work_of_each_thread_for_all_and_less_of_it_if_tuned() {
    let (nodes, steps) = (64, 2);
    let of = |tuned, threads| {
        let run = run(&Workload::Equake(Equake { edge: 4, steps, unmeasured: 0, tuned }), &shape(threads, 3));
        assert_eq!((&run.check, race(&run.references)), (&Ok(()), None));
        let markers = |kind| {
            let all = run.references.iter().flatten();
            all.filter(|each| each.phase > 1 && (each.region, each.kind) == (4, kind)).count() as u64
        };
        (markers(Kind::Load), markers(Kind::Store), run.contents[7].clone())
    };
    let (rows, _, _) = of(1, 1);
    for threads in [1, 2, 4, 8] {
        let [untuned, tuned] = [0, 1].map(|tuned| of(tuned, threads));
        let each = nodes * threads as u64 * steps;
        let loads = rows - nodes * steps + each;
        assert_eq!([untuned.0, tuned.0], [loads; 2]);
        // As many are set either way: in one all are cleared, in the other those that are set.
        let set = tuned.1 / 2;
        assert_eq!(untuned.1, each + set);
        assert!(set < each || threads == 1);
        assert_eq!(untuned.2, tuned.2, "the same displacements to the last bit");
    }
}

/// Two locks keep individuals whole, and of a shuffle that stays at home nobody else sees anything.
#[test]
fn swaps_are_ordered_and_stay_at_home_if_told_so() {
    for (tuned, shuffle_percent, away) in [(0, 0, true), (1, 100, true), (1, 0, false)] {
        let gafort = Gafort { families: 25, genes: 4, generations: 1, unmeasured: 0, shuffle_percent, tuned };
        let run = run(&Workload::Gafort(gafort), &shape(THREADS, 3));
        assert_eq!((&run.check, run.unordered), (&Ok(()), None));
        // Words of the first generation's chromosomes, to which only the shuffle stores when they have been drawn.
        let mut own = vec![0..0; THREADS];
        let mut anywhere = false;
        for (thread, references) in run.references.iter().enumerate() {
            let words = |drawn: bool| {
                let stores = references.iter().filter(|each| (each.region, each.kind) == (2, Kind::Store));
                stores.filter(move |each| (each.phase < 2) == drawn).map(|each| each.word)
            };
            own[thread] = words(true).min().unwrap_or(0)..words(true).max().map_or(0, |last| last + 1);
            anywhere |= words(false).any(|word| !own[thread].contains(&word));
            assert!(words(false).all(|word| word >= own[thread].start), "all is ahead");
        }
        assert_eq!(anywhere, away);
        assert!(own.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
}

/// Fewer of everything than threads, and numbers that divide by nothing.
#[test]
fn results_are_right_whatever_the_shape() {
    let mut programs = Vec::new();
    for (positions, window, patterns) in [(1, 2, 1), (2, 3, 5), (7, 5, 2)] {
        programs.extend([0, 1].map(|tuned| Workload::Art(Art { positions, window, patterns, tuned })));
    }
    for (edge, steps) in [(2, 0), (2, 3), (5, 2)] {
        programs.extend([0, 1, 2].map(|tuned| Workload::Equake(Equake { edge, steps, unmeasured: 1, tuned })));
    }
    for (width, length, steps) in [(1, 1, 3), (1, 7, 12), (3, 2, 4)] {
        programs.push(Workload::Fma3d(Fma3d { width, length, steps, unmeasured: 1 }));
    }
    for (families, genes, generations) in [(1, 1, 1), (2, 3, 5), (13, 2, 2)] {
        let gafort = |tuned| {
            Workload::Gafort(Gafort { families, genes, generations, unmeasured: 1, shuffle_percent: 40, tuned })
        };
        programs.extend([0, 1].map(gafort));
    }
    for program in programs {
        for threads in [1, 5, 6] {
            let run = run(&program, &shape(threads, 11));
            assert_eq!((run.wrong_loads, run.unordered), (0, None), "{program:?} on {threads} threads");
            assert_eq!(run.check, Ok(()), "{program:?} on {threads} threads");
        }
    }
}
