//! A genetic algorithm: individuals are shuffled under locks, compete in pairs, and breed.

use std::f64::consts::{LN_2, PI};

use crate::parallel::{Array, Element, Locks, Reduction, Share, Team, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::DRAW;

program! {
    /// Carroll's genetic algorithm, with the sharing and the memory behaviour of gafort of SpecOMP2001. Each generation is
    /// evaluated and shuffled; then the better of each two neighbours survive, two and two of these breed four children, whose
    /// chromosomes mix those of their parents and rarely mutate.
    ///
    /// The shuffle is that of Fisher and Yates, done by all threads at once: each takes its own individuals one after the other,
    /// and swaps each with one that is anywhere ahead, both locked meanwhile, the one in front first. Most swaps are remote; what
    /// lies near the end is wanted by all (FLASH dissertation, sections 5.5.4 and 6.3.1). About half of all misses are local
    /// (section 3.2.2). Locks follow each other in an array of their own, as the original has them.
    ///
    /// Repaired (section 6.3.1), a swap goes anywhere ahead only with a probability, and else no farther than the thread's own
    /// individuals: Figure 6.8 plots the time against it.
    Gafort is "gafort": "genetic algorithm whose shuffle swaps individuals anywhere in memory under two locks" {
        /// Families: four individuals each, in every generation.
        families: 252, 1 to 1_048_576;
        /// Words of a chromosome: of 64 bits, each a number.
        genes: 512, 1 to 4096;
        /// Generations.
        generations: 3, 1 to 10_000;
        /// Generations of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
        /// Share of the swaps that go anywhere ahead, in percent; all of them if not tuned.
        shuffle_percent: 25, 0 to 100;
        /// How far swaps go: 0, anywhere ahead; 1, most of them among the thread's own.
        tuned: 0, 0 to 1;
    }
}

/// Individuals that compete with each other, and that come of it.
const FAMILY: usize = 4;
/// Percentage of a child's numbers that have a bit changed.
const MUTATIONS: u64 = 2;
/// How far the mean of all fitnesses, which is below 1, may be off for having been added up in another order.
const ROUNDING: f64 = 1e-12;

/// Instructions beside loads and stores. To judge a number: a sine, a sixth power, an exponential.
const JUDGE: u32 = 150;
/// To swap a number of each of two individuals: addresses, loop.
const SWAP: u32 = 4;
/// To choose parents by their fitness, and a number by its parent, for four individuals.
const CHOOSE: u32 = 8;
/// To mix a number of two parents beside drawing which bits come from whom, and whether one changes.
const MIX: u32 = 6 + 2 * DRAW;

/// Regions: what the team forks by; locks; chromosomes and fitnesses of even and of odd generations; parts of sums; the mean and
/// the highest fitness of each generation; what tickets for the locks are drawn from, if they are.
const TEAM: usize = 0;
const LOCKS: usize = 1;
const CHROMOSOMES: usize = 2;
const FITNESSES: usize = 4;
const PARTS: usize = 6;
const HISTORY: usize = 7;
const TICKETS: usize = 8;

/// Draws for a generation, as streams of random numbers that differ.
#[derive(Clone, Copy)]
enum Draw {
    Chromosome,
    Swap,
    Child,
}

impl Gafort {
    fn individuals(&self) -> usize {
        FAMILY * self.families as usize
    }

    fn genes(&self) -> usize {
        self.genes as usize
    }

    fn random(&self, seed: u64, draw: Draw, generation: u64, number: usize) -> Random {
        Random::new(seed, (generation * 3 + draw as u64) << 32 | number as u64)
    }

    /// The individual, ahead of `number`, that it changes places with when its turn comes in a shuffle; none if nobody is ahead.
    fn partner(&self, seed: u64, generation: u64, number: usize, own_end: usize) -> Option<usize> {
        let mut random = self.random(seed, Draw::Swap, generation, number);
        let anywhere = self.tuned == 0 || random.chance(self.shuffle_percent);
        let end = if anywhere { self.individuals() } else { own_end };
        (number + 1 < end).then(|| number + 1 + random.below(end - number - 1))
    }

    /// A number of each child of a family, from those of its parents: each bit from either, and sometimes one changed.
    fn mix(random: &mut Random, mother: u64, father: u64) -> [u64; FAMILY] {
        std::array::from_fn(|_| {
            let from_mother = random.below(usize::MAX) as u64;
            let change = if random.chance(MUTATIONS) { 1 << random.below(64) } else { 0 };
            (mother & from_mother | father & !from_mother) ^ change
        })
    }
}

/// How fit a number of a chromosome makes, at most 1: Carroll's test function, whose many peaks fall off to the right of the
/// first.
fn judge(number: u64) -> f64 {
    let x = number as f64 / u64::MAX as f64;
    (5.1 * PI * x + 0.5).sin().powi(6) * (-4.0 * LN_2 * ((x - 0.0667) / 0.8).powi(2)).exp()
}

/// The fitness of a chromosome: the mean of its numbers'.
fn fitness(chromosome: impl Iterator<Item = u64>, genes: usize) -> f64 {
    chromosome.map(judge).sum::<f64>() / genes as f64
}

/// The fitter of each pair of a family.
fn parents(fitnesses: [f64; FAMILY]) -> [usize; 2] {
    [usize::from(fitnesses[1] > fitnesses[0]), 2 + usize::from(fitnesses[3] > fitnesses[2])]
}

/// The array with the number that it has among those of its kind.
fn of_generation<R, E: Element>(regions: &[R], first: usize, generation: u64) -> Array<'_, R, E> {
    Array::new(&regions[first + (generation % 2) as usize])
}

