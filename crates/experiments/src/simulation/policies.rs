//! Policies of the operating system and of programs, by the names that users give and records carry.

use machine::description::{OsSpec, PlacementKind};
use sim::{Scheduling, SpaceSharing, TimeSharing};
use workloads::{BarrierKind, LockKind};

use crate::error::ExperimentError;

/// No scheduler: every thread has the processor of its number, and nothing disturbs it.
const NO_SCHEDULER: &str = "none";
/// A barrier that costs nothing but the wait for the last thread.
const IDEAL: &str = "ideal";
/// Between time-sharing and space-sharing.
const SEPARATOR: char = '/';

/// The words of a table of named values, for messages.
fn words<T>(all: &[(T, &'static str)]) -> String {
    all.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

/// Another word for what is done by load-linked and store-conditional: whoever waits looks at the word.
const SPIN: (&str, &str) = ("spin", "llsc");

fn named<T: Copy>(all: &[(T, &'static str)], wanted: &str) -> Option<T> {
    let wanted = if wanted == SPIN.0 { SPIN.1 } else { wanted };
    all.iter().find(|(_, name)| *name == wanted).map(|&(value, _)| value)
}

fn name_of<T: PartialEq>(all: &[(T, &'static str)], wanted: &T) -> &'static str {
    all.iter().find(|(value, _)| value == wanted).map_or("", |&(_, name)| name)
}

/// The scheduler called `name`: `none`, or a way to share time, and after a slash one to share processors.
///
/// # Errors
/// When there is none of this name.
pub fn scheduler(name: &str) -> Result<Option<Scheduling>, ExperimentError> {
    if name == NO_SCHEDULER {
        return Ok(None);
    }
    let (time, space) = name.split_once(SEPARATOR).map_or((name, None), |(time, space)| (time, Some(space)));
    let time = named(&TimeSharing::ALL, time);
    let space = space.map_or(Some(SpaceSharing::default()), |space| named(&SpaceSharing::ALL, space));
    match (time, space) {
        (Some(time), Some(space)) => Ok(Some(Scheduling { time, space })),
        _ => Err(ExperimentError::Policy {
            what: "scheduler",
            name: name.to_owned(),
            accepted: format!(
                "{NO_SCHEDULER}, or one of {}, alone or before a slash and one of {}",
                words(&TimeSharing::ALL),
                words(&SpaceSharing::ALL)
            ),
        }),
    }
}

/// The name of a scheduler.
pub fn scheduler_name(scheduling: Option<Scheduling>) -> String {
    scheduling.map_or_else(
        || NO_SCHEDULER.to_owned(),
        |Scheduling { time, space }| {
            format!("{}{SEPARATOR}{}", name_of(&TimeSharing::ALL, &time), name_of(&SpaceSharing::ALL, &space))
        },
    )
}

/// The barrier called `name`: `ideal`, or one that is made of loads and stores.
///
/// # Errors
/// When there is none of this name.
pub fn barrier(name: &str) -> Result<Option<BarrierKind>, ExperimentError> {
    if name == IDEAL {
        return Ok(None);
    }
    named(&BarrierKind::ALL, name).map(Some).ok_or_else(|| ExperimentError::Policy {
        what: "barrier",
        name: name.to_owned(),
        accepted: format!("{IDEAL} {}", words(&BarrierKind::ALL)),
    })
}

/// The name of a barrier.
pub fn barrier_name(barrier: Option<BarrierKind>) -> &'static str {
    barrier.map_or(IDEAL, |kind| name_of(&BarrierKind::ALL, &kind))
}

/// The locks called `name`.
///
/// # Errors
/// When there are none of this name.
pub fn locks(name: &str) -> Result<LockKind, ExperimentError> {
    named(&LockKind::ALL, name).ok_or_else(|| ExperimentError::Policy {
        what: "kind of lock",
        name: name.to_owned(),
        accepted: words(&LockKind::ALL),
    })
}

/// The name of locks.
pub fn locks_name(locks: LockKind) -> &'static str {
    name_of(&LockKind::ALL, &locks)
}

/// How threads of a program of the user's own take locks and wait for conditions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OwnLocks {
    /// As the libraries have it that the program was written for: the C library by futexes, OpenMP by spinning.
    #[default]
    Own,
    /// Whoever waits gives its processor up, and is woken by a system call.
    Futex,
    /// Whoever waits looks at a line of its own ([`workloads::queue`]).
    Queue,
    /// As built-in programs do.
    Shared(LockKind),
}

/// How threads of a program of the user's own meet at barriers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OwnBarrier {
    /// As the libraries have it that the program was written for: the C library by futexes, gcc's OpenMP at a counter, clang's in a
    /// tree.
    #[default]
    Own,
    /// At no cost but the wait for the last one.
    Ideal,
    /// Whoever waits gives its processor up, and is woken by a system call.
    Futex,
    /// As built-in programs do.
    Shared(BarrierKind),
}

impl OwnLocks {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Own, "own"),
        (Self::Futex, "futex"),
        (Self::Shared(LockKind::LlSc), "llsc"),
        (Self::Queue, "queue"),
        (Self::Shared(LockKind::AtMemory), "at-memory"),
    ];

    /// Those called `name`.
    ///
    /// # Errors
    /// When there are none of this name.
    pub fn named(name: &str) -> Result<Self, ExperimentError> {
        named(&Self::ALL, name).ok_or_else(|| ExperimentError::Policy {
            what: "kind of lock for own programs",
            name: name.to_owned(),
            accepted: words(&Self::ALL),
        })
    }

    /// Their name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, &self)
    }
}

impl OwnBarrier {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Own, "own"),
        (Self::Ideal, IDEAL),
        (Self::Futex, "futex"),
        (Self::Shared(BarrierKind::LlSc), "llsc"),
        (Self::Shared(BarrierKind::AtMemory), "at-memory"),
        (Self::Shared(BarrierKind::Tree), "tree"),
    ];

    /// The one called `name`.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn named(name: &str) -> Result<Self, ExperimentError> {
        named(&Self::ALL, name).ok_or_else(|| ExperimentError::Policy {
            what: "barrier for own programs",
            name: name.to_owned(),
            accepted: words(&Self::ALL),
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, &self)
    }
}

