//! A hierarchy of which nothing is known beforehand: how many levels it has, where each ends and what each costs, from an area
//! sweep alone.
//!
//! The mean time of a window is `t_0 + t_1 w/8 + sum over levels of (u_i + v_i w/8) max(0, 1 - S_i / a)` (Seidl 1997, eq. 5
//! integrated, with free sizes `S_i`). A level whose step does not grow with the window (`v_i = 0`) is paid once a window
//! and not once a line.

use units::Bytes;

use super::{Sample, share_beyond};
use crate::FitError;
use crate::least_squares::{Separable, SeparableFit, Uncertain, minimise, solve};
use crate::staircase::Staircase;

/// By how much the Bayesian information criterion must fall for another level to be believed: the step that Kass and
/// Raftery (Bayes Factors, JASA 90, 1995) call very strong evidence.
const LEAST_GAIN: f64 = 10.0;
/// A level must make windows of some size slower by this share of their time before it, and by so many times what times scatter about
/// the model, or noise passes for levels.
const LEAST_STEP: f64 = 0.03;
const STEP_OVER_SCATTER: f64 = 3.0;
/// Levels end this factor apart at least: two that are nearer stand for one whose end is not sharp.
const APART: f64 = 2.0;
/// By how much of a time the model is wrong where nothing disturbs a measurement. What residuals fall below that is no evidence.
const MODEL_ERROR: f64 = 0.005;
/// Levels that are looked for at most, beside the fastest.
const MOST_KNEES: usize = 7;
/// Refined starts for every additional level.
const STARTS: usize = 3;

/// How what lies beyond a knee is paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KneeKind {
    /// Beyond it, every line costs more: a cache.
    ByLine,
    /// Beyond it, every window costs more, whatever its size: a translation buffer, or a cache beyond which prefetching
    /// hides all lines of a window but the first.
    ByWindow,
}

/// A size at which windows become slower.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knee {
    /// How what lies beyond is paid.
    pub kind: KneeKind,
    /// Where, in bytes.
    pub size: Uncertain,
    /// Time that a window costs more beyond, in nanoseconds, whatever its size.
    pub window_ns: f64,
    /// Time that each double word of a window costs more beyond, in nanoseconds; zero if it is paid by window.
    pub double_ns: f64,
}

/// A number of levels that was tried, and what became of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// Levels beside the fastest.
    pub knees: usize,
    /// The Bayesian information criterion; less is better.
    pub bic: f64,
    /// Root mean square of the relative residuals, in percent.
    pub rms_pct: f64,
    /// Why the search went on from here or ended, in words.
    pub verdict: String,
}

/// The chosen hierarchy.
#[derive(Clone, Debug)]
pub struct LevelFit {
    /// The knees, smallest first.
    pub knees: Vec<Knee>,
    /// A window in the fastest level, in nanoseconds: what it costs whatever its size, and what a double word adds.
    pub fastest: (f64, f64),
    /// Numbers of levels that were tried, in order.
    pub candidates: Vec<Candidate>,
    /// Samples that were left out because they contradict others.
    pub left_out: Vec<Sample>,
    /// Those that it was fitted to, by area and window.
    pub samples: Vec<Sample>,
    fit: SeparableFit,
}

impl LevelFit {
    /// The time of a window of this size that lies wholly beyond the first `passed` knees, in nanoseconds.
    pub fn window_ns(&self, window: Bytes, passed: usize) -> f64 {
        let doubles = window.0 as f64 / 8.0;
        let beyond = self.knees.iter().take(passed).map(|knee| knee.window_ns + knee.double_ns * doubles);
        self.fastest.0 + self.fastest.1 * doubles + beyond.sum::<f64>()
    }

    /// Relative residuals, model less measurement, in the order of the samples.
    pub fn residuals(&self) -> &[f64] {
        self.fit.solution.residuals()
    }

    /// The model's time for each sample, in nanoseconds.
    pub fn fitted(&self) -> &[f64] {
        self.fit.solution.fitted()
    }

    /// Root mean square of the relative residuals, in percent.
    pub fn rms_pct(&self) -> f64 {
        self.fit.solution.rms_pct()
    }
}

/// Finds the levels behind `samples`: one after the other, each where it explains most, until another would explain too
/// little.
///
/// # Errors
/// Too few samples, or times that are not positive.
///
/// A window of a larger area takes no less. Samples that contradict others of their window size by that are left out.
pub fn choose_levels(samples: &[Sample]) -> Result<LevelFit, FitError> {
    let (samples, left_out) = consistent(samples);
    let samples = samples.as_slice();
    let observed: Vec<f64> = samples.iter().map(|sample| sample.ns).collect();
    let mut windows: Vec<u64> = samples.iter().map(|sample| sample.window.0).collect();
    windows.sort_unstable();
    windows.dedup();
    let search = Search { samples, observed: &observed, several_windows: windows.len() > 1 };
    Ok(LevelFit { left_out, ..search.run()? })
}

