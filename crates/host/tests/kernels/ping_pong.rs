//! Two threads that hand a word back and forth.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host::kernels::{Course, Features, HandOver, Operation, Ran, Role, Routine};
use units::Bytes;

use crate::guarded::{Against, Guarded};

/// Few, as a trip takes two time slices where one processor is all there is.
const TRIPS: u64 = 300;

fn routine(role: Role, by: HandOver) -> Routine {
    Routine::assemble(Operation::PingPong { role, by }, Bytes(64), &Features::detect()).unwrap()
}

/// Runs both sides; what became of them, and the words afterwards.
fn play(by: HandOver, separate: bool) -> ([Ran; 2], Vec<u64>) {
    let memory = Guarded::new(32, Against::Front);
    let word = |line: usize| memory.start().map_addr(|start| start.saturating_add(line * 128));
    let (leaders, followers) = (word(0), if separate { word(1) } else { word(0) });
    let leader = Course::new(leaders, 1, TRIPS).reading([Some(followers), None]);
    let follower = Course::new(followers, 1, TRIPS).reading([Some(leaders), None]);
    let (lead, follow) = (routine(Role::Leader, by), routine(Role::Follower, by));
    let clock = crate::clock();
    let ran = std::thread::scope(|scope| {
        let addresses = Shared(follower);
        let follow = &follow;
        // SAFETY: both words are mapped for as long as the scope lasts.
        let other = scope.spawn(move || unsafe { follow.run(clock, &{ addresses }.0, None) });
        // SAFETY: as above.
        let one = unsafe { lead.run(clock, &leader, None) };
        [one, other.join().expect("the follower does not panic")]
    });
    (ran, memory.words())
}

/// A course that goes to another thread.
struct Shared(Course);

// SAFETY: the memory of the course outlives the scope of the thread, and both threads only run routines over it.
unsafe impl Send for Shared {}

#[test]
fn both_sides_take_all_their_trips() {
    for (by, separate) in [(HandOver::Store, false), (HandOver::Store, true), (HandOver::CompareExchange, false)] {
        let (ran, words) = play(by, separate);
        assert_eq!(ran.map(|ran| ran.steps), [TRIPS; 2], "{by:?}");
        let last = if separate { words[16] } else { words[0] };
        assert_eq!(last, 2 * TRIPS, "{by:?}: every move counts the word up by one");
        if separate {
            assert_eq!(words[0], 2 * TRIPS - 1, "the leader's last move");
        }
    }
}

#[test]
fn one_without_a_partner_can_be_stopped() {
    for (role, by) in [
        (Role::Leader, HandOver::Store),
        (Role::Follower, HandOver::Store),
        (Role::Leader, HandOver::CompareExchange),
        (Role::Follower, HandOver::CompareExchange),
    ] {
        let memory = Guarded::new(8, Against::Front);
        let stop = AtomicBool::new(false);
        let course = Course::new(memory.start(), 1, 100).reading([Some(memory.start()), None]);
        let alone = routine(role, by);
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(10));
                stop.store(true, Ordering::Relaxed);
            });
            // SAFETY: the word is mapped, and nobody else uses it.
            unsafe { alone.run(crate::clock(), &course, Some(&stop)) }
        });
        // A leader by compare-and-exchange has made a move of its own, but waits for the answer in the next trip.
        let taken = u64::from(role == Role::Leader && by == HandOver::CompareExchange);
        assert_eq!(ran.steps, taken, "{role:?} by {by:?}");
    }
}
