//! The programs of Hexsel and Topham: their data (Table 1, section 3) and the code of their compiler.
//!
//! Instruction fetches take no time beyond their cycle. Frames of private data have 512 bytes a thread, which is assumed. Shared
//! references of cholesky, mp3d and water are repeated as code without registers repeats them; those of the loops follow from
//! the loops. Edges of the graph of paths all cost 1, which is assumed: of all costs that brings shared stores nearest to
//! Table 1. Panels of cholesky fan out through one queue of tasks, as in the first SPLASH's program, when each thread has
//! completed subtrees of its own in private memory: the text tells nothing of them, but in Table 1 private references become
//! shared ones as the ring grows, while the sum of both stays the same.

use workloads::{Compiled, Matrix, Settings};

use super::words::Point;
use super::{INFINITE, SIZES};
use crate::error::ExperimentError;

/// The published figures that programs were fitted to: their code to one ring of Table 1, the other rings are predictions; the
/// subtrees of cholesky to its counts on one node; the schedules of paths and ge to what the text states of their sharing lists; and the load before each repeated store, for which no
/// count stands, to the run time of cholesky on one node, with the write-hit policy of the machine's primary caches.
pub const CALIBRATED_ON: [&str; 5] = [
    "hexsel/1 rows cholesky at 4, mp3d at 4, water at 4, ge at 4, mmult at 4, paths at 4 columns shared, shared-writes, \
     private, private-writes, instructions",
    "hexsel/1 rows cholesky at 1 columns shared, private",
    "hexsel/3 rows cholesky at 1 columns time",
    "hexsel/4 rows paths columns list-length at 2, list-length at 4, list-length at 8, list-length at 16",
    "hexsel/4 rows ge columns greatest list-length to 8 under 1, list-length under 1.2 at 16",
];

/// The parameters of code that are fitted.
const CODE: [&str; 5] = ["code_instructions", "code_loads", "code_stores", "code_shared_loads", "code_shared_stores"];

/// Parameters of a program, with their values.
type Parameters = &'static [(&'static str, u64)];

/// A program of Table 1.
struct Program {
    name: &'static str,
    /// The parameter by which its data grow with the ring, and its values for [`SIZES`].
    grows: (&'static str, [u64; SIZES.len()]),
    /// Its other parameters.
    others: Parameters,
    /// Its parameters in the comparison with DASH (section 3), if it is in it and they are others.
    compared: Parameters,
    /// Its parameters in a quick run; what grows is divided by the number beside.
    quick: (u64, Parameters),
    /// Instructions, private loads and private stores for each 1000 of its own instructions, and shared loads and stores for each
    /// 1000 of its own ([`workloads::Code`]), fitted to [`CALIBRATED_ON`].
    code: [u64; CODE.len()],
}

/// A ring of a size that is fixed for all: nothing grows.
const FIXED: [u64; SIZES.len()] = [1; SIZES.len()];
/// The matrix of cholesky (section 2).
const MATRIX: &str = "bcsstk14";

const PROGRAMS: [Program; 6] = [
    Program {
        name: "cholesky",
        grows: ("height", FIXED),
        others: &[("schedule", 2)],
        compared: &[],
        quick: (1, &[("length", 12), ("width", 6)]),
        code: [4060, 361, 50, 6520, 10_310],
    },
    Program {
        name: "mp3d",
        grows: ("particles", [3000, 4500, 6700, 10_100, 15_200]),
        others: &[("steps", 50)],
        compared: &[("particles", 40_000), ("steps", 5)],
        quick: (4, &[("steps", 2)]),
        code: [1058, 289, 64, 2417, 1045],
    },
    Program {
        name: "water",
        grows: ("molecules", [54, 78, 113, 163, 237]),
        others: &[("steps", 4)],
        compared: &[("molecules", 343), ("steps", 2)],
        quick: (4, &[("steps", 1)]),
        code: [3914, 1762, 413, 8807, 4455],
    },
    Program {
        name: "ge",
        grows: ("side", [136, 171, 216, 272, 343]),
        others: &[("interleaved", 0), ("shrinking", 1), ("element", 4)],
        compared: &[],
        quick: (4, &[]),
        code: [6191, 2296, 173, 1000, 1000],
    },
    Program {
        name: "mmult",
        grows: ("side", [100, 126, 159, 200, 252]),
        others: &[("order", 1), ("element", 4)],
        compared: &[],
        quick: (4, &[]),
        code: [6570, 2409, 392, 1000, 1000],
    },
    Program {
        name: "paths",
        grows: ("vertices", [70, 88, 111, 140, 176]),
        others: &[("degree", 6), ("dearest", 1), ("schedule", 2), ("reload", 1), ("element", 4)],
        compared: &[],
        quick: (4, &[]),
        code: [5164, 1852, 118, 1000, 1000],
    },
];

/// The program of this name.
pub fn named(name: &str) -> Option<&'static str> {
    PROGRAMS.iter().map(|program| program.name).find(|known| *known == name)
}

/// The program of a point, with its data and its code; of a quick run, with less data.
///
/// # Errors
/// When the program does not take its parameters, which a test rules out.
pub fn compiled(point: &Point, quick: bool) -> Result<Compiled, ExperimentError> {
    let unknown = || workloads::ProgramError::Unknown { name: point.program.to_owned(), accepted: String::new() };
    let program = PROGRAMS.iter().find(|program| program.name == point.program).ok_or_else(unknown)?;
    let (grows, values) = program.grows;
    let grown = SIZES.iter().position(|&nodes| nodes == point.nodes).map_or(values[0], |size| values[size]);
    let (divisor, smaller) = program.quick;
    let mut settings = Settings::default().with(grows, if quick { (grown / divisor).max(1) } else { grown });
    let add =
        |settings: Settings, all: Parameters| all.iter().fold(settings, |own, &(key, value)| own.with(key, value));
    settings = add(settings, program.others);
    settings = match (quick, point.compared) {
        (true, _) => add(settings, smaller),
        (false, true) => add(settings, program.compared),
        (false, false) => settings,
    };
    if program.name == "cholesky" {
        // Section 4, The Influence of Cache Size: supernodes are chosen to fit the coherent caches.
        settings = settings.with("fit", if point.cache == INFINITE { 0 } else { point.cache });
        if !quick {
            settings = settings.with_data(Matrix::named(MATRIX)?);
        }
    }
    let code = CODE.into_iter().zip(program.code);
    let settings = code.fold(settings, |settings, (key, value)| settings.with(key, value));
    Ok(Compiled::new(program.name, &settings)?)
}

#[cfg(test)]
mod tests {
    use super::super::figure::Figure;
    use super::*;

    #[test]
    fn every_program_takes_its_parameters_in_every_size() {
        for program in &PROGRAMS {
            for (nodes, quick) in SIZES.into_iter().flat_map(|nodes| [(nodes, false), (nodes, true)]) {
                for compared in [false, true] {
                    let point = Point {
                        figure: Figure::Time,
                        program: program.name,
                        nodes,
                        cache: 64,
                        clock: None,
                        compared,
                        on_dash: false,
                    };
                    let compiled = compiled(&point, quick).expect("a program");
                    assert_eq!(compiled.program.name(), program.name);
                    assert!(!compiled.code.is_plain());
                }
            }
        }
    }
}
