//! Displays of OpenMP's settings (`omp_display_env`, `OMP_DISPLAY_ENV`), and of where each thread runs (`omp_display_affinity`
//! and its kin, `OMP_DISPLAY_AFFINITY`; OpenMP 5.0, 3.2.30 to 3.2.34 and 6.13 to 6.14), for programs and the environment.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write as _;
use std::sync::RwLock;

use units::ranges;

use super::api::{omp_get_ancestor_thread_num, omp_get_level};
use super::platform::processors;
use super::schedule::{Kind, Schedule};
use super::settings::{Bind, Settings};
use super::team::{globals, member};
use crate::runtime::state::number;

/// The format of a thread's line if none was set, as in libgomp.
pub const FORMAT: &str = "level %L thread %i affinity %A";

/// The format that was set, if any.
static SAID: RwLock<Option<String>> = RwLock::new(None);

/// Tells lines on standard error, at once.
fn tell(text: &str) {
    // SAFETY: the bytes are there.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// The settings, as the standard has them told.
fn environment(settings: &Settings, processors: u32) -> String {
    let boolean = |value: bool| if value { "TRUE" } else { "FALSE" }.to_owned();
    let Schedule { kind, chunk } = settings.schedule;
    let kind = match kind {
        Kind::Static => "STATIC",
        Kind::Dynamic => "DYNAMIC",
        Kind::Guided => "GUIDED",
        Kind::Auto => "AUTO",
    };
    let default = u64::from(matches!(settings.schedule.kind, Kind::Dynamic | Kind::Guided));
    let bind = match settings.bind {
        Bind::False => "FALSE",
        Bind::True => "TRUE",
        Bind::Master => "MASTER",
        Bind::Close => "CLOSE",
        Bind::Spread => "SPREAD",
    };
    let places: Vec<String> =
        settings.places.iter().map(|place| format!("{{{}}}", ranges(place.iter().copied()))).collect();
    let rows = [
        ("OMP_DYNAMIC", boolean(settings.dynamic)),
        ("OMP_NESTED", boolean(settings.levels > 1)),
        ("OMP_NUM_THREADS", settings.threads.unwrap_or(processors).to_string()),
        ("OMP_SCHEDULE", if chunk == default { kind.to_owned() } else { format!("{kind},{chunk}") }),
        ("OMP_PROC_BIND", bind.to_owned()),
        ("OMP_PLACES", places.join(",")),
        ("OMP_STACKSIZE", settings.stack.unwrap_or(0).to_string()),
        ("OMP_WAIT_POLICY", "PASSIVE".to_owned()),
        ("OMP_THREAD_LIMIT", settings.limit.to_string()),
        ("OMP_NUM_TEAMS", settings.leagues.0.to_string()),
        ("OMP_TEAMS_THREAD_LIMIT", settings.leagues.1.to_string()),
        ("OMP_MAX_ACTIVE_LEVELS", settings.levels.to_string()),
        ("OMP_CANCELLATION", boolean(settings.cancellation)),
        ("OMP_DEFAULT_DEVICE", "0".to_owned()),
        ("OMP_MAX_TASK_PRIORITY", settings.priority.to_string()),
        ("OMP_DISPLAY_AFFINITY", boolean(settings.display_affinity)),
        ("OMP_AFFINITY_FORMAT", settings.affinity_format.clone()),
    ];
    let mut text = "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n".to_owned();
    for (name, value) in rows {
        // Nothing can be wrong with writing to a string.
        let _written = writeln!(text, "  {name} = '{value}'");
    }
    text + "OPENMP DISPLAY ENVIRONMENT END\n"
}

/// Tells what the environment says, if it is to be told.
pub fn at_the_beginning(settings: &Settings, processors: u32) {
    if settings.display {
        tell(&environment(settings, processors));
    }
}

/// Tells the settings on standard error.
#[unsafe(no_mangle)]
pub extern "C" fn omp_display_env(_verbose: c_int) {
    tell(&environment(&globals().settings, processors()));
}

/// Value of a field of a format, told by its letter or its long name.
fn field(name: &str) -> Option<String> {
    let region = member().region.get();
    let level = region.team.levels.get().0;
    Some(match name {
        "t" | "team_num" => "0".to_owned(),
        "T" | "num_teams" => "1".to_owned(),
        "L" | "nesting_level" => level.to_string(),
        "n" | "thread_num" => region.number.to_string(),
        "N" | "num_threads" => region.team.threads.get().to_string(),
        "a" | "ancestor_tnum" => omp_get_ancestor_thread_num(omp_get_level() - 1).to_string(),
        "H" | "host" => host(),
        "P" | "process_id" => std::process::id().to_string(),
        "i" | "native_thread_id" => native().to_string(),
        "A" | "thread_affinity" => affinity(),
        _ => return None,
    })
}

fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: there is room for so many bytes, of which the last stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The kernel's number of the thread.
fn native() -> i64 {
    match crate::runtime::state::current() {
        Some(_) => number() as i64 + 1,
        None => crate::runtime::tls::kernel_id().into(),
    }
}

/// The processors that the thread may run on.
fn affinity() -> String {
    let place = member().place.get().copied().flatten();
    match place.and_then(|place| globals().settings.places.get(place)) {
        Some(cpus) => ranges(cpus.iter().copied()),
        None => ranges(0..processors() as usize),
    }
}

/// A format with its fields (`%n`, `%{thread_num}`, `%0.5n`, `%.5n`, `%5n`) filled in by `field`.
fn filled(format: &str, field: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        text += before;
        if let Some(after) = after.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        let (zeros, after) = after.strip_prefix('0').map_or((false, after), |after| (true, after));
        let (right, after) = after.strip_prefix('.').map_or((false, after), |after| (true, after));
        let digits = after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len());
        // No wider than the standard library can make it.
        let width = after[..digits].parse().map_or(0, |width: usize| width.min(usize::from(u16::MAX)));
        let after = &after[digits..];
        let (name, after) = match after.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
            Some(both) => both,
            None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
        };
        let value = field(name).unwrap_or_else(|| "undefined".to_owned());
        // Zeros stand behind a sign.
        let number = value.parse::<i64>().ok().filter(|_| zeros);
        text += &match (right, number) {
            (true, Some(number)) => format!("{number:0width$}"),
            (true, None) => format!("{value:>width$}"),
            (false, _) => format!("{value:<width$}"),
        };
        rest = after;
    }
    text + rest
}

