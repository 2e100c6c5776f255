//! Places that threads are bound to, and which thread goes to which (OpenMP 4.5, sections 2.5.2 and 4.5).

use super::settings::Bind;
use crate::runtime::processors::Processors;

/// Places, each a set of processors.
pub type Places = Vec<Vec<usize>>;

/// Places are as many as processors, so longer lists are a mistake.
const MOST: usize = 1 << 16;

/// The hardware threads of every `size` cores.
fn of_cores(processors: Processors, size: usize) -> Places {
    let cores: Vec<usize> = (0..processors.number.min(processors.cores)).collect();
    let threads = |core: &usize| (*core..processors.number).step_by(processors.cores.max(1));
    cores.chunks(size.max(1)).map(|chunk| chunk.iter().flat_map(threads).collect()).collect()
}

/// `OMP_PLACES`: `threads`, `cores` and `sockets` (here: nodes), each with a number behind it if not all are wanted, or a list of
/// places. `None` if it is neither.
pub fn parse_places(text: &str, processors: Processors) -> Option<Places> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let (name, number) = match text.split_once('(') {
        Some((name, rest)) => {
            (name.to_owned(), Some(rest.strip_suffix(')')?.parse::<usize>().ok().filter(|&n| n > 0)?))
        }
        None => (text.clone(), None),
    };
    let mut places: Places = match name.as_str() {
        "threads" => (0..processors.number).map(|thread| vec![thread]).collect(),
        "cores" | "ll_caches" => of_cores(processors, 1),
        "sockets" | "numa_domains" => of_cores(processors, processors.cores_of_node),
        _ => return parse_list(&text, processors.number),
    };
    places.truncate(number.unwrap_or(usize::MAX));
    Some(places)
}

/// A list: `{0,1},{2:2},{0:2}:4:2`, with processors that there are not left out.
fn parse_list(text: &str, processors: usize) -> Option<Places> {
    let mut places = Places::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (inside, after) = rest.strip_prefix('{')?.split_once('}')?;
        let place = parse_place(inside)?;
        let end = after.find(",{").unwrap_or(after.len());
        let (count, stride) = match after[..end].strip_prefix(':') {
            Some(interval) => parse_interval(interval, place.len())?,
            None if end == 0 => (1, 0),
            None => return None,
        };
        for step in 0..count {
            let shift = i64::try_from(step).ok()?.checked_mul(stride)?;
            let moved = place.iter().filter_map(|cpu| usize::try_from(i64::try_from(*cpu).ok()? + shift).ok());
            let moved: Vec<usize> = moved.filter(|&cpu| cpu < processors).collect();
            if !moved.is_empty() {
                places.push(moved);
            }
            if places.len() > MOST {
                return None;
            }
        }
        rest = after.get(end + 1..).unwrap_or_default();
    }
    (!places.is_empty()).then_some(places)
}

/// The processors of one place: `0,1,4:2` or `0:4:2`.
fn parse_place(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, interval) = part.split_once(':').map_or((part, None), |(first, rest)| (first, Some(rest)));
        let first: i64 = first.parse::<u32>().ok()?.into();
        let (count, stride) = interval.map_or(Some((1, 1)), |interval| parse_interval(interval, 1))?;
        for step in 0..i64::try_from(count).ok()? {
            cpus.push(usize::try_from(first.checked_add(step.checked_mul(stride)?)?).ok()?);
        }
        if cpus.len() > MOST {
            return None;
        }
    }
    Some(cpus)
}

/// `count` or `count:stride`.
fn parse_interval(text: &str, stride: usize) -> Option<(usize, i64)> {
    let (count, given) = text.split_once(':').map_or((text, None), |(count, given)| (count, Some(given)));
    let count = count.parse::<usize>().ok().filter(|&count| (1..=MOST).contains(&count))?;
    let stride = given.map_or_else(|| i64::try_from(stride).ok(), |given| given.parse::<i32>().ok().map(i64::from))?;
    Some((count, stride))
}

/// The place of thread `number` of `threads`, if the first of them is at place `first` of `places`.
pub fn place_of(bind: Bind, number: usize, threads: usize, first: usize, places: usize) -> Option<usize> {
    if places == 0 {
        return None;
    }
    let offset = match bind {
        Bind::False => return None,
        Bind::Master => 0,
        // Neighbours at neighbouring places; where there are more threads, as many as even at each place.
        Bind::True | Bind::Close if threads <= places => number,
        // The list of places in as many parts as threads, one at the beginning of each.
        Bind::Spread if threads <= places => number * places / threads,
        _ => number * places / threads,
    };
    Some((first + offset) % places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// So many processors, each a core, with `per_node` on a node.
    const fn cores(number: usize, per_node: usize) -> Processors {
        Processors { number, cores: number, cores_of_node: per_node }
    }

    #[test]
    fn cores_have_their_hardware_threads() {
        let of = |number, text: &str| parse_places(text, Processors { number, cores: 4, cores_of_node: 2 });
        assert_eq!(of(8, "cores(2)"), Some(vec![vec![0, 4], vec![1, 5]]));
        assert_eq!(of(8, "sockets"), Some(vec![vec![0, 4, 1, 5], vec![2, 6, 3, 7]]));
        assert_eq!(of(8, "threads").map(|places| places.len()), Some(8));
        assert_eq!(of(5, "cores"), Some(vec![vec![0, 4], vec![1], vec![2], vec![3]]), "not all may be used");
    }

    #[test]
    fn places_are_named_or_listed() {
        let parse = |text: &str| parse_places(text, cores(8, 2));
        assert_eq!(parse("threads").map(|places| places.len()), Some(8));
        assert_eq!(parse("cores(3)"), Some(vec![vec![0], vec![1], vec![2]]));
        assert_eq!(parse("SOCKETS"), Some(vec![vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]]));
        assert_eq!(parse("{0,1},{2:2}, {4:2:2}"), Some(vec![vec![0, 1], vec![2, 3], vec![4, 6]]));
        assert_eq!(parse("{0:2}:4:2"), parse("sockets"));
        assert_eq!(parse("{0}:4"), Some(vec![vec![0], vec![1], vec![2], vec![3]]));
        assert_eq!(parse("{7}:8:-1").map(|places| places[7].clone()), Some(vec![0]));
        assert_eq!(parse("{6:4}"), Some(vec![vec![6, 7]]));
        for wrong in ["", "{", "{}", "{0}x", "cores(0)", "cores(", "{0}:0", "{1:}", "{9}", "rooms"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn threads_go_where_the_policy_says() {
        let all = |bind, threads| (0..threads).map(|number| place_of(bind, number, threads, 1, 8)).collect::<Vec<_>>();
        assert_eq!(all(Bind::Close, 3), [Some(1), Some(2), Some(3)]);
        assert_eq!(all(Bind::Spread, 4), [Some(1), Some(3), Some(5), Some(7)]);
        assert_eq!(all(Bind::Master, 2), [Some(1), Some(1)]);
        assert_eq!(all(Bind::False, 2), [None, None]);
        let crowded = all(Bind::Close, 16);
        assert!((0..8).all(|place| crowded.iter().filter(|at| **at == Some(place)).count() == 2));
        assert_eq!(place_of(Bind::True, 0, 1, 0, 0), None);
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_goes_wrong(text in "[{}0-9:,()a-z-]{0,24}", processors in 1usize..65) {
            for cpu in parse_places(&text, cores(processors, 2)).into_iter().flatten().flatten() {
                prop_assert!(cpu < processors);
            }
        }
    }
}
