//! A pinned thread that sleeps until it is given a kernel to run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use units::{CpuId, Duration};

use super::Done;
use super::phase::Place;
use crate::HostError;
use crate::clock::Clock;
use crate::discovery::Inventory;
use crate::interference::Watch;
use crate::kernels::{Course, Operation, Routine};
use crate::threads::pin;

/// How long a thread spins before it is timed: a processor that was idle takes some time to reach its speed.
const AWAKE: Duration = Duration(50_000_000);

/// The memory that a kernel runs over, in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Courses {
    /// Steps along a list, from the start of the first piece, that are taken before the clock starts.
    pub(super) approach: u64,
    /// The pieces, one after the other.
    pub(super) pieces: Vec<Course>,
}

/// Work of a thread in a phase.
#[derive(Debug)]
pub(super) struct Assignment {
    /// The kernel.
    pub(super) routine: Arc<Routine>,
    /// Follows the list to where the kernel begins; there is one only if there is an approach.
    pub(super) walk: Option<Arc<Routine>>,
    /// Its memory.
    pub(super) courses: Courses,
    /// Its place in the phase.
    pub(super) place: Place,
}

// SAFETY: what keeps an assignment from being sent are the addresses in its courses. They are those of memory that belongs
// to the whole process, and that `Crew` keeps until the thread has answered.
unsafe impl Send for Assignment {}

/// Answer of a thread to an assignment.
#[derive(Debug)]
pub(super) struct Answer {
    /// Outcome of the job.
    pub(super) done: Result<Done, HostError>,
    /// Where on its list the kernel would have gone on, as an address.
    pub(super) position: u64,
}

impl Answer {
    fn failed(cpu: CpuId, problem: &str) -> Self {
        Self { done: Err(HostError::Thread { cpu, problem: problem.to_owned() }), position: 0 }
    }
}

/// The thread of one processor.
#[derive(Debug)]
pub(super) struct Worker {
    cpu: CpuId,
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
                // The watch begins anew with each assignment, the clock never changes: a panic leaves nothing half done.
                let answer = catch_unwind(AssertUnwindSafe(|| carry_out(assignment, &clock, &mut watch)));
                if outbox.send(answer.unwrap_or_else(|panic| Answer::failed(cpu, &reason(&*panic)))).is_err() {
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
        Ok(Self { cpu, assignments: Some(assignments), answers, thread: Some(thread) })
    }

    /// Lets it begin. If there is no thread any more, the others do not wait for it, and the answer says so.
    pub(super) fn assign(&self, assignment: Assignment) {
        if let Some(assignments) = &self.assignments {
            // An assignment that cannot be sent is dropped, and its place in the phase given up.
            let _refused = assignments.send(assignment);
        }
    }

