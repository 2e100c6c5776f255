//! Reductions that tasks take part in, as clang has them: the compiler describes what is reduced, tasks ask for the copy of the thread
//! that does them, and when the group of tasks ends the copies become one.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use sim::Cause;

use super::Location;
use crate::openmp::platform::{Word, allocate, charged, free};
use crate::openmp::tasks::Task;
use crate::openmp::team::{member, team};

/// Something that is reduced, as the compiler tells it (`kmp_taskred_input_t` of LLVM's runtime).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Input {
    /// The variable that all copies become at the end.
    shared: *mut c_void,
    /// The program's own variable of that name, from which copies begin; null for `shared`.
    original: *mut c_void,
    bytes: usize,
    begin: Option<unsafe extern "C-unwind" fn(*mut c_void, *mut c_void)>,
    end: Option<unsafe extern "C-unwind" fn(*mut c_void)>,
    combine: unsafe extern "C-unwind" fn(*mut c_void, *mut c_void),
    flags: u32,
}

/// Copies are made only when somebody asks for them.
const LAZY: u32 = 1;

/// Something that is reduced, and its copies.
struct Item {
    input: Input,
    /// By the number of the thread; null for those that there are not.
    copies: Vec<Cell<*mut c_void>>,
}

impl Item {
    fn new(input: Input, threads: u32) -> Self {
        let item = Self { input, copies: (0..threads).map(|_| Cell::new(null_mut())).collect() };
        if input.flags & LAZY == 0 {
            (0..item.copies.len()).for_each(|thread| {
                item.copy(thread);
            });
        }
        item
    }

    /// The copy of a thread, which begins as the program says, or with zeros.
    fn copy(&self, thread: usize) -> *mut c_void {
        let known = self.copies[thread].get();
        if !known.is_null() {
            return known;
        }
        let Input { shared, original, bytes, begin, .. } = self.input;
        let copy = allocate(bytes.max(1));
        // SAFETY: the block is so long and nobody else's; the compiler's function begins what it holds.
        unsafe {
            copy.cast::<u8>().write_bytes(0, bytes);
            if let Some(begin) = begin {
                begin(copy, if original.is_null() { shared } else { original });
            }
        }
        self.copies[thread].set(copy);
        copy
    }

    /// All copies become one, at `into`.
    fn finish(&self, into: *mut c_void) {
        for copy in self.copies.iter().map(Cell::get).filter(|copy| !copy.is_null()) {
            // SAFETY: the compiler's functions, with what they are for; nobody uses the copy any more.
            unsafe {
                (self.input.combine)(into, copy);
                if let Some(end) = self.input.end {
                    end(copy);
                }
                free(copy);
            }
        }
    }
}

/// Variables that are reduced together, by the tasks of one group or of several.
struct Items {
    items: Vec<Item>,
    /// Groups that have not ended.
    left: Word,
}

impl Items {
    fn make(inputs: &[Input], groups: u32) -> *mut Self {
        let threads = team().threads.get();
        let items = inputs.iter().map(|input| Item::new(*input, threads)).collect();
        Box::into_raw(Box::new(Self { items, left: Word::new(groups) }))
    }
}

/// The reduction of a group's tasks.
struct Reduction {
    /// Variables that they may have in common with those of other threads' groups.
    items: *mut Items,
    /// The program's variable for each here: where several threads have groups, one of the thread's own.
    shared: Vec<*mut c_void>,
    /// The reduction around that of the group.
    around: Option<&'static Self>,
}

impl Reduction {
    /// Has the tasks of the running task's group reduce these.
    fn begin(items: *mut Items, inputs: &[Input]) -> *mut Self {
        let shared = inputs.iter().map(|input| input.shared).collect();
        let reduction = Box::into_raw(Box::new(Self { items, shared, around: Self::known() }));
        if let Some(group) = Task::current().group() {
            group.reductions.set(reduction.cast());
        }
        reduction
    }

