//! Adaptive resonance: a network that has learned patterns looks for them in every window of an image.

use std::array;

use crate::Blocks;
use crate::parallel::{Array, Share, Team, alone, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::DRAW;

program! {
    /// Recognition by an ART 2 network (Carpenter and Grossberg, Applied Optics 26, 1987), with the algorithm and the memory
    /// behaviour of art of SpecOMP2001. A window's pixels settle in the first layer, which normalises them and suppresses what is
    /// faint; every neuron of the second layer weighs the result; the strongest is tried, and if what it expects is too far
    /// from what is seen, it is reset, and the next strongest tried. Threads share by windows. Each has the image, the weights
    /// and both layers at home, so that almost all misses are local, at a high rate if they exceed the cache: neurons of the
    /// second layer look at every line of the weights, as in the original, whose 3.7 MB a thread do so with 2 MB of cache
    /// (FLASH dissertation, Table 3.2, Figures 3.5 and 3.7). The defaults' 74 KB a thread would ask for a cache of 40 KB.
    ///
    /// The fault (section 6.2.1, Figure 6.4): variables in which threads note how they match are spaced by 16 bytes, as if
    /// lines were no longer. Eight threads share a line of 128 bytes, and all lines are on one page, the master's. The repair
    /// (Figure 6.5): a thread's variables are together, on a page that it touches first.
    ///
    /// Work before the windows, learning and making copies, is not measured: the original scans for hours.
    Art is "art": "adaptive-resonance matching of windows: own copies of an image, and statistics that share lines and a page" {
        /// Windows along a side of the image.
        positions: 21, 1 to 1024;
        /// Pixels along a side of a window: its square is the number of neurons of the first layer.
        window: 16, 2 to 256;
        /// Patterns that are known: neurons of the second layer.
        patterns: 12, 1 to 1024;
        /// Where a thread's variables are: 0, 16 bytes from the next thread's; 1, on a page of its own.
        tuned: 0, 0 to 1;
    }
}

/// Feedback within the first layer, as Carpenter and Grossberg choose it.
const A: f64 = 10.0;
const B: f64 = 10.0;
/// How much the expectation weighs when it is compared with what is seen.
const C: f64 = 0.1;
/// The output of the one neuron of the second layer that is active.
const D: f64 = 0.9;
/// How like what it expects a pattern must be.
const VIGILANCE: f64 = 0.98;
/// The first layer has settled when no neuron changes by more, or after so many passes.
const SETTLED: f64 = 1e-6;
const PASSES: usize = 10;
/// Rounding error allowed in the confidence in a pattern that is exactly the one learned.
const ROUNDING: f64 = 1e-9;

/// Instructions for a neuron of a layer beside loads and stores: a multiply-add or two, the sum of squares, address, loop.
const NEURON: u32 = 5;
/// Instructions to compare the feedback with a threshold, twice, and to weigh it.
const THRESHOLD: u32 = 6;
/// Instructions to weigh an input, beside loads.
const WEIGH: u32 = 4;
/// Instructions to compare an output with the strongest so far, beside the load.
const COMPARE: u32 = 3;

/// Regions: what the team forks by; the master's image and learned weights; copies and layers of each thread; what was found
/// in each window; variables of each thread.
const TEAM: usize = 0;
const MASTER: usize = 1;
const OWN: usize = 2;
const FOUND: usize = 3;
const STATISTICS: usize = 4;

/// Words of a thread's variable in the untuned form: four integers of 32 bits (Figure 6.4).
const SLOT: usize = 2;

/// Fields of the first layer's neurons, in the terms of ART 2.
type Field = usize;
const INPUT: Field = 0;
const W: Field = 1;
const X: Field = 2;
const V: Field = 3;
const U: Field = 4;
const P: Field = 5;
const Q: Field = 6;
const FIELDS: usize = 7;

/// Where things are in a thread's block, and an image and weights in the master's, in words from its first.
#[derive(Clone, Copy)]
struct Layout {
    side: usize,
    neurons: usize,
    patterns: usize,
}

impl Layout {
    fn down(self) -> usize {
        self.side * self.side
    }

    fn up(self) -> usize {
        self.down() + self.neurons * self.patterns
    }

    fn field(self, field: Field) -> usize {
        self.up() + self.neurons * (self.patterns + field)
    }

    fn outputs(self) -> usize {
        self.field(FIELDS)
    }

    fn words(self) -> usize {
        self.outputs() + self.patterns
    }
}

impl Art {
    fn layout(&self) -> Layout {
        let [positions, window, patterns] = [self.positions, self.window, self.patterns].map(|number| number as usize);
        Layout { side: positions + window - 1, neurons: window * window, patterns }
    }

    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.layout().words().div_ceil(shape.line_words))
    }

    fn windows(&self) -> usize {
        (self.positions * self.positions) as usize
    }

    /// The word of a thread's variable.
    fn slot(&self, shape: &Shape, number: usize, variable: usize) -> usize {
        match self.tuned {
            0 => (variable * shape.threads() + number) * SLOT,
            _ => number * shape.page_words + variable,
        }
    }

    /// The pixels of a pattern.
    fn pattern(&self, seed: u64, number: usize) -> Vec<f64> {
        let mut random = Random::new(seed, number as u64);
        (0..self.layout().neurons).map(|_| random.unit()).collect()
    }

    /// Windows that show a pattern, with its number: as many as fit beside each other, from the first pattern on.
    fn shown(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (window, positions) = (self.window as usize, self.positions as usize);
        let across = self.layout().side / window;
        let at = move |place: usize| place / across * window * positions + place % across * window;
        (0..(across * across).min(self.patterns as usize)).map(move |number| (at(number), number))
    }

    /// The image, row by row: noise, and some of the patterns.
    fn image(&self, seed: u64) -> Vec<f64> {
        let (side, window) = (self.layout().side, self.window as usize);
        let mut noise = Random::new(seed, u64::MAX);
        let mut image: Vec<f64> = (0..side * side).map(|_| noise.unit()).collect();
        for (place, number) in self.shown() {
            let corner = place / self.positions as usize * side + place % self.positions as usize;
            for (row, pixels) in self.pattern(seed, number).chunks(window).enumerate() {
                image[corner + row * side..][..window].copy_from_slice(pixels);
            }
        }
        image
    }
}

