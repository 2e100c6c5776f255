//! Rarefied flow in a wind tunnel: particles that meet in cells which everybody writes.

mod flow;

use std::ops::Range;

use crate::Blocks;
use crate::parallel::{Array, Locks, Share, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::splash::vector::{Vector, minus, plus, square};
use crate::thread::Thread;

program! {
    /// A Monte Carlo simulation of rarefied gas after MP3D of SPLASH (McDonald and Baganoff 1988): in every step each thread moves
    /// its particles, always the same ones, through a tunnel with a block in the stream, and enters each in the cell where it
    /// arrived. Cells follow whoever passes, under their locks; who arrives meets, with some chance, who waits in the cell, and
    /// then has to change a particle of another thread. Who leaves the tunnel goes to a reservoir, from which the stream is
    /// fed. MP3D as it was written takes no locks, and loses some of what it adds.
    Mp3d is "mp3d": "particles in a wind tunnel: cells that migrate under locks, and particles of others changed" {
        /// Particles, of which a tenth waits in the reservoir at first.
        particles: 32_768, 1 to 16_777_216;
        /// Steps.
        steps: 5, 1 to 10_000;
    }
}

/// Chance of a collision on arrival where others wait, per speed relative to each other and density relative to the mean.
const MEETING: f64 = 2.0;
/// Particles for each one that is in the reservoir at first.
const RESERVE: usize = 10;

/// Instructions to move a particle, beside loads and stores: places, bounds of tunnel and block, its cell.
const MOVE: u32 = 34;
/// Instructions to enter a particle in a cell, beside loads and stores: addresses, sums, comparisons.
const ENTER: u32 = 20;
/// Instructions to see whether two collide: relative speed, a random number.
const CHANCE: u32 = cost::SQUARE_ROOT + 30;
/// Instructions of a collision: a random direction, with sine, cosine and root, and two new velocities.
const COLLIDE: u32 = 100 + cost::SQUARE_ROOT + 30;
/// Instructions to draw a velocity roughly.
const DRAW: u32 = 60;

/// Words of a particle: velocity, place, and the cell's number and one, or 0 in the reservoir.
const PARTICLE_WORDS: usize = 8;
const PLACE: usize = 3;
const CELL: usize = 6;

/// Words of a cell: who waits there, and how many were there, each with the step that this is about; how many were there in
/// the step before; how many in all; their momentum and energy; and the cell's lock. A line of 128 bytes.
const CELL_WORDS: usize = 16;
const COUNT: usize = 1;
const BEFORE: usize = 2;
const VISITS: usize = 3;
const MOMENTS: usize = 4;
const LOCK: usize = 8;

/// Words of a thread's account: momentum and energy that its particles got otherwise than by colliding; what they brought to
/// cells; how often they entered one.
const ACCOUNT_WORDS: usize = 9;

/// Regions; the last is what tickets for the cells' locks are drawn from, if they are.
const PARTICLES: usize = 0;
const CELLS: usize = 1;
const ACCOUNTS: usize = 2;
const TICKETS: usize = 3;

/// Rounding error that a sum may have, relative to the sum of magnitudes.
const ROUNDING: f64 = 1e-11;

type Moments = [f64; 4];

fn add(sum: &mut Moments, moments: Moments) {
    sum.iter_mut().zip(moments).for_each(|(sum, part)| *sum += part);
}

/// A thread's part of the work.
struct Body<'r, R> {
    own: Range<usize>,
    particles: &'r R,
    cells: &'r R,
    locks: Locks<'r, R>,
    random: Random,
    /// Particles in a cell on average, and how many the thread lets in each step.
    density: f64,
    inflow: f64,
    gained: Moments,
    brought: Moments,
    visits: u64,
}

impl Mp3d {
    /// Velocity and place of a particle to begin with; no place in the reservoir.
    fn initial(&self, particle: usize, seed: u64) -> (Vector, Option<Vector>) {
        let mut random = Random::new(seed, particle as u64);
        let velocity = flow::thermal(&mut random);
        if particle % RESERVE == RESERVE - 1 {
            return (velocity, None);
        }
        (plus(velocity, [flow::STREAM, 0.0, 0.0]), Some(flow::anywhere(&mut random)))
    }

