//! Sizes, lines and associativity of caches, and reach, entries and cost of the translation buffer, from a P3 diagram: the
//! time of strided loops over arrays of many sizes (Saavedra's inferences, as Prestor 2001 section 2.1 draws them).
//!
//! Nothing is taken from elsewhere: where a quantity cannot be told from the diagram, that is what is reported.

use record::Unit;
use units::Bytes;

use crate::least_squares::{Uncertain, solve};
pub use crate::staircase::LEVEL;
use crate::staircase::{Stair, Staircase};
use crate::{FitError, Parameter};

/// A time must rise (or fall) by this share to be a step of the hierarchy and not noise.
const STEP: f64 = 0.25;
/// A knee is only told if the second best place fits worse by this factor in squared residuals.
const DISTINCT: f64 = 1.5;
/// The stride at which sizes are read off: no smaller than any line, and far smaller than any page.
const SIZE_STRIDE: u64 = 128;
/// Arrays by which sizes can be told, at least.
const FEWEST_ARRAYS: usize = 4;
/// No cache has more ways: so many elements or more are held for another reason.
const MOST_WAYS: u64 = 64;
/// Arrays so many times as large as a cache miss in it almost always, also where replacement is random.
const MISSING: u64 = 4;
/// No line is larger.
const LARGEST_LINE: u64 = 1024;
/// A time has reached a plateau within this share of it, and has not at or below the other: half the elements of a stride
/// of half a line hit.
const REACHED: f64 = 0.85;
const SHORT_OF: f64 = 0.8;
/// Fewer elements than this are within reach of associativity and of the smallest translation buffers.
const MANY_ELEMENTS: u64 = 256;

/// A point of the diagram.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct P3Point {
    /// Size of the array.
    pub array: Bytes,
    /// Distance of the elements that the loop visits.
    pub stride: Bytes,
    /// Time of an element, in nanoseconds.
    pub ns: f64,
}

/// The two measured values between which a step in size, line or entries lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Between {
    /// The largest measured value on this side of the step.
    pub held: u64,
    /// The smallest measured value beyond it.
    pub exceeded: u64,
}

/// A cache as the diagram shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheFinding {
    /// The largest array that it holds, in bytes, and the smallest that it does not.
    pub size: Between,
    /// Its line in bytes, if that can be told.
    pub line: Option<u64>,
    /// How many lines of a set it holds, if that can be told.
    pub ways: Option<u64>,
    /// The time of an access that it serves, in nanoseconds, and how far arrays are from it: of a dependent load if there were lists,
    /// else of an element at a stride of 128 bytes.
    pub hit: Uncertain,
}

/// The translation buffer as the diagram shows it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TranslationFinding {
    /// The memory that an entry covers, in bytes: the stride from which on every element needs another one.
    pub page: u64,
    /// How many entries there are, if arrays with fewer elements were measured.
    pub entries: Option<Between>,
    /// Time that a miss adds to an element, in nanoseconds.
    pub miss: Uncertain,
}

/// All that the diagram shows.
#[derive(Clone, PartialEq, Debug)]
pub struct P3Findings {
    /// The caches, smallest first.
    pub caches: Vec<CacheFinding>,
    /// The same of an access that no cache serves.
    pub memory: Uncertain,
    /// The translation buffer, if its misses can be told.
    pub translation: Option<TranslationFinding>,
}

