//! Two numbers of 32 bits in a word: even ones are in the lower half.

/// The half of a word in which number `half` of a list is.
pub fn half_of(word: u64, half: usize) -> u32 {
    (word >> (half % 2 * 32)) as u32
}

/// A word with another value in that half.
pub fn with_half(word: u64, half: usize, value: u32) -> u64 {
    let shift = half % 2 * 32;
    word & !(u64::from(u32::MAX) << shift) | u64::from(value) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_kept_apart() {
        assert_eq!([half_of(with_half(u64::MAX, 5, 3), 5), half_of(with_half(u64::MAX, 5, 3), 4)], [3, u32::MAX]);
    }
}
