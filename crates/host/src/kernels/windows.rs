//! Which windows Seidl's probe visits: the random sequence that the kernels compute as well.

/// Multiplier of the linear congruential generator (Knuth's MMIX).
pub(super) const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
/// Its increment.
pub(super) const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// The windows that a course of [`SignChange`](super::Operation::SignChange) over `elements` windows visits from `seed`, in
/// order: the high half of state times `elements`, the state taken after each advance. Where the paper's program takes the
/// remainder (Seidl 1997, program 1), a multiplication does the same in a few cycles instead of dozens.
pub fn window_sequence(seed: u64, elements: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        Some(((u128::from(state) * u128::from(elements)) >> 64) as u64)
    })
}
