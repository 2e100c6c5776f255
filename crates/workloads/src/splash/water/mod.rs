//! Molecules of water, each acting on each other: locks on molecules, and long sums.

mod model;

use model::{Atoms, MASSES};

use crate::Blocks;
use crate::parallel::{Array, Element, Locks, Reduction, Share, alone, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// Molecular dynamics after Water-nsquared of SPLASH-2: a thread owns molecules that follow each other and computes the
    /// forces between each of them and the half of all molecules that come next. It gathers them in memory of its own and then
    /// adds them to those of the molecules, each under its lock. Time steps are those of Verlet; SPLASH-2 predicts and corrects.
    Water is "water": "water molecules in a box: forces of all pairs, added up under locks" {
        /// Molecules.
        molecules: 216, 2 to 65_536;
        /// Time steps, of 0.2 femtoseconds.
        steps: 2, 0 to 1000;
    }
}

/// In picoseconds: a fiftieth of the fastest vibration.
const TIME_STEP: f64 = 2e-4;
/// Instructions to change nine velocities, or places, by a multiple of something, beside loads and stores.
const KICK: u32 = 24;
/// Instructions to add or clear nine numbers, beside loads and stores.
const ADD: u32 = 14;
/// Instructions to draw a molecule: some twenty random numbers and a few roots.
const DRAW: u32 = 600;
/// How far from the serial result rounding may lead in a short time, relative to what is usual.
const ROUNDING: f64 = 1e-8;
/// How much of the kinetic energy the time steps may gain or lose.
const DRIFT: f64 = 0.01;

/// Regions.
const MOLECULES: usize = 0;
const GATHERED: usize = 1;
const LOCKS: usize = 2;
const SUMS: usize = 3;
const ENERGIES: usize = 4;

/// Fields of a molecule: nine words each, and some words unused.
#[derive(Clone, Copy)]
enum Field {
    Places,
    Velocities,
    Forces,
}

/// Words of a molecule: two lines of 128 bytes.
const MOLECULE_WORDS: usize = 32;

impl Field {
    /// The first word of a molecule's.
    fn word(self, molecule: usize) -> usize {
        molecule * MOLECULE_WORDS + self as usize * Atoms::WORDS
    }
}

impl Water {
    fn gathered(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, (self.molecules as usize * Atoms::WORDS).div_ceil(shape.line_words))
    }

    /// Places and velocities of a molecule to begin with: on a lattice, turned at random, at room temperature.
    fn initial(&self, molecule: usize, seed: u64) -> (Atoms, Atoms) {
        let mut random = Random::new(seed, molecule as u64);
        let mut direction: [f64; 3] = std::array::from_fn(|_| random.normal());
        let mut across: [f64; 3] = std::array::from_fn(|_| random.normal());
        let unit = |vector: [f64; 3]| {
            let length = vector.iter().map(|part| part * part).sum::<f64>().sqrt();
            vector.map(|part| part / length)
        };
        direction = unit(direction);
        let along: f64 = direction.iter().zip(&across).map(|(one, other)| one * other).sum();
        across = unit(std::array::from_fn(|axis| across[axis] - along * direction[axis]));
        let edge = (1..).find(|edge: &usize| edge.pow(3) >= self.molecules as usize).unwrap_or(1);
        let spacing = model::side(self.molecules) / edge as f64;
        let corner = [molecule % edge, molecule / edge % edge, molecule / (edge * edge)].map(|at| at as f64 * spacing);
        let atoms = model::at_rest(direction, across);
        let velocities =
            std::array::from_fn(|number| random.normal() * (model::TEMPERATURE / MASSES[number / 3]).sqrt());
        (std::array::from_fn(|number| atoms[number] + corner[number % 3]), velocities)
    }
}

/// A thread's part of the work.
struct Body<'r, R> {
    share: Share,
    molecules: usize,
    side: f64,
    region: &'r R,
    gathered: Array<'r, R, Atoms>,
    locks: Locks<'r, R>,
}