/// The first layer of a network.
struct Layer<'r, R> {
    neurons: usize,
    fields: [Array<'r, R, f64>; FIELDS],
}

impl<'r, R> Layer<'r, R> {
    fn new(layout: Layout, region: &'r R, block: usize) -> Self {
        let fields = array::from_fn(|field| Array::from(region, block + layout.field(field)));
        Self { neurons: layout.neurons, fields }
    }

    /// Computes a field of all neurons out of others. Returns the length of what it is now, as of a vector.
    fn sweep<T: Thread<Region = R>, const N: usize>(
        &self,
        thread: &mut T,
        from: [Field; N],
        to: Field,
        mut compute: impl FnMut([f64; N]) -> f64,
    ) -> f64 {
        let mut squares = 0.0;
        for neuron in 0..self.neurons {
            let value = compute(from.map(|field| self.fields[field].load(thread, neuron)));
            self.fields[to].store(thread, neuron, value);
            squares += value * value;
            thread.instructions(NEURON);
        }
        thread.instructions(cost::SQUARE_ROOT + cost::DIVISION);
        squares.sqrt()
    }

    /// Makes of the input what the second layer gets: passes until nothing changes any more.
    fn settle<T: Thread<Region = R>>(&self, thread: &mut T) {
        let faint = 1.0 / (self.neurons as f64).sqrt();
        // The largest of a vector of length 1 is at least that, but for rounding: something is always left.
        let bright = |value: f64| if value >= faint * (1.0 - ROUNDING) { value } else { 0.0 };
        for field in [U, Q] {
            self.sweep(thread, [], field, |[]| 0.0);
        }
        for _ in 0..PASSES {
            let length = self.sweep(thread, [INPUT, U], W, |[input, u]| input + A * u);
            self.sweep(thread, [W], X, |[w]| w / length);
            thread.instructions(THRESHOLD * self.neurons as u32);
            let length = self.sweep(thread, [X, Q], V, |[x, q]| bright(x) + B * bright(q));
            let mut change: f64 = 0.0;
            self.sweep(thread, [V, U], U, |[v, before]| {
                change = change.max((v / length - before).abs());
                v / length
            });
            let length = self.sweep(thread, [U], P, |[u]| u);
            self.sweep(thread, [P], Q, |[p]| p / length);
            if change <= SETTLED {
                break;
            }
        }
    }
}

