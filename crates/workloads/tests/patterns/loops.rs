//! Loops on real data: every variant is right, every wrong word is found, and each thread stores to its own rows alone.

use std::collections::{BTreeMap, BTreeSet};

use units::NodeId;
use workloads::{Cg, Ge, Mmult, Paths, Stream, Swim, Workload};

use crate::mock::{Kind, Run, race, run, shape};

const THREADS: usize = 6;

const GE: Ge = Ge { side: 17, interleaved: 1, shrinking: 0, element: 8 };
const MMULT: Mmult = Mmult { side: 13, block: 5, order: 0, element: 8 };
const PATHS: Paths = Paths { vertices: 19, degree: 2, dearest: 100, schedule: 0, reload: 0, element: 8 };

/// Programs of which every word that is left must be right.
fn exact() -> Vec<Workload> {
    vec![
        Workload::Ge(Ge { side: 17, interleaved: 0, ..GE }),
        Workload::Ge(Ge { side: 17, interleaved: 1, ..GE }),
        Workload::Mmult(Mmult { side: 13, block: 5, ..MMULT }),
        Workload::Mmult(Mmult { side: 12, block: 64, element: 4, ..MMULT }),
        Workload::Mmult(Mmult { side: 13, order: 1, ..MMULT }),
        Workload::Mmult(Mmult { side: 13, order: 1, element: 4, ..MMULT }),
        Workload::Paths(Paths { vertices: 19, degree: 2, ..PATHS }),
        Workload::Paths(Paths { vertices: 19, degree: 2, reload: 1, element: 4, ..PATHS }),
        Workload::Stream(Stream { words: 37, rounds: 3, prefetch: 2, one_node: 1 }),
        Workload::Stream(Stream { words: 37, rounds: 1, prefetch: 0, one_node: 0 }),
        Workload::Swim(Swim { side: 11, rounds: 3, unmeasured: 1 }),
    ]
}

fn stores(run: &Run, thread: usize) -> BTreeSet<(usize, usize)> {
    let stores = run.references[thread].iter().filter(|each| each.kind == Kind::Store);
    stores.map(|each| (each.region, each.word)).collect()
}

#[test]
fn variants_are_right_on_any_number_of_threads() {
    let cg = [(1, 0, 1), (30, 0, 3), (50, 6, 1), (50, 6, 1000)];
    let cg = cg.map(|(rows, drawn, iterations)| Workload::Cg(Cg { rows, drawn, iterations }));
    for program in exact().into_iter().chain(cg) {
        for threads in [1, 2, 4, 8] {
            let run = run(&program, &shape(threads, 5));
            assert_eq!(run.check, Ok(()), "{program:?} on {threads} threads");
            assert_eq!(race(&run.references), None, "{program:?} on {threads} threads");
        }
    }
}

/// Rows that change hands: blocks of those that are left, and rows from a counter, of numbers of either size.
#[test]
fn schedules_give_the_same_results() {
    for element in [4, 8] {
        let ge = Workload::Ge(Ge { shrinking: 1, element, ..GE });
        let paths = Workload::Paths(Paths { schedule: 1, element, ..PATHS });
        for (program, threads) in
            [ge, paths].into_iter().flat_map(|program| [1, 3, 8].map(|threads| (program, threads)))
        {
            let run = run(&program, &shape(threads, 5));
            assert_eq!((run.check, run.unordered), (Ok(()), None), "{program:?} on {threads} threads");
            let writers = |row: usize| {
                let stored = (0..threads).filter(|&thread| {
                    let own = run.references[thread].iter().filter(|each| each.kind == Kind::Store && each.phase > 0);
                    own.into_iter().any(|each| each.region == 0 && each.word / 20 == row)
                });
                stored.count()
            };
            let changing = (0..17).filter(|&row| writers(row) > 1).count();
            assert_eq!(changing > 0, threads > 1, "{program:?} on {threads} threads");
        }
    }
}

/// As Hexsel and Topham's Table 1 counts them: three loads for each comparison, and two for each product.
#[test]
fn published_loops_have_their_published_references() {
    let loads = |program, threads| {
        let run = run(&program, &shape(threads, 5));
        let measured = |each: &&crate::mock::Reference| each.kind == Kind::Load && each.section > 0;
        run.references.iter().flatten().filter(measured).count()
    };
    let paths = Workload::Paths(Paths { reload: 1, element: 4, ..PATHS });
    assert_eq!(loads(paths, 4), 19 * 18 * 19 * 3);
    let mmult = Workload::Mmult(Mmult { order: 1, element: 4, ..MMULT });
    assert_eq!(loads(mmult, 4), 13 * 13 * 13 * 2);
}

