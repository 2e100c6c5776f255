//! Names that users misspell.

/// How alike two names must be for one to be a misspelling of the other, from 0 to 1.
const ALIKE: f64 = 0.5;

/// The candidate nearest to `given` in spelling, if one is near enough to be what was meant. A candidate with other numbers in the
/// same words is none: numbers are not misspelt, they are out of range.
pub fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let words = |name: &str| name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    let given_words = words(given);
    candidates
        .into_iter()
        .filter(|candidate| words(candidate) != given_words)
        .map(|candidate| (strsim::normalized_damerau_levenshtein(given, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_if_any_is_near() {
        let known = ["arctic", "bwana", "cv=2", "cv=4", "flash-Np"];
        let near = |given| nearest(given, known);
        assert_eq!(near("artic"), Some("arctic"));
        assert_eq!(near("flahs-8p"), Some("flash-Np"));
        assert_eq!(near("stinger"), None);
    }

    #[test]
    fn another_number_is_no_misspelling() {
        assert_eq!(nearest("cv=0", ["cv=2", "cv=4"]), None);
        assert_eq!(nearest("cw=2", ["cv=2", "cv=4"]), Some("cv=2"));
    }
}