/// Match found in a window.
#[derive(Clone, Copy)]
struct Match {
    /// The pattern that was tried last: it is the one that is seen, if any is.
    tried: usize,
    /// Whether it is.
    seen: bool,
    /// The highest of all patterns that were tried.
    confidence: f64,
}

/// A network of a thread: its layers, its image, and where it notes how it goes.
struct Network<'r, R> {
    layout: Layout,
    layer: Layer<'r, R>,
    /// Weights from the first layer to the second, those of one neuron of the first next to each other; and back, those of one
    /// of the second.
    up: Array<'r, R, f64>,
    down: Array<'r, R, f64>,
    outputs: Array<'r, R, f64>,
    image: Array<'r, R, f64>,
    /// Variables: the pattern tried last, windows in which one was seen, the highest confidence in any.
    tried: Array<'r, R, u64>,
    seen: Array<'r, R, u64>,
    highest: Array<'r, R, f64>,
}

impl<R> Network<'_, R> {
    /// Copies image and weights from where the master has them.
    fn copy<T: Thread<Region = R>>(&self, thread: &mut T, from: Array<'_, R, f64>) {
        let layout = self.layout;
        for word in 0..layout.up() {
            let value = from.load(thread, word);
            self.image.store(thread, word, value);
            thread.instructions(2);
            if let Some(weight) = word.checked_sub(layout.down()) {
                let (pattern, neuron) = (weight / layout.neurons, weight % layout.neurons);
                self.up.store(thread, neuron * layout.patterns + pattern, value);
            }
        }
    }

    fn clear<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.tried.store(thread, 0, 0);
        self.seen.store(thread, 0, 0);
        self.highest.store(thread, 0, 0.0);
    }

    /// Takes in the window whose first pixel is `corner`.
    fn see<T: Thread<Region = R>>(&self, thread: &mut T, corner: usize) {
        let window = self.layout.neurons.isqrt();
        for neuron in 0..self.layout.neurons {
            let pixel = self.image.load(thread, corner + neuron / window * self.layout.side + neuron % window);
            self.layer.fields[INPUT].store(thread, neuron, pixel);
            thread.instructions(WEIGH);
        }
        self.layer.settle(thread);
        for pattern in 0..self.layout.patterns {
            let mut output = 0.0;
            for neuron in 0..self.layout.neurons {
                let weight = self.up.load(thread, neuron * self.layout.patterns + pattern);
                output += self.layer.fields[P].load(thread, neuron) * weight;
                thread.instructions(WEIGH);
            }
            self.outputs.store(thread, pattern, output);
        }
    }

    /// The strongest output that has not been reset.
    fn strongest<T: Thread<Region = R>>(&self, thread: &mut T) -> usize {
        let mut strongest = (0, f64::NEG_INFINITY);
        for pattern in 0..self.layout.patterns {
            let output = self.outputs.load(thread, pattern);
            thread.instructions(COMPARE);
            if output > strongest.1 {
                strongest = (pattern, output);
            }
        }
        strongest.0
    }

    /// How like what is seen a pattern is: 1 if it is the same. What is seen has length 1.
    fn confidence<T: Thread<Region = R>>(&self, thread: &mut T, pattern: usize) -> f64 {
        let (mut expected, mut both) = (0.0, 0.0);
        for neuron in 0..self.layout.neurons {
            let seen = self.layer.fields[U].load(thread, neuron);
            let p = seen + D * self.down.load(thread, pattern * self.layout.neurons + neuron);
            self.layer.fields[P].store(thread, neuron, p);
            expected += p * p;
            both += (seen + C * p) * (seen + C * p);
            thread.instructions(2 * NEURON);
        }
        thread.instructions(2 * cost::SQUARE_ROOT + cost::DIVISION);
        both.sqrt() / (1.0 + C * expected.sqrt())
    }

    /// Tries patterns on what is seen, the strongest first, until one is like it or none is left.
    fn search<T: Thread<Region = R>>(&self, thread: &mut T) -> Match {
        let mut found = Match { tried: 0, seen: false, confidence: 0.0 };
        for _ in 0..self.layout.patterns {
            found.tried = self.strongest(thread);
            self.tried.store(thread, 0, found.tried as u64);
            let confidence = self.confidence(thread, found.tried);
            found.confidence = found.confidence.max(confidence);
            if confidence >= VIGILANCE {
                found.seen = true;
                break;
            }
            self.outputs.store(thread, found.tried, f64::NEG_INFINITY);
        }
        found
    }

    /// Notes how a window went.
    fn note<T: Thread<Region = R>>(&self, thread: &mut T, found: &Match) {
        let seen = self.seen.load(thread, 0);
        self.seen.store(thread, 0, seen + u64::from(found.seen));
        let highest = self.highest.load(thread, 0);
        if found.confidence > highest {
            self.highest.store(thread, 0, found.confidence);
        }
        thread.instructions(COMPARE);
    }
}