/// Reads a diagram. `lists` are arrays, in bytes, with the time of a dependent load anywhere in them, in nanoseconds: where
/// there are four or more of them, sizes are read off these, since no prefetcher and no overlap hides what they cost, and
/// else off the diagram at a stride of 128 bytes. There are `most` caches at most, if that is known.
///
/// # Errors
/// Without several arrays, or with times that are not positive.
pub fn read_diagram(points: &[P3Point], lists: &[(Bytes, f64)], most: Option<usize>) -> Result<P3Findings, FitError> {
    const MODEL: &str = "caches";
    let times = points.iter().map(|point| point.ns).chain(lists.iter().map(|list| list.1));
    if let Some((index, value)) = times.enumerate().find(|(_, ns)| !ns.is_finite() || *ns <= 0.0) {
        return Err(FitError::BadTime { model: MODEL, index, value });
    }
    let diagram = Diagram { points };
    let mut sizes: Vec<(u64, f64)> = lists.iter().map(|&(array, ns)| (array.0, ns)).collect();
    sizes.sort_by_key(|size| size.0);
    if sizes.len() < FEWEST_ARRAYS {
        sizes = diagram.by_size();
    }
    if sizes.len() < FEWEST_ARRAYS || diagram.by_size().is_empty() {
        let (least, found) = (FEWEST_ARRAYS, sizes.len());
        let reason =
            format!("a P3 diagram needs {least} array sizes at a stride of {SIZE_STRIDE} bytes; found {found}");
        return Err(FitError::Unsuitable { model: MODEL, reason });
    }
    let staircase = Staircase::through(&sizes, levels_at_most(most));
    let mut caches: Vec<CacheFinding> = Vec::new();
    for (step, pair) in staircase.stairs.windows(2).enumerate() {
        let (size, beyond) = (end_of(&staircase, step), pair[1]);
        // Far enough beyond to miss, and far from the end of the next level.
        let missing = beyond.last.min(MISSING * size.held);
        let (line, ways) = (diagram.line(missing), diagram.ways(missing, size.held));
        caches.push(CacheFinding { size, line, ways, hit: pair[0].time });
    }
    let memory = staircase.stairs[staircase.stairs.len() - 1].time;
    let line = caches.last().and_then(|cache| cache.line).unwrap_or(SIZE_STRIDE);
    Ok(P3Findings { caches, memory, translation: diagram.translation(line) })
}

/// A level as lists of growing size show it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ListLevel {
    /// The largest list that it holds, in bytes, and the smallest that it does not; `None` for the last level, whose end was
    /// not reached.
    pub size: Option<Between>,
    /// The time of a load in it, in nanoseconds: the middle one of the lists that are wholly in it.
    pub ns: f64,
}

/// The levels that lists alone show: arrays, in bytes, with the time of a dependent load anywhere in them, in nanoseconds.
/// There are `most` caches at most, if that is known. Empty with fewer than four lists.
pub fn levels_of_lists(lists: &[(Bytes, f64)], most: Option<usize>) -> Vec<ListLevel> {
    let mut sizes: Vec<(u64, f64)> = lists.iter().map(|&(array, ns)| (array.0, ns)).collect();
    sizes.sort_by_key(|size| size.0);
    if sizes.len() < FEWEST_ARRAYS {
        return Vec::new();
    }
    let staircase = Staircase::through(&sizes, levels_at_most(most));
    let level = |(step, stair): (usize, &Stair)| ListLevel {
        size: (step + 1 < staircase.stairs.len()).then(|| end_of(&staircase, step)),
        ns: stair.time.value,
    };
    staircase.stairs.iter().enumerate().map(level).collect()
}

/// Which of these lists, by index, should be measured again: those that take so much longer or shorter than lists of neighbouring
/// sizes that one of them is wrong, and those between two levels, which tell where the one ends. Lists as for [`levels_of_lists`].
pub fn doubtful_lists(lists: &[(Bytes, f64)], most: Option<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lists.len()).collect();
    order.sort_by_key(|&index| lists[index].0);
    let sizes: Vec<(u64, f64)> = order.iter().map(|&index| (lists[index].0.0, lists[index].1)).collect();
    let staircase = Staircase::through(&sizes, levels_at_most(most));
    let doubtful = staircase.outlying.iter().zip(&staircase.between).map(|(outlying, between)| *outlying || *between);
    let mut found: Vec<usize> = order.into_iter().zip(doubtful).filter(|(_, is)| *is).map(|(index, _)| index).collect();
    found.sort_unstable();
    found
}

/// Levels of so many caches: memory is one, too.
fn levels_at_most(caches: Option<usize>) -> usize {
    caches.map_or(usize::MAX, |caches| caches.saturating_add(1))
}

/// Where a level ends and the next begins: the monotone curve passes the middle between their times.
fn end_of(staircase: &Staircase, step: usize) -> Between {
    let (within, beyond) = (staircase.stairs[step], staircase.stairs[step + 1]);
    // Between hits and misses by ratio: hits in a way that was predicted wrong are still hits.
    let middle = (within.time.value * beyond.time.value).sqrt();
    let passed = staircase.curve.partition_point(|&(_, ns)| ns < middle);
    let held = passed.checked_sub(1).map_or(within.last, |index| staircase.curve[index].0);
    Between { held, exceeded: staircase.curve.get(passed).map_or(held, |size| size.0) }
}

