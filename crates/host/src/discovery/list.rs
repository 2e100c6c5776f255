//! The kernel's lists of CPUs and nodes, such as `0-3,8,10-11`.

/// Parses a list as the kernel prints it (`bitmap_print_to_pagebuf`, "list format" in Documentation/admin-guide/cputopology.rst):
/// numbers and ranges between commas; nothing at all is the empty list. Ascending, without repetition.
///
/// # Errors
/// The fault in the text: not a number, more than 65535, or a range that runs backwards.
pub fn parse_list(text: &str) -> Result<Vec<u16>, String> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("the range {part} runs backwards"));
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn number(text: &str) -> Result<u16, String> {
    text.trim().parse().map_err(|_| format!("`{}` is not a number from 0 to 65535", text.trim()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::ranges;

    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_prints_them() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Ok(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list("\n"), Ok(vec![]));
        assert_eq!(parse_list("65535"), Ok(vec![65535]));
        for wrong in ["3-1", "0-", "-", "a", "0,,1", "0-70000", "1-2-3", "0x10"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(set in prop::collection::btree_set(any::<u16>(), 0..40)) {
            let numbers: Vec<u16> = set.into_iter().collect();
            prop_assert_eq!(parse_list(&ranges(numbers.iter().copied())), Ok(numbers));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9,\\- \n]{0,30}|.*") {
            if let Ok(numbers) = parse_list(&text) {
                prop_assert!(numbers.is_sorted_by(|a, b| a < b));
            }
        }
    }
}