impl Art {
    /// Work of the master before all else: it draws the image, and learns the patterns. A neuron of the second layer that
    /// learns one fast ends with weights that are what the first layer makes of it, over 1 - D.
    fn prepare<T: Thread>(
        &self,
        seed: u64,
        master: Array<'_, T::Region, f64>,
        layer: &Layer<'_, T::Region>,
        thread: &mut T,
    ) {
        let layout = self.layout();
        for (word, pixel) in self.image(seed).into_iter().enumerate() {
            master.store(thread, word, pixel);
            thread.instructions(DRAW);
        }
        for number in 0..layout.patterns {
            for (neuron, pixel) in self.pattern(seed, number).into_iter().enumerate() {
                layer.fields[INPUT].store(thread, neuron, pixel);
                thread.instructions(DRAW);
            }
            layer.settle(thread);
            for neuron in 0..layout.neurons {
                let learned = layer.fields[U].load(thread, neuron) / (1.0 - D);
                master.store(thread, layout.down() + number * layout.neurons + neuron, learned);
                thread.instructions(NEURON);
            }
        }
    }

    fn network<'r, R>(&self, shape: &Shape, regions: &'r [R], number: usize) -> Network<'r, R> {
        let (layout, block) = (self.layout(), self.blocks(shape).word(number, 0));
        let own = |word| Array::from(&regions[OWN], block + word);
        let slot = |variable| self.slot(shape, number, variable);
        Network {
            layout,
            layer: Layer::new(layout, &regions[OWN], block),
            up: own(layout.up()),
            down: own(layout.down()),
            outputs: own(layout.outputs()),
            image: own(0),
            tried: Array::from(&regions[STATISTICS], slot(0)),
            seen: Array::from(&regions[STATISTICS], slot(1)),
            highest: Array::from(&regions[STATISTICS], slot(2)),
        }
    }
}

