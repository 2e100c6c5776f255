//! Plummer's cluster in equilibrium, total mass and gravity being 1 and the energy -1/4, by the recipe of Aarseth, Henon and Wielen
//! (1974).

use std::f64::consts::{PI, SQRT_2};

use crate::random::Random;

/// Plummer's radius.
pub const RADIUS: f64 = 3.0 * PI / 16.0;

/// Distance of a body from the centre, in Plummer's radii. Of the mass, the outermost thousandth is left out.
pub fn distance(random: &mut Random) -> f64 {
    let inside = 0.999 * random.unit().max(f64::MIN_POSITIVE);
    1.0 / (inside.powf(-2.0 / 3.0) - 1.0).sqrt()
}

/// The same without what is more than nine of Plummer's radii away, which SPLASH-2's programs leave out.
pub fn near_distance(random: &mut Random) -> f64 {
    loop {
        let distance = distance(random);
        if distance <= 9.0 {
            break distance;
        }
    }
}

/// Speed of a body at such a distance.
pub fn speed(distance: f64, random: &mut Random) -> f64 {
    // Fraction of the escape velocity: its density is x^2 (1 - x^2)^(7/2), less than a tenth.
    let part = loop {
        let (part, height) = (random.unit(), 0.1 * random.unit());
        if height < part * part * (1.0 - part * part).powf(3.5) {
            break part;
        }
    };
    part * SQRT_2 / (1.0 + distance * distance).powf(0.25) / RADIUS.sqrt()
}
