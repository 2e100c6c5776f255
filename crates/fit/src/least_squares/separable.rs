//! Models that are linear but for a few parameters, such as the sizes at which a hierarchy's levels end: the linear part is
//! solved exactly for every trial of the others (Golub and Pereyra's separable least squares), which the
//! Levenberg-Marquardt method moves.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};

use super::linear::{Solution, Uncertain, solve};
use crate::FitError;

/// A model of positive, bounded parameters that enter non-linearly, and coefficients that enter linearly.
pub trait Separable {
    /// The model's name in errors.
    fn name(&self) -> &'static str;

    /// The least and the largest value of each non-linear parameter; all positive.
    fn bounds(&self) -> Vec<(f64, f64)>;

    /// A row for each observation, a column for each linear coefficient.
    fn design(&self, parameters: &[f64]) -> Vec<Vec<f64>>;
}

/// A fitted separable model.
#[derive(Clone, Debug)]
pub struct SeparableFit {
    /// The non-linear parameters with their standard errors; `None` where moving one changes no fitted value.
    pub parameters: Vec<(f64, Option<Uncertain>)>,
    /// The linear coefficients. Their errors allow for those of the non-linear parameters.
    pub solution: Solution,
}

/// Fits `model` to `observed`, beginning at each of `starts` and keeping the best.
///
/// Parameters are searched as logistic functions between the logarithms of their bounds, so that every step stays within
/// them and sizes from kibibytes to gibibytes are moved alike.
///
/// # Errors
/// When no start leads to a solution: too few observations, or times that are not positive.
pub fn minimise(model: &dyn Separable, observed: &[f64], starts: &[Vec<f64>]) -> Result<SeparableFit, FitError> {
    let name = model.name();
    let mut best: Option<(f64, Vec<f64>)> = None;
    for start in starts {
        let linear = solve(name, &model.design(start), observed)?;
        let mut candidate = (linear.sum_of_squares(), start.clone());
        if !start.is_empty() {
            let problem = Problem::new(model, observed, start);
            let (found, _) = LevenbergMarquardt::new().with_patience(40).minimize(problem);
            let parameters = found.parameters();
            let squares = solve(name, &model.design(&parameters), observed)?.sum_of_squares();
            if squares < candidate.0 {
                candidate = (squares, parameters);
            }
        }
        if best.as_ref().is_none_or(|(squares, _)| candidate.0 < *squares) {
            best = Some(candidate);
        }
    }
    let (_, parameters) = best.ok_or(FitError::TooFewPoints { model: name, points: observed.len(), parameters: 0 })?;
    finish(model, observed, parameters)
}

/// Errors of all parameters together: the model made linear around the solution, non-linear parameters by logarithm.
fn finish(model: &dyn Separable, observed: &[f64], parameters: Vec<f64>) -> Result<SeparableFit, FitError> {
    let name = model.name();
    let design = model.design(&parameters);
    let coefficients = solve(name, &design, observed)?.least_norm().to_vec();
    let slopes: Vec<Vec<f64>> =
        (0..parameters.len()).map(|index| slope(model, &parameters, &coefficients, index)).collect();
    let joint: Vec<Vec<f64>> = design
        .iter()
        .enumerate()
        .map(|(row, linear)| linear.iter().copied().chain(slopes.iter().map(|slope| slope[row])).collect())
        .collect();
    let solution = solve(name, &joint, observed)?;
    let linear = coefficients.len();
    let parameters = parameters.iter().enumerate().map(|(index, &value)| {
        let error = solution.coefficient(linear + index).map(|log| log.error * value);
        (value, error.map(|error| Uncertain { value, error }))
    });
    Ok(SeparableFit { parameters: parameters.collect(), solution })
}

/// How the fitted values change with the logarithm of a non-linear parameter.
fn slope(model: &dyn Separable, parameters: &[f64], coefficients: &[f64], index: usize) -> Vec<f64> {
    const STEP: f64 = 1e-4;
    let at = |factor: f64| {
        let mut moved = parameters.to_vec();
        moved[index] *= factor;
        let product = |row: Vec<f64>| row.iter().zip(coefficients).map(|(a, c)| a * c).sum::<f64>();
        model.design(&moved).into_iter().map(product).collect::<Vec<f64>>()
    };
    let (above, below) = (at(STEP.exp()), at((-STEP).exp()));
    above.iter().zip(below).map(|(above, below)| (above - below) / (2.0 * STEP)).collect()
}

