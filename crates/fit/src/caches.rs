//! Sizes, lines and associativity of caches, and reach, entries and cost of the translation buffer, from a P3 diagram: the
//! time of strided loops over arrays of many sizes (Saavedra's inferences, as Prestor 2001 section 2.1 draws them).
//!
//! Nothing is taken from elsewhere: where a quantity cannot be told from the diagram, that is what is reported.

use record::Unit;
use units::Bytes;

use crate::least_squares::{Uncertain, solve};
use crate::{FitError, Parameter};

/// A time must rise (or fall) by this share to be a step of the hierarchy and not noise.
const STEP: f64 = 0.25;
/// A knee is only told if the second best place fits worse by this factor in squared residuals.
const DISTINCT: f64 = 1.5;
/// The stride at which sizes are read off: no smaller than any line, and far smaller than any page.
const SIZE_STRIDE: u64 = 128;
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

/// What a step in size, line or entries was found to be: between which two measured values it lies.
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
    /// The time of an element that it holds, in nanoseconds, at a stride of 128 bytes.
    pub hit_ns: f64,
}

/// The translation buffer as the diagram shows it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TranslationFinding {
    /// The memory that an entry covers, in bytes: the stride from which on every element needs another one.
    pub page: u64,
    /// How many entries there are, if arrays with fewer elements were measured.
    pub entries: Option<Between>,
    /// What a miss adds to an element, in nanoseconds.
    pub miss: Uncertain,
}

/// All that the diagram shows.
#[derive(Clone, PartialEq, Debug)]
pub struct P3Findings {
    /// The caches, smallest first.
    pub caches: Vec<CacheFinding>,
    /// The time of an element that no cache holds, in nanoseconds, at a stride of 128 bytes.
    pub memory_ns: f64,
    /// The translation buffer, if its misses can be told.
    pub translation: Option<TranslationFinding>,
}

/// Reads a diagram.
///
/// # Errors
/// Without several arrays at a stride of 128 bytes, or with times that are not positive.
pub fn read_diagram(points: &[P3Point]) -> Result<P3Findings, FitError> {
    const MODEL: &str = "caches";
    if let Some(index) = points.iter().position(|point| !point.ns.is_finite() || point.ns <= 0.0) {
        return Err(FitError::BadTime { model: MODEL, index, value: points[index].ns });
    }
    let diagram = Diagram { points };
    let sizes = diagram.by_size();
    if sizes.len() < 4 {
        let reason = format!(
            "a P3 diagram needs four arrays or more at a stride of {SIZE_STRIDE} bytes, there are {}",
            sizes.len()
        );
        return Err(FitError::Unsuitable { model: MODEL, reason });
    }
    let plateaus = plateaus(&sizes);
    let mut caches: Vec<CacheFinding> = Vec::new();
    for pair in plateaus.windows(2) {
        // The arrays of the next plateau miss in this cache and hit in the next: they show its line and ways.
        let beyond = pair[1];
        let known = caches.last().and_then(|cache| cache.line);
        let line = diagram.line(beyond.last, known);
        let ways = diagram.ways(beyond.last, pair[0].ns, beyond.ns);
        let size = Between { held: pair[0].last, exceeded: beyond.first_beyond };
        caches.push(CacheFinding { size, line, ways, hit_ns: pair[0].ns });
    }
    let memory_ns = plateaus.last().map_or(0.0, |plateau| plateau.ns);
    let largest = sizes.last().map_or(0, |size| size.0);
    let line = caches.last().and_then(|cache| cache.line).unwrap_or(SIZE_STRIDE);
    Ok(P3Findings { caches, memory_ns, translation: diagram.translation(largest, line) })
}

/// Arrays with about the same time.
#[derive(Clone, Copy, Debug)]
struct Plateau {
    /// The largest of them.
    last: u64,
    /// The smallest array of the rise to this plateau: the first that the faster one does not hold.
    first_beyond: u64,
    /// The time of the largest, in nanoseconds.
    ns: f64,
}

