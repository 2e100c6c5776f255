//! The beginning and the end: the program's `main` becomes the first simulated thread, and what came of it is written down.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::io::BufWriter;
use std::path::Path;
use std::ptr::null_mut;
use std::time::Instant;

use experiments::attribution::{Ended, attribution, settled};
use experiments::policies::{self, OwnBarrier, OwnLocks};
use experiments::profiling::Recording;
use experiments::{ExperimentError, OwnProgram};
use machine::Description;
use machine::description::PlacementKind;
use record::DataObject;
use sim::{Mode as SimulatorMode, Options, Scheduling, SimError, Simulator, Thread, ThreadReport};
use units::{CpuId, Duration};

use super::state::{HOT, MODE, Mode, RUN, Run, Single, current, mode, run};
use super::threads::UserThread;
use super::{address, callbacks, crash, places, recording, tls};
use crate::request::{self, Answer, ReadError, Request, VARIABLE};

/// A program's `main`.
type Main = extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

type BeforeMain = extern "C" fn();

unsafe extern "C" {
    fn __libc_start_main(
        main: Main,
        count: c_int,
        arguments: *mut *mut c_char,
        before: Option<BeforeMain>,
        after: Option<BeforeMain>,
        unload: Option<BeforeMain>,
        stack_end: *mut c_void,
    ) -> c_int;
    static mut environ: *mut *mut c_char;
}

/// The program's own `main`.
static MAIN: Single<Option<Main>> = Single::new(None);

/// Called by the executable's first instructions: `main` gets its arguments here.
///
/// # Safety
/// As of the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap___libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    before: Option<BeforeMain>,
    after: Option<BeforeMain>,
    unload: Option<BeforeMain>,
    stack_end: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        *MAIN.get() = Some(main);
        __libc_start_main(first_main, count, arguments, before, after, unload, stack_end)
    }
}

/// What the C library takes for `main`.
extern "C-unwind" fn first_main(count: c_int, arguments: *mut *mut c_char, variables: *mut *mut c_char) -> c_int {
    // SAFETY: it was noted before this is called.
    let Some(main) = (unsafe { *MAIN.get() }) else { return 127 };
    if mode() == Mode::Native {
        return main(count, arguments, variables);
    }
    let Some(request) = read_request() else { return 2 };
    let path = request.answer.clone();
    let answer = simulate(request, main, (count, arguments, variables));
    let status = answer.status;
    deliver(&answer, &path);
    status
}

/// What is asked for; if that cannot be read, whoever asks learns why.
fn read_request() -> Option<Request> {
    let path = std::env::var_os(VARIABLE)?;
    let refused = |problem: String| {
        complain(&format!("{VARIABLE} {}: {problem}; `ccnuma sim` sets it", path.display()));
        None
    };
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) => return refused(error.to_string()),
    };
    match request::read(&text) {
        Ok(request) => Some(request),
        Err(ReadError::OtherBuild { told, .. }) if told["answer"].is_string() => {
            // The command tells what is wrong, from the build that the answer is of.
            deliver(&Answer::default(), Path::new(told["answer"].as_str().unwrap_or_default()));
            None
        }
        Err(error) => refused(error.to_string()),
    }
}

