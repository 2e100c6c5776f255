//! The command lines that take the place of one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::command_line::{CommandLine, Input, Item, Stage};
use super::flags::{kept_from_linker, refused, replaced, to_compile, to_compile_after};
use super::response::expand;
use super::{Compiler, CompilerError, Family, Installation, Language};
use crate::wrapped::{BUILT_WITH, INSTRUMENTATION};

/// Our own options on the compiler's command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The compiler that does the work.
    pub compiler: Option<OsString>,
    /// Whether basic blocks tell when they are entered, so that instructions can be counted.
    pub blocks: bool,
    /// Whether references to local arrays are announced, by compilers that can.
    pub locals: bool,
    /// Whether to print the command lines.
    pub verbose: bool,
}

impl Options {
    /// Takes the flags that are ours from a command line. What is left is the compiler's, response files expanded.
    ///
    /// # Errors
    /// A flag of ours that there is not.
    pub fn take(arguments: Vec<OsString>) -> Result<(Self, Vec<OsString>), CompilerError> {
        let mut options = Self { compiler: None, blocks: true, locals: true, verbose: false };
        let mut rest = Vec::with_capacity(arguments.len());
        for argument in expand(arguments)? {
            match argument.to_str().filter(|text| text.starts_with("--ccnuma-")) {
                None => rest.push(argument),
                Some("--ccnuma-no-blocks") => options.blocks = false,
                Some("--ccnuma-no-locals") => options.locals = false,
                Some("--ccnuma-verbose") => options.verbose = true,
                Some(text) => match text.strip_prefix("--ccnuma-compiler=").filter(|name| !name.is_empty()) {
                    Some(name) => options.compiler = Some(name.into()),
                    None => return Err(CompilerError::UnknownFlag(text.to_owned())),
                },
            }
        }
        Ok((options, rest))
    }
}

/// A program to start, and its arguments.
pub type Step = Vec<OsString>;

/// Steps that take the place of a command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Compilations of single sources into objects in the scratch folder, when one command both compiles and links.
    pub before: Vec<Step>,
    /// The command itself.
    pub last: Step,
    /// Flags left out of the command line, and why; a line each.
    pub notices: Vec<String>,
}

/// Plans what takes the place of `compiler arguments`, where `wrapped` are the functions of the C library that the runtime takes
/// over, and `scratch` a folder for objects that nobody keeps.
///
/// # Errors
/// The command line asks for what cannot be simulated.
pub fn plan(
    language: Language,
    compiler: &Compiler,
    installation: &Installation,
    wrapped: &[&str],
    options: &Options,
    arguments: &[OsString],
    scratch: &Path,
) -> Result<Plan, CompilerError> {
    let line = CommandLine::parse(arguments);
    if let Some((flag, (reason, accepted))) = line.flags().find_map(|flag| Some((flag, refused(flag)?))) {
        return Err(CompilerError::Refused { flag: flag.to_owned(), reason, accepted });
    }
    let builder = Builder { language, compiler, installation, wrapped, options, line: &line };
    let mut notices = Vec::new();
    for flag in line.flags() {
        notices.extend(replaced(flag).map(|reason| format!("{flag} is left out: {reason}")));
        if line.stage == Stage::Link && flag.contains("static") && kept_from_linker(flag) {
            notices.push(format!("{flag} is left out: the runtime is a shared library"));
        }
    }
    let mut before = Vec::new();
    let last = match line.stage {
        Stage::Ask => {
            notices.clear();
            [&compiler.words, arguments].concat()
        }
        Stage::Preprocess => builder.preprocess(),
        Stage::Compile => builder.compile(),
        Stage::Link => {
            let objects = builder.objects(scratch);
            before.extend(objects.iter().map(|(input, object)| builder.compile_one(input, object)));
            builder.link(&objects)
        }
    };
    Ok(Plan { before, last, notices })
}

/// Inputs from which the parts of a plan are made.
struct Builder<'a> {
    language: Language,
    compiler: &'a Compiler,
    installation: &'a Installation,
    wrapped: &'a [&'a str],
    options: &'a Options,
    line: &'a CommandLine,
}

