//! A compiler's command line, as far as one has to understand it to take its place: inputs, what stage it stops at, and flags with
//! the words that belong to them.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How far a compiler goes with its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Nowhere: it has none, and is asked about itself (`--version`, `-print-search-dirs`, `-Wl,--version`).
    Ask,
    /// It prints preprocessed text or dependencies (`-E`, `-M`, `-MM`).
    Preprocess,
    /// It writes objects, assembly or nothing (`-c`, `-S`, `-fsyntax-only`), or headers compiled beforehand.
    Compile,
    /// It links, after it has compiled what there is to compile.
    Link,
}

/// A file that is compiled or linked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Its name; `-` is standard input.
    pub path: OsString,
    /// The language that `-x` gives it, if one stands before it.
    pub language: Option<String>,
}

impl Input {
    /// Whether it is compiled, and not merely linked: by its language, else by the ending of its name, as gcc does.
    pub fn is_source(&self) -> bool {
        self.language.is_some()
            || ending(&self.path).is_some_and(|ending| SOURCES.contains(&ending) || HEADERS.contains(&ending))
    }

    /// Whether it is a header, of which compiling makes a header compiled beforehand, and nothing that is linked.
    pub fn is_header(&self) -> bool {
        match &self.language {
            Some(language) => language.ends_with("-header"),
            None => ending(&self.path).is_some_and(|ending| HEADERS.contains(&ending)),
        }
    }

    /// The name of the file without folder and ending.
    pub fn stem(&self) -> String {
        Path::new(&self.path).file_stem().map_or_else(|| "stdin".into(), |stem| stem.to_string_lossy().into_owned())
    }
}

fn ending(path: &OsStr) -> Option<&str> {
    Path::new(path).extension().and_then(OsStr::to_str)
}

/// Endings of what gcc's and clang's drivers compile in the languages that this is about (gcc's manual, Overall Options).
const SOURCES: &[&str] = &[
    "c", "i", "ii", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "f", "for", "ftn", "F", "FOR", "fpp", "FPP", "FTN",
    "f90", "f95", "f03", "f08", "F90", "F95", "F03", "F08", "s", "S", "sx", "ll", "bc",
];
const HEADERS: &[&str] = &["h", "hh", "H", "hp", "hxx", "hpp", "HPP", "h++", "tcc"];

/// Flags whose value is the next word, always or when it is not written behind the flag itself.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-J",
    "-A",
    "-B",
    "-T",
    "-e",
    "-u",
    "-z",
    "-h",
    "-R",
    "-V",
    "-b",
    "-G",
    "-arch",
    "-target",
    "-include",
    "-include-pch",
    "-imacros",
    "-idirafter",
    "-iprefix",
    "-iquote",
    "-isystem",
    "-isysroot",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-imultilib",
    "-imultiarch",
    "-cxx-isystem",
    "-ivfsoverlay",
    "-iframework",
    "-framework",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-Xanalyzer",
    "-mllvm",
    "-gcc-toolchain",
    "-aux-info",
    "-dumpdir",
    "-dumpbase",
    "-dumpbase-ext",
    "-wrapper",
    "-rpath",
    "-soname",
    "--param",
    "--sysroot",
    "--output",
    "--include",
    "--language",
    "--define-macro",
    "--include-directory",
    "-install_name",
    "-working-directory",
    "-serialize-diagnostics",
];

/// One thing that a command line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A file.
    Input(Input),
    /// The language of the files that follow: `-x`, in whatever spelling.
    Language(Vec<OsString>),
    /// Where the output goes.
    Output(OsString),
    /// Any other flag, with the word that belongs to it.
    Flag(Vec<OsString>),
}

/// A command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandLine {
    /// Its items, in order.
    pub items: Vec<Item>,
    /// Where the compiler stops.
    pub stage: Stage,
}

impl CommandLine {
    /// Reads a command line in which response files stand no more.
    pub fn parse(arguments: &[OsString]) -> Self {
        let mut items = Vec::new();
        let mut language = None;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or("");
            if text == "-" || !text.starts_with('-') {
                items.push(Item::Input(Input { path: word.clone(), language: language.clone() }));
                continue;
            }
            let mut flag = vec![word.clone()];
            if WITH_VALUE.contains(&text) {
                flag.extend(words.next().cloned());
            }
            items.push(match text {
                "-o" | "--output" => Item::Output(flag.pop().unwrap_or_default()),
                _ if text.starts_with("--output=") => Item::Output(text["--output=".len()..].into()),
                _ if is_language(text) => {
                    let named = flag.last().and_then(|last| last.to_str()).unwrap_or_default();
                    let named = named.trim_start_matches("--language=");
                    let named = if flag.len() == 1 { named.trim_start_matches("-x") } else { named };
                    language = (named != "none").then(|| named.to_owned());
                    Item::Language(flag)
                }
                // `-ofile`, but not the flags that begin alike (`-object`).
                _ if text.starts_with("-o") && !text.starts_with("-obj") => Item::Output(text[2..].into()),
                _ => Item::Flag(flag),
            });
        }
        let stage = stage(&items);
        Self { items, stage }
    }

    /// The files.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.items.iter().filter_map(|item| if let Item::Input(input) = item { Some(input) } else { None })
    }

    /// Flags that are one word.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        flags(&self.items)
    }

    /// Whether this flag is there.
    pub fn has(&self, flag: &str) -> bool {
        self.flags().any(|given| given == flag)
    }

    /// Where the output goes, the last one told.
    pub fn output(&self) -> Option<&OsString> {
        self.items.iter().rev().find_map(|item| if let Item::Output(path) = item { Some(path) } else { None })
    }
}