struct Diagram<'a> {
    points: &'a [P3Point],
}

impl Diagram<'_> {
    /// Times by array at the stride for sizes, ascending.
    fn by_size(&self) -> Vec<(u64, f64)> {
        let at_stride = self.points.iter().filter(|point| point.stride.0 == SIZE_STRIDE);
        let mut sizes: Vec<(u64, f64)> = at_stride.map(|point| (point.array.0, point.ns)).collect();
        sizes.sort_by_key(|size| size.0);
        sizes.dedup_by_key(|size| size.0);
        sizes
    }

    /// Times by stride of the largest array of the diagram that is no larger than `array`, ascending; and that array.
    fn curve_up_to(&self, array: u64) -> (u64, Vec<(u64, f64)>) {
        let arrays = self.points.iter().map(|point| point.array.0);
        let array = arrays.filter(|&other| other <= array).max().unwrap_or(0);
        (array, self.curve(array))
    }

    /// Times by stride of one array, ascending.
    fn curve(&self, array: u64) -> Vec<(u64, f64)> {
        let of_array = self.points.iter().filter(|point| point.array.0 == array);
        let mut curve: Vec<(u64, f64)> = of_array.map(|point| (point.stride.0, point.ns)).collect();
        curve.sort_by_key(|point| point.0);
        curve
    }

    /// The line of the cache that `array` just misses in: the first stride at which every element is on a line of its own,
    /// so that the time has reached its plateau. Below it, it is either lower by the share of hits, or, where loads
    /// overlap, by what hits hide.
    fn line(&self, array: u64) -> Option<u64> {
        let (array, mut curve) = self.curve_up_to(array);
        curve.retain(|&(stride, _)| stride <= LARGEST_LINE && array / stride >= MANY_ELEMENTS / 4);
        let mut tail: Vec<f64> = curve.iter().rev().take(3).map(|point| point.1).collect();
        tail.sort_by(f64::total_cmp);
        let plateau = *tail.get(1)?;
        let reached = curve.iter().position(|&(_, ns)| ns >= REACHED * plateau)?;
        let (_, before) = curve.get(reached.checked_sub(1)?)?;
        (*before <= SHORT_OF * plateau).then(|| curve[reached].0)
    }

    /// The lines of a set that the cache holds: how many elements are left, all in one set, when the time of an array beyond
    /// it has fallen back from that of misses to that of the arrays that it holds.
    fn ways(&self, beyond: u64, held: u64) -> Option<u64> {
        let at_size_stride = |curve: &[(u64, f64)]| curve.iter().find(|point| point.0 == SIZE_STRIDE).map(|p| p.1);
        let (array, curve) = self.curve_up_to(beyond);
        let hit_ns = at_size_stride(&self.curve_up_to(held).1)?;
        let middle = (hit_ns * at_size_stride(&curve)?).sqrt();
        let fallen = curve.iter().rev().take_while(|point| point.1 < middle);
        let (stride, _) = fallen.last()?;
        let ways = array / stride;
        (*stride > SIZE_STRIDE && ways <= MOST_WAYS).then_some(ways)
    }

    /// The translation buffer, from the largest array: strides beyond the line cost more until each needs a new entry, and
    /// less again when the entries suffice for the elements that are left.
    fn translation(&self, line: u64) -> Option<TranslationFinding> {
        let (array, curve) = self.curve_up_to(u64::MAX);
        let peak = curve.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
        let mut rising = curve.clone();
        rising.retain(|&(stride, _)| (line..=peak).contains(&stride));
        let candidates = (12..=24).map(|power| 1u64 << power).filter(|page| *page <= peak);
        let (page, miss) = best_knee(&rising, candidates)?;
        let floor = rising.first()?.1;
        if miss.value < STEP / 2.0 * floor {
            return None;
        }
        // Beyond the knee the time stays up as long as there are more elements than entries.
        let beyond: Vec<_> = curve.iter().filter(|point| point.0 >= page).collect();
        let high = floor + miss.value;
        let fall =
            beyond.windows(2).find(|pair| pair[0].1 > high - miss.value / 2.0 && pair[1].1 < high - miss.value / 2.0);
        let entries = fall.map(|pair| Between { held: array / pair[1].0, exceeded: array / pair[0].0 });
        Some(TranslationFinding { page, entries, miss })
    }
}

