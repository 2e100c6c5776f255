//! The files that the dynamic linker has loaded: where each is, and what it imports.

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;

use crate::wrapped::LIBRARY;

/// A loaded file: a shared library, the executable, or the kernel's own.
pub struct Image {
    /// Its path; empty for the executable.
    pub path: String,
    /// Offset from the addresses that it was linked for.
    pub base: usize,
    /// Where its segments begin and end.
    pub start: usize,
    pub end: usize,
    /// Its code.
    pub code: (usize, usize),
    /// The range that is read-only once the linker is done with it.
    read_only: (usize, usize),
    /// Whether it has thread-local variables.
    pub has_own: bool,
    dynamic: usize,
}

/// Files of the system's that threads of the simulation use as they are, by how their names begin: the C library, which the runtime
/// itself needs, and what has neither threads nor locks of its own.
const SYSTEM: [&str; 13] = [
    "ld-",
    "linux-",
    "libc.",
    "libc-",
    "libm.",
    "libmvec.",
    "libgcc_s.",
    "libpthread",
    "libdl.",
    "librt.",
    "libutil.",
    "libresolv.",
    "libquadmath.",
];

/// An entry of the dynamic section (`Elf64_Dyn`).
#[repr(C)]
struct Entry {
    tag: i64,
    value: usize,
}

/// A relocation (`Elf64_Rela`).
#[repr(C)]
struct Relocation {
    place: usize,
    info: u64,
    addend: i64,
}

/// Tags of the dynamic section (`DT_*`), and kinds of relocations that hold the address of a function (`R_X86_64_*`).
mod elf {
    pub const PLTRELSZ: i64 = 2;
    pub const STRTAB: i64 = 5;
    pub const SYMTAB: i64 = 6;
    pub const RELA: i64 = 7;
    pub const RELASZ: i64 = 8;
    pub const JMPREL: i64 = 23;
    pub const ABSOLUTE: u32 = 1;
    pub const GLOBAL_DATA: u32 = 6;
    pub const JUMP_SLOT: u32 = 7;
}

/// All that are loaded, the executable first.
pub fn images() -> Vec<Image> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker hands over a valid description, and the list below.
        unsafe { (*found.cast::<Vec<Image>>()).push(Image::of(&*info)) };
        0
    }
    let mut found: Vec<Image> = Vec::new();
    // SAFETY: `note` takes what it is given.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

impl Image {
    /// # Safety
    /// The description is the dynamic linker's.
    unsafe fn of(info: &libc::dl_phdr_info) -> Self {
        // SAFETY: the caller's promise.
        let (headers, path) = unsafe {
            let path = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
            (std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()), path)
        };
        let base = info.dlpi_addr as usize;
        let bounds = |header: &libc::Elf64_Phdr| {
            let start = base.wrapping_add(header.p_vaddr as usize);
            (start, start + header.p_memsz as usize)
        };
        let of = |kind: u32| headers.iter().filter(move |header| header.p_type == kind);
        let whole = |parts: &mut dyn Iterator<Item = (usize, usize)>| {
            parts.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap_or_default()
        };
        let (start, end) = whole(&mut of(libc::PT_LOAD).map(bounds));
        Self {
            path: path.to_string_lossy().into_owned(),
            base,
            start,
            end,
            code: whole(&mut of(libc::PT_LOAD).filter(|header| header.p_flags & libc::PF_X != 0).map(bounds)),
            read_only: of(libc::PT_GNU_RELRO).map(bounds).next().unwrap_or_default(),
            has_own: of(libc::PT_TLS).next().is_some(),
            dynamic: of(libc::PT_DYNAMIC).map(|header| bounds(header).0).next().unwrap_or_default(),
        }
    }

    /// Its name without folders.
    pub fn name(&self) -> &str {
        Path::new(&self.path).file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether it is of the system's, or this runtime: all else is the program.
    pub fn is_system(&self) -> bool {
        self.name() == LIBRARY || SYSTEM.iter().any(|begins| self.name().starts_with(begins))
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The first entry of the dynamic section that has this tag: a number.
    fn number(&self, tag: i64) -> usize {
        let mut at = self.dynamic as *const Entry;
        if at.is_null() {
            return 0;
        }
        // SAFETY: the section is loaded, and ends with an entry of tag zero.
        unsafe {
            while (*at).tag != 0 {
                if (*at).tag == tag {
                    return (*at).value;
                }
                at = at.add(1);
            }
        }
        0
    }

    /// The same: an address, which the linker may have left as the file has it.
    fn address(&self, tag: i64) -> usize {
        match self.number(tag) {
            0 => 0,
            value if value < self.base => value + self.base,
            value => value,
        }
    }

    /// The places that hold addresses of functions of other files, by name: what each is called, and where the place is.
    pub fn imports(&self) -> Vec<(&'static str, *mut usize)> {
        let (symbols, names) = (self.address(elf::SYMTAB), self.address(elf::STRTAB));
        if symbols == 0 || names == 0 {
            return Vec::new();
        }
        let lists = [(elf::JMPREL, elf::PLTRELSZ), (elf::RELA, elf::RELASZ)];
        let mut found = Vec::new();
        for (list, bytes) in lists {
            let (start, count) = (self.address(list), self.number(bytes) / size_of::<Relocation>());
            for number in 0..if start == 0 { 0 } else { count } {
                // SAFETY: the linker has loaded lists of that length, and the symbols that they name.
                unsafe {
                    let relocation = &*(start as *const Relocation).add(number);
                    let kind = relocation.info as u32;
                    if !matches!(kind, elf::ABSOLUTE | elf::GLOBAL_DATA | elf::JUMP_SLOT) {
                        continue;
                    }
                    let symbol = &*(symbols as *const libc::Elf64_Sym).add((relocation.info >> 32) as usize);
                    // A symbol that it defines itself is no import.
                    if symbol.st_shndx == 0
                        && let Ok(name) = CStr::from_ptr((names + symbol.st_name as usize) as *const _).to_str()
                    {
                        found.push((name, (self.base + relocation.place) as *mut usize));
                    }
                }
            }
        }
        found
    }

    /// Does `act`, which writes to places of [`Image::imports`].
    pub fn while_writable(&self, act: impl FnOnce()) {
        // SAFETY: a plain question.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let (start, end) = (self.read_only.0 & !(page - 1), self.read_only.1 & !(page - 1));
        let protect = |rights| {
            if end > start {
                // SAFETY: pages of the file's own, which get back what they had.
                unsafe { libc::mprotect(start as *mut c_void, end - start, rights) };
            }
        };
        protect(libc::PROT_READ | libc::PROT_WRITE);
        act();
        protect(libc::PROT_READ);
    }
}
