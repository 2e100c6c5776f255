//! Reductions that tasks take part in (`reduction(task, ...)`, `task_reduction`, `in_reduction`), and loops that say so when they
//! begin.
//!
//! The compiler describes a block of reductions by words: how many, bytes for each thread, alignment, allocator, the next block, two
//! words of the runtime's, and for each reduction the variable, where its copy is in a thread's bytes, and a word of the runtime's.
//! The runtime puts in where the copies of all threads are, from the third word on to the seventh. libgomp keeps a hash table
//! where this one looks the few blocks through.

use std::cell::Cell;
use std::ffi::{c_long, c_uint, c_ulonglong, c_void};

use super::loops::{loop_of, next, sections_of, unsigned_loop_of};
use crate::openmp::groups::Group;
use crate::openmp::platform::{allocate, free};
use crate::openmp::schedule::{Kind, Schedule};
use crate::openmp::sharing::{Loop, Share};
use crate::openmp::tasks::Task;
use crate::openmp::team::{Body, member, runtime_schedule, team};

/// The words of a block.
const COUNT: usize = 0;
const BYTES: usize = 1;
const COPIES: usize = 2;
const NEXT: usize = 4;
const FIRST: usize = 5;
const END: usize = 6;
const REDUCTIONS: usize = 7;
/// Words of a reduction.
const EACH: usize = 3;

/// A block of reductions.
#[derive(Clone, Copy)]
struct Block(*mut usize);

impl Block {
    /// A word of it.
    fn get(self, word: usize) -> usize {
        // SAFETY: the compiler's block has it.
        unsafe { *self.0.add(word) }
    }

    fn set(self, word: usize, value: usize) {
        // SAFETY: the compiler's block has it.
        unsafe { *self.0.add(word) = value };
    }

    fn next(self) -> Option<Self> {
        let next = self.get(NEXT) as *mut usize;
        (!next.is_null()).then_some(Self(next))
    }

    /// This block and those after it.
    fn all(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |block| block.next())
    }

    /// The variable of a reduction, and where its copy is in a thread's bytes.
    fn reduction(self, index: usize) -> (usize, usize) {
        let word = REDUCTIONS + EACH * index;
        (self.get(word), self.get(word + 1))
    }

    /// Where the copies are of this reduction, and the variable that they are of: by the address of the variable or of any copy.
    fn find(self, address: usize) -> Option<(Self, usize, usize)> {
        let by_variable = self.all().find_map(|block| {
            let found =
                (0..block.get(COUNT)).map(|index| block.reduction(index)).find(|(variable, _)| *variable == address)?;
            Some((block, found.1, found.0))
        });
        by_variable.or_else(|| {
            let block = self.all().find(|block| (block.get(COPIES)..block.get(END)).contains(&address))?;
            let offset = (address - block.get(COPIES)) % block.get(BYTES);
            let variable = (0..block.get(COUNT)).map(|index| block.reduction(index)).find(|(_, at)| *at == offset);
            Some((block, offset, variable.map_or(0, |(variable, _)| variable)))
        })
    }
}

/// Makes room for the copies of `threads` threads, or takes the room that another thread has made for the `same` reductions; what was
/// known before comes after.
fn register(data: *mut usize, before: *mut usize, same: *mut usize, threads: u32) {
    let mut block = Block(data);
    let mut other = same;
    loop {
        if other.is_null() {
            let bytes = block.get(BYTES) * threads as usize;
            let room = allocate(bytes + block.get(COPIES)) as usize;
            // SAFETY: the block has been made as long, and nobody has seen it.
            unsafe { (room as *mut u8).write_bytes(0, bytes + block.get(COPIES)) };
            block.set(COPIES, room);
            block.set(END, room + bytes);
        } else {
            block.set(COPIES, Block(other).get(COPIES));
            block.set(END, Block(other).get(END));
            other = Block(other).get(NEXT) as *mut usize;
        }
        block.set(FIRST, 0);
        match block.next() {
            Some(next) => block = next,
            None => break,
        }
    }
    block.set(NEXT, before as usize);
    Block(data).set(FIRST, 1);
}

/// The tasks of the running one's group reduce these.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskgroup_reduction_register(data: *mut usize) {
    if let Some(group) = Task::current().group() {
        register(data, group.reductions.get(), std::ptr::null_mut(), team().threads.get());
        group.reductions.set(data);
    }
}

/// They are done: the copies are not needed any more.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskgroup_reduction_unregister(data: *mut usize) {
    let blocks: Vec<Block> = Block(data)
        .all()
        .enumerate()
        .take_while(|(index, block)| *index == 0 || block.get(FIRST) == 0)
        .map(|(_, block)| block)
        .collect();
    for block in blocks {
        // SAFETY: made by `register`, and the compiler says that nobody needs it.
        unsafe { free(block.get(COPIES) as *mut c_void) };
    }
}

/// Tells the running task which copies of variables are its thread's own: `count` addresses, and behind them for the first of them
/// the variables themselves.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_task_reduction_remap(count: usize, originals: usize, addresses: *mut usize) {
    let member = member();
    let number = member.region.get().number as usize;
    let Some(data) = Task::current().group().map(|group| group.reductions.get()).filter(|data| !data.is_null()) else {
        return;
    };
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let place = addresses.add(index);
            if let Some((block, offset, variable)) = Block(data).find(*place) {
                *place = block.get(COPIES) + number * block.get(BYTES) + offset;
                if index < originals {
                    *addresses.add(count + index) = variable;
                }
            }
        }
    }
}

