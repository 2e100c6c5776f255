//! The Jacobian of two grids: how one carries the other along.

/// The Jacobian of two grids, the mean of three forms, which keeps energy and enstrophy (Arakawa 1966). Their values around a
/// point come row by row.
pub fn jacobian(currents: &[[f64; 3]; 3], spins: &[[f64; 3]; 3], distance: f64) -> f64 {
    let [[nw, n, ne], [w, _, e], [sw, s, se]] = *currents;
    let [[a, b, c], [d, _, f], [g, h, i]] = *spins;
    let crossed = (e - w) * (h - b) - (s - n) * (f - d);
    let of_current = e * (i - c) - w * (g - a) - s * (i - g) + n * (c - a);
    let of_spin = h * (se - sw) - b * (ne - nw) - f * (se - ne) + d * (sw - nw);
    (crossed + of_current + of_spin) / (12.0 * distance * distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exact but for errors that go with the square of the distance; and one form changes places with another if the grids do.
    #[test]
    fn the_jacobian_is_that_of_polynomials() {
        for (distance, error) in [(0.5, 0.1), (0.005, 1e-5)] {
            let around = |value: fn(f64, f64) -> f64, x: f64, y: f64| {
                let at = |number: usize| (number as f64 - 1.0) * distance;
                std::array::from_fn(|row| std::array::from_fn(|column| value(x + at(column), y + at(row))))
            };
            let (one, other) = (around(|x, y| x * x + y, 3.0, 2.0), around(|x, y| x * y, 3.0, 2.0));
            let (found, swapped) = (jacobian(&one, &other, distance), jacobian(&other, &one, distance));
            // 2x times x, less 1 times y.
            assert!((found - 16.0).abs() < error, "{found}");
            assert!((found + swapped).abs() < 1e-9, "{found} {swapped}");
        }
    }
}
