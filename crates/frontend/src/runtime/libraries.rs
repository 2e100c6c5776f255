//! Shared libraries of the program: their data are simulated memory, wherever the host has put them, and what they call of the C
//! library is the runtime's where the executable's calls are.
//!
//! The wrapper leads calls of what it links to the runtime. A library that was built without it calls the C library: before its
//! constructors run, or when it is loaded, its linkage table is rewritten, so that its threads, locks and time are simulated, too. Its
//! references are not seen, which is said.
//!
//! Libraries are at other addresses in every run. What the simulator times, and what records name, are places in one pool of
//! addresses, in which libraries stand in the order of loading.

use std::arch::naked_asm;
use std::ffi::{CStr, CString, c_int, c_void};

use experiments::diagnosis::line;
use record::{DataObject, SourceLine};
use rustc_hash::FxHashMap;
use symbols::Symbols;
use units::VirtualAddr;

use super::images::{Image, images};
use super::mode::mode;
use super::state::{self, Mode, RUN, Single};
use crate::wrapped::{LIBRARY, SYMBOLS};

/// The address of the pool's first byte in records: one that neither the program nor the arena has.
pub const BASE: usize = 0x4000_0000_0000;

/// Bytes of the pool for libraries that are loaded while the program runs, if it loads any.
const LATER: usize = 64 << 20;

/// A library of the program.
struct Library {
    image: Image,
    /// How far its first byte is from the first of the pool; none if there was no room.
    offset: Option<usize>,
    /// Whether it is loaded now.
    present: bool,
}

struct Libraries {
    all: Vec<Library>,
    /// The simulated address of the pool, and its bytes.
    start: u64,
    bytes: usize,
    used: usize,
    /// Bytes of a simulated page.
    page: usize,
    /// By name, the runtime's functions that take the place of the C library's; empty until they are looked up.
    ours: FxHashMap<&'static str, usize>,
}

static LIBRARIES: Single<Libraries> = Single::new(Libraries {
    all: Vec::new(),
    start: 0,
    bytes: 0,
    used: 0,
    page: 4096,
    ours: FxHashMap::with_hasher(rustc_hash::FxBuildHasher),
});

/// Whether libraries may have come or gone since they were looked at.
static STALE: Single<bool> = Single::new(false);

fn libraries() -> &'static mut Libraries {
    // SAFETY: one thread of the host, and nobody keeps the reference while another runs.
    unsafe { &mut *LIBRARIES.get() }
}

/// Before the program's own constructors: what libraries call is led to the runtime, so that what they make then is known to it.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_CONSTRUCTORS: extern "C" fn() = {
    extern "C" fn begin() {
        if mode() == Mode::Simulated {
            libraries().look();
        }
    }
    begin
};

/// Bytes of the pool, in pages of `page` bytes, when the simulation begins.
pub fn pool(page: usize) -> usize {
    let libraries = libraries();
    libraries.page = page;
    libraries.all.clear();
    libraries.look();
    let loads = |image: &Image| image.imports().iter().any(|(name, _)| name.contains("dlopen"));
    let later = images().iter().any(|image| !image.is_system() && loads(image));
    let whole = |library: &Library| libraries.room(&library.image);
    let now: usize = libraries.all.iter().map(whole).sum();
    libraries.bytes = now + if later { LATER.next_multiple_of(page) } else { 0 };
    libraries.bytes
}

/// The pool is at `start` in simulated memory from here on.
pub fn place(start: u64) {
    libraries().start = start;
    for number in 0..libraries().all.len() {
        libraries().settle(number);
    }
}

impl Libraries {
    /// Bytes of the pool that a library takes.
    fn room(&self, image: &Image) -> usize {
        // Where it begins within a page of the host is the same in every run, and kept.
        (image.end - image.start + image.start % HOST_PAGE).next_multiple_of(self.page)
    }

    /// Looks which libraries there are now.
    fn look(&mut self) {
        // SAFETY: one thread of the host.
        unsafe { *STALE.get() = false };
        let found: Vec<Image> = images();
        for library in &mut self.all {
            let same = |image: &Image| image.path == library.image.path && image.start == library.image.start;
            library.present = found.iter().any(same);
        }
        let system: Vec<(usize, usize)> =
            found.iter().filter(|image| image.is_system()).map(|image| (image.start, image.end)).collect();
        for image in found.into_iter().filter(|image| !image.path.is_empty() && !image.is_system()) {
            let known = |library: &Library| library.present && library.image.start == image.start;
            if self.all.iter().any(known) {
                continue;
            }
            self.lead(&image, &system);
            // One that was there before gets its place back.
            let before = self.all.iter().position(|library| !library.present && library.image.path == image.path);
            let offset = before.map(|number| self.all.remove(number)).and_then(|library| library.offset);
            self.all.push(Library { image, offset, present: true });
            if offset.is_none() && self.start > 0 {
                self.settle(self.all.len() - 1);
            }
        }
    }