/// The knee of `base + rise * min(stride / knee, 1)` that fits best, and the rise; `None` if others fit nearly as well.
fn best_knee(curve: &[(u64, f64)], candidates: impl Iterator<Item = u64>) -> Option<(u64, Uncertain)> {
    let observed: Vec<f64> = curve.iter().map(|point| point.1).collect();
    let mut fits = Vec::new();
    for knee in candidates {
        let row = |&(stride, _): &(u64, f64)| vec![1.0, (stride as f64 / knee as f64).min(1.0)];
        let design: Vec<Vec<f64>> = curve.iter().map(row).collect();
        if curve.len() < 3 {
            continue;
        }
        let solution = solve("caches", &design, &observed).ok()?;
        if let Some(rise) = solution.coefficient(1).filter(|rise| rise.value > 3.0 * rise.error) {
            fits.push((solution.sum_of_squares(), knee, rise));
        }
    }
    fits.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (squares, knee, rise) = *fits.first()?;
    let distinct = fits.get(1).is_none_or(|second| second.0 > DISTINCT * squares);
    distinct.then_some((knee, rise))
}

impl P3Findings {
    /// The findings as reported. The error of a size is the distance to the next array that was measured: it may be anything
    /// up to there.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        let exact = |value: u64| Uncertain { value: value as f64, error: 0.0 };
        let between = |between: Between| Uncertain {
            value: between.held as f64,
            error: between.exceeded.saturating_sub(between.held) as f64,
        };
        for (number, cache) in (1..).zip(&self.caches) {
            let of = |what: &str| format!("cache {number}: {what}");
            let size = Some(between(cache.size));
            parameters.push(Parameter::new(of("size"), format!("C{number}"), Unit::Bytes, size, ""));
            let open = "the time does not level off with the stride";
            parameters.push(Parameter::new(of("line"), format!("b{number}"), Unit::Bytes, cache.line.map(exact), open));
            let open = "the time does not fall back to hit latency";
            parameters.push(Parameter::new(of("ways"), format!("a{number}"), Unit::Count, cache.ways.map(exact), open));
            let hit = Some(cache.hit);
            parameters.push(Parameter::new(of("load"), format!("t{number}"), Unit::Nanoseconds, hit, ""));
        }
        let memory = Some(self.memory);
        parameters.push(Parameter::new("memory: load latency", "tm", Unit::Nanoseconds, memory, ""));
        let open = "no stride costs more than a miss in the largest cache";
        let translation = self.translation;
        let page = translation.map(|found| exact(found.page));
        parameters.push(Parameter::new("TLB: bytes mapped per entry", "s_p", Unit::Bytes, page, open));
        let entries = translation.and_then(|found| found.entries).map(between);
        parameters.push(Parameter::new("TLB: entries", "e", Unit::Count, entries, "no array with so few elements"));
        let miss = translation.map(|found| found.miss);
        parameters.push(Parameter::new("TLB: miss among independent loads", "t_tlb,p", Unit::Nanoseconds, miss, open));
        parameters
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    /// A machine of two caches and a translation buffer whose replacement is least recently used: a loop over more than it
    /// holds always misses.
    struct Ideal {
        /// Size, line, ways and hit time.
        caches: [(u64, u64, u64, f64); 2],
        memory_ns: f64,
        entries: u64,
        page: u64,
        miss_ns: f64,
    }

    impl Ideal {
        fn ns(&self, array: u64, stride: u64) -> f64 {
            let elements = array / stride;
            let missing = |&(size, line, ways, _): &(u64, u64, u64, f64)| {
                let held = array <= size || elements <= ways;
                if held { 0.0 } else { (stride as f64 / line as f64).min(1.0) }
            };
            let (one, two) = (missing(&self.caches[0]), missing(&self.caches[1]));
            let pages = array / stride.max(self.page);
            let translations = if pages <= self.entries { 0.0 } else { (stride as f64 / self.page as f64).min(1.0) };
            let steps = [self.caches[0].3, self.caches[1].3, self.memory_ns];
            steps[0] + one * (steps[1] - steps[0]) + two * (steps[2] - steps[1]) + translations * self.miss_ns
        }

