//! Communication between threads in the SPLASH programs.

use workloads::{Barnes, Cholesky, Fft, Fmm, LockKind, Lu, Mp3d, Ocean, Radix, Raytrace, Shape, Water, Workload};

use crate::mock::{Kind, Reference, run, shape};

const THREADS: usize = 8;

/// The region of the picture, in the order of [`workloads::Program::REGIONS`] of ray tracing.
const PICTURE: usize = 5;

/// Threads whose rows the first transpose of each thread reads, in order.
fn visited(stagger: u64) -> Vec<Vec<usize>> {
    let points = 1024;
    let run = run(&Workload::Fft(Fft { points, stagger }), &shape(THREADS, 1));
    assert_eq!(run.check, Ok(()), "stagger {stagger}");
    let words = 2 * points as usize / THREADS;
    let loads = |each: &&Reference| (each.phase, each.region, each.kind) == (1, 0, Kind::Load);
    let order = |references: &Vec<Reference>| {
        let mut order: Vec<_> = references.iter().filter(loads).map(|each| each.word / words).collect();
        order.dedup();
        order
    };
    run.references.iter().map(order).collect()
}

#[test]
fn without_stagger_all_visit_the_same_and_with_it_never_two() {
    assert_eq!(visited(0), vec![(0..THREADS).collect::<Vec<_>>(); THREADS]);
    let mut orders = Vec::new();
    for stagger in [1, 2] {
        let visited = visited(stagger);
        for step in 0..THREADS {
            let mut together: Vec<_> = visited.iter().map(|order| order[step]).collect();
            together.sort_unstable();
            assert_eq!(together, (0..THREADS).collect::<Vec<_>>(), "stagger {stagger}, step {step}");
        }
        orders.push(visited[0].clone());
    }
    assert_eq!(orders, [[1, 2, 3, 4, 5, 6, 7, 0], [4, 2, 6, 1, 5, 3, 7, 0]]);
}

/// One digit, several, digits that do not divide the key, more digits than keys.
#[test]
fn keys_are_sorted_whatever_the_digits() {
    for (keys, radix, bits) in [(1000, 2, 3), (1000, 16, 4), (500, 8, 10), (5, 1024, 32), (1, 2, 1), (1000, 256, 32)] {
        let run = run(&Workload::Radix(Radix { keys, radix, bits }), &shape(THREADS, 1));
        assert_eq!(run.check, Ok(()), "{keys} keys of {bits} bits by digits of {radix} values");
    }
}

/// Blocks that divide the matrix and blocks that do not, smaller and larger ones, stored in either way.
#[test]
fn factors_are_right_whatever_the_blocks_and_each_block_has_one_writer() {
    for (side, block, contiguous) in [(24, 4, 1), (24, 4, 0), (17, 5, 1), (17, 5, 0), (9, 64, 1), (1, 1, 0), (20, 1, 1)]
    {
        let lu = Workload::Lu(Lu { side, block, contiguous });
        let run = run(&lu, &shape(THREADS, 1));
        assert_eq!(run.check, Ok(()), "{lu:?}");
        let mut writers = std::collections::BTreeMap::new();
        for (thread, references) in run.references.iter().enumerate() {
            for each in references.iter().filter(|each| each.kind == Kind::Store) {
                assert_eq!(*writers.entry(each.word).or_insert(thread), thread, "{lu:?}: word {}", each.word);
            }
        }
        assert_eq!(writers.len() as u64, side * side);
    }
}

/// Stores of a thread are to memory at home if blocks are in one piece; by rows, most are not.
#[test]
fn contiguous_blocks_are_at_home() {
    let shape = shape(THREADS, 1);
    let at_home = |contiguous| {
        let lu = Workload::Lu(Lu { side: 32, block: 4, contiguous });
        let plans = lu.regions(&shape);
        let pages: Vec<_> =
            plans[0].parts.iter().flat_map(|part| vec![part.home; part.words / shape.page_words]).collect();
        let references = run(&lu, &shape).references;
        let of = |(thread, each): (usize, &Reference)| {
            (each.kind == Kind::Store).then(|| pages[each.word / shape.page_words] == Some(shape.homes[thread]))
        };
        let each = references.iter().enumerate().flat_map(|(thread, all)| all.iter().map(move |each| (thread, each)));
        let homes: Vec<bool> = each.filter_map(of).collect();
        homes.iter().filter(|&&home| home).count() as f64 / homes.len() as f64
    };
    assert_eq!(at_home(1), 1.0);
    assert!(at_home(0) < 0.7, "{}", at_home(0));
}

