//! Values of a description that make its simulated figures those that were measured. Figures come from the simulator, which runs the plans
//! of the records on the described machine with nothing else under way.

use fit::least_squares::damped_step;
use units::Duration;

use super::known::Known;
use super::observed::{Kind, Observation};
use super::tolerance;
use super::values::Values;
use crate::error::ExperimentError;
use crate::fitting::repeated::{Repeated, cost};
use crate::parallel;

/// A value that measurements decide.
#[derive(Clone, Debug)]
pub(super) struct Tunable {
    /// Its table and key, and those that follow it.
    pub(super) keys: &'static [(&'static str, &'static str)],
    /// The time of one of its units, in nanoseconds.
    pub(super) unit_ns: f64,
    /// Its least and its greatest value, in its unit.
    pub(super) bounds: (f64, f64),
    /// Whether it is a whole number.
    pub(super) whole: bool,
    /// Its value so far, in its unit.
    pub(super) value: f64,
    /// The kind of observation that decides it first of all.
    pub(super) decided_by: Kind,
}

impl Tunable {
    /// A whole number of units, each of `unit_ns`.
    pub(super) fn whole(
        keys: &'static [(&'static str, &'static str)],
        unit_ns: f64,
        bounds: (f64, f64),
        value: u32,
        decided_by: Kind,
    ) -> Self {
        Self { keys, unit_ns, bounds, whole: true, value: f64::from(value), decided_by }
    }

    /// A time in nanoseconds, to a tenth.
    pub(super) fn time(
        keys: &'static [(&'static str, &'static str)],
        bounds: (f64, f64),
        value: Duration,
        decided_by: Kind,
    ) -> Self {
        Self::tenths(keys, bounds, value.as_ns(), decided_by)
    }

    /// A number of units, each taken for a nanosecond, to a tenth.
    pub(super) fn tenths(
        keys: &'static [(&'static str, &'static str)],
        bounds: (f64, f64),
        value: f64,
        decided_by: Kind,
    ) -> Self {
        Self { keys, unit_ns: 1.0, bounds, whole: false, value, decided_by }
    }

    /// The value as a file spells it.
    pub(super) fn spelled(&self) -> f64 {
        let (least, most) = self.bounds;
        let value = self.value.clamp(least, most);
        if self.whole { value.round() } else { (value * 10.0).round() / 10.0 }
    }

    /// Writes the value, as decided by `observations` or as a default.
    pub(super) fn write(&self, values: &mut Values, source: &str) {
        for (number, (table, key)) in self.keys.iter().enumerate() {
            let source = if number == 0 { source.to_owned() } else { format!("assumed: as {}", self.keys[0].1) };
            values.set(table, key, self.spelled(), source);
        }
    }
}

/// The machine whose values are tuned.
pub(super) struct Bench<'a> {
    pub(super) file: &'a str,
    pub(super) values: Values,
    known: Known,
}

impl<'a> Bench<'a> {
    pub(super) fn new(file: &'a str, values: Values) -> Self {
        Self { file, values, known: Known::default() }
    }

    /// The described machine's figure for each observation.
    ///
    /// # Errors
    /// When it cannot be described or simulated.
    pub(super) fn figures(&self, observations: &[Observation]) -> Result<Vec<f64>, ExperimentError> {
        self.figures_of(&self.values, observations)
    }

    pub(super) fn figures_of(
        &self,
        values: &Values,
        observations: &[Observation],
    ) -> Result<Vec<f64>, ExperimentError> {
        Ok(self.figures_of_each(std::slice::from_ref(values), observations)?.remove(0))
    }

