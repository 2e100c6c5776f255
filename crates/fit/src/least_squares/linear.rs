//! Linear least squares by singular values: estimates, their errors, and which combinations the data do not determine.

use nalgebra::{DMatrix, DVector};

use crate::FitError;

/// Singular values below this share of the largest belong to combinations that the data say nothing about. Far above the
/// rounding of double precision (1e-16) and far below what noise makes of a combination that is merely badly known.
const RANK_TOLERANCE: f64 = 1e-9;

/// A value and its standard error, in the same unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Uncertain {
    /// The estimate.
    pub value: f64,
    /// Its standard error: the square root of its variance if the residuals are independent and the model is right.
    pub error: f64,
}

/// The solution of a linear least-squares problem.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The solution with the least Euclidean norm of all that fit equally well.
    least_norm: DVector<f64>,
    /// Orthonormal combinations of coefficients that can be added to a solution without changing any fitted value.
    undetermined: Vec<DVector<f64>>,
    /// Generalised inverse of the normal matrix: covariances for a residual variance of one.
    inverse: DMatrix<f64>,
    fitted: Vec<f64>,
    /// Relative residuals: (fitted - observed) / observed.
    residuals: Vec<f64>,
    freedom: usize,
}

/// Solves `design * coefficients = observed` in the sense of least relative squares; `design` has a row for each
/// observation and a column for each coefficient.
///
/// # Errors
/// When there are fewer observations than coefficients, or an observation is not a positive number.
pub fn solve(model: &'static str, design: &[Vec<f64>], observed: &[f64]) -> Result<Solution, FitError> {
    let parameters = design.first().map_or(0, Vec::len);
    if parameters == 0 || observed.len() < parameters {
        return Err(FitError::TooFewPoints { model, points: observed.len(), parameters });
    }
    let bad = observed.iter().position(|value| !value.is_finite() || *value <= 0.0);
    if let Some(index) = bad {
        return Err(FitError::BadTime { model, index, value: observed[index] });
    }
    Ok(decompose(design, observed, parameters))
}

fn decompose(design: &[Vec<f64>], observed: &[f64], parameters: usize) -> Solution {
    let rows = observed.len();
    let weighted = DMatrix::from_fn(rows, parameters, |i, j| design[i][j] / observed[i]);
    // Columns of one length: which combination is undetermined must not depend on units.
    let scale = DVector::from_fn(parameters, |j, _| match weighted.column(j).norm() {
        norm if norm > 0.0 => norm,
        _ => 1.0,
    });
    let scaled = DMatrix::from_fn(rows, parameters, |i, j| weighted[(i, j)] / scale[j]);
    let decomposition = scaled.svd(true, true);
    let (left, right) = (decomposition.u.expect("asked for"), decomposition.v_t.expect("asked for"));
    let singular = decomposition.singular_values;
    let limit = singular.max() * RANK_TOLERANCE;
    let projected = left.transpose() * DVector::from_element(rows, 1.0);
    let mut coefficients = DVector::zeros(parameters);
    let mut inverse = DMatrix::zeros(parameters, parameters);
    let mut undetermined: Vec<DVector<f64>> = Vec::new();
    for (k, &value) in singular.iter().enumerate() {
        let direction = right.row(k).transpose().component_div(&scale);
        if value > limit {
            coefficients += &direction * (projected[k] / value);
            inverse += &direction * direction.transpose() / (value * value);
        } else {
            add_orthonormal(&mut undetermined, direction);
        }
    }
    for direction in &undetermined {
        let along = direction.dot(&coefficients);
        coefficients -= direction * along;
    }
    let fitted: Vec<f64> =
        design.iter().map(|row| row.iter().zip(coefficients.iter()).map(|(a, c)| a * c).sum()).collect();
    let residuals = fitted.iter().zip(observed).map(|(fitted, observed)| (fitted - observed) / observed).collect();
    let freedom = rows - (parameters - undetermined.len());
    Solution { least_norm: coefficients, undetermined, inverse, fitted, residuals, freedom }
}

/// Gram-Schmidt: adds the part of `direction` that is new.
fn add_orthonormal(basis: &mut Vec<DVector<f64>>, mut direction: DVector<f64>) {
    direction.normalize_mut();
    for known in basis.iter() {
        let along = known.dot(&direction);
        direction -= known * along;
    }
    if direction.norm() > RANK_TOLERANCE {
        basis.push(direction.normalize());
    }
}

impl Solution {
    /// The coefficients of the solution with the least norm: where the data leave a choice, it is this one, as good as
    /// any other. What they determine is told by [`Solution::coefficient`] and [`Solution::combination`].
    pub fn least_norm(&self) -> &[f64] {
        self.least_norm.as_slice()
    }

    /// A coefficient, if the data determine it.
    pub fn coefficient(&self, index: usize) -> Option<Uncertain> {
        let mut weights = vec![0.0; self.least_norm.len()];
        weights[index] = 1.0;
        self.combination(&weights)
    }