/// Says on standard error what is wrong, without whatever the program has done to its streams.
fn complain(problem: &str) {
    let line = format!("error: {problem}\n");
    // SAFETY: the bytes are there.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

type Arguments = (c_int, *mut *mut c_char, *mut *mut c_char);

/// Runs `main` and all its threads on the machine that was asked for.
fn simulate(request: Request, main: Main, arguments: Arguments) -> Answer {
    let start = Instant::now();
    let prepared = prepare(&request);
    let (description, mut simulator, processors, policies) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return Answer { error: Some(problem), status: 2, ..Answer::default() },
    };
    let pages_move =
        [&b"move_pages"[..], b"migrate_pages", b"mbind"].into_iter().any(names) && simulator.let_pages_move();
    tls::begin();
    // SAFETY: one thread of the host.
    unsafe {
        *RUN.get() = Some(Run {
            processors: processors.len(),
            nodes: simulator.topology().nodes().len(),
            heeds_plans: description.os.placement == PlacementKind::Planned,
            pages_move,
            per_node: description.topology.processors_per_node as usize,
            threads: Vec::new(),
            alive: 1,
            locks: policies.locks,
            barrier: policies.barrier,
            waiters: rustc_hash::FxHashMap::default(),
            status: 0,
            error: None,
            notes: Vec::new(),
            // It says itself what is to be measured.
            regions: names(b"ccnuma_roi_begin"),
            request: request.clone(),
        });
        (*HOT.get()).instructions = request.instructions;
        (*HOT.get()).patience = Duration(request.spin_limit_ms.saturating_mul(1_000_000_000));
        ((*HOT.get()).counting, (*HOT.get()).budget.left) = (request.no_caches, callbacks::TURN);
    }
    let Some((user, arguments)) = first_thread(&request, arguments) else {
        let error = Some("no memory for the program's first stack".to_owned());
        return Answer { error, status: 1, ..Answer::default() };
    };
    run().threads.push(user);
    let (page, line) = (description.tlb.page.0 as usize, description.l2.line.0 as usize);
    if let Err(error) = address::simulate(&mut simulator, &request.relocation, page, line) {
        return Answer { error: Some(error.to_string()), status: 1, ..Answer::default() };
    }
    let begun = request.record.as_ref().map(|path| recording::begin(path, &request.program, &description.name));
    if let Some(Err(error)) = begun {
        return Answer { error: Some(error.to_string()), status: 1, ..Answer::default() };
    }
    let profiled = match profile(&mut simulator, &description, &processors, &request) {
        Ok(profiled) => profiled,
        Err(problem) => return Answer { error: Some(problem), status: 2, ..Answer::default() },
    };
    let first = Box::new(move |thread: &mut Thread<'_>| {
        let body = move || {
            let (count, values, variables) = arguments;
            let status = main(count, values, variables);
            end(status)
        };
        UserThread::live(user, thread, Box::new(body));
    });
    if run().request.causes {
        super::heap::note_blocks();
    }
    if names(b"__sanitizer_cov_load") && !super::doubled::remove() {
        note(
            "atomic loads and stores count twice: this computer does not let the program's code be changed".to_owned(),
        );
    }
    crash::watch();
    let reports = simulator.run_process(processors, policies.scheduler, first);
    // The rest of the program, which is what it has asked to be done at its exit, runs on this computer.
    // SAFETY: one thread of the host.
    unsafe {
        let hot = &mut *HOT.get();
        (hot.thread, hot.timed, hot.user) = (null_mut(), null_mut(), null_mut());
        *MODE.get() = Mode::Over;
    }
    tls::leave();
    crash::unwatch();
    let mut answer = conclude(&description, &simulator, reports, start);
    if let Some(Err(error)) = profiled.map(Recording::finish) {
        answer.error.get_or_insert_with(|| error.to_string());
    }
    // Threads that were cut off have left frames that nobody can unwind.
    std::mem::forget(simulator);
    answer
}

/// How threads wait for each other, and who says where they run.
struct Policies {
    locks: OwnLocks,
    barrier: OwnBarrier,
    scheduler: Option<Scheduling>,
}

type Prepared = (Description, Simulator, Vec<CpuId>, Policies);

fn prepare(request: &Request) -> Result<Prepared, String> {
    let description =
        machine::parse("the machine of the request", &request.machine).map_err(|error| error.to_string())?.description;
    let named = || -> Result<Policies, ExperimentError> {
        Ok(Policies {
            locks: OwnLocks::named(&request.locks)?,
            barrier: OwnBarrier::named(&request.barrier)?,
            scheduler: policies::own_scheduler(&request.scheduler)?,
        })
    };
    let policies = named().map_err(|error| error.to_string())?;
    let options = Options {
        mode: if request.lock_step { SimulatorMode::LockStep } else { SimulatorMode::LookAhead },
        seed: request.seed,
        attribute: request.causes,
        ..Options::default()
    };
    let simulator = Simulator::new(&description, options).map_err(|error| error.to_string())?;
    let processors = OwnProgram::processors(&description, request.cpus).map_err(|error| error.to_string())?;
    Ok((description, simulator, processors, policies))
}

