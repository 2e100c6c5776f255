//! Checks of the disassemblies of both architectures.

/// Instructions as text, from the first.
pub struct Listing {
    pub instructions: Vec<String>,
    /// How the clock is read.
    pub clock: &'static str,
    /// Whether an instruction accesses or prefetches an element, rather than the frame or the stop flag.
    pub touches_elements: fn(&str) -> bool,
}

impl Listing {
    /// Instructions between the two readings of the clock.
    pub fn timed(&self) -> &[String] {
        let readings: Vec<usize> = self
            .instructions
            .iter()
            .enumerate()
            .filter(|(_, text)| text.starts_with(self.clock))
            .map(|(i, _)| i)
            .collect();
        assert_eq!(readings.len(), 2, "the clock is read twice:\n{}", self.instructions.join("\n"));
        &self.instructions[readings[0] + 1..readings[1]]
    }

    /// Holds the timed part to steps: one unrolled group of `group` steps and one single step, `stretches` times each, with
    /// nothing between the steps of a group, and no other access to elements but `besides`.
    pub fn check(&self, group: usize, stretches: usize, besides: usize, step: impl Fn(usize) -> Vec<String>) {
        let timed = self.timed();
        let unrolled: Vec<String> = (0..group).flat_map(&step).collect();
        let found = timed.windows(unrolled.len()).filter(|window| **window == unrolled).count();
        assert!(found >= stretches, "{found} groups of\n{}\n\nin\n{}", unrolled.join("\n"), timed.join("\n"));
        let per_step = step(0).iter().filter(|text| (self.touches_elements)(text)).count();
        let steps = if group > 1 { group + 1 } else { 1 };
        let touched = timed.iter().filter(|text| (self.touches_elements)(text)).count();
        assert_eq!(touched, stretches * steps * per_step + besides, "accesses in\n{}", timed.join("\n"));
    }
}

/// The texts of one step.
pub fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}
