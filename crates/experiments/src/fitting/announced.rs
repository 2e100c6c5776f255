//! Announced caches beside measured ones. Only their number enters a fit, as the greatest number of levels: on a computer that others
//! use, too, a part of the last cache that others displace looks like a level of its own.

use units::Bytes;

use super::Analysis;

/// A cache for data, as the operating system announces it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnnouncedCache {
    /// Its level, from 1.
    pub level: u8,
    /// Its size, if that is told.
    pub size: Option<Bytes>,
    /// Its line, if that is told.
    pub line: Option<Bytes>,
    /// The lines of a set, if that is told.
    pub ways: Option<u32>,
}

/// Puts what is announced beside the caches that were found, the first beside the first, and says in a note what is announced, and
/// whether as many caches were found.
pub fn beside_announced(analysis: &mut Analysis, announced: &[AnnouncedCache]) {
    let found = (1..).take_while(|number| analysis.parameters.iter().any(|p| p.symbol == format!("C{number}"))).count();
    if announced.is_empty() || found == 0 {
        return;
    }
    for (number, cache) in (1..).zip(announced) {
        let held = [
            ("C", cache.size.map(|size| size.0 as f64)),
            ("b", cache.line.map(|line| line.0 as f64)),
            ("a", cache.ways.map(f64::from)),
        ];
        for (symbol, held) in held {
            let symbol = format!("{symbol}{number}");
            let of_symbol = analysis.parameters.iter_mut().filter(|parameter| parameter.symbol == symbol);
            of_symbol.for_each(|parameter| parameter.held = held);
        }
    }
    let words: Vec<String> = announced.iter().map(in_words).collect();
    analysis.notes.push(format!(
        "described: caches announced by the kernel (sysfs), {}; only their number limits the fit",
        words.join(", ")
    ));
    if found != announced.len() {
        let announced = announced.len();
        analysis.notes.push(format!(
            "{found} caches measured, {announced} announced: part of a cache may be used by others, or the announcement \
             may be wrong"
        ));
    }
}

fn in_words(cache: &AnnouncedCache) -> String {
    let size = cache.size.map_or_else(|| "of unknown size".to_owned(), |size| size.to_string());
    format!("L{} {size}", cache.level)
}

#[cfg(test)]
mod tests {
    use fit::{Parameter, Uncertain};
    use record::Unit;

    use super::*;
    use crate::fitting::Model;

    #[test]
    fn announced_sizes_stand_beside_measured_ones_and_change_none() {
        let size = |number: u32, value| {
            let estimate = Some(Uncertain { value, error: 0.0 });
            Parameter::new("size", format!("C{number}"), Unit::Bytes, estimate, "")
        };
        let parameters = vec![size(1, 32768.0), size(2, 6e6)];
        let mut analysis = Analysis { model: Model::Caches, parameters, notes: vec![], plots: vec![] };
        let cache = |level, mib| AnnouncedCache { level, size: Some(Bytes::from_mib(mib)), line: None, ways: None };
        beside_announced(&mut analysis, &[cache(1, 1), cache(2, 6), cache(3, 32)]);
        assert_eq!(analysis.parameters[0].held, Some(1048576.0));
        assert_eq!(analysis.parameters[0].estimate().map(|estimate| estimate.value), Some(32768.0));
        assert!(analysis.notes[0].contains("L3 32 MiB"), "{:?}", analysis.notes);
        assert!(analysis.notes[1].starts_with("2 caches measured, 3 announced"), "{:?}", analysis.notes);
    }
}
