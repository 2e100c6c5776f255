//! The file of a study: blocks of work, each with the values that its runs combine, and where each of them stands.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Entry, Place, StudyError};
use crate::simulation::Processors;

/// A value with the place where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub at: Place,
    pub value: T,
}

/// The values of a key; none if it is not given.
pub(super) type Axis<T> = Vec<At<T>>;

/// A key with its values.
pub(super) type Keyed<T> = (String, Axis<T>);

/// A program, with the parameters that are its own.
#[derive(Clone, Debug)]
pub(super) struct ProgramEntry {
    pub name: At<String>,
    pub parameters: Vec<Keyed<u64>>,
}

/// Programs on simulated machines.
#[derive(Clone, Debug)]
pub(super) struct SimBlock {
    pub machines: Axis<String>,
    pub programs: Vec<ProgramEntry>,
    pub cpus: Axis<Processors>,
    /// Policies and parameters of machines that are varied.
    pub varied: Vec<Keyed<String>>,
    /// Parameters of all programs.
    pub parameters: Vec<Keyed<u64>>,
    pub matrix: Option<At<String>>,
    pub scene: Option<At<String>>,
    pub seeds: Vec<u64>,
    pub stats: bool,
    pub causes: bool,
}

/// Suites of experiments on simulated machines.
#[derive(Clone, Debug)]
pub(super) struct BenchBlock {
    pub machines: Axis<String>,
    pub varied: Vec<Keyed<String>>,
    pub suites: Axis<String>,
    pub seeds: Vec<u64>,
    pub iterations: Option<u32>,
    pub lines: Option<u64>,
    pub nodes_per_distance: Option<usize>,
    pub at: Place,
}

/// A block of a study.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Sim(SimBlock),
    Bench(BenchBlock),
}

/// Policies that `[[sim]]` varies by keys of their own.
const POLICIES: [&str; 5] = ["protocol", "placement", "scheduler", "barrier", "locks"];
const SIM_KEYS: [&str; 16] = [
    "machines",
    "programs",
    "cpus",
    "protocol",
    "placement",
    "scheduler",
    "barrier",
    "locks",
    "vary",
    "parameters",
    "matrix",
    "scene",
    "seeds",
    "stats",
    "causes",
    "touch-again",
];
const BENCH_KEYS: [&str; 8] =
    ["machines", "suites", "protocol", "vary", "seeds", "iterations", "lines", "nodes-per-distance"];

const MACHINES: &str = "names of machines as -m takes them, or paths of TOML files relative to the study";
const PROGRAMS: &str = "names of programs or paths of recorded references, or { name = \"fft\", points = [256, 1024] } with \
                        parameters of its own";
const WHOLE: &str = "whole numbers from 0 on";
const SEEDS: &str = "whole numbers from 0 on, or \"FIRST..LAST\", both included";
const CPUS: &str = "whole numbers from 1 on, or \"FIRST..LAST\" for the powers of two from FIRST to LAST";
const VALUES: &str = "strings, numbers, true or false";
/// The most seeds that a range stands for.
const MOST_SEEDS: u64 = 1 << 20;

/// A value of TOML with its span.
type Value<'t> = Spanned<DeValue<'t>>;

/// A file that is being read.
struct Reader<'t> {
    file: &'t str,
    text: &'t str,
}

/// A block or table of it.
struct Table<'r, 't> {
    reader: &'r Reader<'t>,
    /// The block, and tables in it, with dots.
    name: String,
    at: Place,
    /// Keys in the order of the file.
    entries: Vec<(&'r Spanned<std::borrow::Cow<'t, str>>, &'r Value<'t>)>,
}