    /// The same of several machines, whose values are given: those that have not been yet are simulated beside each other, on all
    /// cores.
    ///
    /// # Errors
    /// When one cannot be described or simulated.
    pub(super) fn figures_of_each(
        &self,
        machines: &[Values],
        observations: &[Observation],
    ) -> Result<Vec<Vec<f64>>, ExperimentError> {
        let described = |values: &Values| Ok(Repeated::new(values.described(self.file)?));
        let described: Vec<Repeated> = machines.iter().map(described).collect::<Result<_, ExperimentError>>()?;
        let of_machine = |machine| observations.iter().map(move |observation| (machine, observation));
        let all: Vec<(&Repeated, &Observation)> = described.iter().flat_map(of_machine).collect();
        let unknown =
            |&&(machine, observation): &&(&Repeated, &Observation)| self.known.figure(machine, observation).is_none();
        let jobs: Vec<(&Repeated, &Observation)> = all.iter().filter(unknown).copied().collect();
        let work = |&(machine, observation): &(&Repeated, &Observation)| {
            machine.run(&observation.plan, observation.circumstances).map(|outcome| outcome.record.headline())
        };
        let figures =
            parallel::collected_longest_first(&jobs, |(_, observation)| cost(&observation.plan), work, |_| ())?;
        for ((machine, observation), figure) in jobs.into_iter().zip(figures) {
            self.known.add(machine, observation, figure);
        }
        let figure = |&(machine, observation): &(&Repeated, &Observation)| {
            self.known.figure(machine, observation).expect("simulated by now")
        };
        let mut figures = all.iter().map(figure);
        Ok(machines.iter().map(|_| figures.by_ref().take(observations.len()).collect()).collect())
    }

    fn with(&self, tunables: &[Tunable]) -> Values {
        let mut values = self.values.clone();
        tunables.iter().for_each(|tunable| tunable.write(&mut values, ""));
        values
    }
}

/// Change of a value that shows which figures depend on it, in nanoseconds: far more than a cycle.
const PROBED_NS: f64 = 12.0;
/// Steps of the fit of times. They depend on cycles almost in proportion, so that few suffice.
const STEPS: usize = 4;
/// The steps after which it is looked anew at what depends on each value.
const LOOKED_ANEW: usize = 2;
/// A step that leaves less than this of relative error, root mean square, is the last.
const CLOSE: f64 = 0.005;
/// The relative error that a nanosecond away from the default weighs as much as: what measurements hardly tell stays as it is.
const PULL_PER_NS: f64 = 0.0002;
/// The change of a figure by a nanosecond of a value, relative to the figure, below which nothing depends on it.
const DEPENDS: f64 = 0.001;

/// Fits `tunables` to the times among `observations`, all together, by least squares of relative errors. Returns for each whether any
/// observation depends on it.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn fit_times(
    bench: &mut Bench<'_>,
    tunables: &mut [Tunable],
    observations: &[Observation],
) -> Result<Vec<bool>, ExperimentError> {
    let defaults: Vec<f64> = tunables.iter().map(|tunable| tunable.value * tunable.unit_ns).collect();
    let (mut figures, mut slopes) = figures_and_slopes(bench, tunables, observations)?;
    let mut best = (f64::INFINITY, tunables.to_vec());
    for step in 0..=STEPS {
        if step > 0 {
            figures = bench.figures_of(&bench.with(tunables), observations)?;
        }
        let relative = |(observed, figure): (&Observation, &f64)| (observed.measured - figure) / observed.measured;
        let missing: Vec<f64> = observations.iter().zip(&figures).map(relative).collect();
        let squares: f64 = missing.iter().map(|missing| missing * missing).sum();
        let error = (squares / missing.len().max(1) as f64).sqrt();
        if error < best.0 {
            best = (error, tunables.to_vec());
        }
        if step == STEPS || step > 0 && error < CLOSE {
            break;
        }
        if step > 0 && step % LOOKED_ANEW == 0 {
            slopes = slopes_at(bench, tunables, observations, &figures)?;
        }
        let from_default: Vec<f64> = tunables
            .iter()
            .zip(&defaults)
            .map(|(tunable, default)| default - tunable.spelled() * tunable.unit_ns)
            .collect();
        let before: Vec<f64> = tunables.iter().map(Tunable::spelled).collect();
        step_within_bounds(tunables, &slopes, &missing, from_default);
        // Values that have not moved have the figures that are known.
        if tunables.iter().map(Tunable::spelled).eq(before) {
            break;
        }
    }
    tunables.clone_from_slice(&best.1);
    bench.values = bench.with(tunables);
    Ok(dependent(&slopes, tunables.len()))
}

