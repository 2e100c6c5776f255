//! Series that stand for many masses, seen from outside and from inside (Greengard and Rokhlin 1987, section 2).
//!
//! A mass q at place s has the potential q log |z - s|. The complex logarithm is expanded; its real part is the potential, and
//! its derivative q / (z - s) the field.

use num_complex::Complex64;

/// A series: outside, of the logarithm and of inverse powers; inside, of powers; about the centre of a box.
pub type Series = Vec<Complex64>;

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// Series of a number of terms beside the first.
#[derive(Clone, Debug)]
pub struct Expansion {
    terms: usize,
    /// Pascal's triangle.
    binomials: Vec<Vec<f64>>,
}

impl Expansion {
    /// Series of `terms` terms beside the first.
    pub fn new(terms: usize) -> Self {
        let mut binomials = vec![vec![1.0]];
        for row in 1..2 * terms {
            let above: &Vec<f64> = &binomials[row - 1];
            let inner = above.windows(2).map(|pair| pair[0] + pair[1]);
            binomials.push([1.0].into_iter().chain(inner).chain([1.0]).collect());
        }
        Self { terms, binomials }
    }

    /// A series that is nothing.
    pub fn zero(&self) -> Series {
        vec![ZERO; self.terms + 1]
    }

    /// Adds a mass at a distance from the centre to what is seen from outside.
    pub fn add_mass(&self, series: &mut Series, distance: Complex64, mass: f64) {
        series[0] += mass;
        let mut power = Complex64::from(-mass);
        for (number, term) in series.iter_mut().enumerate().skip(1) {
            power *= distance;
            *term += power / number as f64;
        }
    }

    /// Adds what is seen from outside about another centre, which is at `distance` from this one (Lemma 2.3).
    pub fn add_outside(&self, series: &mut Series, other: &Series, distance: Complex64) {
        let powers = self.powers(distance);
        series[0] += other[0];
        for number in 1..=self.terms {
            let mut sum = -other[0] * powers[number] / number as f64;
            for from in 1..=number {
                sum += other[from] * powers[number - from] * self.binomials[number - 1][from - 1];
            }
            series[number] += sum;
        }
    }

    /// Adds to what is seen from inside what masses do that are seen from outside about a centre at `distance` (Lemma 2.4).
    pub fn add_apart(&self, series: &mut Series, other: &Series, distance: Complex64) {
        let inverse = self.powers(distance.inv());
        // The signs of odd powers change.
        let scaled: Series =
            (0..=self.terms).map(|from| other[from] * inverse[from] * if from % 2 == 0 { 1.0 } else { -1.0 }).collect();
        series[0] += other[0] * (-distance).ln() + scaled[1..].iter().sum::<Complex64>();
        for number in 1..=self.terms {
            let mut sum = -other[0] / number as f64;
            for (from, part) in scaled.iter().enumerate().skip(1) {
                sum += part * self.binomials[number + from - 1][from - 1];
            }
            series[number] += sum * inverse[number];
        }
    }

    /// Adds what is seen from inside about another centre, from which this one is at `distance` (Lemma 2.5).
    pub fn add_inside(&self, series: &mut Series, other: &Series, distance: Complex64) {
        let powers = self.powers(distance);
        for number in 0..=self.terms {
            for from in number..=self.terms {
                series[number] += other[from] * powers[from - number] * self.binomials[from][number];
            }
        }
    }

    /// Potential and field at a distance from the centre of a series that is seen from inside.
    pub fn inside(&self, series: &Series, distance: Complex64) -> (f64, Complex64) {
        let (mut potential, mut field) = (ZERO, ZERO);
        for term in series.iter().rev() {
            field = field * distance + potential;
            potential = potential * distance + term;
        }
        (potential.re, field)
    }

    fn powers(&self, base: Complex64) -> Series {
        std::iter::successors(Some(Complex64::from(1.0)), |power| Some(power * base)).take(self.terms + 1).collect()
    }
}

/// Potential and field of a mass at a distance from the place where they are wanted.
pub fn direct(distance: Complex64, mass: f64) -> (f64, Complex64) {
    (mass * distance.norm_sqr().ln() / 2.0, mass * distance.inv())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masses in a box, seen from outside, shifted, seen from a box apart, shifted there: what they do is what each does.
    #[test]
    fn masses_do_what_their_series_say() {
        let expansion = Expansion::new(30);
        let at = Complex64::new;
        let masses = [(at(0.1, 0.2), 1.0), (at(-0.3, 0.4), 0.5), (at(0.4, -0.45), 2.0)];
        let shift = at(0.5, -0.5);
        let (mut small, mut large) = (expansion.zero(), expansion.zero());
        masses.iter().for_each(|&(place, mass)| expansion.add_mass(&mut small, place, mass));
        expansion.add_outside(&mut large, &small, shift);
        // Around the larger centre at -shift, another larger box is apart.
        let apart = at(4.0, 2.0);
        let (mut there, mut inner) = (expansion.zero(), expansion.zero());
        expansion.add_apart(&mut there, &large, -apart);
        expansion.add_inside(&mut inner, &there, shift);
        for wanted in [at(0.0, 0.0), at(0.3, -0.2), at(-0.5, 0.5)] {
            let (potential, field) = expansion.inside(&inner, wanted);
            let place = apart - shift + shift + wanted;
            let exact = masses.iter().map(|&(from, mass)| direct(place - from, mass));
            let (sum, sum_field) = exact.fold((0.0, ZERO), |sum, each| (sum.0 + each.0, sum.1 + each.1));
            assert!((potential - sum).abs() < 1e-9, "{potential} {sum}");
            assert!((field - sum_field).norm() < 1e-9, "{field} {sum_field}");
        }
    }
}