#[test]
fn any_wrong_word_is_found() {
    for program in exact() {
        let shape = shape(3, 5);
        let run = run(&program, &shape);
        let places: BTreeSet<_> = (0..3).flat_map(|thread| stores(&run, thread)).collect();
        for place in places {
            // A small bit of a number, and as much of a cost.
            let spoilt = |region: usize, word: usize| {
                let wrong = u64::from((region, word) == place) << 30;
                run.contents[region][word] ^ wrong
            };
            assert!(program.check(&shape, &spoilt).is_err(), "{program:?}: {place:?}");
        }
    }
}

#[test]
fn wrong_unknowns_and_matrices_of_conjugate_gradients_are_found() {
    let program = Workload::Cg(Cg { rows: 30, drawn: 3, iterations: 15 });
    let shape = shape(3, 5);
    let run = run(&program, &shape);
    // Starts, columns, values, unknowns, their residual.
    for region in 0..5 {
        for place in (0..3).flat_map(|thread| stores(&run, thread)).filter(|place| place.0 == region) {
            // A zero of a residual that has vanished becomes one that has not.
            let spoilt =
                |region: usize, word: usize| run.contents[region][word] ^ u64::from((region, word) == place) << 62;
            assert!(program.check(&shape, &spoilt).is_err(), "{place:?}");
        }
    }
}

#[test]
fn each_word_has_one_writer() {
    for program in exact() {
        let run = run(&program, &shape(THREADS, 2));
        let mut writers: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for thread in 0..THREADS {
            for place in stores(&run, thread) {
                assert_eq!(*writers.entry(place).or_insert(thread), thread, "{program:?}: {place:?}");
            }
        }
    }
}

#[test]
fn a_pivot_row_is_read_by_all_that_have_rows_below() {
    for (interleaved, readers) in [(1, THREADS), (0, 5)] {
        let run = run(&Workload::Ge(Ge { side: 18, interleaved, ..GE }), &shape(THREADS, 2));
        // Row 3 is scaled between the fourth and the fifth barrier, of which initialisation ends at the first, and read after
        // that: its owner is thread 3, or 1.
        let owner = if interleaved == 1 { 3 } else { 1 };
        let scaled: BTreeSet<_> = {
            let phase = run.references[owner].iter().filter(|each| each.phase == 4 && each.kind == Kind::Store);
            let words = phase.map(|each| (each.region, each.word)).collect::<Vec<_>>();
            words[words.len() - 15..].iter().copied().collect()
        };
        let reads = |thread: &usize| {
            let loads = run.references[*thread].iter().filter(|each| each.phase == 5 && each.kind == Kind::Load);
            loads.filter(|each| scaled.contains(&(each.region, each.word))).count() > 0
        };
        assert_eq!((0..THREADS).filter(reads).count(), readers);
    }
}

#[test]
fn shallow_water_reads_rows_of_two_neighbours_alone() {
    let run = run(&Workload::Swim(Swim { side: 24, rounds: 2, unmeasured: 0 }), &shape(THREADS, 2));
    let own: Vec<_> = (0..THREADS).map(|thread| stores(&run, thread)).collect();
    for (thread, references) in run.references.iter().enumerate() {
        let loads = references.iter().filter(|each| each.kind == Kind::Load).map(|each| (each.region, each.word));
        let from: BTreeSet<_> = loads.filter_map(|place| own.iter().position(|own| own.contains(&place))).collect();
        let expected = [thread, (thread + 1) % THREADS, (thread + THREADS - 1) % THREADS];
        assert_eq!(from, BTreeSet::from(expected));
    }
}

#[test]
fn streams_arrays_lie_where_they_are_asked_for() {
    for (one_node, nodes) in [(0, vec![0, 0, 1, 1, 2, 2]), (1, vec![0; 6])] {
        let program = Workload::Stream(Stream { words: 50, rounds: 1, prefetch: 0, one_node });
        let expected: Vec<_> = nodes.into_iter().map(|node| Some(NodeId(node))).collect();
        for plan in program.regions(&shape(THREADS, 2)) {
            assert_eq!(plan.parts.iter().map(|part| part.home).collect::<Vec<_>>(), expected);
        }
    }
}