/// The search over the non-linear parameters.
struct Problem<'a> {
    model: &'a dyn Separable,
    observed: &'a [f64],
    bounds: Vec<(f64, f64)>,
    free: DVector<f64>,
}

impl<'a> Problem<'a> {
    fn new(model: &'a dyn Separable, observed: &'a [f64], start: &[f64]) -> Self {
        let bounds = model.bounds();
        let free = DVector::from_iterator(start.len(), start.iter().zip(&bounds).map(|(&p, &b)| unbounded(p, b)));
        Self { model, observed, bounds, free }
    }

    fn parameters(&self) -> Vec<f64> {
        self.free.iter().zip(&self.bounds).map(|(&u, &b)| bounded(u, b)).collect()
    }

    fn residuals_at(&self, free: &DVector<f64>) -> Option<DVector<f64>> {
        let parameters: Vec<f64> = free.iter().zip(&self.bounds).map(|(&u, &b)| bounded(u, b)).collect();
        let solution = solve(self.model.name(), &self.model.design(&parameters), self.observed).ok()?;
        Some(DVector::from_column_slice(solution.residuals()))
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, free: &DVector<f64>) {
        self.free.copy_from(free);
    }

    fn params(&self) -> DVector<f64> {
        self.free.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.residuals_at(&self.free)
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        const STEP: f64 = 1e-4;
        let mut columns = Vec::new();
        for index in 0..self.free.len() {
            let (mut above, mut below) = (self.free.clone(), self.free.clone());
            above[index] += STEP;
            below[index] -= STEP;
            columns.push((self.residuals_at(&above)? - self.residuals_at(&below)?) / (2.0 * STEP));
        }
        Some(DMatrix::from_columns(&columns))
    }
}

/// A value within its bounds, from any number.
fn bounded(free: f64, (least, most): (f64, f64)) -> f64 {
    let share = 1.0 / (1.0 + (-free).exp());
    least * (most / least).powf(share)
}

/// The number that [`bounded`] makes this value of; the bounds themselves are kept at a small distance.
fn unbounded(value: f64, (least, most): (f64, f64)) -> f64 {
    let share = ((value / least).ln() / (most / least).ln()).clamp(1e-3, 1.0 - 1e-3);
    (share / (1.0 - share)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `c + d * max(0, 1 - k / x)`: a level that ends at `k`.
    struct Knee(Vec<f64>);

    impl Separable for Knee {
        fn name(&self) -> &'static str {
            "knee"
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(1.0, 4096.0)]
        }
        fn design(&self, parameters: &[f64]) -> Vec<Vec<f64>> {
            self.0.iter().map(|x| vec![1.0, (1.0 - parameters[0] / x).max(0.0)]).collect()
        }
    }

    fn areas() -> Vec<f64> {
        (0..24).map(|i| 2f64.powf(f64::from(i) / 2.0)).collect()
    }

    #[test]
    fn a_knee_is_found_from_a_distant_start() {
        let truth = |x: &f64| 10.0 + 70.0 * (1.0 - 90.0 / x).max(0.0);
        let observed: Vec<f64> = areas().iter().map(truth).collect();
        let fit = minimise(&Knee(areas()), &observed, &[vec![8.0], vec![512.0]]).expect("a fit");
        let (knee, error) = fit.parameters[0];
        assert!((knee - 90.0).abs() < 0.1, "{knee}");
        assert!(error.is_some_and(|error| error.error < 0.1));
        assert!((fit.solution.coefficient(1).expect("determined").value - 70.0).abs() < 0.1);
    }

    #[test]
    fn a_knee_beyond_the_data_is_not_determined() {
        let observed = vec![10.0; areas().len()];
        let fit = minimise(&Knee(areas()), &observed, &[vec![4000.0]]).expect("a fit");
        assert!(fit.parameters[0].1.is_none(), "{:?}", fit.parameters);
    }

    #[test]
    fn bounds_hold_and_values_come_back() {
        let bounds = (4.0, 1e9);
        for value in [5.0, 1e3, 9e8] {
            assert!((bounded(unbounded(value, bounds), bounds) / value - 1.0).abs() < 1e-9);
        }
        assert!(bounded(1e6, bounds) <= 1e9 * 1.000001 && bounded(-1e6, bounds) >= 4.0 * 0.999999);
    }
}
