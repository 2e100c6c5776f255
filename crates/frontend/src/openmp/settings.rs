//! Settings of an OpenMP program in the environment (OpenMP 4.5, chapter 4).

use super::display::FORMAT;
use super::places::{Places, parse_places};
use super::schedule::{Kind, Schedule};
use crate::runtime::processors::Processors;

/// How threads are bound to places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bind {
    /// Not at all.
    False,
    /// Somewhere: as [`Bind::Close`].
    True,
    /// Where the master is.
    Master,
    /// Beside one another.
    Close,
    /// As far from one another as there are places.
    Spread,
}

impl Bind {
    /// The number that OpenMP's interfaces have for it.
    pub const fn number(self) -> i32 {
        match self {
            Self::False => 0,
            Self::True => 1,
            Self::Master => 2,
            Self::Close => 3,
            Self::Spread => 4,
        }
    }

    /// The one of a number.
    pub const fn of(number: i32) -> Option<Self> {
        match number {
            2 => Some(Self::Master),
            3 => Some(Self::Close),
            4 => Some(Self::Spread),
            _ => None,
        }
    }
}

/// Settings of the environment; one that is missing or cannot be understood has its default.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// `OMP_NUM_THREADS`: of the outermost level.
    pub threads: Option<u32>,
    /// `OMP_SCHEDULE`.
    pub schedule: Schedule,
    /// `OMP_DYNAMIC`.
    pub dynamic: bool,
    /// `OMP_CANCELLATION`.
    pub cancellation: bool,
    /// `OMP_PROC_BIND`.
    pub bind: Bind,
    /// `OMP_PLACES`; none without binding.
    pub places: Places,
    /// `OMP_STACKSIZE`, in bytes.
    pub stack: Option<usize>,
    /// `OMP_THREAD_LIMIT`.
    pub limit: u32,
    /// `OMP_MAX_ACTIVE_LEVELS`, told to who asks; nested regions have one thread anyway.
    pub levels: i32,
    /// `OMP_MAX_TASK_PRIORITY`: what priorities of tasks may be.
    pub priority: i32,
    /// `OMP_NUM_TEAMS` and `OMP_TEAMS_THREAD_LIMIT`, told to who asks; zero where nothing is said.
    pub leagues: (i32, i32),
    /// `OMP_DISPLAY_ENV`: whether all of this is told at the beginning.
    pub display: bool,
    /// `OMP_DISPLAY_AFFINITY`: whether threads tell where they are.
    pub display_affinity: bool,
    /// `OMP_AFFINITY_FORMAT`: how.
    pub affinity_format: String,
}

impl Settings {
    /// Reads the environment, which `value` knows, for a program that may use `processors`.
    pub fn read(value: impl Fn(&str) -> Option<String>, processors: Processors) -> Self {
        let value = |name: &str| value(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let is_true = |name: &str| value(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let positive = |name: &str| value(name).and_then(|text| parse_positive(&text));
        let league = |name: &str| positive(name).and_then(|number| i32::try_from(number).ok()).unwrap_or(0);
        let asked = value("OMP_PLACES").and_then(|text| parse_places(&text, processors));
        let bind = value("OMP_PROC_BIND").and_then(|text| parse_bind(&text));
        // Whoever names places wants threads to be bound to them (4.5, 2.5.2).
        let bind = bind.unwrap_or(if asked.is_some() { Bind::True } else { Bind::False });
        let places = match (bind, asked) {
            (Bind::False, _) => Vec::new(),
            (_, Some(places)) => places,
            (_, None) => (0..processors.number).map(|cpu| vec![cpu]).collect(),
        };
        Self {
            threads: value("OMP_NUM_THREADS")
                .and_then(|text| parse_positive(text.split(',').next().unwrap_or_default())),
            schedule: value("OMP_SCHEDULE")
                .and_then(|text| parse_schedule(&text))
                .unwrap_or(Schedule { kind: Kind::Dynamic, chunk: 1 }),
            dynamic: is_true("OMP_DYNAMIC"),
            cancellation: is_true("OMP_CANCELLATION"),
            bind,
            places,
            stack: value("OMP_STACKSIZE").and_then(|text| parse_bytes(&text)),
            limit: positive("OMP_THREAD_LIMIT").unwrap_or(u32::MAX),
            levels: positive("OMP_MAX_ACTIVE_LEVELS").and_then(|levels| i32::try_from(levels).ok()).unwrap_or(1),
            priority: value("OMP_MAX_TASK_PRIORITY").and_then(|text| text.parse().ok()).unwrap_or(0).max(0),
            leagues: (league("OMP_NUM_TEAMS"), league("OMP_TEAMS_THREAD_LIMIT")),
            display: is_true("OMP_DISPLAY_ENV")
                || value("OMP_DISPLAY_ENV").is_some_and(|text| text.eq_ignore_ascii_case("verbose")),
            display_affinity: is_true("OMP_DISPLAY_AFFINITY"),
            affinity_format: value("OMP_AFFINITY_FORMAT").unwrap_or_else(|| FORMAT.to_owned()),
        }
    }
}

fn parse_positive(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|&number| number > 0)
}

/// `OMP_SCHEDULE`: `[modifier:]kind[,chunk]`.
pub fn parse_schedule(text: &str) -> Option<Schedule> {
    let text = text.to_ascii_lowercase();
    let text = text.split_once(':').map_or(text.as_str(), |(_, rest)| rest);
    let (kind, chunk) = text.split_once(',').map_or((text, None), |(kind, chunk)| (kind, Some(chunk)));
    let chunk = match chunk {
        Some(chunk) => Some(u64::from(parse_positive(chunk)?)),
        None => None,
    };
    let kind = match kind.trim() {
        "static" => Kind::Static,
        "dynamic" => Kind::Dynamic,
        "guided" => Kind::Guided,
        "auto" => Kind::Auto,
        _ => return None,
    };
    let default = if matches!(kind, Kind::Dynamic | Kind::Guided) { 1 } else { 0 };
    Some(Schedule { kind, chunk: chunk.unwrap_or(default) })
}

/// `OMP_PROC_BIND`: of the outermost level.
pub fn parse_bind(text: &str) -> Option<Bind> {
    match text.split(',').next()?.trim().to_ascii_lowercase().as_str() {
        "false" => Some(Bind::False),
        "true" => Some(Bind::True),
        "master" | "primary" => Some(Bind::Master),
        "close" => Some(Bind::Close),
        "spread" => Some(Bind::Spread),
        _ => None,
    }
}

/// `OMP_STACKSIZE`: a number of kilobytes, or with a letter for another unit.
pub fn parse_bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: usize = text[..digits].parse().ok().filter(|&number| number > 0)?;
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "b" => 1,
        "" | "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROCESSORS: Processors = Processors { number: 8, cores: 8, cores_of_node: 2 };