/// The scheduler called `name` of a program whose threads come and go: `none`, which has them take turns when there are more threads
/// than processors, or `run-queue`, alone or before a slash and a way to share processors.
///
/// # Errors
/// When there is none of this name, or it schedules whole processes.
pub fn own_scheduler(name: &str) -> Result<Option<Scheduling>, ExperimentError> {
    match scheduler(name)? {
        Some(Scheduling { time: TimeSharing::Batch | TimeSharing::Gang, .. }) => Err(ExperimentError::Policy {
            what: "scheduler for a single program",
            name: name.to_owned(),
            accepted: format!(
                "{NO_SCHEDULER}, or run-queue, alone or before a slash and one of {}",
                words(&SpaceSharing::ALL)
            ),
        }),
        scheduling => Ok(scheduling),
    }
}

/// The name of what places and moves pages.
pub fn placement_name(os: &OsSpec) -> String {
    let mut name = match os.placement {
        PlacementKind::Planned => "planned".to_owned(),
        PlacementKind::FirstTouch => "first-touch".to_owned(),
        PlacementKind::RoundRobin => "round-robin".to_owned(),
        PlacementKind::Fixed => format!("fixed={}", os.fixed_node),
        PlacementKind::Domains => format!("mld={}", os.domain_radius),
    };
    for (on, word) in [(os.migration, "migration"), (os.replication, "replication")] {
        if on {
            name = format!("{name}+{word}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_policies_and_back() {
        for name in ["none", "gang/cache-affinity", "run-queue/memory-affinity", "batch/pinned"] {
            assert_eq!(scheduler_name(scheduler(name).expect(name)), name);
        }
        let alone = scheduler("gang").expect("a scheduler").expect("not none");
        assert_eq!((alone.time, alone.space), (TimeSharing::Gang, SpaceSharing::default()));
        for name in ["ideal", "llsc", "at-memory", "tree"] {
            assert_eq!(barrier_name(barrier(name).expect(name)), name);
        }
        for name in ["llsc", "at-memory"] {
            assert_eq!(locks_name(locks(name).expect(name)), name);
        }
        assert_eq!(barrier_name(barrier("spin").expect("another word")), "llsc");
        for (kind, name) in OwnLocks::ALL {
            assert_eq!((OwnLocks::named(name).expect(name), kind.name()), (kind, name));
        }
        for (kind, name) in OwnBarrier::ALL {
            assert_eq!((OwnBarrier::named(name).expect(name), kind.name()), (kind, name));
        }
        assert_eq!(OwnLocks::named("spin").expect("another word").name(), "llsc");
        let refused =
            [OwnLocks::named("tree").map(drop), OwnBarrier::named("queue").map(drop), own_scheduler("gang").map(drop)];
        for (refused, name) in refused.into_iter().zip(["tree", "queue", "gang"]) {
            let message = refused.expect_err("it has no meaning").to_string();
            assert!(message.contains(name) && message.contains("accepted: "), "{message}");
        }
        let refused = [scheduler("gang/fair").map(drop), barrier("magic").map(drop), locks("tree").map(drop)];
        for (refused, name) in refused.into_iter().zip(["gang/fair", "magic", "tree"]) {
            let message = refused.expect_err("no such policy").to_string();
            assert!(message.contains(name) && message.contains("accepted: "), "{message}");
        }
        let os = |name: &str| placement_name(&crate::variant::load(name).expect("a machine").os);
        assert_eq!(os("arctic"), "planned");
        assert_eq!(os("arctic+placement=mld=2+migration"), "mld=2+migration");
    }
}