/// Multigrid needs about as many cycles on any grid: a slow one would count many more barriers.
#[test]
fn a_basin_is_solved_in_few_cycles() {
    for intervals in [16_u64, 64] {
        let run = run(&Workload::Ocean(Ocean { intervals, steps: 1, layers: 1 }), &shape(THREADS, 1));
        assert_eq!(run.check, Ok(()));
        let phases = run.references[0].last().map_or(0, |last| last.phase);
        // Four relaxations' halves before, two after, and one each way; two where there is a single point; and the residual's.
        let of_cycle = 8 * (intervals.ilog2() as usize - 1) + 2 + 1;
        assert!(phases < 2 * 12 * of_cycle, "{intervals} intervals: {} cycles", phases / of_cycle);
    }
}

/// On one thread, on powers of 2, on numbers of which some threads only wait, and on more than the grid has room for: results are
/// those of whole grids, and borders are in their owners' subgrids.
#[test]
fn two_layers_are_those_of_whole_grids_on_any_number_of_threads() {
    for (intervals, threads, steps) in [(8, 1, 2), (16, 2, 2), (16, 4, 3), (16, 8, 2), (16, 6, 1), (4, 64, 1)] {
        let program = Workload::Ocean(Ocean { intervals, steps, layers: 2 });
        for (locks, name) in workloads::LockKind::ALL {
            let shape = workloads::Shape { locks, ..shape(threads, 1) };
            let run = run(&program, &shape);
            let what = format!("{intervals} points on {threads} threads, {name}");
            assert_eq!((&run.check, run.unordered), (&Ok(()), None), "{what}");
            assert_eq!(crate::mock::race(&run.references), None, "{what}");
            assert!(run.check_of_spoilt.is_some_and(|check| check.is_err()), "{what}");
            let plans = program.regions(&shape);
            let pages = |region: usize| -> Vec<_> {
                let parts = plans[region].parts.iter();
                parts.flat_map(|part| vec![part.home; part.words / shape.page_words]).collect()
            };
            let pages: Vec<_> = (0..3).map(pages).collect();
            for (thread, references) in run.references.iter().enumerate() {
                let stores = references.iter().filter(|each| each.kind == Kind::Store && each.region < 3);
                let mut homes = stores.map(|each| pages[each.region][each.word / shape.page_words]);
                assert!(homes.all(|home| home == Some(shape.homes[thread])), "{what}");
            }
        }
    }
}

/// Odd and even numbers of molecules, fewer than threads, and enough for pairs out of reach.
#[test]
fn every_pair_of_molecules_acts_once() {
    for (molecules, steps) in [(2, 3), (5, 2), (12, 2), (30, 20)] {
        let run = run(&Workload::Water(Water { molecules, steps }), &shape(THREADS, 1));
        assert_eq!(run.check, Ok(()), "{molecules} molecules");
        assert_eq!(crate::mock::race(&run.references), None);
    }
}

/// Two bodies and many, cells that count as one and none that do: with all bodies apart, accelerations are exact.
#[test]
fn bodies_are_pulled_by_all_others() {
    let cases = [(2, 2, 100), (3, 1, 0), (300, 2, 0), (300, 3, 50), (1000, 2, 100), (1000, 1, 200)];
    for ((bodies, steps, opening), (leaf, clusters)) in
        cases.into_iter().flat_map(|case| [(1, 1), (10, 2)].map(|form| (case, form)))
    {
        let program = Workload::Barnes(Barnes { bodies, steps, opening, leaf, clusters });
        let run = run(&program, &shape(THREADS, 1));
        assert_eq!((run.wrong_loads, run.check, run.unordered), (0, Ok(()), None), "{program:?}");
    }
}

/// From the second step on costs are known: threads touch about equally much then.
#[test]
fn zones_cost_equally_much() {
    let run = run(
        &Workload::Barnes(Barnes { bodies: 1000, steps: 3, opening: 50, leaf: 1, clusters: 1 }),
        &shape(THREADS, 1),
    );
    assert_eq!(run.check, Ok(()));
    // Six barriers a step, and two after initialisation; forces come after the fourth.
    let loads = |step: usize| {
        let of = |references: &Vec<Reference>| {
            let forces = |each: &&Reference| each.phase == 6 * step + 6 && each.kind == Kind::Load;
            references.iter().filter(forces).count()
        };
        let counts: Vec<usize> = run.references.iter().map(of).collect();
        let mean = counts.iter().sum::<usize>() as f64 / THREADS as f64;
        counts.into_iter().max().map_or(0.0, |most| most as f64 / mean)
    };
    assert!(loads(0) > 1.06, "without costs: {}", loads(0));
    assert!((1..3).all(|step| loads(step) < 1.03), "with costs: {} {}", loads(1), loads(2));
}