/// The format that was set, if one was, else that of the environment.
fn format() -> String {
    let said = SAID.read().ok().and_then(|said| said.clone());
    said.unwrap_or_else(|| globals().settings.affinity_format.clone())
}

/// The running thread's line, by a format or, if that is empty, by the one that was set.
fn told(given: &str) -> String {
    if given.is_empty() { filled(&format(), field) } else { filled(given, field) }
}

/// A thread goes into a region: it tells where it is, if it is to and that has changed.
pub fn in_region() {
    if globals().settings.display_affinity {
        let member = member();
        let line = told("");
        let news = member.told.borrow().as_ref() != Some(&line);
        if news {
            tell(&format!("{line}\n"));
            *member.told.borrow_mut() = Some(line);
        }
    }
}

/// # Safety
/// It is null or ends with a zero.
unsafe fn string(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
}

/// Puts as much of a text as fits into a buffer, with a zero behind it. Returns the bytes of all of it.
///
/// # Safety
/// The buffer has so many bytes.
unsafe fn put(text: &str, buffer: *mut c_char, bytes: usize) -> usize {
    if bytes > 0 && !buffer.is_null() {
        let length = text.len().min(bytes - 1);
        // SAFETY: the caller's promise.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
            *buffer.add(length) = 0;
        }
    }
    text.len()
}

/// Has the running thread tell where it runs, on standard error.
///
/// # Safety
/// The format is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_affinity(format: *const c_char) {
    // SAFETY: the caller's promise.
    tell(&(told(&unsafe { string(format) }) + "\n"));
}

/// The same into a buffer. Returns how many bytes there are of it, the zero not counted.
///
/// # Safety
/// The buffer has so many bytes; the format is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_capture_affinity(buffer: *mut c_char, bytes: usize, format: *const c_char) -> usize {
    // SAFETY: the caller's promise.
    unsafe { put(&told(&string(format)), buffer, bytes) }
}

/// Sets the format of what threads tell.
///
/// # Safety
/// It ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format(format: *const c_char) {
    // SAFETY: the caller's promise.
    set_format(unsafe { string(format) });
}

