//! Vectors in space.

/// Three coordinates.
pub type Vector = [f64; 3];

/// `one + other`.
#[inline]
pub fn plus(one: Vector, other: Vector) -> Vector {
    std::array::from_fn(|axis| one[axis] + other[axis])
}

/// `one - other`.
#[inline]
pub fn minus(one: Vector, other: Vector) -> Vector {
    std::array::from_fn(|axis| one[axis] - other[axis])
}

/// `vector` times a number.
#[inline]
pub fn times(vector: Vector, factor: f64) -> Vector {
    vector.map(|part| factor * part)
}

/// The inner product.
#[inline]
pub fn dot(one: Vector, other: Vector) -> f64 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

/// The square of the length.
#[inline]
pub fn square(vector: Vector) -> f64 {
    dot(vector, vector)
}

/// A vector of length 1 that points where `vector` does.
#[inline]
pub fn unit(vector: Vector) -> Vector {
    times(vector, 1.0 / square(vector).sqrt())
}

/// The vector at a right angle to both.
#[inline]
pub fn cross(one: Vector, other: Vector) -> Vector {
    std::array::from_fn(|axis| {
        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
        one[next] * other[last] - one[last] * other[next]
    })
}