        fn diagram(&self, noise: f64) -> Vec<P3Point> {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut points = Vec::new();
            for array in (12..=26).map(|power| 1u64 << power) {
                for stride in (3..26).map(|power| 1u64 << power).filter(|stride| *stride <= array / 2) {
                    let uniform = f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5;
                    let ns = self.ns(array, stride) * (1.0 + 2.0 * noise * uniform);
                    points.push(P3Point { array: Bytes(array), stride: Bytes(stride), ns });
                }
            }
            points
        }
    }

    const ORIGIN: Ideal = Ideal {
        caches: [(32 << 10, 32, 2, 10.0), (4 << 20, 128, 2, 50.0)],
        memory_ns: 450.0,
        entries: 64,
        page: 32 << 10,
        miss_ns: 300.0,
    };

    const DESKTOP: Ideal = Ideal {
        caches: [(32 << 10, 64, 8, 1.2), (2 << 20, 64, 16, 5.0)],
        memory_ns: 90.0,
        entries: 1024,
        page: 4 << 10,
        miss_ns: 25.0,
    };

    fn check(machine: &Ideal, noise: f64) {
        let found = read_diagram(&machine.diagram(noise), &[], None).expect("a diagram");
        assert_eq!(found.caches.len(), 2, "{found:#?}");
        for (cache, (size, line, ways, _)) in found.caches.iter().zip(machine.caches) {
            assert_eq!((cache.size.held, cache.size.exceeded), (size, 2 * size), "{found:#?}");
            assert_eq!((cache.line, cache.ways), (Some(line), Some(ways)), "{found:#?}");
        }
        let translation = found.translation.expect("a translation buffer");
        assert_eq!(translation.page, machine.page);
        assert_eq!(translation.entries.map(|entries| entries.held), Some(machine.entries), "{translation:?}");
        assert!((translation.miss.value / machine.miss_ns - 1.0).abs() < 0.1 + 2.0 * noise, "{translation:?}");
    }

    #[test]
    fn the_machine_behind_a_diagram_is_found() {
        check(&ORIGIN, 0.0);
        check(&DESKTOP, 0.0);
    }

    #[test]
    fn noise_of_a_few_percent_changes_nothing() {
        check(&ORIGIN, 0.03);
        check(&DESKTOP, 0.03);
    }

    #[test]
    fn without_translation_misses_none_are_reported() {
        let found = read_diagram(&Ideal { miss_ns: 0.0, ..ORIGIN }.diagram(0.02), &[], None).expect("a diagram");
        assert_eq!(found.translation, None);
        let parameters = found.parameters();
        let miss = parameters.iter().find(|parameter| parameter.symbol == "t_tlb,p").expect("listed");
        assert!(miss.estimate().is_none());
    }

    #[test]
    fn lists_between_the_arrays_of_the_diagram_narrow_the_sizes() {
        let step = |i: i32| (4096.0 * 2f64.powf(f64::from(i) / 2.0)) as u64 / 64 * 64;
        let lists: Vec<(Bytes, f64)> = (0..28).map(|i| (Bytes(step(i)), ORIGIN.ns(step(i), 128))).collect();
        let found = read_diagram(&ORIGIN.diagram(0.0), &lists, None).expect("a diagram");
        let sizes: Vec<u64> = found.caches.iter().map(|cache| cache.size.held).collect();
        assert_eq!(sizes, [32 << 10, 4 << 20], "{found:#?}");
        assert!(found.caches.iter().all(|cache| cache.size.exceeded < cache.size.held * 3 / 2));
        assert_eq!(found.caches.iter().map(|cache| cache.ways).collect::<Vec<_>>(), [Some(2), Some(2)]);
    }

    #[test]
    fn too_small_a_diagram_is_refused() {
        let few: Vec<P3Point> = ORIGIN.diagram(0.0).into_iter().filter(|point| point.array.0 <= 8192).collect();
        assert!(read_diagram(&few, &[], None).expect_err("two arrays").to_string().contains("needs 4 array sizes"));
    }
}