impl<R> Body<'_, R> {
    fn load<T: Thread<Region = R>>(&self, molecule: usize, field: Field, thread: &mut T) -> Atoms {
        Array::from(self.region, field.word(molecule)).load(thread, 0)
    }

    fn store<T: Thread<Region = R>>(&self, molecule: usize, field: Field, value: Atoms, thread: &mut T) {
        Array::from(self.region, field.word(molecule)).store(thread, 0, value);
    }

    /// Half a time step of forces on a molecule's velocities, which it returns.
    fn kick<T: Thread<Region = R>>(&self, molecule: usize, thread: &mut T) -> Atoms {
        let (old, forces) =
            (self.load(molecule, Field::Velocities, thread), self.load(molecule, Field::Forces, thread));
        let new = std::array::from_fn(|number| old[number] + 0.5 * TIME_STEP * forces[number] / MASSES[number / 3]);
        self.store(molecule, Field::Velocities, new, thread);
        thread.instructions(KICK);
        new
    }

    /// Half a kick, and a time step on the way; forces start at 0 then.
    fn advance<T: Thread<Region = R>>(&self, thread: &mut T) {
        for molecule in self.share.block(self.molecules) {
            let velocities = self.kick(molecule, thread);
            let old = self.load(molecule, Field::Places, thread);
            let new = std::array::from_fn(|number| old[number] + TIME_STEP * velocities[number]);
            self.store(molecule, Field::Places, new, thread);
            self.store(molecule, Field::Forces, [0.0; 9], thread);
            thread.instructions(KICK);
        }
        thread.barrier();
    }

    /// How many molecules after it a molecule is paired with: half of all; of two that face each other, the first has the pair.
    fn partners(&self, molecule: usize) -> usize {
        let half = self.molecules / 2;
        half - usize::from(self.molecules.is_multiple_of(2) && molecule >= half)
    }

    /// The molecules on which a thread has found forces: its own, and those that come next.
    fn reached(&self) -> impl Iterator<Item = usize> + use<R> {
        let (own, all) = (self.share.block(self.molecules), self.molecules);
        let count = if own.is_empty() { 0 } else { (own.len() + all / 2).min(all) };
        (own.start..own.start + count).map(move |number| number % all)
    }

    fn gather<T: Thread<Region = R>>(&self, molecule: usize, forces: &Atoms, thread: &mut T) {
        let sum = self.gathered.load(thread, molecule);
        self.gathered.store(thread, molecule, plus(&sum, forces));
        thread.instructions(ADD);
    }

    /// Computes the forces of its pairs and adds them to those of the molecules. Returns their energy. Forces are known after
    /// the next barrier.
    fn forces<T: Thread<Region = R>>(&self, thread: &mut T) -> f64 {
        for molecule in self.reached() {
            self.gathered.store(thread, molecule, [0.0; 9]);
            thread.instructions(ADD);
        }
        let mut energy = 0.0;
        for molecule in self.share.block(self.molecules) {
            let places = self.load(molecule, Field::Places, thread);
            let (inner, mut sum) = model::springs(&places);
            thread.instructions(model::SPRINGS);
            energy += inner;
            for other in (1..=self.partners(molecule)).map(|ahead| (molecule + ahead) % self.molecules) {
                let theirs = self.load(other, Field::Places, thread);
                thread.instructions(model::FAR);
                if let Some((between, on_one, on_other)) = model::pair(&places, &theirs, self.side) {
                    thread.instructions(model::PAIR);
                    energy += between;
                    sum = plus(&sum, &on_one);
                    self.gather(other, &on_other, thread);
                }
            }
            self.gather(molecule, &sum, thread);
        }
        for molecule in self.reached() {
            let own = self.gathered.load(thread, molecule);
            self.locks.critical(thread, molecule, |thread| {
                let sum = self.load(molecule, Field::Forces, thread);
                self.store(molecule, Field::Forces, plus(&sum, &own), thread);
                thread.instructions(ADD);
            });
        }
        energy
    }
}

fn plus(one: &Atoms, other: &Atoms) -> Atoms {
    std::array::from_fn(|number| one[number] + other[number])
}