/// Particles of others are changed: of velocities, some are stored by two threads.
#[test]
fn particles_of_different_threads_collide() {
    let run = run(&Workload::Mp3d(Mp3d { particles: 3000, steps: 6 }), &shape(THREADS, 1));
    assert_eq!((&run.check, run.unordered), (&Ok(()), None));
    let mut writers = std::collections::BTreeMap::new();
    for (thread, references) in run.references.iter().enumerate() {
        let velocities = |each: &&Reference| (each.region, each.kind, each.word % 8) == (0, Kind::Store, 0);
        for each in references.iter().filter(velocities) {
            writers.entry(each.word).or_insert_with(std::collections::BTreeSet::new).insert(thread);
        }
    }
    let shared = writers.values().filter(|threads| threads.len() > 1).count();
    assert!(shared > 300, "{shared} of {}", writers.len());
}

/// Plates, bricks, a rod, one node; panels of one column, of some, and of whole supernodes.
#[test]
fn panels_have_one_writer_and_make_the_factor() {
    let meshes = [(43, 14, 1, 8), (6, 5, 4, 8), (6, 5, 4, 1), (9, 9, 1, 64), (30, 1, 1, 4), (1, 1, 1, 2)];
    for (length, width, height, panel) in meshes {
        let cholesky = Cholesky { length, width, height, panel, fit: 0, reorder: 0, schedule: 0, matrix: None };
        let program = Workload::Cholesky(cholesky);
        let run = run(&program, &shape(THREADS, 1));
        assert_eq!((run.check, run.unordered), (Ok(()), None), "{program:?}");
        let mut writers = std::collections::BTreeMap::new();
        for (thread, references) in run.references.iter().enumerate() {
            for each in references.iter().filter(|each| (each.region, each.kind) == (0, Kind::Store)) {
                assert_eq!(*writers.entry(each.word).or_insert(thread), thread, "{program:?}: word {}", each.word);
            }
        }
    }
}

/// Through one queue, any thread changes any panel: words have several writers, one after the other, and all threads have work.
#[test]
fn panels_that_fan_out_are_changed_by_all() {
    let meshes = [(43, 14, 1, 8), (6, 5, 4, 8), (6, 5, 4, 1), (30, 1, 1, 4), (1, 1, 1, 2)];
    for ((length, width, height, panel), threads) in
        meshes.into_iter().flat_map(|mesh| [1, 3, 8].map(|many| (mesh, many)))
    {
        let cholesky = Cholesky { length, width, height, panel, fit: 0, reorder: 0, schedule: 1, matrix: None };
        let program = Workload::Cholesky(cholesky);
        let run = run(&program, &shape(threads, 1));
        assert_eq!((run.check, run.unordered), (Ok(()), None), "{program:?} on {threads}");
        let mut writers = std::collections::BTreeMap::new();
        let values = |each: &&Reference| (each.region, each.kind, each.phase) == (0, Kind::Store, 1);
        for (thread, references) in run.references.iter().enumerate() {
            for each in references.iter().filter(values) {
                writers.entry(each.word).or_insert_with(std::collections::BTreeSet::new).insert(thread);
            }
        }
        if threads > 1 && length * width > 100 {
            let shared = writers.values().filter(|threads| threads.len() > 1).count();
            assert!(shared * 3 > writers.len(), "{shared} of {} words have several writers", writers.len());
            let busy = run.references.iter().filter(|all| all.iter().any(|each| values(&each))).count();
            assert_eq!(busy, threads, "every thread has taken a task");
        }
    }
}

/// Subtrees of one thread are its own until they are complete; the result is that of the other schedules.
#[test]
fn subtrees_are_changed_by_their_threads_alone() {
    let meshes = [(43, 14, 1, 8), (6, 5, 4, 8), (6, 5, 4, 1), (30, 1, 1, 4), (1, 1, 1, 2)];
    for ((length, width, height, panel), threads) in
        meshes.into_iter().flat_map(|mesh| [1, 3, 8].map(|many| (mesh, many)))
    {
        let cholesky = Cholesky { length, width, height, panel, fit: 0, reorder: 0, schedule: 2, matrix: None };
        let program = Workload::Cholesky(cholesky);
        let run = run(&program, &shape(threads, 1));
        assert_eq!((run.check, run.unordered), (Ok(()), None), "{program:?} on {threads}");
        let mut users = std::collections::BTreeMap::new();
        for (thread, references) in run.references.iter().enumerate() {
            for each in references.iter().filter(|each| each.region == 4) {
                assert_eq!(*users.entry(each.word).or_insert(thread), thread, "{program:?}: word {}", each.word);
            }
        }
        // The tree of a small mesh may have no subtree that is small enough for one of many threads.
        assert!(!users.is_empty() || threads > 1 && length * width < 100, "{program:?} on {threads}");
    }
}