    /// Gives a library its place in the pool, and says what is not seen of it.
    fn settle(&mut self, number: usize) {
        let room = self.room(&self.all[number].image);
        let fits = self.used + room <= self.bytes;
        let library = &mut self.all[number];
        let (name, begun) = (library.image.name().to_owned(), state::current().is_some());
        if fits {
            library.offset = Some(self.used + library.image.start % HOST_PAGE);
            self.used += room;
        } else {
            note(format!("data of {name} are not simulated: libraries of more than 64 MiB were loaded while it ran"));
        }
        if begun && library.image.has_own {
            note(format!(
                "thread-local variables of {name}, which was loaded while the program ran, are not simulated"
            ));
        }
        let is_replaced = REPLACED.iter().any(|begins| name.starts_with(begins));
        if !is_announcing(&library.image) && !is_replaced {
            note(format!("references of {name} are not simulated: not built with `ccnuma cc`, `cxx` or `fc`"));
        }
    }

    /// Leads what a library calls of the C library to the runtime, where the runtime has a function for it.
    fn lead(&mut self, image: &Image, system: &[(usize, usize)]) {
        if self.ours.is_empty() {
            self.ours = functions();
        }
        let is_systems = |at: usize| system.iter().any(|&(start, end)| (start..end).contains(&at));
        let imports = image.imports();
        image.while_writable(|| {
            for (name, slot) in imports {
                let Some(&ours) = self.ours.get(name) else { continue };
                // SAFETY: a place of the library's that holds a function's address.
                unsafe {
                    // A slot that is bound when it is first used leads back into the library.
                    if is_systems(*slot) || image.contains(*slot) {
                        *slot = ours;
                    }
                }
            }
        });
    }
}

/// Libraries of which the runtime does what programs call, or that are part of what the compiler makes: nobody asks for their
/// references.
const REPLACED: [&str; 6] = ["libstdc++.", "libnuma.", "libgomp.", "libomp.", "libiomp5.", "libgfortran."];

/// Bytes of a page of the host.
const HOST_PAGE: usize = 4096;

/// Whether a library announces its references.
fn is_announcing(image: &Image) -> bool {
    image.imports().iter().any(|(name, _)| name.starts_with("__tsan_") || name.starts_with("__sanitizer_cov_"))
}

/// The runtime's functions that take the place of the C library's, by the names of those.
fn functions() -> FxHashMap<&'static str, usize> {
    let mut found = FxHashMap::default();
    let runtime = images().into_iter().find(|image| image.name() == LIBRARY);
    let path = runtime.and_then(|image| CString::new(image.path).ok());
    let Some(path) = path else { return found };
    // SAFETY: it is loaded already, and looked up in only.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return found;
        }
        for &name in SYMBOLS {
            let Ok(wrapped) = CString::new(format!("__wrap_{name}")) else { continue };
            let at = libc::dlsym(handle, wrapped.as_ptr());
            if !at.is_null() {
                found.insert(name, at as usize);
            }
        }
    }
    found
}

/// Says something, if the simulation has begun.
fn note(what: String) {
    // SAFETY: one thread of the host.
    if unsafe { (*RUN.get()).is_some() } {
        state::note(what);
    }
}

/// The library that an address is in, and how far the address is from the beginning of the pool.
fn find(address: usize) -> Option<(&'static Library, usize)> {
    // SAFETY: one thread of the host.
    if unsafe { *STALE.get() } {
        libraries().look();
    }
    let library = libraries().all.iter().find(|library| library.present && library.image.contains(address))?;
    Some((library, library.offset? + (address - library.image.start)))
}

/// Where a byte of a library is in simulated memory, if it is there.
#[cold]
pub fn locate(address: usize) -> Option<VirtualAddr> {
    let (_, offset) = find(address)?;
    Some(VirtualAddr(libraries().start + offset as u64))
}

/// An address as records have it: the same in every run, wherever the host has put the library that it is in.
pub fn stable(address: usize) -> usize {
    match find(address) {
        Some((_, offset)) => BASE + offset,
        None => address,
    }
}

/// A simulated address of the pool as records have it.
pub fn named(at: u64) -> Option<u64> {
    let offset = at.checked_sub(libraries().start)?;
    (offset < libraries().bytes as u64).then_some(BASE as u64 + offset)
}