/// The blocks in the text of a study, in the order of the file.
///
/// # Errors
/// When it is not TOML, or has keys or values that a study has not.
pub(super) fn blocks(file: &str, text: &str) -> Result<Vec<Block>, StudyError> {
    let reader = Reader { file, text };
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        StudyError::Syntax { at: reader.place(error.span().map_or(0, |span| span.start)), message }
    })?;
    let top = reader.table("", document.get_ref(), 0);
    top.known(&["sim", "bench"])?;
    let mut found: Vec<(usize, Block)> = Vec::new();
    for (key, value) in &top.entries {
        for block in elements(value) {
            let DeValue::Table(table) = block.get_ref() else {
                return Err(reader.wrong(key.get_ref(), block, "no block", "[[sim]] or [[bench]], with keys below it"));
            };
            // A block in brackets begins where its first key does, as far as the reader of TOML tells.
            let table = reader.table(key.get_ref(), table, block.span().start);
            let read =
                if **key.get_ref() == *"sim" { sim(&table).map(Block::Sim) } else { bench(&table).map(Block::Bench) };
            found.push((block.span().start, read?));
        }
    }
    found.sort_by_key(|(start, _)| *start);
    if found.is_empty() {
        return Err(StudyError::Empty { file: file.to_owned() });
    }
    Ok(found.into_iter().map(|(_, block)| block).collect())
}

fn sim(table: &Table<'_, '_>) -> Result<SimBlock, StudyError> {
    table.known(&SIM_KEYS)?;
    let mut varied = Vec::new();
    for policy in POLICIES {
        let values = table.texts(policy, "names as `ccnuma sim` takes them")?;
        varied.extend((!values.is_empty()).then(|| (policy.to_owned(), values)));
    }
    if let Some(at) = table.flag("touch-again")? {
        varied.push(("os.touch_again".to_owned(), vec![At { at, value: "true".to_owned() }]));
    }
    varied.extend(table.varied()?);
    let (machines, programs) = (table.needed("machines", MACHINES)?, table.programs()?);
    let cpus = table.each("cpus", CPUS, |value| match value {
        DeValue::String(text) => text.parse::<Processors>().ok(),
        other => {
            whole(other).and_then(|number| u16::try_from(number).ok()).filter(|&n| n > 0).map(|n| Processors(vec![n]))
        }
    })?;
    let matrix = table.texts("matrix", "the name of a matrix, or the path of a file")?.into_iter().next();
    let scene = table.texts("scene", "the name of a scene, or the path of a file")?.into_iter().next();
    Ok(SimBlock {
        machines,
        programs,
        cpus,
        varied,
        parameters: table.tables("parameters", WHOLE, whole)?,
        matrix,
        scene,
        seeds: table.seeds()?,
        stats: table.flag("stats")?.is_some(),
        causes: table.flag("causes")?.is_some(),
    })
}

fn bench(table: &Table<'_, '_>) -> Result<BenchBlock, StudyError> {
    table.known(&BENCH_KEYS)?;
    let protocols = table.texts("protocol", "names as `ccnuma sim` takes them")?;
    let mut varied: Vec<_> = (!protocols.is_empty()).then(|| ("protocol".to_owned(), protocols)).into_iter().collect();
    varied.extend(table.varied()?);
    let least_one = |key| table.one(key, "a whole number from 1 on", |value| whole(value).filter(|&number| number > 0));
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(BenchBlock {
        machines: table.needed("machines", MACHINES)?,
        varied,
        suites: table.texts("suites", "names of suites, as local")?,
        seeds: table.seeds()?,
        iterations: least_one("iterations")?.map(narrow),
        lines: least_one("lines")?,
        nodes_per_distance: least_one("nodes-per-distance")?.map(|number| narrow(number) as usize),
        at: table.at.clone(),
    })
}

impl<'t> Reader<'t> {
    fn place(&self, offset: usize) -> Place {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        Place { file: self.file.to_owned(), line: before.iter().filter(|byte| **byte == b'\n').count() + 1 }
    }