/// A thread's part of the work.
struct Body<'r, R> {
    program: Gafort,
    regions: &'r [R],
    locks: Locks<'r, R>,
    seed: u64,
}

impl<'r, R> Body<'r, R> {
    fn chromosomes(&self, generation: u64) -> Array<'r, R, u64> {
        of_generation(self.regions, CHROMOSOMES, generation)
    }

    fn fitnesses(&self, generation: u64) -> Array<'r, R, f64> {
        of_generation(self.regions, FITNESSES, generation)
    }

    fn own(&self, share: Share) -> std::ops::Range<usize> {
        let families = share.block(self.program.families as usize);
        FAMILY * families.start..FAMILY * families.end
    }

    /// Draws its part of the first generation, and touches that of the second.
    fn initialise<T: Thread<Region = R>>(&self, thread: &mut T, share: Share) {
        let (genes, words) = (self.program.genes(), Array::<_, u64>::new(&self.regions[LOCKS]));
        for individual in self.own(share) {
            words.store(thread, individual, 0);
            let mut random = self.program.random(self.seed, Draw::Chromosome, 0, individual);
            for gene in individual * genes..(individual + 1) * genes {
                self.chromosomes(0).store(thread, gene, random.below(usize::MAX) as u64);
                self.chromosomes(1).store(thread, gene, 0);
                thread.instructions(DRAW);
            }
            (0..2).for_each(|generation| self.fitnesses(generation).store(thread, individual, 0.0));
        }
    }

    /// Evaluates its part of a generation. Notes mean and highest of all.
    fn evaluate<T: Thread<Region = R>>(
        &self,
        thread: &mut T,
        share: Share,
        sums: &mut Reduction<'_, R>,
        generation: u64,
    ) {
        let genes = self.program.genes();
        let (mut sum, mut highest) = (0.0, 0.0);
        for individual in self.own(share) {
            let numbers = (0..genes).map(|gene| {
                thread.instructions(JUDGE);
                self.chromosomes(generation).load(thread, individual * genes + gene)
            });
            let value = fitness(numbers, genes);
            self.fitnesses(generation).store(thread, individual, value);
            sum += value;
            highest = f64::max(highest, value);
        }
        let [sum, highest] =
            sums.combine(thread, [sum, highest], |[one, high], [other, higher]| [one + other, f64::max(high, higher)]);
        if share.number == 0 {
            let of_all = [sum / self.program.individuals() as f64, highest];
            Array::new(&self.regions[HISTORY]).store(thread, generation as usize, of_all);
        }
    }

    fn swap<T: Thread<Region = R>>(&self, thread: &mut T, generation: u64, one: usize, other: usize) {
        fn swap_elements<R, E: Element, T: Thread<Region = R>>(
            array: Array<'_, R, E>,
            thread: &mut T,
            one: usize,
            other: usize,
        ) {
            let (first, second) = (array.load(thread, one), array.load(thread, other));
            array.store(thread, one, second);
            array.store(thread, other, first);
            thread.instructions(SWAP);
        }
        let genes = self.program.genes();
        for gene in 0..genes {
            swap_elements(self.chromosomes(generation), thread, one * genes + gene, other * genes + gene);
        }
        swap_elements(self.fitnesses(generation), thread, one, other);
    }

    /// Shuffles a generation, beginning with its own individuals. Two locks are always taken in their order: nobody waits for
    /// one that waits for him.
    fn shuffle<T: Thread<Region = R>>(&self, thread: &mut T, share: Share, generation: u64) {
        let (locks, own) = (self.locks, self.own(share));
        for one in own.clone() {
            thread.instructions(2 * DRAW);
            if let Some(other) = self.program.partner(self.seed, generation, one, own.end) {
                locks.critical(thread, one, |thread| {
                    locks.critical(thread, other, |thread| self.swap(thread, generation, one, other));
                });
            }
        }
    }

    /// Children of its families. Of each pair both are loaded, and one is taken: what is referenced does not depend on who won.
    fn breed<T: Thread<Region = R>>(&self, thread: &mut T, share: Share, generation: u64) {
        let (genes, before, after) =
            (self.program.genes(), self.chromosomes(generation), self.chromosomes(generation + 1));
        for family in share.block(self.program.families as usize) {
            let mut random = self.program.random(self.seed, Draw::Child, generation, family);
            let word = |member: usize, gene: usize| (FAMILY * family + member) * genes + gene;
            let fitnesses: [f64; FAMILY] =
                std::array::from_fn(|member| self.fitnesses(generation).load(thread, FAMILY * family + member));
            let [mother, father] = parents(fitnesses);
            thread.instructions(CHOOSE);
            for gene in 0..genes {
                let all: [u64; FAMILY] = std::array::from_fn(|member| before.load(thread, word(member, gene)));
                let children = Gafort::mix(&mut random, all[mother], all[father]);
                for (member, child) in children.into_iter().enumerate() {
                    after.store(thread, word(member, gene), child);
                    thread.instructions(MIX);
                }
                thread.instructions(CHOOSE);
            }
        }
    }
}