impl Program for Art {
    const REGIONS: &'static [&'static str] = &["fork", "image and weights", "own copies", "found", "statistics"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let statistics = self.slot(shape, shape.threads(), 2);
        let words = [self.layout().up(), self.blocks(shape).word(shape.threads(), 0), 2 * self.windows(), statistics];
        let unplaced = words.map(|words| RegionPlan::unplaced(shape, words));
        [Team::<()>::plan(shape)].into_iter().chain(unplaced).collect()
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let number = thread.number();
        let mut team = Team::new(shape, &regions[TEAM], number);
        let network = self.network(shape, regions, number);
        let master = Array::new(&regions[MASTER]);
        team.master(thread, |thread| {
            self.prepare(shape.seed, master, &network.layer, thread);
            if self.tuned == 0 {
                (0..shape.threads()).for_each(|number| self.network(shape, regions, number).clear(thread));
            }
        });
        team.prepare(thread, |thread, _| {
            network.copy(thread, master);
            if self.tuned != 0 {
                network.clear(thread);
            }
        });
        let (positions, found) = (self.positions as usize, Array::<_, [f64; 2]>::new(&regions[FOUND]));
        team.parallel_for(thread, self.windows(), |thread, window| {
            network.see(thread, window / positions * network.layout.side + window % positions);
            let of_window = network.search(thread);
            network.note(thread, &of_window);
            // Patterns are counted from 1: -1 is the first, tried last and not seen.
            let pattern = (of_window.tried + 1) as f64;
            found.store(thread, window, [if of_window.seen { pattern } else { -pattern }, of_window.confidence]);
        });
        0
    }

    /// Image, weights and what was found are those of one thread alone, whoever shows a pattern is recognised, and each thread's
    /// variables say what it found.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (_, alone) = alone(self, shape);
        (0..self.layout().up()).try_for_each(|word| {
            Wrong::unless_equal(read(MASTER, word), alone[MASTER][word], || format!("word {word} of image and weights"))
        })?;
        (0..2 * self.windows()).try_for_each(|word| {
            let what = || format!("the {} window {}", ["pattern in", "confidence of"][word % 2], word / 2);
            Wrong::unless_equal(read(FOUND, word), alone[FOUND][word], what)
        })?;
        let found = |window| element::<[f64; 2]>(|word| alone[FOUND][word], window);
        self.shown().try_for_each(|(window, pattern)| {
            let what = || format!("confidence that window {window} shows pattern {pattern}");
            Wrong::unless_close(found(window)[1], 1.0, ROUNDING, what)
        })?;
        (0..shape.threads()).try_for_each(|number| {
            let own = || (Share::new(shape, number)).block(self.windows()).map(found);
            let tried = own().next_back().map_or(0, |[pattern, _]| pattern.abs() as u64 - 1);
            let seen = own().filter(|[pattern, _]| *pattern > 0.0).count() as u64;
            let highest = own().map(|[_, confidence]| confidence).fold(0.0, f64::max).to_bits();
            [tried, seen, highest].into_iter().enumerate().try_for_each(|(variable, expected)| {
                let what = || format!("{} of thread {number}", ["last pattern", "patterns", "confidence"][variable]);
                Wrong::unless_equal(read(STATISTICS, self.slot(shape, number, variable)), expected, what)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::shape_of_one;

    /// Where a pattern is shown it is recognised, of like strength or not, and hardly ever where it is not.
    #[test]
    fn patterns_are_seen_where_they_are_shown_and_nowhere_else() {
        let art = Art { positions: 33, window: 11, patterns: 7, tuned: 0 };
        let (_, alone) = alone(&art, &shape_of_one());
        let found = |window| element::<[f64; 2]>(|word| alone[FOUND][word], window);
        let shown: Vec<_> = art.shown().collect();
        assert_eq!(shown.len(), 7);
        for &(window, pattern) in &shown {
            assert_eq!(found(window)[0], pattern as f64 + 1.0, "window {window}");
        }
        let seen = (0..art.windows()).filter(|&window| found(window)[0] > 0.0).count();
        assert_eq!(seen, shown.len());
    }
}
