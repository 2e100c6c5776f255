//! Names of addresses of a compiled program: functions, source lines, global variables.
//!
//! Functions and lines come from DWARF by `addr2line`; where there is none, functions come from the symbol table; where that is
//! stripped, addresses stay numbers. Variables come from the symbol table alone, which gives their sizes. All addresses are those
//! that the program was linked for: whoever knows where it was loaded subtracts that.

use std::ops::Range;
use std::path::{Path, PathBuf};

use addr2line::{Loader, demangle_auto};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use thiserror::Error;

/// Why a file has no symbols that could be read.
#[derive(Debug, Error)]
pub enum SymbolsError {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is no program, or a damaged one.
    #[error("{}: no program in the executable and linkable format: {problem}", .file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// The problem with the file.
        problem: String,
    },
}

/// Place of an address of code in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The function, innermost of those that were made into one; as the source calls it.
    pub function: Option<String>,
    /// The file, as the compiler was given it.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The functions that the compiler has made it part of, innermost first, each with the place where it calls the one before.
    pub callers: Vec<Place>,
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name in the source.
    pub name: String,
    /// Address of its first byte.
    pub start: u64,
    /// How long it is: at least a byte.
    pub bytes: u64,
}

/// Something about a program that cannot be told, and what to do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lacking {
    /// There are functions and variables, and no lines.
    Lines,
    /// There are no names at all.
    Names,
}

impl Lacking {
    /// The consequence, and what to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Lines => "no source lines: the program was compiled without -g",
            Self::Names => "no names of functions and variables: the program was stripped; link it without -s",
        }
    }
}

/// The symbols of a program.
pub struct Symbols {
    loader: Loader,
    /// Where there is code. Debug information tells of functions that the linker has left out, too, as if they were at 0.
    code: Vec<Range<u64>>,
    /// By address; they do not overlap.
    variables: Vec<Variable>,
    has_lines: bool,
    has_names: bool,
    moves: bool,
}

impl Symbols {
    /// The symbols of the program in `file`.
    ///
    /// # Errors
    /// When it cannot be read or is no program. That it has no symbols is no error.
    pub fn of(file: &Path) -> Result<Self, SymbolsError> {
        let foreign = |problem: String| SymbolsError::Foreign { file: file.to_owned(), problem };
        let bytes = input::bytes(file, input::HELD)
            .map_err(|source| SymbolsError::Unreadable { file: file.to_owned(), source })?;
        let program = object::File::parse(bytes.as_slice()).map_err(|error| foreign(error.to_string()))?;
        let loader = Loader::new(file).map_err(|error| foreign(error.to_string()))?;
        let has_lines = program.section_by_name(".debug_line").is_some();
        let has_names = program.symbols().any(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        let is_code = |section: &object::Section<'_, '_>| section.kind() == SectionKind::Text;
        let range =
            |section: object::Section<'_, '_>| section.address()..section.address().saturating_add(section.size());
        let code = program.sections().filter(is_code).map(range).collect();
        let moves = program.kind() == object::ObjectKind::Dynamic;
        Ok(Self { loader, code, variables: variables(&program), has_lines, has_names, moves })
    }

    /// Symbols that this program lacks, if any.
    pub const fn lacking(&self) -> Option<Lacking> {
        match (self.has_lines, self.has_names) {
            (true, _) => None,
            (false, true) => Some(Lacking::Lines),
            (false, false) => Some(Lacking::Names),
        }
    }

    /// Whether the kernel loads it elsewhere than it was linked for.
    pub const fn moves(&self) -> bool {
        self.moves
    }

    /// The place in the source of the instruction at an address, as far as that is known.
    pub fn place(&self, address: u64) -> Place {
        let mut place = Place::default();
        if !self.code.iter().any(|code| code.contains(&address)) {
            return place;
        }
        if let Ok(mut frames) = self.loader.find_frames(address) {
            let name = |function: addr2line::FunctionName<_>| function.raw_name().ok().map(|name| plain(&name));
            let mut chain = Vec::new();
            while let Ok(Some(frame)) = frames.next() {
                let (file, line) = frame.location.map_or((None, None), |at| (at.file.map(str::to_owned), at.line));
                chain.push(Place { function: frame.function.and_then(name), file, line, callers: Vec::new() });
            }
            let mut chain = chain.into_iter();
            place = chain.next().unwrap_or_default();
            place.callers = chain.collect();
        }
        if place.function.is_none() {
            place.function = self.loader.find_symbol(address).map(plain);
        }
        place
    }

    /// The global variables, by address.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The variable that an address is in, and how far.
    pub fn variable(&self, address: u64) -> Option<(&Variable, u64)> {
        let after = self.variables.partition_point(|variable| variable.start <= address);
        let variable = &self.variables[after.checked_sub(1)?];
        let offset = address - variable.start;
        (offset < variable.bytes).then_some((variable, offset))
    }
}

/// The name of a symbol in the source. Only names that compilers have made are taken apart: a variable of C that is called `b` is
/// no `bool`.
fn plain(name: &str) -> String {
    if name.starts_with("_Z") || name.starts_with("_R") {
        demangle_auto(name.into(), None).into_owned()
    } else {
        name.to_owned()
    }
}

/// Data symbols with a size, those inside of others left out: of several names for one thing the first by alphabet counts.
fn variables(program: &object::File<'_>) -> Vec<Variable> {
    let is_data = |symbol: &object::Symbol<'_, '_>| {
        let kind = matches!(symbol.kind(), SymbolKind::Data);
        kind && symbol.is_definition() && symbol.size() > 0 && symbol.address().checked_add(symbol.size()).is_some()
    };
    let variable = |symbol: object::Symbol<'_, '_>| {
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        let name = plain(name);
        Some(Variable { name, start: symbol.address(), bytes: symbol.size() })
    };
    let mut found: Vec<Variable> = program.symbols().filter(is_data).filter_map(variable).collect();
    found.sort_by(|a, b| (a.start, b.bytes, &a.name).cmp(&(b.start, a.bytes, &b.name)));
    let mut end = 0;
    found.retain(|variable| {
        let fits = variable.start >= end;
        if fits {
            end = variable.start + variable.bytes;
        }
        fits
    });
    found
}