/// Memory as a run leaves it.
struct Left<'a> {
    program: &'a Gafort,
    read: &'a dyn Fn(usize, usize) -> u64,
}

impl Left<'_> {
    fn chromosome(&self, generation: u64, individual: usize) -> impl Iterator<Item = u64> + '_ {
        let (genes, region) = (self.program.genes(), CHROMOSOMES + (generation % 2) as usize);
        (individual * genes..(individual + 1) * genes).map(move |word| (self.read)(region, word))
    }

    fn fitness(&self, generation: u64, individual: usize) -> f64 {
        f64::from_bits((self.read)(FITNESSES + (generation % 2) as usize, individual))
    }

    /// Individuals have the fitness that their chromosomes give, and what was noted of them before they were shuffled still
    /// holds: none was lost, and none came twice.
    fn check_generation(&self, generation: u64) -> Result<(), Wrong> {
        let individuals = 0..self.program.individuals();
        individuals.clone().try_for_each(|individual| {
            let expected = fitness(self.chromosome(generation, individual), self.program.genes());
            let what = || format!("fitness of individual {individual} of generation {generation}");
            Wrong::unless_close(self.fitness(generation, individual), expected, 0.0, what)
        })?;
        let all = || individuals.clone().map(|individual| self.fitness(generation, individual));
        let [mean, highest]: [f64; 2] = element(|word| (self.read)(HISTORY, word), generation as usize);
        let found = all().sum::<f64>() / self.program.individuals() as f64;
        Wrong::unless_close(found, mean, ROUNDING, || format!("mean fitness of generation {generation}"))?;
        let found = all().fold(0.0, f64::max);
        Wrong::unless_close(found, highest, 0.0, || format!("highest fitness of generation {generation}"))
    }

    /// Children of a generation are their parents'.
    fn check_children(&self, generation: u64, seed: u64) -> Result<(), Wrong> {
        (0..self.program.families as usize).try_for_each(|family| {
            let member = |member| FAMILY * family + member;
            let chosen = parents(std::array::from_fn(|each| self.fitness(generation, member(each))));
            let [mother, father] = chosen.map(|each| self.chromosome(generation, member(each)));
            let mut random = self.program.random(seed, Draw::Child, generation, family);
            let mut children: [_; FAMILY] = std::array::from_fn(|each| self.chromosome(generation + 1, member(each)));
            mother.zip(father).enumerate().try_for_each(|(gene, (mother, father))| {
                let expected = Gafort::mix(&mut random, mother, father);
                children.iter_mut().zip(expected).enumerate().try_for_each(|(child, (found, expected))| {
                    let what = || format!("gene {gene} of child {child} of family {family}");
                    Wrong::unless_equal(found.next().unwrap_or_default(), expected, what)
                })
            })
        })
    }
}

