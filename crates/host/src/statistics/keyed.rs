//! Files of lines with a name and a number: `/proc/vmstat`, and `numastat` and `vmstat` of each node.

/// The names of the lines of a file that are wanted, in the order of the file.
pub fn find_keys(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in pairs(text) {
        if wanted(key) && !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
    }
    keys
}

/// The numbers of the lines with these names, which are in the order of the file; none for those that are not there.
pub fn read_keys<'k>(
    text: &str,
    keys: impl Iterator<Item = &'k str> + Clone,
    mut found: impl FnMut(usize, Option<u64>),
) {
    let mut pairs = pairs(text);
    for (i, key) in keys.enumerate() {
        // In the order of the file: each is found after the last. A name that is missing is looked for from the beginning.
        let rest = pairs.clone();
        let value = pairs.find(|(name, _)| *name == key).map(|(_, value)| value);
        if value.is_none() {
            pairs = rest;
        }
        found(i, value.and_then(|value| value.parse().ok()));
    }
}

/// Name and number of each line: `numa_hit 4711`, or of meminfo `Node 0 MemTotal:  4711 kB`.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> + Clone {
    text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let first = words.next()?;
        let name = if first == "Node" { words.nth(1)? } else { first };
        Some((name.trim_end_matches(':'), words.next()?))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_stand_beside_their_names() {
        let text = "numa_hit 1761166277\nnuma_miss 0\nodd\nnr_free_pages 12\nnuma_miss x\n";
        let keys = find_keys(text, |key| key.starts_with("numa") || key == "nr_free_pages");
        assert_eq!(keys, ["numa_hit", "numa_miss", "nr_free_pages"]);
        let mut values = Vec::new();
        let asked = ["numa_hit", "gone", "nr_free_pages"];
        read_keys(text, asked.iter().copied(), |i, value| values.push((i, value)));
        assert_eq!(values, [(0, Some(1_761_166_277)), (1, None), (2, Some(12))]);
        let meminfo = "Node 0 MemTotal:       24593372 kB\nNode 0 MemFree:        20636436 kB\n";
        read_keys(meminfo, ["MemFree"].into_iter(), |_, value| assert_eq!(value, Some(20_636_436)));
    }

    proptest! {
        #[test]
        fn any_text_has_some_keys(text in "[a-z0-9 :\n]{0,200}") {
            let keys = find_keys(&text, |_| true);
            let mut count = 0;
            read_keys(&text, keys.iter().map(String::as_str), |_, _| count += 1);
            prop_assert_eq!(count, keys.len());
        }
    }
}