/// `#pragma omp parallel reduction(task, ...)`: returns how many threads there were. The data begin with the block's address.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_parallel_reductions(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
) -> c_uint {
    // SAFETY: the caller's promise.
    let block = unsafe { *data.cast::<*mut usize>() };
    let team = Cell::new(None);
    let group = Group::make(None, true);
    super::parallel::with_team(body, data, threads, flags, |begun| {
        team.set(Some((begun, begun.threads.get())));
        register(block, std::ptr::null_mut(), std::ptr::null_mut(), begun.threads.get());
        group.reductions.set(block);
        begun.group.set(Some(group));
        false
    });
    // Others may still forget what they have done.
    team.get().map_or(1, |(team, threads)| {
        team.give_back(group);
        threads
    })
}

/// Begins a construct with reductions or memory: gives the thread its group, and hands out the memory of the first thread.
///
/// # Safety
/// As compilers call it: `memory` holds how many bytes are wanted.
unsafe fn come(what: Loop, reductions: *mut usize, memory: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { come_to(|share| share.set_up(what), reductions, memory) };
}

/// The same for a construct that whoever comes first sets up by `begin`.
///
/// # Safety
/// As of [`come`].
pub unsafe fn come_to(begin: impl FnOnce(&Share), reductions: *mut usize, memory: *mut *mut c_void) {
    if !reductions.is_null() {
        team().begin_hidden_group();
    }
    let member = member();
    let set_up = |share: &Share| {
        begin(share);
        if !reductions.is_null() {
            register(reductions, known(), std::ptr::null_mut(), team().threads.get());
            share.reductions.set(reductions);
        }
        if !memory.is_null() {
            // SAFETY: the caller's promise.
            let bytes = unsafe { *memory } as usize;
            let room = allocate(bytes.max(1));
            // SAFETY: it is so long.
            unsafe { room.cast::<u8>().write_bytes(0, bytes) };
            share.memory.set(room);
        }
    };
    let (first, share) = member.come(set_up);
    if !reductions.is_null() {
        if !first {
            register(reductions, known(), share.reductions.get(), team().threads.get());
        }
        if let Some(group) = Task::current().group() {
            group.reductions.set(reductions);
        }
    }
    if !memory.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *memory = share.memory.get() };
    }
}

/// The reductions that are known where the running task is.
fn known() -> *mut usize {
    Task::current().group().map_or(std::ptr::null_mut(), |group| group.reductions.get())
}

/// The end of a construct with reductions: waits for its tasks.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_workshare_task_reduction_unregister(cancelled: bool) {
    let data = known();
    team().end_group();
    // In a cancelled region nobody knows when all others are through with their tasks: the copies stay.
    if !cancelled {
        team().barrier();
        if member().region.get().number == 0 && !data.is_null() {
            GOMP_taskgroup_reduction_unregister(data);
        }
    }
}

/// The schedule of a number, as libgomp has them.
pub fn schedule_of(number: c_long, chunk: u64) -> Schedule {
    match number & 0x7fff_ffff {
        0 => runtime_schedule(),
        2 => Schedule { kind: Kind::Dynamic, chunk },
        3 => Schedule { kind: Kind::Guided, chunk },
        4 => Schedule { kind: Kind::Static, chunk: 0 },
        _ => Schedule { kind: Kind::Static, chunk },
    }
}

macro_rules! starts {
    ($($name:ident $unsigned:ident: $ordered:literal;)*) => {$(
        #[doc = "A thread comes to a loop with reductions of tasks, or with memory that all share."]
        ///
        /// # Safety
        /// As compilers call it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            start: c_long, end: c_long, step: c_long, schedule: c_long, chunk: c_long, first: *mut c_long, last: *mut c_long,
            reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let schedule = schedule_of(schedule, chunk.max(0) as u64);
            // SAFETY: the caller's promise.
            unsafe {
                come(loop_of(start, end, step, schedule, $ordered), reductions, memory);
                first.is_null() || next(first, last, |value| value)
            }
        }

        #[doc = "The same over unsigned numbers."]
        ///
        /// # Safety
        /// As compilers call it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, schedule: c_long, chunk: c_ulonglong,
            first: *mut c_ulonglong, last: *mut c_ulonglong, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let schedule = schedule_of(schedule, chunk);
            // SAFETY: the caller's promise.
            unsafe {
                come(unsigned_loop_of(up, start, end, step, schedule, $ordered), reductions, memory);
                first.is_null() || next(first, last, |value| value as u64)
            }
        }
    )*};
}

starts! {
    GOMP_loop_start GOMP_loop_ull_start: false;
    GOMP_loop_ordered_start GOMP_loop_ull_ordered_start: true;
}

/// A thread comes to sections with reductions of tasks, or with memory that all share.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_sections2_start(
    count: c_uint,
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> c_uint {
    // SAFETY: the caller's promise.
    unsafe { come(sections_of(count), reductions, memory) };
    super::loops::GOMP_sections_next()
}

/// A thread comes to a scope with reductions of tasks.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_scope_start(reductions: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe { come(sections_of(0), reductions, std::ptr::null_mut()) };
    member().leave();
}
