//! Series that stand for many masses, seen from outside and from inside (Greengard and Rokhlin 1987, section 2).
//!
//! A mass q at place s has the potential q log |z - s|. The complex logarithm is expanded; its real part is the potential, and
//! its derivative q / (z - s) the field.

use num_complex::Complex64;

/// The most terms that a series may have.
pub const MOST_TERMS: usize = 40;

/// A series about the centre of a box: seen from outside, a logarithm and inverse powers; seen from inside, powers.
pub type Series = [Complex64; MOST_TERMS];

const NOTHING: Complex64 = Complex64::new(0.0, 0.0);

/// A series that is nothing.
pub const ZERO: Series = [NOTHING; MOST_TERMS];

/// Series of a number of terms, the first included.
#[derive(Clone, Debug)]
pub struct Expansion {
    pub terms: usize,
    /// Pascal's triangle.
    binomials: Vec<Vec<f64>>,
}

impl Expansion {
    /// Series of `terms` terms.
    pub fn new(terms: usize) -> Self {
        let mut binomials = vec![vec![1.0]];
        for row in 1..2 * terms {
            let above: &Vec<f64> = &binomials[row - 1];
            let inner = above.windows(2).map(|pair| pair[0] + pair[1]);
            binomials.push([1.0].into_iter().chain(inner).chain([1.0]).collect());
        }
        Self { terms, binomials }
    }

    /// Adds a mass at a distance from the centre to what is seen from outside.
    pub fn add_mass(&self, series: &mut Series, distance: Complex64, mass: f64) {
        series[0] += mass;
        let mut power = Complex64::from(-mass);
        for (number, term) in series[..self.terms].iter_mut().enumerate().skip(1) {
            power *= distance;
            *term += power / number as f64;
        }
    }

    /// Adds a mass that is outside, at a distance from the centre, to what is seen from inside.
    pub fn add_mass_outside(&self, series: &mut Series, distance: Complex64, mass: f64) {
        let inverse = distance.inv();
        series[0] += mass * (-distance).ln();
        let mut power = Complex64::from(-mass);
        for (number, term) in series[..self.terms].iter_mut().enumerate().skip(1) {
            power *= inverse;
            *term += power / number as f64;
        }
    }

    /// Adds what is seen from outside about another centre, which is at `distance` from this one (Lemma 2.3).
    pub fn add_outside(&self, series: &mut Series, other: &Series, distance: Complex64) {
        let powers = self.powers(distance);
        series[0] += other[0];
        for number in 1..self.terms {
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
        let mut scaled = ZERO;
        for from in 0..self.terms {
            scaled[from] = other[from] * inverse[from] * if from % 2 == 0 { 1.0 } else { -1.0 };
        }
        series[0] += other[0] * (-distance).ln() + scaled[1..].iter().sum::<Complex64>();
        for number in 1..self.terms {
            let mut sum = -other[0] / number as f64;
            for (from, part) in scaled[..self.terms].iter().enumerate().skip(1) {
                sum += part * self.binomials[number + from - 1][from - 1];
            }
            series[number] += sum * inverse[number];
        }
    }

    /// Adds what is seen from inside about another centre, from which this one is at `distance` (Lemma 2.5).
    pub fn add_inside(&self, series: &mut Series, other: &Series, distance: Complex64) {
        let powers = self.powers(distance);
        for number in 0..self.terms {
            for from in number..self.terms {
                series[number] += other[from] * powers[from - number] * self.binomials[from][number];
            }
        }
    }

    /// Field at a distance from the centre of a series that is seen from inside.
    pub fn inside(&self, series: &Series, distance: Complex64) -> Complex64 {
        let terms = series[..self.terms].iter().enumerate().skip(1).rev();
        terms.fold(NOTHING, |field, (number, term)| field * distance + term * number as f64)
    }

    /// Field at a distance from the centre of a series that is seen from outside.
    pub fn outside(&self, series: &Series, distance: Complex64) -> Complex64 {
        let inverse = distance.inv();
        let terms = series[..self.terms].iter().enumerate().skip(1).rev();
        let powers = terms.fold(NOTHING, |field, (number, term)| (field - term * number as f64) * inverse);
        (powers + series[0]) * inverse
    }

    fn powers(&self, base: Complex64) -> Series {
        let mut powers = ZERO;
        let mut power = Complex64::from(1.0);
        for each in &mut powers[..self.terms] {
            *each = power;
            power *= base;
        }
        powers
    }
}

/// Field of a mass at a distance from the place where it is wanted.
pub fn direct(distance: Complex64, mass: f64) -> Complex64 {
    mass * distance.inv()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASSES: [(Complex64, f64); 3] =
        [(Complex64::new(0.1, 0.2), 1.0), (Complex64::new(-0.3, 0.4), 0.5), (Complex64::new(0.4, -0.45), 2.0)];

    fn field(place: Complex64) -> Complex64 {
        MASSES.iter().map(|&(from, mass)| direct(place - from, mass)).sum()
    }

    /// Masses in a box, seen from outside, shifted, seen from a box apart, shifted there: what they do is what each does.
    #[test]
    fn masses_do_what_their_series_say() {
        let expansion = Expansion::new(31);
        let at = Complex64::new;
        let shift = at(0.5, -0.5);
        let (mut small, mut large) = (ZERO, ZERO);
        MASSES.iter().for_each(|&(place, mass)| expansion.add_mass(&mut small, place, mass));
        expansion.add_outside(&mut large, &small, shift);
        // Around the larger centre at -shift, another larger box is apart.
        let apart = at(4.0, 2.0);
        let (mut there, mut inner) = (ZERO, ZERO);
        expansion.add_apart(&mut there, &large, -apart);
        expansion.add_inside(&mut inner, &there, shift);
        for wanted in [at(0.0, 0.0), at(0.3, -0.2), at(-0.5, 0.5)] {
            let found = expansion.inside(&inner, wanted);
            let exact = field(apart + wanted);
            assert!((found - exact).norm() < 1e-9, "{found} {exact}");
        }
    }

    /// A series that is seen from outside gives the field there itself, and single masses make one that is seen from inside.
    #[test]
    fn series_and_single_masses_meet() {
        let expansion = Expansion::new(40);
        let (mut outer, mut inner) = (ZERO, ZERO);
        let far = Complex64::new(2.0, -1.5);
        for &(place, mass) in &MASSES {
            expansion.add_mass(&mut outer, place, mass);
            expansion.add_mass_outside(&mut inner, place - far, mass);
        }
        for wanted in [Complex64::new(0.2, 0.5), Complex64::new(-0.4, 0.1)] {
            let exact = field(far + wanted);
            assert!((expansion.outside(&outer, far + wanted) - exact).norm() < 1e-9);
            assert!((expansion.inside(&inner, wanted) - exact).norm() < 1e-9);
        }
    }
}
