//! The view of a scene, and the directions of rays.

use super::{LITTLE, Ray};
use crate::scene::Environment;
use crate::splash::vector::{Vector, cross, dot, minus, plus, square, times, unit};

/// Half the height of the picture, in the units in which SPLASH-2 has its screen: any, but for a parallel projection, which shows as
/// much of a scene as that is high.
const HALF_HEIGHT: f64 = 95.0;
/// Half an angle in radians for each degree of it, as SPLASH-2 rounds it.
const HALF_RADIANS: f64 = 0.5 * 0.0175;

/// A camera.
pub struct View {
    from: Vector,
    /// To the right, upwards and ahead.
    axes: [Vector; 3],
    /// Half the width and half the height of the picture, at distance 1 or of a parallel projection.
    half: [f64; 2],
    perspective: bool,
    /// Pixels in a row and in a column.
    pub pixels: [u32; 2],
}

impl View {
    /// The view of an environment, in a picture of so many pixels in a row and a column.
    pub fn new(environment: &Environment, pixels: [u32; 2]) -> Self {
        let ahead = unit(minus(environment.centre, environment.eye));
        // Where the camera looks up or down, SPLASH-2 turns it about the first axis.
        let flat = [ahead[2], 0.0, -ahead[0]];
        let right = if square(flat).sqrt() < LITTLE { [1.0, 0.0, 0.0] } else { unit(flat) };
        let aspect = f64::from(pixels[0]) / f64::from(pixels[1]);
        let height = if environment.perspective { (environment.angle * HALF_RADIANS).tan() } else { HALF_HEIGHT };
        Self {
            from: environment.eye,
            axes: [right, cross(ahead, right), ahead],
            half: [height * aspect, height],
            perspective: environment.perspective,
            pixels,
        }
    }

    /// The ray through a pixel.
    pub fn ray(&self, row: usize, column: usize) -> Ray {
        let part =
            |number: usize, axis: usize| (2.0 * number as f64 / f64::from(self.pixels[axis]) - 1.0) * self.half[axis];
        let (right, up) = (part(column, 0), -part(row, 1));
        let beside = plus(times(self.axes[0], right), times(self.axes[1], up));
        if self.perspective {
            Ray::new(self.from, unit(plus(self.axes[2], beside)))
        } else {
            Ray::new(plus(self.from, beside), self.axes[2])
        }
    }
}

/// The direction of a ray that a surface mirrors (Whitted 1980); `normal` faces the ray.
pub fn mirrored(normal: Vector, towards: Vector) -> Vector {
    unit(minus(towards, times(normal, 2.0 * dot(towards, normal))))
}

/// The direction of a ray that a surface refracts (Whitted 1980), unless it is reflected wholly.
pub fn refracted(normal: Vector, towards: Vector, refraction: f64) -> Option<Vector> {
    let facing = dot(towards, normal).abs();
    if facing == 0.0 {
        return None;
    }
    let scaled = times(towards, 1.0 / facing);
    let along = plus(scaled, normal);
    let under = refraction * refraction * square(scaled) - square(along);
    (under > LITTLE).then(|| unit(minus(times(along, 1.0 / under.sqrt()), normal)))
}