    /// Those of the group that the running task is in.
    fn known() -> Option<&'static Self> {
        let known = Task::current().group()?.reductions.get().cast_const().cast::<Self>();
        // SAFETY: null, or made above and there until the group ends.
        unsafe { known.as_ref() }
    }

    fn items(&self) -> &[Item] {
        // SAFETY: there until the last group ends.
        unsafe { &(*self.items).items }
    }

    /// The running thread's copy of what is at an address: that of the variable or of any copy.
    fn copy_of(&self, address: *mut c_void) -> Option<*mut c_void> {
        let thread = member().region.get().number as usize;
        let all = std::iter::successors(Some(self), |reduction| reduction.around);
        let mut each = all.flat_map(|reduction| reduction.items().iter().zip(&reduction.shared));
        let is_at = |item: &Item| item.copies.iter().any(|copy| copy.get() == address);
        each.find(|(item, shared)| **shared == address || is_at(item)).map(|(item, _)| item.copy(thread))
    }
}

/// The compiler's descriptions of `count` variables.
///
/// # Safety
/// There are so many, for as long as they are looked at.
unsafe fn told<'a>(count: i32, inputs: *const Input) -> &'a [Input] {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's promise.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(inputs, count) } }
}

/// The tasks of the running task's group reduce these. Returns what tasks know them by.
///
/// # Safety
/// As compilers call it: there are so many.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_taskred_init(_number: i32, count: i32, inputs: *const Input) -> *mut c_void {
    // SAFETY: the caller's promise.
    let inputs = unsafe { told(count, inputs) };
    Reduction::begin(Items::make(inputs, 1), inputs).cast()
}

/// A thread comes to a region, or to a construct of its team, whose tasks reduce these, and begins a group. Whoever comes first makes
/// what all share. Returns what tasks know it by.
///
/// # Safety
/// As compilers call it: there are so many.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_taskred_modifier_init(
    _location: *const Location,
    _number: i32,
    _shared_work: i32,
    count: i32,
    inputs: *const Input,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    let inputs = unsafe { told(count, inputs) };
    team().begin_hidden_group();
    let member = member();
    let threads = member.region.get().team.threads.get();
    let (_, share) = member.come(|share| share.reductions.set(Items::make(inputs, threads).cast()));
    let items = share.reductions.get().cast();
    member.leave();
    Reduction::begin(items, inputs).cast()
}

/// The thread comes to the end of it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_task_reduction_modifier_fini(
    location: *const Location,
    number: i32,
    _shared_work: i32,
) {
    super::tasks::__kmpc_end_taskgroup(location, number);
}

/// The running thread's copy of a variable, told by its address or that of any copy, among what `known` stands for, or, if that is
/// null, what the tasks of the running one's group reduce.
///
/// # Safety
/// As compilers call it: `known` came from one of the functions above.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_task_reduction_get_th_data(
    _number: i32,
    known: *mut c_void,
    address: *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    let named = unsafe { known.cast_const().cast::<Reduction>().as_ref() };
    let found = named.or_else(Reduction::known).and_then(|reduction| reduction.copy_of(address));
    found.unwrap_or(address)
}

/// The reduction of the running task's group itself, if it has one: to be given to [`end`] when its tasks are done.
pub fn of_group() -> *mut c_void {
    let own =
        Task::current().group().map_or((null_mut(), null_mut()), |group| (group.reductions.get(), group.before()));
    if own.0 == own.1 { null_mut() } else { own.0.cast() }
}

/// The tasks of a group are done, which has reduced these. The last of all groups makes one of all copies, at its own thread's
/// variable: what becomes of those of all threads is the program's business.
pub fn end(reduction: *mut c_void) {
    let reduction: *mut Reduction = reduction.cast();
    if reduction.is_null() {
        return;
    }
    // SAFETY: made above for the group that has ended, and the last group is the last that knows what is shared.
    unsafe {
        let reduction = Box::from_raw(reduction);
        if charged(Cause::Lock, || (*reduction.items).left.add(u32::MAX)) == 1 {
            let items = Box::from_raw(reduction.items);
            items.items.iter().zip(reduction.shared).for_each(|(item, shared)| item.finish(shared));
        }
    }
}