/// Takes a step. A value that it would take beyond its bounds goes to the bound, and the others make up for the rest.
fn step_within_bounds(tunables: &mut [Tunable], slopes: &[Vec<f64>], missing: &[f64], mut from_default: Vec<f64>) {
    let (mut slopes, mut missing) = (slopes.to_vec(), missing.to_vec());
    let mut fixed = vec![false; tunables.len()];
    loop {
        let change = damped_step(&slopes, &missing, &vec![PULL_PER_NS; tunables.len()], &from_default);
        let next = |number: usize| tunables[number].spelled() + change[number] / tunables[number].unit_ns;
        let within = |number: usize| next(number).clamp(tunables[number].bounds.0, tunables[number].bounds.1);
        let beyond = |&number: &usize| !fixed[number] && (next(number) - within(number)).abs() > 0.5;
        let Some(number) = (0..tunables.len()).find(beyond) else {
            let all: Vec<f64> = (0..tunables.len()).map(within).collect();
            tunables.iter_mut().zip(all).for_each(|(tunable, value)| tunable.value = value);
            return;
        };
        let bound = within(number);
        let moved_ns = (bound - tunables[number].spelled()) * tunables[number].unit_ns;
        for (row, missing) in slopes.iter_mut().zip(&mut missing) {
            *missing -= row[number] * moved_ns;
            row[number] = 0.0;
        }
        tunables[number].value = bound;
        (fixed[number], from_default[number]) = (true, 0.0);
    }
}

/// By observation and value, the relative change of the figure by a nanosecond of the value.
type Slopes = Vec<Vec<f64>>;

/// The slopes at values with these `figures`.
fn slopes_at(
    bench: &Bench<'_>,
    tunables: &[Tunable],
    observations: &[Observation],
    figures: &[f64],
) -> Result<Slopes, ExperimentError> {
    let probes = probes(tunables);
    let machines: Vec<Values> = probes.iter().map(|(_, probed)| bench.with(probed)).collect();
    let after = bench.figures_of_each(&machines, observations)?;
    Ok(slopes_between(&probes, observations, figures, &after))
}

/// The figures and the slopes, at once: the machine and those with a value changed are simulated beside each other.
fn figures_and_slopes(
    bench: &Bench<'_>,
    tunables: &[Tunable],
    observations: &[Observation],
) -> Result<(Vec<f64>, Slopes), ExperimentError> {
    let probes = probes(tunables);
    let probed = probes.iter().map(|(_, probed)| bench.with(probed));
    let machines: Vec<Values> = std::iter::once(bench.with(tunables)).chain(probed).collect();
    let mut all = bench.figures_of_each(&machines, observations)?;
    let figures = all.remove(0);
    let slopes = slopes_between(&probes, observations, &figures, &all);
    Ok((figures, slopes))
}

/// Whether any figure depends on each of `values` values.
fn dependent(slopes: &[Vec<f64>], values: usize) -> Vec<bool> {
    let any = |number: usize| slopes.iter().any(|row| row[number].abs() > DEPENDS);
    (0..values).map(any).collect()
}

/// For each value, the change in nanoseconds that shows what depends on it, and all values with that change.
fn probes(tunables: &[Tunable]) -> Vec<(f64, Vec<Tunable>)> {
    let probe = |number: usize| {
        let mut probed = tunables.to_vec();
        let Tunable { unit_ns, bounds, .. } = probed[number];
        let (before, change) = (probed[number].spelled(), (PROBED_NS / unit_ns).max(1.0));
        let next = before + change;
        probed[number].value = if next > bounds.1 { before - change } else { next };
        ((probed[number].spelled() - before) * unit_ns, probed)
    };
    (0..tunables.len()).map(probe).collect()
}

/// The slopes between the `figures` and those `after` each probe.
fn slopes_between(
    probes: &[(f64, Vec<Tunable>)],
    observations: &[Observation],
    figures: &[f64],
    after: &[Vec<f64>],
) -> Slopes {
    let slope = |row: usize, number: usize| (after[number][row] - figures[row]) / probes[number].0;
    let of_row = |(row, observed): (usize, &Observation)| {
        (0..probes.len()).map(|number| slope(row, number) / observed.measured).collect()
    };
    observations.iter().enumerate().map(of_row).collect()
}

/// Attempts at a rate.
const ATTEMPTS: usize = 5;
/// A rate within this share of what was measured will do.
const RATE_AGREES: f64 = 0.02;
/// A rate that is still off by this share at the best value is met; others have nothing to add.
const RATE_IS_MET: f64 = 0.05;
/// A rate that goes with a smaller power of its value does not depend on it.
const RATE_DEPENDS: f64 = 0.12;
/// A rate that goes with a smaller power depends on its value too little to tell by how much the value is off.
const STEEP: f64 = 0.2;
/// A value on which the rate has not depended so far is changed by this power of what the rate is off.
const FURTHER: f64 = 3.0;