/// Blocks of a grid of threads have one writer each, as have subtrees' panels and what these contribute, which others read.
#[test]
fn blocks_that_fan_out_have_one_writer() {
    let meshes =
        [(43, 14, 1, 8, 0), (43, 14, 1, 8, 4), (6, 5, 4, 8, 1), (6, 5, 4, 1, 0), (30, 1, 1, 4, 16), (1, 1, 1, 2, 1)];
    for ((length, width, height, panel, fit), threads) in
        meshes.into_iter().flat_map(|mesh| [1, 3, 8].map(|many| (mesh, many)))
    {
        let cholesky = Cholesky { length, width, height, panel, fit, reorder: 0, schedule: 3, matrix: None };
        let program = Workload::Cholesky(cholesky);
        let run = run(&program, &shape(threads, 1));
        assert_eq!((run.check, run.unordered), (Ok(()), None), "{program:?} on {threads}");
        let (mut writers, mut readers) = (std::collections::BTreeMap::new(), std::collections::BTreeSet::new());
        for (thread, references) in run.references.iter().enumerate() {
            for each in references.iter().filter(|each| [0, 4, 5, 6].contains(&each.region)) {
                if each.kind == Kind::Store {
                    let writer = *writers.entry((each.region, each.word)).or_insert(thread);
                    assert_eq!(writer, thread, "{program:?}: word {} of region {}", each.word, each.region);
                } else {
                    readers.insert((each.region, each.word, thread));
                }
            }
        }
        if threads > 1 && length * width > 100 {
            for region in [0, 5] {
                let others =
                    |&&(of, word, thread): &&(usize, usize, usize)| of == region && writers[&(of, word)] != thread;
                assert!(readers.iter().filter(others).count() > 100, "{program:?}: others read region {region}");
            }
        }
    }
}

/// Tiles that do not divide the picture, of one pixel, larger than it: each pixel is drawn by one thread, which adds to it what
/// each ray brings. It shows spheres, ground and sky: many colours.
#[test]
fn every_pixel_is_drawn_by_one_thread() {
    for (pixels, tile) in [(24, 5), (10, 1), (7, 64), (1, 1)] {
        let run = run(
            &Workload::Raytrace(Raytrace { pixels, tile, generations: 1, numbered: 1, scene: None }),
            &shape(THREADS, 1),
        );
        assert_eq!((run.check, run.unordered), (Ok(()), None), "tiles of {tile}");
        let mut painters = std::collections::BTreeMap::new();
        for (thread, references) in run.references.iter().enumerate() {
            for each in references.iter().filter(|each| (each.region, each.kind) == (PICTURE, Kind::Store)) {
                assert_eq!(*painters.entry(each.word).or_insert(thread), thread, "tiles of {tile}: word {}", each.word);
            }
        }
        let words: Vec<_> = painters.into_keys().collect();
        assert_eq!(words, (0..(pixels * pixels * 3) as usize).collect::<Vec<_>>());
        let colours: std::collections::BTreeSet<_> = words.iter().map(|&word| run.contents[PICTURE][word]).collect();
        assert!(pixels < 24 || colours.len() > 500, "{}", colours.len());
    }
}

/// More terms, less error, as much as the theory says; from one body to many in a box, and to boxes of all sizes.
#[test]
fn series_do_what_masses_do() {
    for (bodies, terms, steps, leaf, clusters) in [
        (1, 4, 1, 40, 2),
        (2, 8, 2, 1, 2),
        (300, 2, 1, 8, 0),
        (300, 31, 2, 4, 1),
        (400, 12, 3, 1, 2),
        (1200, 40, 2, 40, 2),
        (1000, 23, 1, 10, 0),
    ] {
        let program = Workload::Fmm(Fmm { bodies, terms, steps, leaf, clusters });
        let run = run(&program, &shape(THREADS, 1));
        assert_eq!((run.wrong_loads, run.check, run.unordered), (0, Ok(()), None), "{program:?}");
    }
}

/// Threads put small boxes into one tree at the same time, and take each other's out.
#[test]
fn any_number_of_threads_builds_a_tree_of_boxes() {
    let program = Workload::Fmm(Fmm { bodies: 300, terms: 4, steps: 3, leaf: 3, clusters: 2 });
    for threads in [1, 2, 5, 16] {
        for (locks, name) in LockKind::ALL {
            let run = run(&program, &Shape { locks, ..shape(threads, 2) });
            assert_eq!((run.wrong_loads, run.check, run.unordered), (0, Ok(()), None), "{threads} threads, {name}");
        }
    }
}
