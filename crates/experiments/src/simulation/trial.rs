//! Remedies that are tried: the same program on the same machine, with its pages elsewhere, words of shared lines apart, or one
//! parameter changed.

use diagnose::Trial;
use execution::Relocation;
use machine::Description;
use machine::description::PlacementKind;
use record::Attribution;
use sim::{Scheduling, SpaceSharing};

use super::{Simulation, policies};
use crate::error::ExperimentError;
use crate::variant;

/// Asks for pages where they came to be, if a policy that heeds no wishes put them there.
fn keep_homes(relocation: &mut Relocation, machine: &mut Description, base: &Attribution) {
    let heeds_wishes = matches!(machine.os.placement, PlacementKind::Planned | PlacementKind::FirstTouch);
    if !heeds_wishes {
        relocation.put(base.pages.iter().filter_map(|page| Some((page.start, page.home?))));
    }
    machine.os.placement = PlacementKind::Planned;
}

/// The machine, and where a program's memory is on it, if a remedy is tried that a diagnosis of `base`, what the program lost as it
/// is, proposes. None if it is about neither.
///
/// # Errors
/// When the machine cannot be changed so.
pub fn remedied(
    machine: &Description,
    trial: &Trial,
    base: &Attribution,
) -> Result<Option<(Description, Relocation)>, ExperimentError> {
    let (mut machine, mut relocation) = (machine.clone(), Relocation::default());
    match trial {
        Trial::Place(pages) => {
            keep_homes(&mut relocation, &mut machine, base);
            relocation.put(pages.iter().copied());
        }
        Trial::Separate(pieces) => {
            keep_homes(&mut relocation, &mut machine, base);
            relocation.part(pieces.iter().filter_map(|piece| Some((*piece, base.node_of(piece.cpu)?))));
        }
        Trial::Machine(key, value) => machine = variant::changed(&machine, key, value)?,
        Trial::System(word) => machine = variant::extended(&machine, word)?,
        Trial::Pin | Trial::Synchronise(..) => return Ok(None),
    }
    Ok(Some((machine, relocation)))
}

impl Simulation {
    /// The same with a remedy tried that a diagnosis of `base`, what the program lost as it is, proposes.
    ///
    /// # Errors
    /// When the machine cannot be changed so, or a node has too little memory.
    pub fn with_trial(mut self, trial: &Trial, base: &Attribution) -> Result<Self, ExperimentError> {
        if let Trial::Synchronise(key, kind) = trial {
            let mut synchronisation = self.synchronisation;
            match *key {
                "barrier" => synchronisation.barrier = policies::barrier(kind)?,
                _ => synchronisation.locks = policies::locks(kind)?,
            }
            return self.with_synchronisation(synchronisation);
        }
        match remedied(&self.description, trial, base)? {
            Some((machine, relocation)) => (self.description, self.relocation) = (machine, relocation),
            None => {
                let scheduling = self.scheduling.unwrap_or_default();
                self.scheduling = Some(Scheduling { space: SpaceSharing::PinnedInOrder, ..scheduling });
            }
        }
        Ok(self)
    }
}
