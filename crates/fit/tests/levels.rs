//! Levels are found in times that others disturb: recorded on virtual machines under load, and made up.

use std::path::PathBuf;

use fit::caches::{ListLevel, doubtful_lists, levels_of_lists};
use proptest::prelude::*;
use units::Bytes;

/// A recorded list: its size, and the time of a load in every sample, in nanoseconds.
struct Recorded {
    array: Bytes,
    samples: Vec<f64>,
}

/// The curves in `tests/lists`: a line a list, the array's bytes and then samples.
fn recorded() -> Vec<(String, Vec<Recorded>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/lists");
    let files = std::fs::read_dir(folder).expect("recorded curves").map(|file| file.expect("a file").path());
    let mut curves: Vec<(String, Vec<Recorded>)> =
        files.map(|file| (file.display().to_string(), read(&file))).collect();
    curves.sort_by(|a, b| a.0.cmp(&b.0));
    curves
}

fn read(file: &std::path::Path) -> Vec<Recorded> {
    let text = std::fs::read_to_string(file).expect("a curve");
    let list = |line: &str| {
        let mut numbers = line.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
        let array = Bytes(numbers.next().expect("a size") as u64);
        let mut samples: Vec<f64> = numbers.collect();
        samples.sort_by(f64::total_cmp);
        Recorded { array, samples }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(list).collect()
}

fn sizes(levels: &[ListLevel]) -> Vec<u64> {
    levels.iter().filter_map(|level| level.size).map(|size| size.held).collect()
}

/// The machine has a first cache of 32 KiB and a second of 512 KiB of its own, and a third of 32 MiB, of which others leave it a part.
#[test]
fn recorded_curves_of_one_machine_have_the_same_levels() {
    let curves = recorded();
    assert!(curves.len() >= 5, "{} curves", curves.len());
    for (name, curve) in curves {
        // The least sample is what a fit uses; others are noise as it is on worse machines, on which small pages add translation misses.
        let places = [("least", 0), ("first quartile", 1), ("median", 2)];
        for (place, quantile) in &places[..if name.contains("huge") { 3 } else { 1 }] {
            let of = |list: &Recorded| (list.array, list.samples[list.samples.len() * quantile / 4]);
            let lists: Vec<(Bytes, f64)> = curve.iter().map(of).collect();
            let levels = levels_of_lists(&lists, None);
            let [first, second, third] = sizes(&levels)[..] else { panic!("{name}, {place}: {levels:?}") };
            assert!((24 << 10..=32 << 10).contains(&first), "{name}, {place}: {first}");
            assert!((192 << 10..=640 << 10).contains(&second), "{name}, {place}: {second}");
            assert!((1 << 20..=32 << 20).contains(&third), "{name}, {place}: {third}");
        }
    }
}

#[test]
fn what_contradicts_its_neighbours_or_tells_where_a_level_ends_is_measured_again() {
    let time = |array: u64| if array <= 32 << 10 { 1.0 } else { 10.0 };
    let mut lists: Vec<(Bytes, f64)> =
        (0..32).map(|step| (1024 * (4 + step % 4)) << (step / 4)).map(|a| (Bytes(a), time(a))).collect();
    assert_eq!(doubtful_lists(&lists, None), [0; 0]);
    lists[5].1 = 4.0;
    assert_eq!(doubtful_lists(&lists, None), [5]);
    (lists[13].1, lists[14].1) = (2.0, 5.0);
    lists.swap(0, 20);
    assert_eq!(doubtful_lists(&lists, None), [5, 13, 14], "in any order");
}

/// A machine: where each level ends, in steps of a quarter of an octave, and how many times longer the next one takes.
fn hierarchies() -> impl Strategy<Value = Vec<(usize, f64)>> {
    // Caches of 4 KiB to 64 MiB, each at least eight times the one before it.
    prop::collection::vec((12usize..20, 2.2..6.0f64), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every list takes the least of seven samples, of which two thirds are disturbed and take up to five times as long, and every
    /// twentieth list has no undisturbed one at all.
    #[test]
    fn hierarchies_are_recovered_from_heavy_noise(
        steps in hierarchies(),
        noise in prop::collection::vec((0.0..1.0f64, 0.0..0.03f64, 1.2..5.0f64), 80),
    ) {
        const POINTS: usize = 76;
        let size = |point: usize| (1024 * (4 + point as u64 % 4)) << (point / 4);
        let mut ends: Vec<(usize, f64)> = Vec::new();
        for (octaves, ratio) in steps {
            let end = ends.last().map_or(0, |end: &(usize, f64)| end.0) + octaves;
            // The last level must be seen to be one.
            if end + 8 < POINTS {
                ends.push((end, ratio));
            }
        }
        let time = |point: usize| ends.iter().filter(|end| point > end.0).map(|end| end.1).product::<f64>();
        let mut lists: Vec<(Bytes, f64)> = Vec::new();
        for point in 0..POINTS {
            let (chance, small, spike) = noise[point % noise.len()];
            let alone = chance < 0.05 && !ends.iter().any(|end| point.abs_diff(end.0) < 2);
            lists.push((Bytes(size(point)), time(point) * (1.0 + small) * if alone { spike } else { 1.0 }));
        }
        let levels = levels_of_lists(&lists, None);
        let expected: Vec<u64> = ends.iter().map(|end| size(end.0)).collect();
        prop_assert_eq!(sizes(&levels), expected, "{:?}", levels);
    }
}