/// Begins to read counters, if any are asked for. Threads are called by the order in which they begin.
fn profile(
    simulator: &mut Simulator,
    description: &Description,
    processors: &[CpuId],
    request: &Request,
) -> Result<Option<Recording>, String> {
    let Some((asked, path)) = &request.profile else { return Ok(None) };
    let file = fs::File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let threads: Vec<(String, CpuId)> =
        processors.iter().enumerate().map(|(number, &cpu)| (format!("thread {number}"), cpu)).collect();
    let started = Recording::start(simulator, description, &threads, asked, Box::new(BufWriter::new(file)));
    started.map(Some).map_err(|error| error.to_string())
}

/// The first thread, and its arguments and variables in simulated memory: their places do not depend on where the host has put its
/// first stack.
fn first_thread(request: &Request, (count, values, variables): Arguments) -> Option<(*mut UserThread, Arguments)> {
    let user = UserThread::new(0, request.stack as usize, tls::host())?;
    // SAFETY: the C library hands over lists of strings that end with a null.
    unsafe {
        let values = copy_strings(values, false)?;
        let copied = copy_strings(variables, true)?;
        environ = copied;
        Some((user, (count, values, copied)))
    }
}

/// A copy of a list of strings in the arena; without the variable that names the request, if it is the environment.
///
/// # Safety
/// The list ends with a null.
unsafe fn copy_strings(list: *mut *mut c_char, environment: bool) -> Option<*mut *mut c_char> {
    let mut strings = Vec::new();
    // SAFETY: the caller's promise.
    unsafe {
        let mut at = list;
        while !(*at).is_null() {
            let string = CStr::from_ptr(*at);
            if !environment || !string.to_bytes().starts_with(VARIABLE.as_bytes()) {
                strings.push(string);
            }
            at = at.add(1);
        }
        let copied = address::take((strings.len() + 1) * size_of::<usize>(), 16)? as *mut *mut c_char;
        for (number, string) in strings.iter().enumerate() {
            let bytes = string.to_bytes_with_nul();
            let place = address::take(bytes.len(), 16)? as *mut u8;
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            *copied.add(number) = place.cast();
        }
        Some(copied)
    }
}

/// What the program's memory is called, beside its variables: blocks of the heap, and stacks.
fn objects() -> Vec<DataObject> {
    let stack = |&thread: &*mut UserThread| {
        // SAFETY: threads are never freed.
        let (number, (start, bytes)) = unsafe { ((*thread).number, (*thread).stack) };
        DataObject { name: format!("stack of thread {number}"), start: start as u64, bytes: bytes as u64, site: None }
    };
    let mut objects: Vec<DataObject> = run().threads.iter().map(stack).collect();
    objects.extend(super::heap::blocks());
    settled(objects)
}

/// What is to be told of a run that is over.
fn conclude(
    description: &Description,
    simulator: &Simulator,
    reports: Result<Vec<ThreadReport>, SimError>,
    start: Instant,
) -> Answer {
    let run = run();
    let mut answer = Answer { status: run.status, notes: std::mem::take(&mut run.notes), ..Answer::default() };
    answer.error = run.error.take().or(recording::finish().err().map(|error| error.to_string()));
    match reports {
        Ok(reports) if answer.error.is_none() => {
            let Request { program, cpus, seed, causes, barrier, locks, scheduler, .. } = &run.request;
            let policies = [scheduler, barrier, locks].map(String::as_str);
            let own = OwnProgram { description, name: program, cpus: *cpus, seed: *seed, causes: *causes, policies };
            let mut row = own.record(simulator, &reports);
            if run.request.no_caches {
                (row.references, row.spins) = (callbacks::counted(), 0);
            }
            let seconds = start.elapsed().as_secs_f64();
            answer.speed = Some(format!(
                "{} with {} threads on {}: {seconds:.2} s, {:.2} million references a second, {} looks of loops that wait not counted",
                row.program,
                reports.len(),
                row.machine,
                row.references.saturating_sub(row.spins) as f64 / seconds / 1e6,
                row.spins,
            ));
            let data = Ended { description, simulator, row: &row, reports: &reports, objects: objects() };
            answer.attribution = causes.then(|| attribution(data, address::named));
            answer.row = Some(row);
        }
        Ok(_) => answer.status = 1,
        Err(error) => {
            let told = match error {
                SimError::Deadlock { at, .. } => format!("deadlock at {at}: {}", places::all_threads().join(", ")),
                other => other.to_string(),
            };
            answer.error.get_or_insert(told);
            answer.status = 1;
        }
    }
    answer
}