/// The code of the library that an address is in, from there on.
pub fn code(at: usize) -> &'static [u8] {
    match find(at) {
        Some((library, _)) if (library.image.code.0..library.image.code.1).contains(&at) => {
            // SAFETY: the code of a library that is loaded.
            unsafe { std::slice::from_raw_parts(at as *const u8, library.image.code.1 - at) }
        }
        _ => &[],
    }
}

/// The name of the library that an address is in.
pub fn name_of(address: usize) -> Option<&'static str> {
    find(address).map(|(library, _)| library.image.name())
}

/// The data of libraries: their variables, or the whole of one whose names have been removed.
pub fn objects() -> Vec<DataObject> {
    let mut objects = Vec::new();
    for library in &libraries().all {
        let Library { image, offset: Some(offset), .. } = library else { continue };
        let named = |start: usize| (BASE + offset + (start - image.start)) as u64;
        let symbols = Symbols::of(image.path.as_ref());
        let variables = symbols.as_ref().map_or(&[][..], Symbols::variables);
        objects.extend(variables.iter().map(|variable| DataObject {
            name: format!("{} of {}", variable.name, image.name()),
            start: named(image.base + variable.start as usize),
            bytes: variable.bytes,
            site: None,
        }));
        if variables.is_empty() {
            let bytes = (image.end - image.start) as u64;
            let name = format!("data of {}", image.name());
            objects.push(DataObject { name, start: named(image.start), bytes, site: None });
        }
    }
    objects
}

/// Source lines of those of `sites` that are in libraries, by their addresses in records.
pub fn lines(sites: impl Iterator<Item = usize>) -> Vec<(u64, SourceLine)> {
    let mut known: FxHashMap<usize, Option<Symbols>> = FxHashMap::default();
    let mut found = Vec::new();
    for site in sites {
        let Some((Library { image, .. }, offset)) = find(site) else { continue };
        let symbols = known.entry(image.start).or_insert_with(|| Symbols::of(image.path.as_ref()).ok());
        let place = symbols.as_ref().map(|symbols| symbols.place((site - image.base) as u64)).unwrap_or_default();
        let mut line = line(place);
        line.file.get_or_insert_with(|| image.name().to_owned());
        found.push(((BASE + offset) as u64, line));
    }
    found
}

/// Threads of the host that there are already when the simulation is to begin, beside the first, and the libraries that may have
/// made them; none if there are none.
pub fn early_threads() -> Option<String> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads <= 1 {
        return None;
    }
    let makes = |image: &Image| image.imports().iter().any(|(name, _)| *name == "pthread_create");
    let makers: Vec<String> = images()
        .iter()
        .filter(|image| !image.is_system() && makes(image))
        .map(|image| image.name().to_owned())
        .collect();
    let more = threads - 1;
    Some(format!(
        "{more} threads were made before main, perhaps by a library ({}): they cannot be simulated",
        makers.join(", ")
    ))
}

/// Functions that load or remove libraries, which are looked at when one is next referred to. They look where they were called from, so
/// nothing may come between.
macro_rules! changing {
    ($($symbol:ident $name:ident)*) => {$(
        /// The C library's function of that name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $symbol() {
            unsafe extern "C" {
                fn $name();
            }
            naked_asm!(
                "mov byte ptr [rip + {stale}], 1",
                "jmp [rip + {name}@GOTPCREL]",
                stale = sym STALE,
                name = sym $name,
            )
        }
    )*};
}

changing! {
    __wrap_dlopen dlopen
    __wrap_dlmopen dlmopen
    __wrap_dlclose dlclose
}

/// Functions that look up a name: what the library calls is led to the runtime before it is.
macro_rules! looking {
    ($($symbol:ident $name:ident)*) => {$(
        /// The C library's function of that name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $symbol() {
            unsafe extern "C" {
                fn $name();
            }
            naked_asm!(
                "cmp byte ptr [rip + {stale}], 0",
                "je 2f",
                "push rdi", "push rsi", "push rdx",
                "call {look}",
                "pop rdx", "pop rsi", "pop rdi",
                "2: jmp [rip + {name}@GOTPCREL]",
                stale = sym STALE,
                look = sym look_again,
                name = sym $name,
            )
        }
    )*};
}

looking! {
    __wrap_dlsym dlsym
    __wrap_dlvsym dlvsym
}

extern "C" fn look_again() {
    if mode() == Mode::Native {
        // SAFETY: nobody heeds it natively.
        unsafe { *STALE.get() = false };
    } else {
        libraries().look();
    }
}

/// The file that an address is in, for a message.
pub fn file_of(address: usize) -> String {
    // SAFETY: all zero is a value of it; the linker only looks, and names that it finds stay.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        match libc::dladdr(address as *const c_void, &raw mut info) != 0 as c_int && !info.dli_fname.is_null() {
            true => CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned(),
            false => "the program".to_owned(),
        }
    }
}
