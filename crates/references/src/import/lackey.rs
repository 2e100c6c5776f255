//! The text that valgrind's lackey writes with `--trace-mem=yes`: `I`nstructions, `L`oads, `S`tores and `M`odifications, each with
//! an address in hexadecimal and a length. It knows no threads: valgrind runs one at a time and does not say which.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::Gathered;
use crate::event::{AccessKind, Event};
use crate::source::{Header, OneByOne, ReferenceError, Source, ThreadEvents, Warning};

/// A file of lackey's.
#[derive(Debug)]
pub struct Lackey {
    path: PathBuf,
    header: Header,
}

/// Content of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    Instruction(u64),
    Load(u64, u16),
    Store(u64, u16),
    Modify(u64, u16),
}

fn line(text: &str) -> Option<Line> {
    let mut words = text.split_ascii_whitespace();
    let (kind, place, end) = (words.next()?, words.next()?, words.next());
    let (address, length) = place.split_once(',')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let length = length.parse().ok()?;
    match (kind, end) {
        ("I", None) => Some(Line::Instruction(address)),
        ("L", None) => Some(Line::Load(address, length)),
        ("S", None) => Some(Line::Store(address, length)),
        ("M", None) => Some(Line::Modify(address, length)),
        _ => None,
    }
}

impl Lackey {
    /// Whether a file that begins with `start` is one: valgrind's own lines are passed over.
    pub fn is_one(start: &[u8]) -> bool {
        let text = String::from_utf8_lossy(start);
        let mut lines = text.lines().filter(|line| !line.starts_with("==") && !line.trim().is_empty());
        lines.next().is_some_and(|first| line(first).is_some()) || start.starts_with(b"==") && text.contains("Lackey")
    }

    /// The file at `path`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Self, ReferenceError> {
        input::open(path).map_err(|source| ReferenceError::Io { path: path.to_owned(), source })?;
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let header = Header {
            program: name,
            command: Vec::new(),
            recorded_on: "valgrind lackey".to_owned(),
            threads: 1,
            synchronised: false,
            lost: vec![
                "which thread did what: all is one thread here".to_owned(),
                "which loads depend on others: all may overlap".to_owned(),
            ],
            areas: Vec::new(),
        };
        Ok(Self { path: path.to_owned(), header })
    }
}

impl Source for Lackey {
    fn header(&self) -> &Header {
        &self.header
    }

    fn warnings(&self) -> &[Warning] {
        &[]
    }

    fn events(&self, thread: usize) -> Result<ThreadEvents, ReferenceError> {
        if thread > 0 {
            return Ok(Box::new(OneByOne::new(std::iter::empty())));
        }
        let file = input::open(&self.path).map_err(|source| ReferenceError::Io { path: self.path.clone(), source })?;
        let (lines, text, gathered) = (BufReader::new(file), Vec::new(), Gathered::default());
        Ok(Box::new(OneByOne::new(LackeyEvents { lines, text, gathered })))
    }
}

/// The events of a file, as it is read.
struct LackeyEvents {
    lines: BufReader<File>,
    text: Vec<u8>,
    gathered: Gathered,
}

impl Iterator for LackeyEvents {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.gathered.ready.pop_front() {
                return Some(event);
            }
            self.text.clear();
            if self.lines.read_until(b'\n', &mut self.text).ok()? == 0 {
                self.gathered.tell_instructions();
                return self.gathered.ready.pop_front();
            }
            // Valgrind's own lines and the program's output may be in between.
            match std::str::from_utf8(&self.text).ok().and_then(line) {
                Some(Line::Instruction(site)) => self.gathered.execute(1, Some(site)),
                Some(Line::Load(address, bytes)) => self.gathered.access(AccessKind::Load, address, bytes),
                Some(Line::Store(address, bytes)) => self.gathered.access(AccessKind::Store, address, bytes),
                Some(Line::Modify(address, bytes)) => {
                    self.gathered.access(AccessKind::Load, address, bytes);
                    self.gathered.access(AccessKind::Store, address, bytes);
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Access;

    const TEXT: &str = "==12== Lackey, an example Valgrind tool\nI  04016b60,3\nI  04016b63,5\n L 1ffefff7e0,8\nhello\n\
                        I  04016b68,2\n M 0421c7cc,4\nI  04016b6a,2\n";

    fn events_of(text: &[u8]) -> Vec<Event> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ls.lackey");
        std::fs::write(&path, text).expect("it can be written");
        Lackey::open(&path).expect("it opens").events(0).expect("it is read").gathered().expect("read to its end")
    }

    #[test]
    fn instructions_are_counted_and_accesses_have_their_place() {
        assert!(Lackey::is_one(TEXT.as_bytes()));
        let access = |kind, address, bytes| Event::Access(Access { kind, dependent: false, bytes, address });
        let expected = [
            Event::Instructions(2),
            Event::Site(0x0401_6b63),
            access(AccessKind::Load, 0x1f_feff_f7e0, 8),
            Event::Instructions(1),
            Event::Site(0x0401_6b68),
            access(AccessKind::Load, 0x0421_c7cc, 4),
            access(AccessKind::Store, 0x0421_c7cc, 4),
            Event::Instructions(1),
        ];
        assert_eq!(events_of(TEXT.as_bytes()), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_read_to_their_end(text in proptest::collection::vec(any::<u8>(), 0..500)) {
            let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
            prop_assert!(events_of(&text).len() <= 3 * 1024 * lines);
        }
    }
}