/// The process ends here and now, in the middle of the simulation: what went wrong has been noted.
pub fn give_up() -> ! {
    let run = run();
    let answer =
        Answer { error: run.error.take(), status: 1, notes: std::mem::take(&mut run.notes), ..Answer::default() };
    deliver(&answer, &run.request.answer);
    // SAFETY: nothing of the process is wanted any more.
    unsafe { libc::_exit(1) }
}

/// Writes an answer where it is expected.
fn deliver(answer: &Answer, path: &Path) {
    let written = request::written(answer).map_err(|error| error.to_string());
    if let Err(problem) = written.and_then(|text| fs::write(path, text).map_err(|error| error.to_string())) {
        complain(&format!("cannot write {}: {problem}", path.display()));
    }
}

/// The program ends with a status, wherever its threads are.
fn end(status: c_int) -> ! {
    // What a parent gets to see of a status.
    run().status = status & 0xff;
    stop()
}

fn stop() -> ! {
    if let Some(thread) = current() {
        callbacks::settle(thread);
        thread.end_process();
    }
    unreachable!("a thread that ended its process is not resumed")
}

/// The simulation cannot go on: what has happened is told, and the program ends.
pub fn fail(thread: &mut Thread<'static>, problem: &str) -> ! {
    let (at, number) = (thread.clock(), super::threads::number());
    run().error.get_or_insert_with(|| format!("{problem} (thread {number}, simulated time {at})"));
    stop()
}

/// The program cannot go on, simulated or not: what has happened is told, and it ends.
pub fn cannot_go_on(problem: &str) -> ! {
    match current() {
        Some(thread) => fail(thread, problem),
        None => {
            complain(problem);
            // SAFETY: takes nothing.
            unsafe { libc::abort() }
        }
    }
}

/// Something that the reader of the results should know.
pub fn note(what: String) {
    let notes = &mut run().notes;
    if !notes.contains(&what) {
        notes.push(what);
    }
}

/// A thread is about to be made: if the program has not said what is to be measured, that begins with its first thread.
pub fn thread_begins(thread: &mut Thread<'static>) {
    if !run().regions && run().alive == 2 {
        measure(thread, true);
    }
}

/// A new thread is measured from its birth, unless the program says otherwise.
pub fn measured_from_birth(thread: &mut Thread<'_>, number: usize) {
    if !run().regions {
        // It is not yet the one that runs.
        thread.measure(true);
        recording::measured(number, true);
    }
}

/// The running thread has joined another: when it is alone, what is to be measured is over, as far as can be told.
pub fn joined(thread: &mut Thread<'static>) {
    if !run().regions && run().alive == 1 {
        measure(thread, false);
    }
}

/// What is to be measured begins or ends.
fn measure(thread: &mut Thread<'_>, on: bool) {
    thread.measure(on);
    recording::measured(super::threads::number(), on);
}

/// What is to be measured begins here, in the words of the program.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_begin() {
    if let Some(thread) = current() {
        run().regions = true;
        measure(thread, true);
    }
}

/// Whether the program names a function of the runtime's.
fn names(name: &[u8]) -> bool {
    fs::read("/proc/self/exe").is_ok_and(|bytes| bytes.windows(name.len()).any(|window| window == name))
}

/// As [`ccnuma_roi_begin`], from Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_begin_() {
    ccnuma_roi_begin();
}

/// As [`ccnuma_roi_end`], from Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_end_() {
    ccnuma_roi_end();
}

/// And ends here.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_end() {
    if let Some(thread) = current() {
        run().regions = true;
        measure(thread, false);
    }
}

/// Ends the program.
///
/// # Safety
/// As of `exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_exit(status: c_int) -> ! {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::exit(status) },
        Some(_) => end(status),
    }
}

macro_rules! at_once {
    ($($name:ident)*) => {$(
        /// Ends the program at once.
        ///
        /// # Safety
        /// As of the C library's own.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(status: c_int) -> ! {
            match current() {
                // SAFETY: the caller's promise.
                None => unsafe { libc::_exit(status) },
                Some(_) => end(status),
            }
        }
    )*};
}

at_once!(__wrap__exit __wrap__Exit __wrap_quick_exit);

/// The program gives up.
///
/// # Safety
/// As of `abort`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_abort() -> ! {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::abort() },
        Some(thread) => fail(thread, "the program called abort"),
    }
}
