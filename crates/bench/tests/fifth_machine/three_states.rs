//! Modified, shared, invalid: the smallest invalidation protocol of a snooping bus.

use protocol::contract::{Bus, Started};
use protocol::{Access, Agent, CopyState, ProtocolError, Version};
use units::CpuId;
use verify::{Beyond, BusPlant, Config, ExploredBus, PlantedBus, Property};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct ThreeStates;

/// A bus command.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Command {
    Read,
    Own,
    WriteBack,
}

/// A line at a cache.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Line {
    state: CopyState,
    version: Version,
    request: Option<Command>,
}

impl Line {
    fn started(&self) -> Started {
        if self.request.is_some() { Started::Requested } else { Started::Done }
    }
}

impl Bus for ThreeStates {
    type CacheLine = Line;
    type Command = Command;
    /// The modified line.
    type Reply = Option<Version>;
    /// Contents on the bus, and whether memory takes them.
    type Data = (Option<Version>, bool);
    type Work = ();

    fn access(line: &mut Line, access: Access) -> Started {
        if line.request.is_some() {
            return Started::Blocked;
        }
        match line.state.after(access) {
            Some(state) if access == Access::Store => (line.state, line.version) = (state, line.version.next()),
            Some(_) => {}
            None => line.request = Some(if access.writes() { Command::Own } else { Command::Read }),
        }
        line.started()
    }

    fn evict(line: &mut Line) -> Started {
        match (line.request, line.state.is_dirty()) {
            (Some(_), _) => return Started::Blocked,
            (None, true) => line.request = Some(Command::WriteBack),
            (None, false) => *line = Line::default(),
        }
        line.started()
    }

    fn request(line: &Line) -> Option<Command> {
        line.request
    }

    fn mnemonic(command: Command) -> &'static str {
        ["read", "own", "write back"][command as usize]
    }

    fn reads(command: Command) -> bool {
        command != Command::WriteBack
    }

    fn writes(command: Command) -> bool {
        command == Command::Own
    }

    fn snoop(line: &Line, cpu: CpuId, command: Command) -> Result<Option<Version>, ProtocolError> {
        if command == Command::WriteBack && line.state.is_valid() {
            let reason = "a modified line is the only copy";
            return Err(ProtocolError {
                at: Agent::Processor(cpu),
                message: "write back",
                state: "with a copy",
                reason,
            });
        }
        Ok(line.state.is_dirty().then_some(line.version))
    }

    fn combine(one: Option<Version>, other: Option<Version>) -> Option<Version> {
        one.or(other)
    }

    fn is_retry(_: &Option<Version>) -> bool {
        false
    }

    fn supplies(reply: &Option<Version>) -> bool {
        reply.is_some()
    }

    fn observe(line: &mut Line, _: CpuId, command: Command) -> Result<(), ProtocolError> {
        if line.request == Some(Command::WriteBack) {
            // The line passes to another cache or to memory.
            *line = Line::default();
        } else if line.state.is_valid() {
            line.state = if command == Command::Own { CopyState::INVALID } else { CopyState::SHARED };
        }
        if !line.state.is_valid() {
            line.version = Version::default();
        }
        Ok(())
    }

    fn memory(
        contents: &mut Version,
        command: Command,
        owner: Option<Version>,
        written: Option<Version>,
    ) -> Self::Data {
        let data = if command == Command::WriteBack { written } else { Some(owner.unwrap_or(*contents)) };
        let update = command == Command::WriteBack || owner.is_some();
        *contents = data.filter(|_| update).unwrap_or(*contents);
        (data, update)
    }

    fn on_bus(data: &Self::Data) -> Option<Version> {
        data.0
    }

    fn writes_memory(data: &Self::Data) -> bool {
        data.1
    }

    fn complete(line: &mut Line, _: Option<Version>, data: Self::Data) -> Option<Access> {
        let version = data.0.unwrap_or_default();
        let (after, access) = match line.request? {
            Command::Read => (Line { state: CopyState::SHARED, version, request: None }, Some(Access::Load)),
            Command::Own => {
                (Line { state: CopyState::MODIFIED, version: version.next(), request: None }, Some(Access::Store))
            }
            Command::WriteBack => (Line::default(), None),
        };
        *line = after;
        access
    }

    fn copy(line: &Line) -> CopyState {
        line.state
    }

    fn held(state: CopyState, version: Version) -> Line {
        Line { state, version, request: None }
    }

    fn contents(line: &mut Line) -> &mut Version {
        &mut line.version
    }
}

impl ExploredBus for ThreeStates {
    fn pack_cache(line: &Line) -> u8 {
        line.state.bits() | (line.version.0 as u8) << 3 | line.request.map_or(0, |command| 1 + command as u8) << 5
    }

    fn unpack_cache(byte: u8) -> Line {
        let request = [None, Some(Command::Read), Some(Command::Own), Some(Command::WriteBack)][usize::from(byte >> 5)];
        Line { state: CopyState::from_bits(byte & 7), version: Version((byte >> 3 & 3).into()), request }
    }

    fn faults<O: Beyond<Self>>() -> Vec<PlantedBus<Self, O>> {
        let plant = BusPlant::Observe(|before: &Line, line: &mut Line, _| *line = *before);
        vec![PlantedBus { name: "keep-copy", breaks: Property::LatestValue, config: Config::new(2, 1), plant }]
    }

    fn describe_cache(line: &Line) -> String {
        format!("{line:?}")
    }
}