    fn table<'r>(&'r self, name: &str, table: &'r DeTable<'t>, start: usize) -> Table<'r, 't> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        Table { reader: self, name: name.to_owned(), at: self.place(start), entries }
    }

    /// A value that cannot stand where it does, on one line.
    fn wrong(&self, key: &str, value: &Value<'_>, reason: &str, accepted: &str) -> StudyError {
        const MOST: usize = 60;
        let shown = self.text[value.span()].split_whitespace().collect::<Vec<_>>().join(" ");
        let long = shown.chars().count() > MOST;
        let shown = if long { shown.chars().take(MOST).chain("...".chars()).collect() } else { shown };
        let entry = Entry { at: self.place(value.span().start), key: key.to_owned(), value: shown };
        StudyError::Value { entry: Box::new(entry), reason: reason.to_owned(), accepted: accepted.to_owned() }
    }
}

impl<'r, 't> Table<'r, 't> {
    /// The name of a key with its table.
    fn named(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Refuses keys of other names.
    fn known(&self, names: &[&str]) -> Result<(), StudyError> {
        let Some((key, _)) = self.entries.iter().find(|(key, _)| !names.contains(&&**key.get_ref())) else {
            return Ok(());
        };
        Err(StudyError::UnknownKey {
            at: self.reader.place(key.span().start),
            key: self.named(key.get_ref()),
            nearest: input::nearest(key.get_ref(), names.iter().copied()).map(str::to_owned),
            accepted: names.join(" "),
        })
    }

    fn get(&self, key: &str) -> Option<&'r Value<'t>> {
        self.entries.iter().find(|(name, _)| *name.get_ref() == *key).map(|(_, value)| *value)
    }

    /// The values of a key, one or a list of them.
    fn each<T>(
        &self,
        key: &str,
        accepted: &str,
        read: impl Fn(&DeValue<'t>) -> Option<T>,
    ) -> Result<Axis<T>, StudyError> {
        self.get(key).map_or_else(|| Ok(Vec::new()), |value| self.axis(&self.named(key), value, accepted, read))
    }

    fn axis<T>(
        &self,
        key: &str,
        value: &'r Value<'t>,
        accepted: &str,
        read: impl Fn(&DeValue<'t>) -> Option<T>,
    ) -> Result<Axis<T>, StudyError> {
        let elements: Vec<_> = elements(value).collect();
        if elements.is_empty() {
            return Err(self.reader.wrong(key, value, "there is no value", accepted));
        }
        let element = |element: &Value<'t>| {
            let at = self.reader.place(element.span().start);
            let value = read(element.get_ref());
            value
                .map(|value| At { at, value })
                .ok_or_else(|| self.reader.wrong(key, element, "not a valid value", accepted))
        };
        elements.into_iter().map(element).collect()
    }

    fn texts(&self, key: &str, accepted: &str) -> Result<Axis<String>, StudyError> {
        self.each(key, accepted, text)
    }

    fn needed(&self, key: &str, accepted: &str) -> Result<Axis<String>, StudyError> {
        let found = self.texts(key, accepted)?;
        if found.is_empty() { Err(self.missing(key, accepted)) } else { Ok(found) }
    }

    fn missing(&self, key: &str, accepted: &str) -> StudyError {
        StudyError::Missing { at: self.at.clone(), key: self.named(key), accepted: accepted.to_owned() }
    }

    /// The only value of a key.
    fn one<T>(
        &self,
        key: &str,
        accepted: &str,
        read: impl Fn(&DeValue<'t>) -> Option<T>,
    ) -> Result<Option<T>, StudyError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = || self.reader.wrong(&self.named(key), value, "not a valid value", accepted);
        read(value.get_ref()).map(Some).ok_or_else(wrong)
    }

    /// The place of a flag that is set.
    fn flag(&self, key: &str) -> Result<Option<Place>, StudyError> {
        let set = self.one(key, "true or false", DeValue::as_bool)?;
        let place = || self.get(key).map(|value| self.reader.place(value.span().start));
        Ok(set.filter(|&set| set).and_then(|_| place()))
    }

    fn seeds(&self) -> Result<Vec<u64>, StudyError> {
        let range = |text: &str| {
            let (first, last) = text.split_once("..")?;
            let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
            (first <= last && last - first < MOST_SEEDS).then(|| (first..=last).collect::<Vec<_>>())
        };
        let seeds = self.each("seeds", SEEDS, |value| match value {
            DeValue::String(text) => range(text),
            other => whole(other).map(|seed| vec![seed]),
        })?;
        let seeds: Vec<u64> = seeds.into_iter().flat_map(|each| each.value).collect();
        Ok(if seeds.is_empty() { vec![0] } else { seeds })
    }

    /// The keys of a table of this one, each with its values; tables in it are keys with dots.
    fn tables<T>(
        &self,
        key: &str,
        accepted: &str,
        read: impl Fn(&DeValue<'t>) -> Option<T> + Copy,
    ) -> Result<Vec<Keyed<T>>, StudyError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let DeValue::Table(table) = value.get_ref() else {
            let accepted = format!("{{ KEY = [VALUES] }}, the values {accepted}");
            return Err(self.reader.wrong(&self.named(key), value, "no table", &accepted));
        };
        let mut found = Vec::new();
        self.flatten("", key, table, accepted, read, &mut found)?;
        Ok(found)
    }

    fn flatten<T>(
        &self,
        prefix: &str,
        of: &str,
        table: &'r DeTable<'t>,
        accepted: &str,
        read: impl Fn(&DeValue<'t>) -> Option<T> + Copy,
        found: &mut Vec<Keyed<T>>,
    ) -> Result<(), StudyError> {
        for (name, value) in self.reader.table(of, table, 0).entries {
            let key = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => self.flatten(&format!("{key}."), of, inner, accepted, read, found)?,
                _ => found.push((key.clone(), self.axis(&format!("{}.{key}", self.named(of)), value, accepted, read)?)),
            }
        }
        Ok(())
    }

    fn varied(&self) -> Result<Vec<Keyed<String>>, StudyError> {
        self.tables("vary", VALUES, |value| match value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(digits) => {
                whole(value).map(|number| number.to_string()).or_else(|| Some(digits.as_str().to_owned()))
            }
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(flag) => Some(flag.to_string()),
            _ => None,
        })
    }

    /// The programs, one at least.
    fn programs(&self) -> Result<Vec<ProgramEntry>, StudyError> {
        let Some(value) = self.get("programs") else { return Err(self.missing("programs", PROGRAMS)) };
        let mut found = Vec::new();
        for element in elements(value) {
            let at = self.reader.place(element.span().start);
            found.push(match element.get_ref() {
                DeValue::String(name) => {
                    ProgramEntry { name: At { at, value: name.to_string() }, parameters: Vec::new() }
                }
                DeValue::Table(table) => {
                    self.program(self.reader.table(&self.named("programs"), table, element.span().start))?
                }
                _ => return Err(self.reader.wrong(&self.named("programs"), element, "not a valid value", PROGRAMS)),
            });
        }
        if found.is_empty() {
            return Err(self.reader.wrong(&self.named("programs"), value, "there is no value", PROGRAMS));
        }
        Ok(found)
    }

    /// A program with parameters of its own. Whether it has such, it knows itself.
    fn program(&self, table: Table<'r, 't>) -> Result<ProgramEntry, StudyError> {
        let Some(name) = table.one("name", "the name of a program", text)? else {
            return Err(table.missing("name", "the name of a program"));
        };
        let parameters = table.entries.iter().filter(|(key, _)| *key.get_ref() != *"name");
        let parameters = parameters.map(|(key, value)| {
            let key = key.get_ref().to_string();
            let values = table.axis(&table.named(&key), value, WHOLE, whole)?;
            Ok((key, values))
        });
        Ok(ProgramEntry {
            name: At { at: table.at.clone(), value: name },
            parameters: parameters.collect::<Result<_, _>>()?,
        })
    }
}

/// The elements of a list, or the one value.
fn elements<'r, 't>(value: &'r Value<'t>) -> impl Iterator<Item = &'r Value<'t>> {
    let one = !matches!(value.get_ref(), DeValue::Array(_));
    let many = value.get_ref().as_array().into_iter().flatten();
    one.then_some(value).into_iter().chain(many)
}

fn text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok(),
        _ => None,
    }
}