    fn accounts(shape: &Shape) -> Blocks {
        Blocks::new(shape, ACCOUNT_WORDS.div_ceil(shape.line_words))
    }
}

impl<R> Body<'_, R> {
    fn vector<T: Thread<Region = R>>(&self, particle: usize, field: usize, thread: &mut T) -> Vector {
        Array::from(self.particles, particle * PARTICLE_WORDS + field).load(thread, 0)
    }

    fn set<T: Thread<Region = R>>(&self, particle: usize, field: usize, vector: Vector, thread: &mut T) {
        Array::from(self.particles, particle * PARTICLE_WORDS + field).store(thread, 0, vector);
    }

    fn set_cell<T: Thread<Region = R>>(&self, particle: usize, place: Option<Vector>, thread: &mut T) {
        let cell = place.map_or(0, |place| flow::cell(place) as u64 + 1);
        thread.store(self.particles, particle * PARTICLE_WORDS + CELL, cell);
    }

    fn begin<T: Thread<Region = R>>(&self, particle: usize, initial: (Vector, Option<Vector>), thread: &mut T) {
        let (velocity, place) = initial;
        self.set(particle, 0, velocity, thread);
        self.set(particle, PLACE, place.unwrap_or_default(), thread);
        self.set_cell(particle, place, thread);
        thread.instructions(DRAW);
    }

    /// A velocity changes by something else than a collision.
    fn change(&mut self, from: Vector, to: Vector) {
        let (before, after) = (flow::moments(from), flow::moments(to));
        add(&mut self.gained, std::array::from_fn(|number| after[number] - before[number]));
    }

    /// A step of all own particles. Those of the reservoir collide in pairs, or go in.
    fn step<T: Thread<Region = R>>(&mut self, step: u32, thread: &mut T) {
        let mut entering = (self.inflow + self.random.unit()) as u64;
        let mut waiting = None;
        for particle in self.own.clone() {
            let velocity = self.vector(particle, 0, thread);
            if thread.load(self.particles, particle * PARTICLE_WORDS + CELL) != 0 {
                self.advance(particle, velocity, step, thread);
            } else if entering > 0 {
                entering -= 1;
                self.let_in(particle, velocity, step, thread);
            } else if let Some((other, theirs)) = waiting.take() {
                self.collide((particle, velocity), (other, theirs), thread);
            } else {
                waiting = Some((particle, velocity));
            }
        }
        thread.barrier();
    }

    fn advance<T: Thread<Region = R>>(&mut self, particle: usize, velocity: Vector, step: u32, thread: &mut T) {
        let place = self.vector(particle, PLACE, thread);
        let (place, mut after) = flow::advance(place, velocity);
        thread.instructions(MOVE);
        if place.is_none() {
            after = flow::rough(&mut self.random);
            thread.instructions(DRAW);
        }
        if after != velocity {
            self.change(velocity, after);
            self.set(particle, 0, after, thread);
        }
        self.set_cell(particle, place, thread);
        if let Some(place) = place {
            self.set(particle, PLACE, place, thread);
            self.enter(flow::cell(place), (particle, after), step, thread);
        }
    }

    /// A particle of the reservoir joins the stream, somewhere on the stretch that the stream comes along in a step.
    fn let_in<T: Thread<Region = R>>(&mut self, particle: usize, velocity: Vector, step: u32, thread: &mut T) {
        let [_, width, height] = flow::TUNNEL.map(|length| length as f64);
        let place = [flow::STREAM, width, height].map(|length| length * self.random.unit());
        let after = plus(velocity, [flow::STREAM, 0.0, 0.0]);
        self.change(velocity, after);
        self.set(particle, 0, after, thread);
        self.set(particle, PLACE, place, thread);
        self.set_cell(particle, Some(place), thread);
        thread.instructions(MOVE);
        self.enter(flow::cell(place), (particle, after), step, thread);
    }

    /// A particle arrives in a cell, all about it stored. Whoever waits there was stored before, too, and does nothing more in
    /// this step: the one who takes it out of the cell may change it.
    fn enter<T: Thread<Region = R>>(&mut self, cell: usize, own: (usize, Vector), step: u32, thread: &mut T) {
        let (locks, words, first) = (self.locks, self.cells, cell * CELL_WORDS);
        let moments = flow::moments(own.1);
        add(&mut self.brought, moments);
        self.visits += 1;
        let met = locks.critical(thread, cell, |thread| {
            let tagged = |word| Array::<_, (u32, u32)>::from(words, first + word);
            let (when, count) = tagged(COUNT).load(thread, 0);
            if when == step {
                tagged(COUNT).store(thread, 0, (step, count + 1));
            } else {
                let before = if when + 1 == step { count } else { 0 };
                thread.store(words, first + BEFORE, before.into());
                tagged(COUNT).store(thread, 0, (step, 1));
            }
            let visits = thread.load(words, first + VISITS);
            thread.store(words, first + VISITS, visits + 1);
            let sums = Array::from(words, first + MOMENTS);
            let mut sum: Moments = sums.load(thread, 0);
            add(&mut sum, moments);
            sums.store(thread, 0, sum);
            thread.instructions(ENTER);
            let (when, waiting) = tagged(0).load(thread, 0);
            let met = (when == step && waiting != 0).then(|| waiting as usize - 1);
            let met = met.and_then(|other| self.meet(first, own.1, other, thread));
            tagged(0).store(thread, 0, (step, if met.is_some() { 0 } else { own.0 as u32 + 1 }));
            met
        });
        if let Some(other) = met {
            self.collide(own, other, thread);
        }
    }

    /// The particle that waits, with its velocity, if chance has it that the two collide.
    fn meet<T: Thread<Region = R>>(
        &mut self,
        cell: usize,
        velocity: Vector,
        other: usize,
        thread: &mut T,
    ) -> Option<(usize, Vector)> {
        let theirs = Array::from(self.particles, other * PARTICLE_WORDS).load_dependent(thread, 0);
        let before = thread.load(self.cells, cell + BEFORE) as f64;
        let chance = MEETING * before / self.density * square(minus(velocity, theirs)).sqrt();
        thread.instructions(CHANCE);
        (self.random.unit() < chance).then_some((other, theirs))
    }

    fn collide<T: Thread<Region = R>>(&mut self, one: (usize, Vector), other: (usize, Vector), thread: &mut T) {
        let (first, second) = flow::collide(one.1, other.1, &mut self.random);
        thread.instructions(COLLIDE);
        self.set(one.0, 0, first, thread);
        self.set(other.0, 0, second, thread);
    }
}

