//! Complex numbers in shared memory.

use num_complex::Complex64;

use super::array::Element;

/// Two words, real part first.
impl Element for Complex64 {
    const WORDS: usize = 2;

    #[inline]
    fn gather(word: impl FnMut(usize) -> u64) -> Self {
        let [re, im] = Element::gather(word);
        Self { re, im }
    }

    #[inline]
    fn scatter(self, put: impl FnMut(usize, u64)) {
        [self.re, self.im].scatter(put);
    }
}