    /// The sum of coefficients times `weights`, if the data determine it.
    pub fn combination(&self, weights: &[f64]) -> Option<Uncertain> {
        const SMALL: f64 = 1e-6;
        let weights = DVector::from_column_slice(weights);
        if self.undetermined.iter().any(|direction| direction.dot(&weights).abs() > SMALL * weights.norm()) {
            return None;
        }
        let variance = (weights.transpose() * &self.inverse * &weights)[(0, 0)] * self.variance();
        Some(Uncertain { value: weights.dot(&self.least_norm), error: variance.max(0.0).sqrt() })
    }

    /// The correlation of two coefficients' errors, from -1 to 1, if both are determined.
    pub fn correlation(&self, one: usize, other: usize) -> Option<f64> {
        self.coefficient(one)?;
        self.coefficient(other)?;
        let scale = (self.inverse[(one, one)] * self.inverse[(other, other)]).sqrt();
        (scale > 0.0).then(|| self.inverse[(one, other)] / scale)
    }

    /// Combinations that leave every fitted value as it is, of norm one.
    pub fn undetermined(&self) -> impl Iterator<Item = &[f64]> {
        self.undetermined.iter().map(|direction| direction.as_slice())
    }

    /// The solution's value at each point, in the order and unit of the observations.
    pub fn fitted(&self) -> &[f64] {
        &self.fitted
    }

    /// Relative residuals, fitted less observed.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Sum of the squared relative residuals: what is least.
    pub fn sum_of_squares(&self) -> f64 {
        self.residuals.iter().map(|residual| residual * residual).sum()
    }

    /// Root mean square of the relative residuals, in percent.
    pub fn rms_pct(&self) -> f64 {
        (self.sum_of_squares() / self.residuals.len() as f64).sqrt() * 100.0
    }

    /// The residual variance: squares over degrees of freedom.
    fn variance(&self) -> f64 {
        self.sum_of_squares() / self.freedom.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_lines_through_noise_have_the_textbook_error() {
        // y = c with relative noise: the estimate is the (weighted) mean, its variance that of the residuals over n.
        let observed = [0.9, 1.1, 1.0, 1.0];
        let solution = solve("test", &vec![vec![1.0]; 4], &observed).expect("four points");
        let weights: Vec<f64> = observed.iter().map(|y| 1.0 / (y * y)).collect();
        let total: f64 = weights.iter().sum();
        let mean = weights.iter().zip(observed).map(|(w, y)| w * y).sum::<f64>() / total;
        let squares: f64 = observed.iter().map(|y| ((mean - y) / y).powi(2)).sum();
        let found = solution.coefficient(0).expect("determined");
        assert!((found.value - mean).abs() < 1e-12);
        assert!((found.error - (squares / 3.0 / total).sqrt()).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn what_the_data_leave_open_is_said_and_split_by_least_norm() {
        // a + c and b + c are seen, a, b and c are not: the case of Seidl's hubs and memory.
        let design = [vec![1.0, 0.0, 1.0], vec![0.0, 1.0, 1.0], vec![1.0, 0.0, 1.0]];
        let solution = solve("test", &design, &[578.0, 826.0, 578.0]).expect("three points");
        assert!((0..3).all(|index| solution.coefficient(index).is_none()));
        let sum = solution.combination(&[1.0, 0.0, 1.0]).expect("seen");
        assert!((sum.value - 578.0).abs() < 1e-9 && sum.error < 1e-9, "{sum:?}");
        let difference = solution.combination(&[-1.0, 1.0, 0.0]).expect("follows");
        assert!((difference.value - 248.0).abs() < 1e-9);
        assert_eq!(solution.undetermined().count(), 1);
        // Table 1 of Seidl 1997 prints 110, 358 and 468 ns: to the digit the solution with the least norm.
        let rounded: Vec<f64> = solution.least_norm().iter().map(|value| value.round()).collect();
        assert_eq!(rounded, [110.0, 358.0, 468.0]);
    }

    #[test]
    fn impossible_data_are_refused() {
        let few = solve("test", &[vec![1.0, 2.0]], &[1.0]).expect_err("one point, two coefficients");
        assert!(few.to_string().contains("1 points cannot determine 2"), "{few}");
        let bad = solve("test", &[vec![1.0], vec![1.0]], &[1.0, -3.0]).expect_err("a negative time");
        assert!(bad.to_string().contains("-3 ns at point 1"), "{bad}");
    }

    proptest! {
        #[test]
        fn an_exact_system_is_recovered(truth in prop::collection::vec(0.5..50.0f64, 3), rows in prop::collection::vec(prop::collection::vec(0.1..9.0f64, 3), 6..20)) {
            let observed: Vec<f64> = rows.iter().map(|row| row.iter().zip(&truth).map(|(a, t)| a * t).sum()).collect();
            let solution = solve("test", &rows, &observed).unwrap();
            prop_assert!(solution.rms_pct() < 1e-6);
            for (index, truth) in truth.iter().enumerate() {
                if let Some(found) = solution.coefficient(index) {
                    prop_assert!((found.value - truth).abs() < 1e-4 * truth, "{found:?} for {truth}");
                }
            }
        }
    }
}
