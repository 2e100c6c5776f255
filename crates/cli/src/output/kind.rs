//! Kinds of files, and how one of ours is told from others.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use record::{DescriptionRow, Row};
use serde_json::{Map, Value};

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Records of a kind as JSON lines.
    JsonLines(&'static str),
    /// Records as CSV with these columns.
    Csv(&'static [&'static str]),
    /// Samples of counters.
    Trace,
    /// References of a program.
    References,
    /// The description of a machine.
    Machine,
    /// A drawing.
    Svg,
    /// A page for a browser.
    Page,
    /// A manual page, in roff.
    ManualPage,
    /// A trace as Parquet.
    Parquet,
    /// A trace for the Perfetto viewer.
    Perfetto,
}

/// Bytes at the beginning and at the end of a file that tell what it is.
const LOOKED_AT: usize = 1 << 16;

/// The longest record that is known as one, in bytes.
const LONGEST: u64 = 1 << 26;

/// How our descriptions, drawings and pages end.
const TOML_MARK: &str = concat!("# written by ccnuma ", env!("CARGO_PKG_VERSION"), "\n");
const ROFF_MARK: &str = concat!(".\\\" written by ccnuma ", env!("CARGO_PKG_VERSION"), "\n");
const XML_MARK: &str = concat!("<!-- written by ccnuma ", env!("CARGO_PKG_VERSION"), " -->\n");
/// The common part of all versions' marks.
const MARK: &[u8] = b"written by ccnuma ";

/// An Arrow stream begins so, and its schema has this key if it is a trace.
const ARROW: &[u8] = &[0xff; 4];
/// An Arrow stream ends so: a message of no bytes.
const ARROW_END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
const TRACE_KEY: &[u8] = b"ccnuma.trace";
/// The first packet of our Perfetto traces: that what follows has no past, as sequence 1.
const PERFETTO: &[u8] = &[0x0a, 0x04, 0x68, 0x01, 0x50, 0x01];
const PARQUET: &[u8] = b"PAR1";
const REFERENCES: &[u8] = b"ccnuma-references ";

impl Kind {
    /// The name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::JsonLines(_) => "records in JSON lines",
            Self::Csv(_) => "records in CSV",
            Self::Trace => "a trace",
            Self::References => "recorded references",
            Self::Machine => "a machine description",
            Self::Svg => "a drawing",
            Self::Page => "a page",
            Self::ManualPage => "a manual page",
            Self::Parquet => "a Parquet file",
            Self::Perfetto => "a Perfetto trace",
        }
    }

    /// Whether only another run could give it again: a drawing follows from records, a page from a trace.
    pub const fn is_result(self) -> bool {
        match self {
            Self::JsonLines(_) | Self::Csv(_) | Self::Trace | Self::References | Self::Machine => true,
            Self::Svg | Self::Page | Self::ManualPage | Self::Parquet | Self::Perfetto => false,
        }
    }

    /// The mark at its end, if that tells it from files of others.
    pub const fn mark(self) -> Option<&'static str> {
        match self {
            Self::Machine => Some(TOML_MARK),
            Self::Svg | Self::Page => Some(XML_MARK),
            Self::ManualPage => Some(ROFF_MARK),
            _ => None,
        }
    }

    /// Whether the file at `path` has the end that files of this kind have, if they have one. A file that cannot be read has none.
    pub fn has_its_end(self, path: &Path) -> bool {
        self != Self::Trace || ends(path).is_ok_and(|(_, end)| end.ends_with(&ARROW_END))
    }

    /// Whether the file at `path` is one of this kind that `ccnuma` wrote.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_at(self, path: &Path) -> io::Result<bool> {
        let (start, end) = ends(path)?;
        let marked = has(&end[end.len().saturating_sub(256)..], MARK);
        Ok(match self {
            Self::JsonLines(kind) => first_object(path)?.is_some_and(|object| is_record(&object, kind)),
            Self::Csv(columns) => {
                let line = String::from_utf8_lossy(&start).lines().next().unwrap_or_default().to_owned();
                line.split(',').zip(columns).take(2).filter(|(found, column)| found == *column).count() == 2
            }
            Self::Trace => start.starts_with(ARROW) && has(&start, TRACE_KEY),
            Self::References => start.starts_with(REFERENCES),
            Self::Machine | Self::Svg | Self::Page | Self::ManualPage => marked,
            Self::Parquet => start.starts_with(PARQUET) && has(&end, b"ccnuma"),
            Self::Perfetto => start.starts_with(PERFETTO),
        })
    }
}

/// The first bytes of a file, and the last.
fn ends(path: &Path) -> io::Result<(Vec<u8>, Vec<u8>)> {
    use std::os::unix::fs::FileExt;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut start = Vec::new();
    (&mut file).take(LOOKED_AT as u64).read_to_end(&mut start)?;
    let from = length.saturating_sub(LOOKED_AT as u64);
    let mut end = vec![0; usize::try_from(length - from).unwrap_or(LOOKED_AT)];
    file.read_exact_at(&mut end, from)?;
    Ok((start, end))
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The object that a file begins with; none if it begins with something else.
fn first_object(path: &Path) -> io::Result<Option<Map<String, Value>>> {
    let start = BufReader::new(File::open(path)?.take(LONGEST));
    let first = serde_json::Deserializer::from_reader(start).into_iter::<Map<String, Value>>().next();
    Ok(first.and_then(Result::ok))
}

/// Whether an object is a record of a kind, of whatever version of the schema, or the description of a machine that stands before
/// such records.
fn is_record(object: &Map<String, Value>, kind: &str) -> bool {
    let found = object.get("record").and_then(Value::as_str);
    object.contains_key("schema") && found.is_some_and(|found| found == kind || found == DescriptionRow::KIND)
}
