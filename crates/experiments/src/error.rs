//! Errors before a reproduction starts and while it runs.

use bench::{BenchError, PlanError, PlatformError};
use machine::DescriptionError;
use units::{Bytes, NodeId};

use crate::calibrated_on::CalibrationError;
use crate::published::PublishedError;

/// Why a result cannot be reproduced.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// No table or figure has this name.
    #[error("{selection}: unknown table or figure; accepted: {accepted}")]
    Unknown {
        /// The selection that was asked for.
        selection: String,
        /// The papers and their tables.
        accepted: String,
    },
    /// A published cell that nobody has said how to compute.
    #[error("{table} has no formula for row {row}, column {column}")]
    NoFormula {
        /// The paper and table.
        table: String,
        /// The cell's row.
        row: String,
        /// The cell's column.
        column: String,
    },
    /// A file of published figures is wrong.
    #[error(transparent)]
    Published(#[from] PublishedError),
    /// A machine claims a calibration that does not exist.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// A machine description is wrong.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A machine has no usable layout.
    #[error("machine {machine}: {reason}")]
    Machine {
        /// The machine's name.
        machine: String,
        /// The fault.
        reason: String,
    },
    /// An experiment is impossible on the machine.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An experiment failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A machine cannot be had.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// Measurements do not make a fit.
    #[error(transparent)]
    Fit(#[from] fit::FitError),
    /// No policy has this name.
    #[error("{name}: unknown {what}; accepted: {accepted}")]
    Policy {
        /// The kind of policy.
        what: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        accepted: String,
    },
    /// There is nothing of this name that machines or runs could be varied in.
    #[error("{key}: cannot be varied; accepted: {accepted}")]
    Vary {
        /// The key that was asked for.
        key: String,
        /// The keys that there are.
        accepted: String,
    },
    /// There is no such recording, or it is to be replayed otherwise than it was recorded.
    #[error(transparent)]
    Executable(Box<execution::ExecutableError>),
    /// A run would be done twice.
    #[error("{key}={value}: given twice; accepted: each value once")]
    VaryTwice {
        /// The key that was to vary.
        key: String,
        /// The value.
        value: String,
    },
    /// There is no such program, or it cannot have such parameters.
    #[error(transparent)]
    Program(#[from] workloads::ProgramError),
    /// There is no such matrix, or it cannot be factored.
    #[error(transparent)]
    Matrix(#[from] workloads::MatrixError),
    /// There is no such scene, or its files are none.
    #[error(transparent)]
    Scene(#[from] workloads::SceneError),
    /// A program is to run on processors that the machine does not have.
    #[error("--cpus {asked}: must be 1-{most} on {machine}")]
    Processors {
        /// The machine's name.
        machine: String,
        /// How many processors were asked for.
        asked: usize,
        /// How many there are.
        most: usize,
    },
    /// A trace is to be replayed by another number of threads.
    #[error(
        "--cpus {asked}: the trace of {program} has {own} threads; accepted: {own}, on a machine with at least {own} \
         CPUs"
    )]
    RecordedThreads {
        /// The program that was recorded.
        program: String,
        /// How many processors were asked for.
        asked: usize,
        /// How many threads it has.
        own: usize,
    },
    /// A trace of references cannot be read, replayed or written.
    #[error(transparent)]
    Replay(#[from] workloads::ReplayError),
    /// A program wants more memory than a node has.
    #[error("{program} needs {wanted} on node {node} of {machine}; accepted: up to {free}")]
    NodeMemory {
        /// The program.
        program: String,
        /// The machine's name.
        machine: String,
        /// The node.
        node: NodeId,
        /// How much it wants there.
        wanted: Bytes,
        /// How much a node has for programs.
        free: Bytes,
    },
    /// A program wants more memory than the machine has.
    #[error("{program} needs {wanted} on {machine}; accepted: up to {free}")]
    MachineMemory {
        /// The program.
        program: String,
        /// The machine's name.
        machine: String,
        /// How much it wants.
        wanted: Bytes,
        /// How much all nodes have for programs.
        free: Bytes,
    },
    /// A record is of more memory than a node of the machine has on which it is to be repeated.
    #[error("record {}: {title} needs {wanted} on node {node} of {machine}; accepted: up to {free}", .place + 1)]
    RecordMemory {
        /// The record's place in the list.
        place: usize,
        /// The measurement, in words.
        title: String,
        /// The machine's name.
        machine: String,
        /// The node.
        node: NodeId,
        /// How much it needs there.
        wanted: Bytes,
        /// How much a node has.
        free: Bytes,
    },
    /// A record could not be repeated.
    #[error("record {}: {source}", .place + 1)]
    Repetition {
        /// The record's place in the list.
        place: usize,
        /// The error of its simulation.
        source: Box<ExperimentError>,
    },
    /// A program's check of its own results found a wrong one.
    #[error("{program}: wrong results: {wrong}")]
    WrongResult {
        /// The program.
        program: String,
        /// The fault of the results.
        wrong: String,
    },
    /// A finished run could not be kept for an invocation that goes on from it.
    #[error("the record of the run of {program} could not be saved: {reason}")]
    NotKept {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// The threads of a program wait for each other, or whatever else the simulator says.
    #[error("{program}: {source}")]
    Run {
        /// The program.
        program: String,
        /// The error of the simulator.
        source: sim::SimError,
    },
    /// A trace could not be written.
    #[error(transparent)]
    Trace(#[from] trace::WriteError),
    /// A trace that was just written is none.
    #[error(transparent)]
    Unreadable(#[from] trace::TraceError),
    /// The simulator failed.
    #[error(transparent)]
    Simulator(#[from] sim::SimError),
}

impl From<execution::ExecutableError> for ExperimentError {
    fn from(error: execution::ExecutableError) -> Self {
        match error {
            execution::ExecutableError::Program(error) => error.into(),
            execution::ExecutableError::Replay(error) => error.into(),
            other => Self::Executable(Box::new(other)),
        }
    }
}