    fn read(pairs: &[(&str, &str)]) -> Settings {
        let value = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Settings::read(value, PROCESSORS)
    }

    #[test]
    fn an_empty_environment_says_what_the_standard_says() {
        let settings = read(&[]);
        assert_eq!(settings.threads, None);
        assert_eq!(settings.schedule, Schedule { kind: Kind::Dynamic, chunk: 1 });
        assert_eq!((settings.bind, settings.dynamic, settings.levels), (Bind::False, false, 1));
        assert!(settings.places.is_empty() && !settings.cancellation);
    }

    #[test]
    fn values_are_understood_in_every_spelling() {
        let settings = read(&[
            ("OMP_NUM_THREADS", " 4,2 "),
            ("OMP_SCHEDULE", "nonmonotonic:GUIDED , 7"),
            ("OMP_PROC_BIND", "Spread,close"),
            ("OMP_DYNAMIC", "TRUE"),
            ("OMP_STACKSIZE", "2 M"),
            ("OMP_THREAD_LIMIT", "6"),
            ("OMP_CANCELLATION", "True"),
            ("OMP_MAX_TASK_PRIORITY", "10"),
            ("OMP_NUM_TEAMS", "6"),
        ]);
        assert_eq!((settings.threads, settings.limit, settings.stack), (Some(4), 6, Some(2 << 20)));
        assert_eq!(settings.schedule, Schedule { kind: Kind::Guided, chunk: 7 });
        assert_eq!((settings.bind, settings.dynamic, settings.cancellation), (Bind::Spread, true, true));
        assert_eq!((settings.places.len(), settings.priority, settings.leagues), (8, 10, (6, 0)));
        assert_eq!(parse_bytes("100"), Some(100 << 10));
        assert_eq!(parse_schedule("static"), Some(Schedule { kind: Kind::Static, chunk: 0 }));
    }

    #[test]
    fn places_alone_ask_for_binding_and_binding_alone_for_places() {
        let settings = read(&[("OMP_PLACES", "sockets")]);
        assert_eq!((settings.bind, settings.places.len()), (Bind::True, 4));
        assert_eq!(read(&[("OMP_PROC_BIND", "close")]).places.len(), 8);
        assert!(read(&[("OMP_PLACES", "cores"), ("OMP_PROC_BIND", "false")]).places.is_empty());
    }

    #[test]
    fn nonsense_is_as_if_nothing_were_said() {
        let wrong = read(&[
            ("OMP_NUM_THREADS", "0"),
            ("OMP_SCHEDULE", "fast"),
            ("OMP_PROC_BIND", "glue"),
            ("OMP_PLACES", "{"),
            ("OMP_STACKSIZE", "9999999999999999999g"),
            ("OMP_MAX_TASK_PRIORITY", "-1"),
        ]);
        assert_eq!(wrong, read(&[]));
    }

    proptest! {
        #[test]
        fn nothing_in_the_environment_goes_wrong(text in "[a-z0-9,:{}! ()-]{0,20}") {
            let value = |_: &str| Some(text.clone());
            let settings = Settings::read(value, PROCESSORS);
            prop_assert!(settings.threads != Some(0) && settings.limit > 0);
        }
    }
}