fn set_format(format: String) {
    if let Ok(mut said) = SAID.write() {
        *said = Some(format);
    }
}

/// Tells it. Returns how many bytes there are of it, the zero not counted.
///
/// # Safety
/// The buffer has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_affinity_format(buffer: *mut c_char, bytes: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { put(&format(), buffer, bytes) }
}

/// Text of a string of Fortran's: blanks at its end do not count.
///
/// # Safety
/// It has so many bytes.
unsafe fn trimmed(text: *const c_char, bytes: usize) -> String {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), bytes) };
    String::from_utf8_lossy(bytes).trim_end_matches(' ').to_owned()
}

/// Puts a text into a string of Fortran's, blanks behind it. Returns the bytes of all of it.
///
/// # Safety
/// The string has so many bytes.
unsafe fn put_padded(text: &str, string: *mut c_char, bytes: usize) -> c_int {
    let length = text.len().min(bytes);
    // SAFETY: the caller's promise.
    unsafe {
        string.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
        string.cast::<u8>().add(length).write_bytes(b' ', bytes - length);
    }
    c_int::try_from(text.len()).unwrap_or(c_int::MAX)
}

/// As [`omp_display_env`], from Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn omp_display_env_(_verbose: *const c_int) {
    omp_display_env(0);
}

/// As [`omp_display_affinity`], from Fortran.
///
/// # Safety
/// The format has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_affinity_(format: *const c_char, bytes: usize) {
    // SAFETY: the caller's promise.
    tell(&(told(&unsafe { trimmed(format, bytes) }) + "\n"));
}

/// As [`omp_capture_affinity`], from Fortran.
///
/// # Safety
/// The strings have so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_capture_affinity_(
    string: *mut c_char,
    format: *const c_char,
    bytes: usize,
    format_bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { put_padded(&told(&trimmed(format, format_bytes)), string, bytes) }
}

/// As [`omp_set_affinity_format`], from Fortran.
///
/// # Safety
/// The format has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format_(format: *const c_char, bytes: usize) {
    // SAFETY: the caller's promise.
    set_format(unsafe { trimmed(format, bytes) });
}

/// As [`omp_get_affinity_format`], from Fortran.
///
/// # Safety
/// The string has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_affinity_format_(string: *mut c_char, bytes: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { put_padded(&format(), string, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::processors::Processors;
    use proptest::prelude::*;

    fn known(name: &str) -> Option<String> {
        match name {
            "n" | "thread_num" => Some("7".to_owned()),
            "A" => Some("0-3,8".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn formats_are_filled_in() {
        for (format, expected) in [
            ("thread %n on %A", "thread 7 on 0-3,8"),
            ("%{thread_num}|%4n|%.4n|%0.4n|%0.7A|", "7|7   |   7|0007|  0-3,8|"),
            ("100%% %q %", "100% undefined undefined"),
            ("", ""),
        ] {
            assert_eq!(filled(format, known), expected, "{format}");
        }
        assert_eq!(ranges([0_usize, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges([0_usize; 0]), "");
    }

    #[test]
    fn settings_are_told_by_name() {
        let said = |name: &str| match name {
            "OMP_PLACES" => Some("sockets(2)".to_owned()),
            "OMP_SCHEDULE" => Some("guided,4".to_owned()),
            _ => None,
        };
        let text = environment(&Settings::read(said, Processors { number: 8, cores: 8, cores_of_node: 4 }), 8);
        for line in ["OMP_PLACES = '{0-3},{4-7}'", "OMP_SCHEDULE = 'GUIDED,4'", "OMP_NUM_THREADS = '8'"] {
            assert!(text.lines().any(|told| told.trim() == line), "{line}: {text}");
        }
    }

    #[test]
    fn fields_have_a_greatest_width() {
        let text = filled("%66000n|%.66000n|", known);
        assert_eq!(text.len(), 2 * usize::from(u16::MAX) + 2);
    }

    proptest! {
        #[test]
        fn no_format_goes_wrong(format in "[%{}.0-9nAé ]{0,16}") {
            let told = filled(&format, known);
            prop_assert!(format.contains('%') || told == format);
        }
    }
}
