//! A step towards values whose model fits better, where data leave some values almost free.

use nalgebra::{DMatrix, DVector};

/// The change of values that makes up best for what is `missing` of each observation, where `slopes` has by observation and value
/// how the model's figure changes with it. Each value is also pulled by its `pull` towards where it is `from_default` away from: as one
/// more observation of the value itself would (Levenberg 1944, Marquardt 1963, with a fixed damping). What no observation depends on
/// goes to its default.
///
/// # Panics
/// When the lengths do not match.
pub fn damped_step(slopes: &[Vec<f64>], missing: &[f64], pull: &[f64], from_default: &[f64]) -> Vec<f64> {
    let (rows, columns) = (missing.len(), pull.len());
    assert!(slopes.len() == rows && from_default.len() == columns, "{rows} observations of {columns} values");
    let system = DMatrix::from_fn(rows + columns, columns, |row, column| match row.checked_sub(rows) {
        None => slopes[row][column],
        Some(value) if value == column => pull[value],
        Some(_) => 0.0,
    });
    let wanted = DVector::from_fn(rows + columns, |row, _| match row.checked_sub(rows) {
        None => missing[row],
        Some(value) => pull[value] * from_default[value],
    });
    let normal = system.transpose() * &system;
    let right = system.transpose() * wanted;
    // Pulls make it positive definite, unless one is zero and nothing depends on its value.
    normal.cholesky().map_or_else(|| vec![0.0; columns], |factors| factors.solve(&right).as_slice().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_observed_is_met_and_the_rest_stays_at_its_default() {
        let slopes = vec![vec![1.0, 1.0, 0.0], vec![1.0, 0.0, 0.0]];
        let step = damped_step(&slopes, &[3.0, 1.0], &[1e-6; 3], &[0.0, 0.0, 7.0]);
        let expected = [1.0, 2.0, 7.0];
        assert!(step.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{step:?}");
    }

    #[test]
    fn of_two_values_that_only_a_sum_tells_both_change_alike() {
        let step = damped_step(&[vec![1.0, 1.0]], &[2.0], &[1e-4; 2], &[0.0; 2]);
        assert!((step[0] - 1.0).abs() < 1e-6 && (step[1] - 1.0).abs() < 1e-6, "{step:?}");
    }
}