/// The samples without those that contradict others, and these.
fn consistent(samples: &[Sample]) -> (Vec<Sample>, Vec<Sample>) {
    let mut ordered = samples.to_vec();
    ordered.sort_by_key(|sample| (sample.window, sample.area));
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for of_window in ordered.chunk_by(|a, b| a.window == b.window) {
        let sizes: Vec<(u64, f64)> = of_window.iter().map(|sample| (sample.area.0, sample.ns)).collect();
        // Times that are not positive are refused by the fit.
        let outlying = match sizes.iter().all(|size| size.1 > 0.0) {
            true => Staircase::through(&sizes, usize::MAX).outlying,
            false => vec![false; sizes.len()],
        };
        for (sample, outlying) in of_window.iter().zip(outlying) {
            if outlying { left_out.push(*sample) } else { kept.push(*sample) }
        }
    }
    kept.sort_by_key(|sample| (sample.area, sample.window));
    (kept, left_out)
}

struct Search<'a> {
    samples: &'a [Sample],
    observed: &'a [f64],
    /// With a single window size, what a window costs and what a double word costs cannot be told apart.
    several_windows: bool,
}

/// The model with knees of these kinds.
struct Levels<'a> {
    search: &'a Search<'a>,
    kinds: &'a [KneeKind],
}

impl Levels<'_> {
    /// Columns of each knee: by window, and by double word.
    fn columns(&self, kind: KneeKind) -> usize {
        if kind == KneeKind::ByLine && self.search.several_windows { 2 } else { 1 }
    }
}

impl Separable for Levels<'_> {
    fn name(&self) -> &'static str {
        "levels"
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let areas = || self.search.samples.iter().map(|sample| sample.area.0 as f64);
        let (least, most) = (areas().fold(f64::INFINITY, f64::min), areas().fold(1.0, f64::max));
        vec![(least, most); self.kinds.len()]
    }

    fn design(&self, parameters: &[f64]) -> Vec<Vec<f64>> {
        let row = |sample: &Sample| {
            let (area, doubles) = (sample.area.0 as f64, sample.window.0 as f64 / 8.0);
            let mut row = vec![1.0];
            if self.search.several_windows {
                row.push(doubles);
            }
            for (kind, size) in self.kinds.iter().zip(parameters) {
                let share = share_beyond(*size, area);
                row.push(share);
                if self.columns(*kind) == 2 {
                    row.push(share * doubles);
                }
            }
            row
        };
        self.search.samples.iter().map(row).collect()
    }
}