impl Builder<'_> {
    /// The compiler and our flags before the user's.
    fn begin(&self, flags: &[&str]) -> Step {
        let mut step = self.compiler.words.clone();
        step.extend(flags.iter().map(OsString::from));
        step.push("-I".into());
        step.push(self.installation.include.clone().into());
        step
    }

    /// The user's flags, those that have to go left out.
    fn kept_flags(&self) -> impl Iterator<Item = &[OsString]> {
        self.line.items.iter().filter_map(|item| match item {
            Item::Flag(words) if word(words).is_none_or(|flag| replaced(flag).is_none()) => Some(words.as_slice()),
            _ => None,
        })
    }

    fn preprocess(&self) -> Step {
        self.with_all(self.begin(&["-D__CCNUMA__=1"]))
    }

    fn compile(&self) -> Step {
        let mut step = self.with_all(self.begin(&to_compile(self.compiler, self.options)));
        step.extend(to_compile_after(self.compiler).iter().map(OsString::from));
        step
    }

    /// All that the user's command line says, in its order.
    fn with_all(&self, mut step: Step) -> Step {
        for item in &self.line.items {
            match item {
                Item::Input(input) => step.push(input.path.clone()),
                Item::Output(path) => step.extend(["-o".into(), path.clone()]),
                Item::Flag(words) if word(words).is_some_and(|flag| replaced(flag).is_some()) => {}
                Item::Language(words) | Item::Flag(words) => step.extend(words.iter().cloned()),
            }
        }
        step
    }

    /// The sources of a command that links, each with the object it becomes.
    fn objects(&self, scratch: &Path) -> Vec<(Input, PathBuf)> {
        let sources = self.line.inputs().filter(|input| input.is_source() && !input.is_header());
        sources
            .enumerate()
            .map(|(number, input)| (input.clone(), scratch.join(format!("{number}-{}.o", input.stem()))))
            .collect()
    }

    /// Compiles one source of a command that links. The sanitizer and OpenMP are for the compiler and not for the linker, and one
    /// command cannot tell them apart.
    fn compile_one(&self, input: &Input, object: &Path) -> Step {
        let mut step = self.begin(&to_compile(self.compiler, self.options));
        let for_linker = |flag: &str| {
            flag.starts_with("-Wl,") || flag.starts_with("-l") || matches!(flag, "-shared" | "-Xlinker" | "-z")
        };
        for words in self.kept_flags().filter(|words| !word(words).is_some_and(for_linker)) {
            step.extend(words.iter().cloned());
        }
        step.extend(self.dependencies(input));
        if let Some(language) = &input.language {
            step.extend(["-x".into(), language.into()]);
        }
        step.extend(["-c".into(), input.path.clone(), "-o".into(), object.into()]);
        step.extend(to_compile_after(self.compiler).iter().map(OsString::from));
        step
    }

    /// Where a list of dependencies goes that would be named after the object, which is ours.
    fn dependencies(&self, input: &Input) -> Vec<OsString> {
        let line = self.line;
        if !line.has("-MD") && !line.has("-MMD") {
            return Vec::new();
        }
        let mut flags: Vec<OsString> = Vec::new();
        if !line.flags().any(|flag| flag.starts_with("-MT") || flag.starts_with("-MQ")) {
            flags.extend(["-MQ".into(), format!("{}.o", input.stem()).into()]);
        }
        if !line.flags().any(|flag| flag.starts_with("-MF")) {
            let output = line.output().map_or_else(|| "a".into(), |path| path.to_string_lossy());
            flags.extend(match self.compiler.family {
                Family::Gnu => ["-MF".into(), format!("{output}-{}.d", input.stem()).into()],
                Family::Clang => ["-MF".into(), format!("{}.d", input.stem()).into()],
            });
        }
        flags
    }

    /// Links objects, in the order in which they and the sources they come from were named.
    fn link(&self, objects: &[(Input, PathBuf)]) -> Step {
        let mut step = self.compiler.words.clone();
        let mut compiled = objects.iter();
        let mut parallel = false;
        for item in &self.line.items {
            match item {
                Item::Input(input) if input.is_source() => {
                    step.extend(
                        (!input.is_header()).then(|| compiled.next()).flatten().map(|(_, object)| object.into()),
                    );
                }
                Item::Input(input) => step.push(input.path.clone()),
                Item::Output(path) => step.extend(["-o".into(), path.clone()]),
                Item::Language(_) => {}
                Item::Flag(words) => {
                    let flag = word(words).unwrap_or_default();
                    parallel |= flag.starts_with("-fopenmp");
                    // `-l gomp` in two words is `-lgomp`.
                    let joined = words.iter().map(|word| word.to_string_lossy()).collect::<String>();
                    if replaced(flag).is_none() && !kept_from_linker(&joined) {
                        step.extend(words.iter().cloned());
                    }
                }
            }
        }
        if parallel {
            step.push("-pthread".into());
        }
        if !self.line.has("-r") {
            step.extend(self.runtime());
        }
        step
    }

    /// Words that link the runtime, and take functions over, in every program and shared library. A library names the runtime
    /// itself: else functions by these names might be found in the compiler's own archives (`__wrap_pthread_create` is in gcc's).
    fn runtime(&self) -> Vec<OsString> {
        let shared = self.line.has("-shared") || self.line.has("--shared") || self.line.has("-Wl,-shared");
        let mut words: Vec<OsString> = Vec::new();
        if !self.wrapped.is_empty() {
            let wraps = self.wrapped.iter().map(|name| format!(",--wrap={name}")).collect::<String>();
            words.push(format!("-Wl{wraps}").into());
        }
        if !shared {
            words.extend(["-no-pie", "-Wl,-z,now"].map(Into::into));
            let mark = BUILT_WITH;
            words.push(format!("-Wl,--defsym={mark}={:#x},--export-dynamic-symbol={mark}", INSTRUMENTATION).into());
            // So that what the language's own library calls is taken over, too.
            match self.language {
                Language::C => {}
                Language::Cxx => words.push("-static-libstdc++".into()),
                Language::Fortran => words.push("-static-libgfortran".into()),
            }
        }
        let folder = self.installation.runtime.parent().unwrap_or(Path::new("."));
        words.extend(["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), folder.into()]);
        words.extend([
            "-Wl,--push-state,--no-as-needed".into(),
            self.installation.runtime.clone().into(),
            "-Wl,--pop-state".into(),
        ]);
        words
    }
}

fn word(words: &[OsString]) -> Option<&str> {
    words.first().and_then(|word: &OsString| OsStr::to_str(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(family: Family, line: &str) -> Result<Plan, CompilerError> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let (options, arguments) = Options::take(words)?;
        let compiler = Compiler { words: vec!["gcc".into()], family, traces: family == Family::Clang };
        let installation = Installation { runtime: "/l/runtime.so".into(), include: "/i".into() };
        plan(Language::C, &compiler, &installation, &["malloc", "time"], &options, &arguments, Path::new("/s"))
    }

    fn text(step: &Step) -> String {
        step.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    const LINKED: &str = "-Wl,--wrap=malloc,--wrap=time -no-pie -Wl,-z,now -Wl,--defsym=ccnuma_built_with=VERSION,\
        --export-dynamic-symbol=ccnuma_built_with -Xlinker -rpath -Xlinker /l -Wl,--push-state,--no-as-needed /l/runtime.so \
        -Wl,--pop-state";
    const GNU: &str = "gcc -g -D__CCNUMA__=1 -U__SANITIZE_THREAD__ -fsanitize=thread -fno-ipa-reference --param \
        tsan-distinguish-volatile=1 -fno-plt -Wno-tsan -fsanitize-coverage=trace-pc -I /i";
    const CLANG: &str = "gcc -g -D__CCNUMA__=1 -U__SANITIZE_THREAD__ -fsanitize=thread -fno-plt -mllvm \
        -tsan-instrument-read-before-write=1 -mllvm -tsan-distinguish-volatile=1 -Wno-unused-command-line-argument \
        -fsanitize-coverage=trace-pc,no-prune -mllvm -tsan-instrument-memory-accesses=0 \
        -fsanitize-coverage=trace-loads,trace-stores -I /i";

    /// Command lines, each with the steps that take its place; GNU, CLANG and LINKED stand for the words above.
    const LINES: &[(&str, &[&str])] = &[
        // Questions pass untouched.
        ("--version", &["gcc --version"]),
        ("-v", &["gcc -v"]),
        ("-Wl,--version -fsanitize=thread", &["gcc -Wl,--version -fsanitize=thread"]),
        ("-E -dM -fopenmp -", &["gcc -D__CCNUMA__=1 -I /i -E -dM -fopenmp -"]),
        ("-MM a.c", &["gcc -D__CCNUMA__=1 -I /i -MM a.c"]),
        // Compiling.
        ("-O2 -c a.c -o a.o", &["GNU -O2 -c a.c -o a.o"]),
        ("-g3 -c a.c b.c", &["GNU -g3 -c a.c b.c"]),
        ("-MMD -MFa.d -fopenmp -fPIC -c a.c -oa.o", &["GNU -MMD -MFa.d -fopenmp -fPIC -c a.c -o a.o"]),
        ("-c -x c a.txt", &["GNU -c -x c a.txt"]),
        ("-S a.s -flto=auto -fsanitize=address", &["GNU -S a.s"]),
        // Linking.
        ("a.o b.o -o p -lm", &["gcc a.o b.o -o p -lm LINKED"]),
        ("-fopenmp a.o -l gomp -static -o p", &["gcc a.o -o p -pthread LINKED"]),
        ("-pie -flto a.o -fsanitize=thread -ltsan", &["gcc a.o LINKED"]),
        (
            "-shared a.o -o liba.so",
            &["gcc -shared a.o -o liba.so -Wl,--wrap=malloc,--wrap=time -Xlinker -rpath -Xlinker /l \
               -Wl,--push-state,--no-as-needed /l/runtime.so -Wl,--pop-state"],
        ),
        ("-r a.o b.o -o c.o", &["gcc -r a.o b.o -o c.o"]),
        // Both at once.
        (
            "-O3 -fopenmp a.c -o p -lm",
            &["GNU -O3 -fopenmp -c a.c -o /s/0-a.o", "gcc -O3 /s/0-a.o -o p -lm -pthread LINKED"],
        ),
        (
            "d/a.c b.o -x c x.txt -x none -Wl,-O1 c.s",
            &[
                "GNU -c d/a.c -o /s/0-a.o",
                "GNU -x c -c x.txt -o /s/1-x.o",
                "GNU -c c.s -o /s/2-c.o",
                "gcc /s/0-a.o b.o /s/1-x.o -Wl,-O1 /s/2-c.o LINKED",
            ],
        ),
        ("-MD a.c -o p", &["GNU -MD -MQ a.o -MF p-a.d -c a.c -o /s/0-a.o", "gcc -MD /s/0-a.o -o p LINKED"]),
        (
            "-MD -MF x.d -MT y a.c",
            &["GNU -MD -MF x.d -MT y -c a.c -o /s/0-a.o", "gcc -MD -MF x.d -MT y /s/0-a.o LINKED"],
        ),
    ];

    #[test]
    fn command_lines_become_what_they_should() {
        for (family, begin) in [(Family::Gnu, GNU), (Family::Clang, CLANG)] {
            for (line, expected) in LINES {
                let plan = planned(family, line).expect("a plan");
                let found: Vec<String> = plan.before.iter().chain([&plan.last]).map(text).collect();
                let linked = LINKED.replace("VERSION", &format!("{:#x}", INSTRUMENTATION));
                let after = if family == Family::Clang { " -fno-vectorize -fno-slp-vectorize" } else { "" };
                let whole = |step: &str| match step.strip_prefix("GNU") {
                    Some(rest) => format!("{begin}{rest}{after}"),
                    None => step.replace("LINKED", &linked),
                };
                let mut wanted: Vec<String> = expected.iter().map(|step| whole(step)).collect();
                if family == Family::Clang {
                    wanted.iter_mut().for_each(|step| *step = step.replace("-MF p-a.d", "-MF a.d"));
                }
                assert_eq!(found, wanted, "{line}");
            }
        }
    }

    #[test]
    fn what_is_left_out_is_told_unless_it_was_only_a_question() {
        let notices = |line: &str| planned(Family::Gnu, line).expect("a plan").notices.join("\n");
        assert!(
            notices("-fsanitize=address -c a.c")
                .contains("-fsanitize=address is left out: replaced by the instrumentation of ccnuma")
        );
        assert!(notices("-static a.o").contains("-static is left out: the runtime is a shared library"));
        assert_eq!(notices("-static -flto --version"), "");
        assert_eq!(notices("-fopenmp a.o -static-libgcc"), "");
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let error = planned(Family::Gnu, "-m32 -c a.c").expect_err("32 bits").to_string();
        assert_eq!(error, "-m32: only 64-bit programs are simulated; accepted: -m64");
        let error = planned(Family::Gnu, "--ccnuma-fast a.c").expect_err("no such flag").to_string();
        assert!(error.starts_with("--ccnuma-fast: no such flag; accepted: "), "{error}");
    }

    #[test]
    fn references_to_local_arrays_are_announced_where_compilers_can() {
        let announced = |family, flags: &str| {
            let line = text(&planned(family, &format!("{flags} -c a.c")).expect("a plan").last);
            line.contains("trace-loads")
        };
        for (flags, clang) in [("", true), ("--ccnuma-no-locals", false), ("--ccnuma-no-blocks", false)] {
            assert_eq!((announced(Family::Gnu, flags), announced(Family::Clang, flags)), (false, clang), "{flags}");
        }
    }

    #[test]
    fn flags_of_ours_are_taken_out() {
        let plan =
            planned(Family::Gnu, "--ccnuma-no-blocks --ccnuma-verbose -c a.c --ccnuma-compiler=x").expect("a plan");
        assert!(
            !text(&plan.last).contains("trace-pc") && text(&plan.last).ends_with("-I /i -c a.c"),
            "{}",
            text(&plan.last)
        );
    }
}
