//! Order of accesses on threads of this computer: vector clocks (Fidge, Mattern 1988), carried by barriers and by words that
//! are released and acquired.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How far each thread had come when it is known to have been there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// The clock of a thread that begins: it knows only of itself.
    pub fn beginning(threads: usize, number: usize) -> Self {
        Self((0..threads).map(|each| u32::from(each == number)).collect())
    }

    /// Learns all that another clock knows.
    pub fn join(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(own, &theirs)| *own = theirs.max(*own));
    }

    /// Thread `number` goes on: what it does next is not what it has told of.
    pub fn advance(&mut self, number: usize) {
        self.0[number] += 1;
    }

    fn knows(&self, &(thread, time): &(usize, u32)) -> bool {
        self.0[thread] >= time
    }
}

/// Last touches of a word, and the clock of its last release.
#[derive(Debug, Default)]
pub struct Touches {
    loads: Vec<(usize, u32)>,
    stores: Vec<(usize, u32)>,
    additions: Vec<(usize, u32)>,
    told: Clock,
}

/// How a word is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    Load,
    Store,
    Add,
    /// A load that acquires, or an indivisible step that does.
    Acquire,
    Release,
}

impl Touches {
    /// Thread `number` touches the word at `clock`. Whether all that must not happen at the same time came before.
    pub fn touch(&mut self, touch: Touch, number: usize, clock: &mut Clock) -> bool {
        let now = (number, clock.0[number]);
        if touch == Touch::Acquire {
            clock.join(&self.told);
        }
        let before = |touches: &[(usize, u32)]| touches.iter().all(|each| clock.knows(each));
        let conflicts: &[&[(usize, u32)]] = match touch {
            Touch::Load => &[&self.stores, &self.additions],
            Touch::Store => &[&self.stores, &self.additions, &self.loads],
            Touch::Add => &[&self.stores, &self.loads],
            // Releases and acquisitions may meet each other.
            Touch::Acquire => &[&self.stores],
            Touch::Release => &[&self.stores, &self.loads],
        };
        let ordered = conflicts.iter().all(|touches| before(touches));
        let latest = |touches: &mut Vec<(usize, u32)>| {
            touches.retain(|each| each.0 != number);
            touches.push(now);
        };
        match touch {
            Touch::Load => latest(&mut self.loads),
            Touch::Store => {
                self.loads.clear();
                self.stores = vec![now];
            }
            Touch::Add => latest(&mut self.additions),
            Touch::Acquire => (),
            Touch::Release => {
                self.told = clock.clone();
                clock.advance(number);
            }
        }
        ordered
    }
}

/// A barrier's knowledge: what all told who came, at even barriers and at odd ones, so that who leaves early and comes to the
/// next tells nothing to who is still leaving.
#[derive(Debug, Default)]
pub struct Meeting([Mutex<Clock>; 2]);

impl Meeting {
    /// To be called before the barrier number `phase`.
    pub fn come(&self, phase: usize, clock: &Clock) {
        lock(&self.0[phase % 2]).join(clock);
    }

    /// To be called after it, by thread `number`.
    pub fn leave(&self, phase: usize, number: usize, clock: &mut Clock) {
        clock.join(&lock(&self.0[phase % 2]));
        clock.advance(number);
    }
}

/// A mutex that others' panics do not spoil.
pub fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn what_is_released_and_acquired_is_ordered_and_all_else_is_not() {
    let clocks = || [Clock::beginning(2, 0), Clock::beginning(2, 1)];
    let [mut one, mut other] = clocks();
    let (mut data, mut flag) = (Touches::default(), Touches::default());
    assert!(data.touch(Touch::Store, 0, &mut one));
    assert!(flag.touch(Touch::Release, 0, &mut one));
    assert!(flag.touch(Touch::Acquire, 1, &mut other));
    assert!(data.touch(Touch::Load, 1, &mut other));
    // The first has not heard of that load.
    assert!(!data.touch(Touch::Store, 0, &mut one));
    for (first, second, ordered) in [
        (Touch::Load, Touch::Load, true),
        (Touch::Add, Touch::Add, true),
        (Touch::Add, Touch::Load, false),
        (Touch::Store, Touch::Acquire, false),
        (Touch::Release, Touch::Acquire, true),
    ] {
        let ([mut one, mut other], mut word) = (clocks(), Touches::default());
        assert!(word.touch(first, 0, &mut one));
        assert_eq!(word.touch(second, 1, &mut other), ordered, "{first:?}, {second:?}");
    }
}
