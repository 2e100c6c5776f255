//! Permutations of interchangeable parts, for the symmetry of models.

/// Every permutation of `0..count`, the identity first.
pub fn permutations(count: usize) -> Vec<Vec<u8>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(count - 1) {
        for at in (0..=shorter.len()).rev() {
            let mut longer = shorter.clone();
            longer.insert(at, (count - 1) as u8);
            all.push(longer);
        }
    }
    all
}