fn kinetic(velocities: &Atoms) -> f64 {
    velocities.iter().enumerate().map(|(number, part)| 0.5 * MASSES[number / 3] * part * part).sum()
}

impl Program for Water {
    const REGIONS: &'static [&'static str] = &["molecules", "gathered forces", "locks", "partial sums", "energies"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (molecules, threads) = (self.molecules as usize, shape.threads());
        let owner = |word| Share::owner(threads, molecules, word / MOLECULE_WORDS);
        let homes = || shape.homes.iter().copied();
        vec![
            RegionPlan::first_touch(shape, molecules * MOLECULE_WORDS, owner),
            self.gathered(shape).plan(homes()),
            Locks::<()>::plan(shape, molecules),
            Reduction::<()>::plan(shape),
            Blocks::new(shape, 1).plan(homes().take(1)),
        ]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (share, molecules) = (Share::new(shape, thread.number()), self.molecules as usize);
        let body = Body {
            share,
            molecules,
            side: model::side(self.molecules),
            region: &regions[MOLECULES],
            gathered: Array::from(&regions[GATHERED], self.gathered(shape).word(share.number, 0)),
            locks: Locks::new(shape, &regions[LOCKS], molecules),
        };
        let mut reduction = Reduction::new(shape, &regions[SUMS]);
        let mut energy = 0.0;
        for molecule in share.block(molecules) {
            let (places, velocities) = self.initial(molecule, shape.seed);
            body.store(molecule, Field::Places, places, thread);
            body.store(molecule, Field::Velocities, velocities, thread);
            thread.instructions(DRAW);
            energy += kinetic(&velocities);
        }
        thread.barrier();
        thread.measure(true);
        energy += body.forces(thread);
        let first = reduction.sum(thread, energy);
        let mut last = first;
        for _ in 0..self.steps {
            body.advance(thread);
            let potential = body.forces(thread);
            thread.barrier();
            let moving: f64 = share.block(molecules).map(|molecule| kinetic(&body.kick(molecule, thread))).sum();
            last = reduction.sum(thread, potential + moving);
        }
        thread.measure(false);
        if share.number == 0 {
            Array::from(&regions[ENERGIES], 0).store(thread, 0, [first, last]);
        }
        thread.barrier();
        0
    }

    /// Energy and momentum are kept, and molecules are where one thread alone brings them, but for rounding.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let at = |molecule, field: Field| Atoms::gather(|word| read(MOLECULES, field.word(molecule) + word));
        let molecules = 0..self.molecules as usize;
        let moving: f64 = molecules.clone().map(|molecule| kinetic(&at(molecule, Field::Velocities))).sum();
        let [first, last]: [f64; 2] = element(|word| read(ENERGIES, word), 0);
        Wrong::unless_close(last, first, DRIFT * moving, || "the energy in the end, which was to be kept,".into())?;
        for axis in 0..3 {
            let of = |velocities: Atoms| -> f64 { (0..3).map(|atom| MASSES[atom] * velocities[3 * atom + axis]).sum() };
            let before: f64 = molecules.clone().map(|molecule| of(self.initial(molecule, shape.seed).1)).sum();
            let after: f64 = molecules.clone().map(|molecule| of(at(molecule, Field::Velocities))).sum();
            Wrong::unless_close(after, before, ROUNDING * moving, || format!("momentum along axis {axis}"))?;
        }
        let (_, alone) = alone(self, shape);
        molecules.into_iter().try_for_each(|molecule| {
            let close = |field: Field, name: &str, usual: f64| {
                let serial = Atoms::gather(|word| alone[MOLECULES][field.word(molecule) + word]);
                at(molecule, field).into_iter().zip(serial).try_for_each(|(found, expected)| {
                    Wrong::unless_close(found, expected, ROUNDING * usual, || format!("{name} of molecule {molecule}"))
                })
            };
            close(Field::Places, "a coordinate", 1.0)?;
            close(Field::Velocities, "a velocity", 1.0)?;
            // Springs pull with thousands of kJ/mol/nm.
            close(Field::Forces, "a force", 1e4)
        })
    }
}