impl Program for Gafort {
    const REGIONS: &'static [&'static str] = &[
        "fork",
        "locks",
        "even chromosomes",
        "odd chromosomes",
        "even fitnesses",
        "odd fitnesses",
        "partial sums",
        "history",
        "tickets",
    ];

    /// The order of swaps decides the result, which is a shuffle in any case.
    const RACES: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (individuals, genes) = (self.individuals(), self.individuals() * self.genes());
        let unplaced = |words| RegionPlan::unplaced(shape, words);
        let population = [individuals, genes, genes, individuals, individuals].map(unplaced);
        let history = unplaced(2 * (self.generations as usize + 1));
        let shared = population.into_iter().chain([Reduction::<()>::plan(shape), history]);
        let tickets = Locks::<()>::ticket_plan(shape, individuals);
        [Team::<()>::plan(shape)].into_iter().chain(shared).chain(tickets).collect()
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let mut team = Team::new(shape, &regions[TEAM], thread.number());
        let mut sums = Reduction::new(shape, &regions[PARTS]);
        let locks = Locks::packed(shape, &regions[LOCKS], self.individuals(), regions.get(TICKETS));
        let body = Body { program: *self, regions, locks, seed: shape.seed };
        team.prepare(thread, |thread, share| body.initialise(thread, share));
        for generation in 0..=self.generations {
            team.begin_round(generation, self.generations, self.unmeasured);
            team.parallel(thread, |thread, share| body.evaluate(thread, share, &mut sums, generation));
            if generation < self.generations {
                team.parallel(thread, |thread, share| body.shuffle(thread, share, generation));
                team.parallel(thread, |thread, share| body.breed(thread, share, generation));
            }
        }
        0
    }

    /// The last two generations are whole, the last is the children of the one before as the shuffle left it, and locks are free.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        (0..self.individuals()).try_for_each(|individual| {
            let free = Locks::<()>::free_word(shape, self.individuals(), individual, |word| read(TICKETS, word));
            Wrong::unless_equal(read(LOCKS, individual), free, || format!("the lock of individual {individual}"))
        })?;
        let left = Left { program: self, read };
        left.check_generation(self.generations - 1)?;
        left.check_generation(self.generations)?;
        left.check_children(self.generations - 1, shape.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::{alone, shape_of_one};
    use crate::parameter::{Declared, Settings};

    #[test]
    fn generations_become_fitter() {
        let gafort = Gafort { families: 40, genes: 8, generations: 25, ..Gafort::with(&Settings::default()) };
        for tuned in [0, 1] {
            let gafort = Gafort { tuned, ..gafort };
            let (_, alone) = alone(&gafort, &shape_of_one());
            let mean = |generation| element::<[f64; 2]>(|word| alone[HISTORY][word], generation)[0];
            assert!(mean(25) > 1.5 * mean(0), "tuned {tuned}: {} after {}", mean(25), mean(0));
        }
    }

    /// The first generation is known: after its shuffle all are there, and hardly anyone where he was.
    #[test]
    fn a_shuffle_keeps_everybody() {
        let gafort = Gafort { families: 50, genes: 2, generations: 1, unmeasured: 0, shuffle_percent: 25, tuned: 0 };
        let (_, alone) = alone(&gafort, &shape_of_one());
        let drawn = |individual: usize| {
            let mut random = gafort.random(3, Draw::Chromosome, 0, individual);
            [(); 2].map(|()| random.below(usize::MAX) as u64)
        };
        let found = |individual: usize| [0, 1].map(|gene| alone[CHROMOSOMES][2 * individual + gene]);
        let sorted = |of: &dyn Fn(usize) -> [u64; 2]| {
            let mut all: Vec<_> = (0..200).map(of).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(sorted(&found), sorted(&drawn));
        assert!((0..200).filter(|&individual| found(individual) == drawn(individual)).count() < 10);
    }

    #[test]
    fn partners_are_ahead_and_mostly_near_if_tuned() {
        let far = |tuned, shuffle_percent| {
            let gafort = Gafort { families: 500, genes: 1, generations: 1, unmeasured: 0, shuffle_percent, tuned };
            let partners = (0..100).map(|number| (number, gafort.partner(1, 0, number, 100)));
            partners
                .filter(|&(number, partner)| {
                    assert!(partner.is_none_or(|partner| partner > number && partner < 2000));
                    partner.is_some_and(|partner| partner >= 100)
                })
                .count()
        };
        assert!(far(0, 0) > 80 && far(1, 100) > 80 && far(1, 0) == 0);
        assert!((10..40).contains(&far(1, 25)), "{}", far(1, 25));
    }
}
