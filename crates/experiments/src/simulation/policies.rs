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

fn named<T: Copy>(all: &[(T, &'static str)], wanted: &str) -> Option<T> {
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