/// Divides times by array size into flat stretches; what lies on a slope between two belongs to neither, but if a
/// slope is all there is at the end, its end counts as the last plateau.
fn plateaus(sizes: &[(u64, f64)]) -> Vec<Plateau> {
    let mut plateaus: Vec<Plateau> = Vec::new();
    let mut first_beyond = sizes[0].0;
    for (index, &(array, ns)) in sizes.iter().enumerate() {
        let rises = |from: f64, to: f64| to > from * (1.0 + STEP / 2.0);
        let flat_after = sizes.get(index + 1).is_none_or(|&(_, next)| !rises(ns, next));
        let flat_before = index > 0 && !rises(sizes[index - 1].1, ns);
        match plateaus.last_mut() {
            // Creeping up by less than a step an array is still the same plateau.
            Some(plateau) if ns <= plateau.ns * (1.0 + STEP / 2.0) => {
                plateau.last = array;
                first_beyond = sizes.get(index + 1).map_or(array, |next| next.0);
            }
            Some(plateau) if ns <= plateau.ns * (1.0 + STEP) && flat_before => plateau.last = array,
            _ if flat_after => {
                plateaus.push(Plateau { last: array, first_beyond, ns });
                first_beyond = sizes.get(index + 1).map_or(array, |next| next.0);
            }
            // The smallest array may be alone on its level.
            None => {
                plateaus.push(Plateau { last: array, first_beyond, ns });
                first_beyond = sizes.get(index + 1).map_or(array, |next| next.0);
            }
            Some(_) => {}
        }
    }
    plateaus
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

    /// Times by stride of one array, ascending.
    fn curve(&self, array: u64) -> Vec<(u64, f64)> {
        let of_array = self.points.iter().filter(|point| point.array.0 == array);
        let mut curve: Vec<(u64, f64)> = of_array.map(|point| (point.stride.0, point.ns)).collect();
        curve.sort_by_key(|point| point.0);
        curve
    }

    /// The line of the cache that `array` just misses in: the stride from which on every element is on a line of its
    /// own. `inner` is the line of the cache before, whose misses rise with the stride as well.
    fn line(&self, array: u64, inner: Option<u64>) -> Option<u64> {
        let mut curve = self.curve(array);
        curve.retain(|&(stride, _)| stride <= 1024 && array / stride >= MANY_ELEMENTS / 4);
        let candidates = (3..=9).map(|power| 1u64 << power).filter(|line| inner.is_none_or(|inner| *line >= inner));
        best_knee(&curve, candidates, inner).map(|(line, _)| line)
    }

    /// The lines of a set that the cache holds: how many elements are left, all in one set, when the time has fallen back
    /// to what the cache takes (`hit_ns`) from what its misses take (`miss_ns`).
    fn ways(&self, array: u64, hit_ns: f64, miss_ns: f64) -> Option<u64> {
        let curve = self.curve(array);
        let middle = (hit_ns * miss_ns).sqrt();
        let fallen = curve.iter().rev().take_while(|point| point.1 < middle);
        fallen.last().map(|(stride, _)| array / stride)
    }

    /// The translation buffer, from the largest array: strides beyond the line cost more until each needs a new entry, and
    /// less again when the entries suffice for the elements that are left.
    fn translation(&self, array: u64, line: u64) -> Option<TranslationFinding> {
        let curve = self.curve(array);
        let peak = curve.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
        let mut rising = curve.clone();
        rising.retain(|&(stride, _)| (line..=peak).contains(&stride));
        let candidates = (12..=24).map(|power| 1u64 << power).filter(|page| *page <= peak);
        let (page, miss) = best_knee(&rising, candidates, None)?;
        let floor = rising.first()?.1;
        if miss.value < STEP / 2.0 * floor || miss.value < 3.0 * miss.error {
            return None;
        }
        // Beyond the knee the time stays up as long as there are more elements than entries.
        let beyond: Vec<_> = curve.iter().filter(|point| point.0 >= page).collect();
        let high = floor + miss.value;
        let fall = beyond.windows(2).find(|pair| pair[0].1 > high - miss.value / 2.0 && pair[1].1 < high - miss.value / 2.0);
        let entries = fall.map(|pair| Between { held: array / pair[1].0, exceeded: array / pair[0].0 });
        Some(TranslationFinding { page, entries, miss })
    }
}

/// The knee of `base + rise * min(stride / knee, 1)` that fits best, and the rise; `None` if others fit nearly as well.
fn best_knee(
    curve: &[(u64, f64)],
    candidates: impl Iterator<Item = u64>,
    inner: Option<u64>,
) -> Option<(u64, Uncertain)> {
    let observed: Vec<f64> = curve.iter().map(|point| point.1).collect();
    let height = observed.iter().fold(0.0, |most: f64, ns| most.max(*ns)) - observed.first()?;
    let share = |stride: u64, knee: u64| (stride as f64 / knee as f64).min(1.0);
    let mut fits = Vec::new();
    for knee in candidates {
        let row = |&(stride, _): &(u64, f64)| {
            let mut row = vec![1.0, share(stride, knee)];
            row.extend(inner.filter(|inner| *inner != knee).map(|inner| share(stride, inner)));
            row
        };
        let design: Vec<Vec<f64>> = curve.iter().map(row).collect();
        if design.first().is_none_or(|row| row.len() >= curve.len()) {
            continue;
        }
        let solution = solve("caches", &design, &observed).ok()?;
        // A rise of its own, not what the inner line leaves over.
        let is_large = |rise: &Uncertain| rise.value > 3.0 * rise.error && rise.value > STEP * height;
        if let Some(rise) = solution.coefficient(1).filter(is_large) {
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
            let open = "several line sizes fit the diagram about as well";
            parameters.push(Parameter::new(
                of("line"),
                format!("b{number}"),
                Unit::Bytes,
                cache.line.map(exact),
                open,
            ));
            let open = "the time never falls back to that of a hit";
            parameters.push(Parameter::new(of("ways"), format!("a{number}"), Unit::Count, cache.ways.map(exact), open));
        }
        let open = "no stride costs more than a miss of the largest cache";
        let translation = self.translation;
        let page = translation.map(|found| exact(found.page));
        parameters.push(Parameter::new("TLB: memory of an entry", "s_p", Unit::Bytes, page, open));
        let entries = translation.and_then(|found| found.entries).map(between);
        parameters.push(Parameter::new("TLB: entries", "e", Unit::Count, entries, "no array has so few elements"));
        let miss = translation.map(|found| found.miss);
        parameters.push(Parameter::new("TLB: miss", "t_tlb", Unit::Nanoseconds, miss, open));
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
            let translations =
                if pages <= self.entries { 0.0 } else { (stride as f64 / self.page as f64).min(1.0) };
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
        let found = read_diagram(&machine.diagram(noise)).expect("a diagram");
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
        let found = read_diagram(&Ideal { miss_ns: 0.0, ..ORIGIN }.diagram(0.02)).expect("a diagram");
        assert_eq!(found.translation, None);
        let parameters = found.parameters();
        let miss = parameters.iter().find(|parameter| parameter.symbol == "t_tlb").expect("listed");
        assert!(miss.estimate().is_none());
    }

    #[test]
    fn too_small_a_diagram_is_refused() {
        let few: Vec<P3Point> = ORIGIN.diagram(0.0).into_iter().filter(|point| point.array.0 <= 8192).collect();
        assert!(read_diagram(&few).expect_err("two arrays").to_string().contains("four arrays"));
    }
}
