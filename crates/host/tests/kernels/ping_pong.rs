//! Two threads that hand a word back and forth.

use host::kernels::{Course, Features, Operation, Role, Routine};
use units::Bytes;

use crate::execution::stopped;
use crate::guarded::{Against, Guarded};

/// Few, as a trip takes two time slices where one processor is all there is.
const TRIPS: u64 = 300;

fn routine(role: Role) -> Routine {
    Routine::assemble(Operation::PingPong { role }, Bytes(64), &Features::detect()).unwrap()
}

/// A course that goes to another thread.
struct Shared(Course);

// SAFETY: the memory of the course outlives the scope of the thread, and both threads only run routines over it.
unsafe impl Send for Shared {}

#[test]
fn both_sides_take_all_their_trips() {
    let memory = Guarded::new(8, Against::Front);
    let course = Course::new(memory.start(), 1, TRIPS);
    let (lead, follow) = (routine(Role::Leader), routine(Role::Follower));
    let clock = crate::clock();
    let ran = std::thread::scope(|scope| {
        let shared = Shared(course);
        let follow = &follow;
        // SAFETY: the word is mapped for as long as the scope lasts.
        let other = scope.spawn(move || unsafe { follow.run(clock.source(), &{ shared }.0, None) });
        // SAFETY: as above.
        let one = unsafe { lead.run(clock.source(), &course, None) };
        [one, other.join().expect("the follower does not panic")]
    });
    assert_eq!(ran.map(|ran| ran.steps), [TRIPS; 2]);
    assert_eq!(memory.words()[0], 2 * TRIPS, "every move counts the word up by one");
}

#[test]
fn one_without_a_partner_can_be_stopped() {
    for role in [Role::Leader, Role::Follower] {
        let (alone, clock) = (routine(role), crate::clock());
        let ran = stopped(|stop| {
            let memory = Guarded::new(8, Against::Front);
            // SAFETY: the word is mapped, and nobody else uses it.
            let ran = unsafe { alone.run(clock.source(), &Course::new(memory.start(), 1, 100), Some(stop)) };
            (role == Role::Follower || ran.steps > 0).then_some(ran)
        });
        // A leader has made a move of its own, but waits for the answer in the next trip.
        assert_eq!(ran.steps, u64::from(role == Role::Leader), "{role:?}");
    }
}
