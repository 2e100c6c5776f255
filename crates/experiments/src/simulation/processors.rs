//! Numbers of processors, as users give them.

use std::str::FromStr;

/// Numbers of processors: one, or `FIRST..LAST` for the powers of two from the first to the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processors(pub Vec<u16>);

impl FromStr for Processors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u16>().ok();
        let accepted = "a number from 1, or FIRST..LAST for the powers of two from FIRST to LAST";
        let Some((first, last)) = text.split_once("..") else {
            let number = number(text).ok_or_else(|| format!("not a number of processors; accepted: {accepted}"))?;
            return Ok(Self(vec![number]));
        };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => {
                let powers = (0..u16::BITS).map(|power| 1 << power);
                let powers: Vec<u16> = powers.filter(|power| (first..=last).contains(power)).collect();
                if powers.is_empty() {
                    Err(format!("the range contains no power of two; accepted: {accepted}"))
                } else {
                    Ok(Self(powers))
                }
            }
            _ => Err(format!("not a range of processors; accepted: {accepted}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_numbers_or_powers_of_two() {
        let read = |text: &str| text.parse::<Processors>().map(|processors| processors.0);
        assert_eq!(read("12"), Ok(vec![12]));
        assert_eq!(read("4..64"), Ok(vec![4, 8, 16, 32, 64]));
        assert_eq!(read("3..9"), Ok(vec![4, 8]));
        for wrong in ["0..0", "x", "8..4", "5..7", "..4", "65536", "1..x"] {
            assert!(read(wrong).expect_err(wrong).contains("accepted: "), "{wrong}");
        }
    }
}