/// The first words of all flags but those about languages and output.
fn flags(items: &[Item]) -> impl Iterator<Item = &str> {
    items.iter().filter_map(|item| match item {
        Item::Flag(words) => words.first().and_then(|word| word.to_str()),
        _ => None,
    })
}

fn is_language(flag: &str) -> bool {
    flag == "--language" || flag.starts_with("--language=") || flag.starts_with("-x")
}

fn stage(items: &[Item]) -> Stage {
    let mut inputs =
        items.iter().filter_map(|item| if let Item::Input(input) = item { Some(input) } else { None }).peekable();
    if inputs.peek().is_none()
        || flags(items).any(|flag| flag == "-###" || flag == "--version" || flag.starts_with("--help"))
    {
        return Stage::Ask;
    }
    if flags(items).any(|flag| matches!(flag, "-E" | "-M" | "-MM" | "--preprocess")) {
        return Stage::Preprocess;
    }
    let stops = flags(items)
        .any(|flag| matches!(flag, "-c" | "-S" | "-fsyntax-only" | "--compile" | "--assemble" | "--precompile"));
    if stops || inputs.all(Input::is_header) { Stage::Compile } else { Stage::Link }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(line: &str) -> CommandLine {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        CommandLine::parse(&words)
    }

    #[test]
    fn compilers_stop_where_they_are_told() {
        let lines = [
            ("--version", Stage::Ask),
            ("", Stage::Ask),
            ("-v", Stage::Ask),
            ("-Wl,--version", Stage::Ask),
            ("-print-file-name=libc.so", Stage::Ask),
            ("-### a.c", Stage::Ask),
            ("-E -dM -", Stage::Preprocess),
            ("-MM a.c b.c", Stage::Preprocess),
            ("-MMD -MF a.d -c a.c -o a.o", Stage::Compile),
            ("-S a.f90", Stage::Compile),
            ("-fsyntax-only -x c -", Stage::Compile),
            ("-x c++-header all.h", Stage::Compile),
            ("all.hpp", Stage::Compile),
            ("a.c", Stage::Link),
            ("a.o -lm -o a", Stage::Link),
            ("-x c - -o a", Stage::Link),
            ("-shared a.o -o liba.so", Stage::Link),
            ("-o -c a.c", Stage::Link),
        ];
        for (line, expected) in lines {
            assert_eq!(parse(line).stage, expected, "{line}");
        }
    }

    #[test]
    fn inputs_are_told_from_values_of_flags() {
        let lines: [(&str, &[&str]); 7] = [
            ("-I include -D X -include y.h a.c -o b.c", &["a.c"]),
            ("-MF a.d -MT a.o -c a.c", &["a.c"]),
            ("-Xlinker a.o b.o", &["b.o"]),
            ("--param x.c b.F90", &["b.F90"]),
            ("-isystem d -L e -l m a.o libx.a", &["a.o", "libx.a"]),
            ("-mllvm a.c -Xclang b.c c.c", &["c.c"]),
            ("-o", &[]),
        ];
        for (line, expected) in lines {
            let found: Vec<OsString> = parse(line).inputs().map(|input| input.path.clone()).collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn languages_hold_for_the_files_that_follow() {
        let line = parse("a.o -xc b.data -x c++ c.data -x none d.o e.f90 --language=c f.txt");
        let found: Vec<(String, Option<&str>, bool)> = line
            .inputs()
            .map(|input| (input.path.to_string_lossy().into_owned(), input.language.as_deref(), input.is_source()))
            .collect();
        let expected = [
            ("a.o", None, false),
            ("b.data", Some("c"), true),
            ("c.data", Some("c++"), true),
            ("d.o", None, false),
            ("e.f90", None, true),
            ("f.txt", Some("c"), true),
        ];
        let found: Vec<(&str, Option<&str>, bool)> =
            found.iter().map(|(path, language, source)| (path.as_str(), *language, *source)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn outputs_are_found_in_every_spelling() {
        for line in ["-o x a.c", "-ox a.c", "a.c --output x", "--output=x a.c", "-o y a.c -o x"] {
            assert_eq!(parse(line).output(), Some(&OsString::from("x")), "{line}");
        }
        assert_eq!(parse("a.c").output(), None);
    }

    proptest! {
        #[test]
        fn no_word_is_lost(words in prop::collection::vec("(-[a-zA-Z]{1,3}|-o|-x|-|[a-z]{1,3}\\.[co])", 0..10)) {
            let given: Vec<OsString> = words.iter().map(OsString::from).collect();
            let counted: usize = CommandLine::parse(&given).items.iter().map(|item| match item {
                Item::Input(_) => 1,
                Item::Output(_) => 0,
                Item::Language(flag) | Item::Flag(flag) => flag.len(),
            }).sum();
            let outputs = CommandLine::parse(&given).items.iter().filter(|item| matches!(item, Item::Output(_))).count();
            prop_assert!(counted + outputs <= given.len() && counted + 2 * outputs >= given.len());
        }
    }
}
