//! A pinned thread that sleeps until it is given a kernel to run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use units::{CpuId, Duration};

use super::Done;
use super::barrier::Barrier;
use crate::HostError;
use crate::clock::Clock;
use crate::discovery::Inventory;
use crate::interference::Watch;
use crate::kernels::{Course, Operation, Routine};
use crate::threads::pin;

/// How long a thread spins before it is timed: a processor that was idle takes some time to reach its speed.
const AWAKE: Duration = Duration(50_000_000);

/// What the threads of one phase share.
#[derive(Debug)]
pub(super) struct Shared {
    barrier: Barrier,
    /// Set by the first to finish, if that stops all.
    stop: AtomicBool,
    first_finisher_stops_all: bool,
}

impl Shared {
    /// A phase of `threads`.
    pub(super) fn new(threads: usize, first_finisher_stops_all: bool) -> Arc<Self> {
        Arc::new(Self { barrier: Barrier::new(threads), stop: AtomicBool::new(false), first_finisher_stops_all })
    }
}

/// The memory that a kernel runs over, in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Courses {
    /// Steps along a list, from the start of the first piece, that are taken before the clock starts.
    pub(super) approach: u64,
    /// The pieces, one after the other.
    pub(super) pieces: Vec<Course>,
}

/// What a thread is to do.
#[derive(Debug)]
pub(super) struct Assignment {
    /// The kernel.
    pub(super) routine: Arc<Routine>,
    /// Follows the list to where the kernel begins; there is one only if there is an approach.
    pub(super) walk: Option<Arc<Routine>>,
    /// Its memory.
    pub(super) courses: Courses,
    /// The phase.
    pub(super) shared: Arc<Shared>,
}

// SAFETY: what keeps an assignment from being sent are the addresses in its courses. They are those of memory that belongs
// to the whole process, and that `Crew` keeps until the thread has answered.
unsafe impl Send for Assignment {}

/// What a thread answers.
#[derive(Debug)]
pub(super) struct Answer {
    /// What became of the job.
    pub(super) done: Result<Done, HostError>,
    /// Where on its list the kernel would have gone on, as an address.
    pub(super) position: u64,
}

/// The thread of one processor.
#[derive(Debug)]
pub(super) struct Worker {
    /// `None` only while it is dismissed.
    assignments: Option<Sender<Assignment>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread of `cpu`, pins it there and has it checked.
    ///
    /// # Errors
    /// When the processor cannot be used, or no thread can be had.
    pub(super) fn hire(cpu: CpuId, inventory: &Arc<Inventory>, clock: &Arc<Clock>) -> Result<Self, HostError> {
        let (assignments, inbox) = channel();
        let (outbox, answers) = channel();
        let (hired, verdict) = channel();
        let (inventory, clock) = (inventory.clone(), clock.clone());
        let work = move || {
            let pinned = pin(cpu, &inventory);
            let failed = pinned.is_err();
            // Whoever hires waits for this; if not, nobody wants the thread.
            if hired.send(pinned).is_err() || failed {
                return;
            }
            let mut watch = Watch::new(cpu, &clock);
            for assignment in inbox {
                if outbox.send(carry_out(&assignment, &clock, &mut watch)).is_err() {
                    return;
                }
            }
        };
        let spawned = std::thread::Builder::new().name(format!("cpu {cpu}")).spawn(work);
        let thread = spawned.map_err(|source| HostError::Call {
            call: format!("starting a thread for CPU {cpu}"),
            source,
            advice: "raise the limit of threads (ulimit -u, pids.max of the cgroup)".to_owned(),
        })?;
        verdict.recv().expect("the thread says whether it is where it should be")?;
        Ok(Self { assignments: Some(assignments), answers, thread: Some(thread) })
    }

    /// Lets it begin.
    pub(super) fn assign(&self, assignment: Assignment) {
        let sent = self.assignments.as_ref().map(|assignments| assignments.send(assignment));
        assert!(matches!(sent, Some(Ok(()))), "a thread lives as long as its worker");
    }

    /// Waits until it has finished.
    pub(super) fn answer(&self) -> Answer {
        self.answers.recv().expect("a thread answers each assignment")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.assignments = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so itself.
            let _panicked = thread.join();
        }
    }
}

/// Meets the others, runs the kernel, looks what happened meanwhile.
fn carry_out(assignment: &Assignment, clock: &Clock, watch: &mut Watch) -> Answer {
    let Assignment { routine, walk, courses, shared } = assignment;
    let mut pieces = courses.pieces.clone();
    if let (Some(walk), [first, ..]) = (walk, pieces.as_mut_slice()) {
        *first = approach(walk, first, courses.approach, clock);
    }
    wake_up(clock);
    let watching = watch.start();
    shared.barrier.wait();
    let stop = shared.first_finisher_stops_all.then_some(&shared.stop);
    let (mut ticks, mut steps, mut position) = (0, 0, 0);
    for course in &pieces {
        // SAFETY: `Crew` has checked that the elements lie in an area that it keeps, linked into a list if the operation
        // needs one, and gives that memory to nobody else; what other threads of the phase do to it are routines as well.
        let ran = unsafe { routine.run(clock, course, stop) };
        ticks += ran.ticks().saturating_sub(clock.overhead_of(routine.operation()).median);
        steps += ran.steps;
        position = ran.value;
    }
    if shared.first_finisher_stops_all {
        shared.stop.store(true, Ordering::Relaxed);
    }
    let done = watching.and_then(|()| watch.finish()).map(|interference| Done {
        elapsed: clock.duration(ticks),
        steps: steps * routine.operation().elements_per_step(),
        interference,
    });
    Answer { done, position }
}

/// The course from `steps` further along its list.
fn approach(walk: &Routine, course: &Course, steps: u64, clock: &Clock) -> Course {
    debug_assert_eq!(walk.operation(), Operation::Walk { work: 0 });
    let untimed = Course { count: steps, ..*course };
    // SAFETY: as in `carry_out`; there is an approach only along a list.
    let ran = unsafe { walk.run(clock, &untimed, None) };
    let start = std::ptr::NonNull::new(ran.value as *mut u8).expect("the list goes round");
    Course { start, ..*course }
}

/// Spins until the processor has had time to speed up.
fn wake_up(clock: &Clock) {
    let until = clock.now() + clock.ticks(AWAKE);
    while clock.now() < until {
        std::hint::spin_loop();
    }
}
