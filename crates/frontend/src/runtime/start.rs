//! The beginning and the end: the program's `main` becomes the first simulated thread, and what came of it is written down.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_void};
use std::fs;
use std::io::BufWriter;
use std::ptr::null_mut;
use std::time::Instant;

use experiments::attribution::{Ended, attribution, settled};
use experiments::policies::{self, OwnBarrier, OwnLocks};
use experiments::profiling::Recording;
use experiments::{ExperimentError, OwnProgram};
use machine::Description;
use machine::description::{PlacementKind, ProcessorModel};
use record::{Attribution, DataObject};
use sim::{Mode as SimulatorMode, Options, Scheduling, SimError, Simulator, Thread, ThreadReport};
use units::{CpuId, Duration};

use super::arguments::{Arguments, first_thread};
use super::ending::{deliver, end, read_request};
use super::mode::mode;
use super::pipeline::{Latencies, PIPELINE, Pipeline};
use super::state::{HOT, MODE, Mode, RUN, Run, Single, UserThread, note, run};
use super::{address, callbacks, crash, endless, interrupted, libraries, measured, places, recording, time_stamp, tls};
use crate::request::{Answer, Request};

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

/// The function that the C library takes for `main`.
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
    interrupted::let_go();
    status
}

/// Runs `main` and all its threads on the machine that was asked for.
fn simulate(request: Request, main: Main, arguments: Arguments) -> Answer {
    let start = Instant::now();
    let prepared = prepare(&request);
    let (description, mut simulator, processors, policies) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return Answer { error: Some(problem), status: 2, ..Answer::default() },
    };
    let pages_move = [&b"move_pages"[..], b"migrate_pages", b"mbind", b"ccnuma_first_touch"].into_iter().any(names)
        && simulator.let_pages_move();
    tls::begin();
    // SAFETY: one thread of the host.
    unsafe {
        *RUN.get() = Some(Run {
            processors: processors.len(),
            nodes: simulator.topology().nodes().len(),
            follows_plans: description.os.placement == PlacementKind::Planned,
            pages_move,
            cores: description.topology.processors as usize,
            per_node: description.topology.processors_per_node as usize,
            locked: description.latency.locked_cycles * description.processor.issue_width,
            threads: Vec::new(),
            alive: 1,
            locks: policies.locks,
            barrier: policies.barrier,
            helpers: 0,
            waiters: rustc_hash::FxHashMap::default(),
            status: 0,
            error: None,
            notes: Vec::new(),
            // It says itself what is to be measured.
            regions: names(b"ccnuma_roi_begin"),
            sections: false,
            request: request.clone(),
        });
        (*HOT.get()).instructions = request.instructions;
        let Description { processor, latency, l1, .. } = &description;
        *PIPELINE.get() = Some(Pipeline::new(Latencies::new(processor, latency, l1)));
        (*HOT.get()).waits = processor.model == ProcessorModel::Windowed && !request.no_caches;
        (*HOT.get()).patience = Duration(request.spin_limit_ms.saturating_mul(1_000_000_000));
        ((*HOT.get()).counting, (*HOT.get()).budget.left) = (request.no_caches, callbacks::TURN);
    }
    if let Some(problem) = libraries::early_threads() {
        return Answer { error: Some(problem), status: 2, ..Answer::default() };
    }
    let Some((user, arguments)) = first_thread(&request, arguments) else {
        let error = Some("no memory for the program's first stack".to_owned());
        return Answer { error, status: 1, ..Answer::default() };
    };
    run().threads.push(user);
    let (page, line) = (description.tlb.page.0 as usize, description.coherent_cache().line.0 as usize);
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
        note("atomic loads and stores count twice: the program's code cannot be patched on this computer".to_owned());
    }
    crash::watch();
    endless::watch();
    interrupted::watch(run().request.progress.as_deref());
    time_stamp::watch(description.processor.clock.as_mhz());
    let reports = simulator.run_process(processors, policies.scheduler, first);
    // The rest of the program, which is what it has asked to be done at its exit, runs on this computer.
    // SAFETY: one thread of the host.
    unsafe {
        let hot = &mut *HOT.get();
        (hot.thread, hot.timed, hot.user) = (null_mut(), null_mut(), null_mut());
        *MODE.get() = Mode::Over;
    }
    tls::leave();
    time_stamp::unwatch();
    crash::unwatch();
    interrupted::unwatch();
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

/// Data objects of the program beside its variables: stacks, data of libraries, and blocks of the heap.
fn objects() -> Vec<DataObject> {
    let stack = |&thread: &*mut UserThread| {
        // SAFETY: threads are never freed.
        let (number, (start, bytes)) = unsafe { ((*thread).number, (*thread).stack) };
        DataObject { name: format!("stack of thread {number}"), start: start as u64, bytes: bytes as u64, site: None }
    };
    let mut objects: Vec<DataObject> = run().threads.iter().map(stack).collect();
    objects.extend(libraries::objects());
    objects.extend(super::heap::blocks());
    settled(objects)
}

/// The answer for a run that is over.
fn conclude(
    description: &Description,
    simulator: &Simulator,
    reports: Result<Vec<ThreadReport>, SimError>,
    start: Instant,
) -> Answer {
    let run = run();
    let mut answer = Answer {
        status: run.status,
        interrupted: interrupted::is_asked(),
        notes: std::mem::take(&mut run.notes),
        ..Answer::default()
    };
    answer.error = run.error.take().or(recording::finish().err().map(|error| error.to_string()));
    match reports {
        Ok(reports) if answer.error.is_none() => {
            let Request { program, cpus, seed, causes, barrier, locks, scheduler, .. } = &run.request;
            let policies = [scheduler, barrier, locks].map(String::as_str);
            let own = OwnProgram { description, name: program, cpus: *cpus, seed: *seed, causes: *causes, policies };
            let mut row = own.record(simulator, &reports);
            row.measured = Some(measured::part(run).to_owned());
            let sum = |of: fn(&ThreadReport) -> u64| reports.iter().map(of).sum::<u64>();
            let (simulated, spins) = if run.request.no_caches {
                (row.references, row.spins) = (callbacks::counted(), 0);
                (row.references, 0)
            } else {
                (sum(|report| report.whole.simulated_references()), sum(|report| report.whole.looks))
            };
            let seconds = start.elapsed().as_secs_f64();
            answer.speed = Some(format!(
                "{} with {} threads on {}: {seconds:.2} s, {:.2} million references a second, {spins} spin references \
                 not counted",
                row.program,
                reports.len(),
                row.machine,
                simulated as f64 / seconds / 1e6,
            ));
            let data = Ended { description, simulator, row: &row, reports: &reports, objects: objects() };
            answer.attribution = causes.then(|| with_libraries(attribution(data, address::named)));
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

/// The same with what happened at places of shared libraries by the names that are the same in every run.
fn with_libraries(mut told: Attribution) -> Attribution {
    let losses = told.losses.iter_mut().map(|loss| &mut loss.site);
    let allocated = told.objects.iter_mut().filter_map(|object| object.site.as_mut());
    let places = losses.chain(allocated).filter(|site| libraries::name_of(**site as usize).is_some());
    let mut found = BTreeSet::new();
    for site in places {
        found.insert(*site as usize);
        *site = libraries::stable(*site as usize) as u64;
    }
    told.sites.extend(libraries::lines(found.into_iter()));
    told
}

/// Whether the program names a function of the runtime's.
fn names(name: &[u8]) -> bool {
    fs::read("/proc/self/exe").is_ok_and(|bytes| bytes.windows(name.len()).any(|window| window == name))
}