impl Search<'_> {
    fn run(&self) -> Result<LevelFit, FitError> {
        let mut kinds: Vec<KneeKind> = Vec::new();
        let mut fit = minimise(&Levels { search: self, kinds: &kinds }, self.observed, &[vec![]])?;
        let mut bic = self.bic(&fit, &kinds);
        let mut candidates = vec![Candidate {
            knees: 0,
            bic,
            rms_pct: fit.solution.rms_pct(),
            verdict: "single level (baseline)".to_owned(),
        }];
        while kinds.len() < MOST_KNEES {
            let Some((more, richer)) = self.extended(&kinds, &fit)? else { break };
            let (knees, new_bic) = (more.len(), self.bic(&richer, &more));
            let refused = self.refusal(&more, &richer, bic - new_bic);
            let verdict = match &refused {
                Some(reason) => format!("rejected: {reason}"),
                None => format!("accepted: BIC decreases by {:.0}", bic - new_bic),
            };
            candidates.push(Candidate { knees, bic: new_bic, rms_pct: richer.solution.rms_pct(), verdict });
            if refused.is_some() {
                break;
            }
            (kinds, fit, bic) = (more, richer, new_bic);
        }
        let mut knees = self.knees(&kinds, &fit);
        knees.sort_by(|a, b| a.size.value.total_cmp(&b.size.value));
        let least = fit.solution.least_norm();
        let fastest = (least[0], if self.several_windows { least[1] } else { 0.0 });
        Ok(LevelFit { knees, fastest, candidates, left_out: Vec::new(), samples: self.samples.to_vec(), fit })
    }

    /// The best model with one knee more; `None` if there are too few samples for it.
    fn extended(
        &self,
        kinds: &[KneeKind],
        fit: &SeparableFit,
    ) -> Result<Option<(Vec<KneeKind>, SeparableFit)>, FitError> {
        let known: Vec<f64> = fit.parameters.iter().map(|(size, _)| *size).collect();
        let mut best: Option<(f64, Vec<KneeKind>, SeparableFit)> = None;
        for kind in [KneeKind::ByLine, KneeKind::ByWindow] {
            if kind == KneeKind::ByWindow && !self.several_windows {
                continue;
            }
            let more: Vec<KneeKind> = kinds.iter().copied().chain([kind]).collect();
            let model = Levels { search: self, kinds: &more };
            let starts = self.starts(&model, &known)?;
            if starts.is_empty() {
                continue;
            }
            let richer = minimise(&model, self.observed, &starts)?;
            let bic = self.bic(&richer, &more);
            if best.as_ref().is_none_or(|(least, ..)| bic < *least) {
                best = Some((bic, more, richer));
            }
        }
        Ok(best.map(|(_, more, richer)| (more, richer)))
    }

    /// The places for another knee that explain most while the others stay where they are.
    fn starts(&self, model: &Levels<'_>, known: &[f64]) -> Result<Vec<Vec<f64>>, FitError> {
        let mut areas: Vec<f64> = self.samples.iter().map(|sample| sample.area.0 as f64).collect();
        areas.sort_by(f64::total_cmp);
        areas.dedup();
        let mut tried = Vec::new();
        for pair in areas.windows(2) {
            let start: Vec<f64> = known.iter().copied().chain([(pair[0] * pair[1]).sqrt()]).collect();
            let design = model.design(&start);
            if design.first().map_or(0, Vec::len) + start.len() >= self.observed.len() {
                return Ok(Vec::new());
            }
            tried.push((solve("levels", &design, self.observed)?.sum_of_squares(), start));
        }
        tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        tried.truncate(STARTS);
        Ok(tried.into_iter().map(|(_, start)| start).collect())
    }

    /// The Bayesian information criterion: `n ln(RSS / n) + p ln n`.
    fn bic(&self, fit: &SeparableFit, kinds: &[KneeKind]) -> f64 {
        let model = Levels { search: self, kinds };
        let linear = 1 + usize::from(self.several_windows) + kinds.iter().map(|k| model.columns(*k)).sum::<usize>();
        let (n, p) = (self.observed.len() as f64, (linear + kinds.len()) as f64);
        n * (fit.solution.sum_of_squares() / n).max(MODEL_ERROR * MODEL_ERROR).ln() + p * n.ln()
    }

    /// Why the last knee of a model is not to be believed.
    fn refusal(&self, kinds: &[KneeKind], fit: &SeparableFit, gain: f64) -> Option<String> {
        if gain < LEAST_GAIN {
            return Some(format!("BIC decreases by {gain:.1}, less than {LEAST_GAIN:.0}"));
        }
        if fit.parameters.iter().any(|(_, error)| error.is_none()) {
            return Some("size of the level not determined".to_owned());
        }
        let windows = || self.samples.iter().map(|sample| sample.window.0);
        let (smallest, largest) = (windows().min().unwrap_or(0), windows().max().unwrap_or(0));
        let mut ordered = self.knees(kinds, fit);
        ordered.sort_by(|a, b| a.size.value.total_cmp(&b.size.value));
        if let Some(pair) = ordered.windows(2).find(|pair| pair[1].size.value < APART * pair[0].size.value) {
            let (one, other) = (pair[0].size.value, pair[1].size.value);
            return Some(format!("sizes {one:.0} and {other:.0} B are too close to be distinct levels"));
        }
        let least_step = LEAST_STEP.max(STEP_OVER_SCATTER * fit.solution.rms_pct() / 100.0);
        let mut before = [smallest, largest].map(|window| self.fastest_ns(fit, window));
        for knee in &ordered {
            let steps = [smallest, largest].map(|window| knee.window_ns + knee.double_ns * window as f64 / 8.0);
            let shares = [steps[0] / before[0], steps[1] / before[1]];
            let (least, most) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
            if most < least_step || least < -LEAST_STEP {
                let (size, least, most) = (knee.size.value, least * 100.0, most * 100.0);
                return Some(format!("beyond {size:.0} B, windows would take {least:.1} to {most:.1} % longer"));
            }
            before = [before[0] + steps[0], before[1] + steps[1]];
        }
        None
    }

    fn fastest_ns(&self, fit: &SeparableFit, window: u64) -> f64 {
        let least = fit.solution.least_norm();
        least[0] + if self.several_windows { least[1] * window as f64 / 8.0 } else { 0.0 }
    }

    fn knees(&self, kinds: &[KneeKind], fit: &SeparableFit) -> Vec<Knee> {
        let model = Levels { search: self, kinds };
        let coefficients = fit.solution.least_norm();
        let mut column = 1 + usize::from(self.several_windows);
        let mut knees = Vec::new();
        for (&kind, &(value, error)) in kinds.iter().zip(&fit.parameters) {
            let columns = model.columns(kind);
            let double_ns = if columns == 2 { coefficients[column + 1] } else { 0.0 };
            let size = error.unwrap_or(Uncertain { value, error: f64::INFINITY });
            knees.push(Knee { kind, size, window_ns: coefficients[column], double_ns });
            column += columns;
        }
        knees
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    /// 48 KiB, 2 MiB and 32 MiB of data, 6 MiB of translations.
    fn truth(area: f64, window: f64) -> f64 {
        let doubles = window / 8.0;
        20.0 + 0.4 * doubles
            + 0.5 * doubles * share_beyond(49152.0, area)
            + 1.5 * doubles * share_beyond(2097152.0, area)
            + 40.0 * share_beyond(6291456.0, area)
            + (30.0 + 3.0 * doubles) * share_beyond(33554432.0, area)
    }

    fn samples(noise: f64) -> Vec<Sample> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        // The sum of twelve uniform numbers is close to normal, with variance one.
        let mut normal = || (0..12).map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0;
        let mut samples = Vec::new();
        for i in 4..=36 {
            for window in [1024u64, 2048, 4096] {
                let area = (4096.0 * 2f64.powf(f64::from(i) / 2.0)) as u64 / window * window;
                let ns = truth(area as f64, window as f64) * (1.0 + noise * normal());
                samples.push(Sample { area: Bytes(area), window: Bytes(window), ns });
            }
        }
        samples
    }

    fn sizes(fit: &LevelFit, kind: KneeKind) -> Vec<f64> {
        fit.knees.iter().filter(|knee| knee.kind == kind).map(|knee| knee.size.value).collect()
    }

    #[test]
    fn noisy_levels_are_found_without_being_told_how_many() {
        let fit = choose_levels(&samples(0.01)).expect("a fit");
        let data = sizes(&fit, KneeKind::ByLine);
        assert_eq!(data.len(), 3, "{:#?}", fit.candidates);
        for (found, truth) in data.iter().zip([49152.0, 2097152.0, 33554432.0]) {
            assert!((found / truth - 1.0).abs() < 0.15, "{found} for {truth}");
        }
        assert!(fit.rms_pct() < 1.5);
        assert!(fit.candidates.last().expect("some").verdict.starts_with("rejected"));
    }

    #[test]
    fn what_is_paid_by_window_is_told_from_what_is_paid_by_line() {
        let fit = choose_levels(&samples(0.0)).expect("a fit");
        let translations = sizes(&fit, KneeKind::ByWindow);
        assert_eq!(translations.len(), 1, "{:#?}", fit.knees);
        assert!((translations[0] / 6291456.0 - 1.0).abs() < 0.05, "{translations:?}");
        let beyond_all = fit.window_ns(Bytes(1024), fit.knees.len());
        let expected = 20.0 + 0.4 * 128.0 + 0.5 * 128.0 + 1.5 * 128.0 + 40.0 + 30.0 + 3.0 * 128.0;
        assert!((beyond_all / expected - 1.0).abs() < 0.02, "{beyond_all} for {expected}");
    }

    #[test]
    fn windows_that_were_disturbed_make_no_levels() {
        let disturbed: Vec<Sample> = samples(0.01)
            .into_iter()
            .enumerate()
            .map(|(i, sample)| Sample {
                ns: sample.ns * if i % 11 == 5 { 2.0 + (i % 7) as f64 } else { 1.0 },
                ..sample
            })
            .collect();
        let fit = choose_levels(&disturbed).expect("a fit");
        let data = sizes(&fit, KneeKind::ByLine);
        assert_eq!(data.len(), 3, "{:#?}", fit.candidates);
        for (found, truth) in data.iter().zip([49152.0, 2097152.0, 33554432.0]) {
            assert!((found / truth - 1.0).abs() < 0.25, "{found} for {truth}");
        }
        assert!(fit.left_out.len() >= 7, "{}", fit.left_out.len());
        assert_eq!(fit.left_out.len() + fit.samples.len(), disturbed.len());
    }

    #[test]
    fn a_flat_sweep_has_one_level() {
        let flat: Vec<Sample> = samples(0.01)
            .into_iter()
            .enumerate()
            .map(|(i, sample)| Sample { ns: 100.0 + if i % 3 == 0 { 0.5 } else { -0.5 }, ..sample })
            .collect();
        let fit = choose_levels(&flat).expect("a fit");
        assert!(fit.knees.is_empty(), "{:?}", fit.knees);
    }
}