impl Program for Mp3d {
    const REGIONS: &'static [&'static str] = &["particles", "cells", "accounts", "tickets"];
    const DYNAMIC: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let plans = [
            RegionPlan::unplaced(shape, self.particles as usize * PARTICLE_WORDS),
            RegionPlan::unplaced(shape, flow::cells() * CELL_WORDS),
            Self::accounts(shape).plan(shape.homes.iter().copied()),
        ];
        plans.into_iter().chain(Locks::<()>::ticket_plan(shape, flow::cells())).collect()
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        /// Apart from the streams of particles.
        const STREAM: u64 = 1 << 32;
        let (share, particles) = (Share::new(shape, thread.number()), self.particles as usize);
        let own = share.block(particles);
        let density = self.particles as f64 * (1.0 - 1.0 / RESERVE as f64) / flow::volume();
        let [_, width, height] = flow::TUNNEL.map(|length| length as f64);
        let mut body = Body {
            inflow: density * flow::STREAM * width * height * own.len() as f64 / particles as f64,
            own: own.clone(),
            particles: &regions[PARTICLES],
            cells: &regions[CELLS],
            locks: Locks::within(shape, &regions[CELLS], [LOCK, CELL_WORDS], flow::cells(), regions.get(TICKETS)),
            random: Random::new(shape.seed, STREAM + share.number as u64),
            density,
            gained: [0.0; 4],
            brought: [0.0; 4],
            visits: 0,
        };
        for particle in own {
            body.begin(particle, self.initial(particle, shape.seed), thread);
        }
        // Whose cells they are to begin with is as good as chance; they are empty.
        for word in share.block(flow::cells()).flat_map(|cell| cell * CELL_WORDS..(cell + 1) * CELL_WORDS) {
            thread.store(&regions[CELLS], word, 0);
        }
        thread.barrier();
        thread.measure(true);
        for step in 1..=self.steps as u32 {
            body.step(step, thread);
        }
        thread.measure(false);
        let account = Self::accounts(shape).word(share.number, 0);
        Array::from(&regions[ACCOUNTS], account).store(thread, 0, body.gained);
        Array::from(&regions[ACCOUNTS], account).store(thread, 1, body.brought);
        thread.store(&regions[ACCOUNTS], account + ACCOUNT_WORDS - 1, body.visits);
        thread.barrier();
        0
    }

    /// Momentum and energy are those of the beginning and what particles got otherwise than by colliding; cells have counted
    /// and added up all who came; particles are in the tunnel and in the cell of their place.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let particles = 0..self.particles as usize;
        let vector = |particle: usize, field: usize| {
            element::<Vector>(|word| read(PARTICLES, particle * PARTICLE_WORDS + field + word), 0)
        };
        let (mut gained, mut brought, mut visits) = ([0.0; 4], [0.0; 4], 0);
        for number in 0..shape.threads() {
            let account = |word| read(ACCOUNTS, Self::accounts(shape).word(number, 0) + word);
            add(&mut gained, element(account, 0));
            add(&mut brought, element(account, 1));
            visits += account(ACCOUNT_WORDS - 1);
        }
        let (mut found, mut magnitude, mut inside) = ([0.0; 4], 0.0, 0);
        for particle in particles {
            add(&mut gained, flow::moments(self.initial(particle, shape.seed).0));
            let velocity = vector(particle, 0);
            add(&mut found, flow::moments(velocity));
            magnitude += square(velocity).sqrt() + square(velocity);
            let cell = read(PARTICLES, particle * PARTICLE_WORDS + CELL);
            if cell != 0 {
                inside += 1;
                let place = vector(particle, PLACE);
                let expected = if flow::is_free(place) { flow::cell(place) as u64 + 1 } else { 0 };
                Wrong::unless_equal(cell, expected, || format!("the cell of particle {particle}"))?;
            }
        }
        let (mut sums, mut entered, mut latest) = ([0.0; 4], 0, 0);
        for cell in 0..flow::cells() {
            let word = |word| read(CELLS, cell * CELL_WORDS + word);
            entered += word(VISITS);
            add(&mut sums, element(|number| word(MOMENTS + number), 0));
            let (step, count): (u32, u32) = element(|_| word(COUNT), 0);
            latest += if u64::from(step) == self.steps { u64::from(count) } else { 0 };
        }
        Wrong::unless_equal(entered, visits, || "how often particles entered cells, as cells counted,".into())?;
        Wrong::unless_equal(latest, inside, || "how many particles entered cells in the last step".into())?;
        let names = ["momentum along the tunnel", "momentum across it", "momentum upwards", "energy"];
        (0..4).try_for_each(|number| {
            let close = |found: [f64; 4], expected: [f64; 4], tolerance: f64, whose: &str| {
                Wrong::unless_close(found[number], expected[number], tolerance, || format!("{} {whose}", names[number]))
            };
            close(found, gained, ROUNDING * magnitude, "of all particles")?;
            close(sums, brought, ROUNDING * (1.0 + magnitude) * self.steps as f64, "that cells added up")
        })
    }
}