    /// Waits until it has finished, or failed.
    pub(super) fn answer(&self) -> Answer {
        self.answers.recv().unwrap_or_else(|_| Answer::failed(self.cpu, "it has ended"))
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
fn carry_out(assignment: Assignment, clock: &Clock, watch: &mut Watch) -> Answer {
    let Assignment { routine, walk, courses, mut place } = assignment;
    let mut pieces = courses.pieces;
    if let (Some(walk), [first, ..]) = (walk, pieces.as_mut_slice()) {
        *first = approach(&walk, first, courses.approach, clock);
    }
    wake_up(clock);
    let watching = watch.start();
    place.meet();
    let (mut ticks, mut steps, mut position) = (0, 0, 0);
    for course in &pieces {
        // SAFETY: `Crew` has checked that the elements lie in an area that it keeps, linked into a list if the operation
        // needs one, and gives that memory to nobody else; what other threads of the phase do to it are routines as well,
        // which write over no pointer of the list.
        let ran = unsafe { routine.run(clock.source(), course, Some(place.stop())) };
        ticks += ran.ticks().saturating_sub(clock.overhead_of(routine.operation()).median);
        steps += ran.steps;
        position = ran.value;
    }
    place.finish();
    let done = watching.and_then(|()| watch.finish()).map(|interference| Done {
        elapsed: clock.duration(ticks),
        steps: steps * routine.operation().elements_per_step(),
        interference,
    });
    Answer { done, position }
}

/// The message of a panic.
fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

/// The course from `steps` further along its list.
fn approach(walk: &Routine, course: &Course, steps: u64, clock: &Clock) -> Course {
    debug_assert_eq!(walk.operation(), Operation::Walk { work: 0 });
    let untimed = Course { count: steps, ..*course };
    // SAFETY: as in `carry_out`; there is an approach only along a list.
    let ran = unsafe { walk.run(clock.source(), &untimed, None) };
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

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use units::Bytes;

    use super::*;
    use crate::discovery::KernelFiles;
    use crate::kernels::{Features, Role};

    /// Two threads of one processor: a leader of a ping-pong that nobody answers, and `other`. What both answer.
    fn beside_a_leader(other: impl FnOnce(NonNull<u8>, Place) -> Assignment) -> [Answer; 2] {
        let inventory = Arc::new(Inventory::discover(&KernelFiles::live()).unwrap());
        let clock = Arc::new(Clock::calibrate().unwrap());
        let cpu = inventory.usable_cpus()[0];
        let workers = [0, 1].map(|_| Worker::hire(cpu, &inventory, &clock).unwrap());
        let mut words = [[0_u64; 8]; 2];
        let [word, others] = words.each_mut().map(|line| NonNull::from(line).cast::<u8>());
        let mut places = Place::of_phase(2, false).into_iter();
        let courses = Courses { approach: 0, pieces: vec![Course::new(word, 1, u64::MAX)] };
        let place = places.next().unwrap();
        workers[0].assign(Assignment {
            routine: routine(Operation::PingPong { role: Role::Leader }),
            walk: None,
            courses,
            place,
        });
        workers[1].assign(other(others, places.next().unwrap()));
        let answers = workers.each_ref().map(Worker::answer);
        // After a panic a thread goes on to serve.
        let place = Place::of_phase(1, false).remove(0);
        let courses = Courses { approach: 0, pieces: vec![Course::new(others, 1, 3)] };
        workers[1].assign(Assignment { routine: routine(Operation::TouchLoad), walk: None, courses, place });
        assert_eq!(workers[1].answer().done.unwrap().steps, 3);
        answers
    }

    fn routine(operation: Operation) -> Arc<Routine> {
        Arc::new(Routine::assemble(operation, Bytes(64), &Features::detect()).unwrap())
    }

    #[test]
    fn a_panic_in_a_kernel_ends_the_phase() {
        let [leader, other] = beside_a_leader(|word, place| {
            // `Crew` refuses what is not aligned; so does the routine, by a panic.
            let crooked = word.map_addr(|address| address.saturating_add(1));
            let courses = Courses { approach: 0, pieces: vec![Course::new(crooked, 1, 1)] };
            Assignment { routine: routine(Operation::TouchLoad), walk: None, courses, place }
        });
        assert!(leader.done.is_ok_and(|done| done.steps <= 1));
        let text = other.done.expect_err("a panic").to_string();
        assert!(text.contains("not aligned"), "{text}");
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panics_before_they_meet() {
        let [leader, other] = beside_a_leader(|word, place| {
            // The word is zero, so that the walk to the beginning ends nowhere.
            let courses = Courses { approach: 1, pieces: vec![Course::new(word, 1, 1)] };
            let walk = routine(Operation::Walk { work: 0 });
            Assignment { routine: walk.clone(), walk: Some(walk), courses, place }
        });
        assert!(leader.done.is_ok_and(|done| done.steps <= 1));
        let text = other.done.expect_err("a panic").to_string();
        assert!(text.contains("the list goes round"), "{text}");
    }

    #[test]
    fn a_place_that_nobody_takes_keeps_nobody_waiting() {
        let mut places = Place::of_phase(2, false);
        drop(places.pop());
        let mut place = places.remove(0);
        place.meet();
        assert!(place.stop().load(std::sync::atomic::Ordering::Relaxed), "whoever is left is told to end");
    }
}