/// Result of the fit of a value to a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fitted {
    /// Whether the rate depends on the value, in the range that was tried; not known if the first value met it.
    pub(super) depends: Option<bool>,
    /// Whether the rate is the measured one.
    pub(super) meets: bool,
}

/// Changes a value until the simulated rate is the measured one, as near as it comes. The described machine stays as it is.
/// `rises` says whether the rate rises with the value, or falls.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn fit_rate(
    bench: &Bench<'_>,
    tunable: &mut Tunable,
    observation: &Observation,
    rises: bool,
) -> Result<Fitted, ExperimentError> {
    let one = std::slice::from_ref(observation);
    let mut best = (f64::INFINITY, tunable.spelled());
    let (mut last, mut depends, mut agrees): (Option<(f64, f64)>, bool, bool) = (None, false, false);
    for _ in 0..ATTEMPTS {
        let value = tunable.spelled();
        let figure = bench.figures_of(&bench.with(std::slice::from_ref(tunable)), one)?[0];
        let ratio = observation.measured / figure;
        if ratio.ln().abs() < best.0 {
            best = (ratio.ln().abs(), value);
        }
        // The rate as a power of the value, as far as two attempts tell.
        let straight = if rises { 1.0 } else { -1.0 };
        let power = match last {
            Some((before, rate)) if before != value => {
                let power = f64::ln(figure / rate) / f64::ln(value / before);
                depends |= power.abs() >= RATE_DEPENDS;
                // Between a value that limits the rate and one that does not, nothing tells how far it is to the former.
                match power.abs() {
                    none if none < RATE_DEPENDS => straight / FURTHER,
                    little if little < STEEP => straight,
                    _ => power,
                }
            }
            _ => straight,
        };
        if ratio.ln().abs() < RATE_AGREES {
            agrees = true;
            break;
        }
        last = Some((value, figure));
        let (least, most) = tunable.bounds;
        let mut next = (value * ratio.powf(1.0 / power)).clamp(least, most).clamp(value / 4.0, value * 4.0);
        if tunable.whole && next.round() == value {
            next = if next > value { value + 1.0 } else { value - 1.0 };
        }
        tunable.value = next.clamp(least, most);
        if tunable.spelled() == value {
            break;
        }
    }
    let (error, value) = best;
    tunable.value = value;
    let depends = if agrees && last.is_none() { None } else { Some(depends || agrees) };
    Ok(Fitted { depends, meets: depends != Some(false) && error < RATE_IS_MET })
}

/// Errors below this part of the share within which figures agree leave nothing to settle.
const SETTLED: f64 = 0.25;
/// A whole number that changes nothing as far as this is not moved farther.
const PLATEAU: u32 = 3;

/// Moves a whole number by ones from where one rate has put it, as long as that makes the largest error of `observations`, all of which
/// depend on it, smaller, a plateau at most away. An error counts in units of the share within which its figure agrees ([`tolerance`]).
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn settle(
    bench: &Bench<'_>,
    tunable: &mut Tunable,
    observations: &[Observation],
) -> Result<(), ExperimentError> {
    let worst = |value: f64| {
        let at = Tunable { value, ..tunable.clone() };
        let figures = bench.figures_of(&bench.with(&[at]), observations)?;
        let errors = observations.iter().zip(figures);
        let errors = errors.map(|(one, figure)| (one.measured / figure).ln().abs() / tolerance(one.kind));
        Ok::<f64, ExperimentError>(errors.fold(0.0, f64::max))
    };
    let start = tunable.spelled();
    let mut best = (worst(start)?, start);
    if best.0 < SETTLED {
        return Ok(());
    }
    for step in [1.0, -1.0] {
        let (mut value, mut level) = (start, 0);
        while level < PLATEAU {
            let next = (value + step).clamp(tunable.bounds.0, tunable.bounds.1);
            if next == value {
                break;
            }
            value = next;
            let error = worst(value)?;
            level += 1;
            if error < best.0 {
                (best, level) = ((error, value), 0);
            }
        }
        // The other way leads back, once this one has helped.
        if best.1 != start {
            break;
        }
    }
    tunable.value = best.1;
    Ok(())
}
