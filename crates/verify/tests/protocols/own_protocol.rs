//! A new directory protocol, added from outside: valid or invalid, one copy at a time. The home lends the line to one
//! cache until another one requests it, recalls it then, and NACKs the others meanwhile.

use std::fmt;

use protocol::contract::{CacheSite, Destination, Directory, Due, Handled, HomeLine, Progress, Started};
use protocol::{Access, CopyState, ProtocolError, Version};
use units::{CpuId, LineAddr};
use verify::{
    Codec, Config, Consistency, Explored, Litmus, Names, Outcome, Plant, Planted, Property, Protocol, Reader, View,
    Writer, directory_protocol, limits,
};

#[derive(Clone, Copy, Debug)]
struct Lending;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Borrow,
    Lend,
    Nack,
    Recall,
    Return,
}

/// A message about line 0 between the home and a cache.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Message(Kind, CpuId, Version);

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for {:?}", self.0, self.1)
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Line {
    valid: bool,
    version: Version,
    waiting: Option<Access>,
    nacked: bool,
    recalled: bool,
}

/// The borrower, and whether the line has been recalled.
type Entry = Option<(CpuId, bool)>;

impl Directory for Lending {
    type Message = Message;
    type CacheLine = Line;
    type HomeLine = HomeLine<Entry>;
    type Store = ();
    type CacheWork = ();
    type HomeWork = ();

    fn store(&self) {}

    fn access(&self, at: &CacheSite, line: &mut Line, access: Access, send: &mut impl FnMut(Message)) -> Started {
        if line.waiting.is_some() {
            return Started::Blocked;
        }
        if line.valid {
            line.version = if access.writes() { line.version.next() } else { line.version };
            return Started::Done;
        }
        line.waiting = Some(access);
        send(Message(Kind::Borrow, at.cache, Version(0)));
        Started::Requested
    }

    /// A line leaves a cache only when it is recalled.
    fn evict(&self, _: &CacheSite, _: &mut Line, _: &mut impl FnMut(Message)) -> Started {
        Started::Blocked
    }

    fn receive(
        &self,
        _: &CacheSite,
        lines: &mut [Line],
        message: &Message,
        _: &mut impl FnMut(Message),
    ) -> Result<Progress<()>, ProtocolError> {
        let line = &mut lines[0];
        match message.0 {
            Kind::Nack => line.nacked = true,
            Kind::Recall => line.recalled = true,
            _ => {
                let performed = line.waiting.take();
                let version = if performed.is_some_and(Access::writes) { message.2.next() } else { message.2 };
                *line = Line { valid: true, version, ..*line };
                return Ok(Progress { performed, work: () });
            }
        }
        Ok(Progress { performed: None, work: () })
    }

    fn due(line: &Line) -> Option<Due> {
        if line.nacked { Some(Due::Retry) } else { (line.valid && line.recalled).then_some(Due::DeferredAnswer) }
    }

    fn retry(&self, at: &CacheSite, line: &mut Line, send: &mut impl FnMut(Message)) -> Result<(), ProtocolError> {
        if std::mem::take(&mut line.nacked) {
            send(Message(Kind::Borrow, at.cache, Version(0)));
        } else {
            send(Message(Kind::Return, at.cache, std::mem::take(line).version));
        }
        Ok(())
    }

    fn home(
        &self,
        line: &mut Self::HomeLine,
        (): &mut (),
        &Message(kind, cache, version): &Message,
        _: bool,
        send: &mut impl FnMut(Message),
    ) -> Result<Handled<()>, ProtocolError> {
        match (kind, line.entry) {
            (Kind::Return, _) => *line = HomeLine { entry: None, memory: version },
            (_, None) => {
                line.entry = Some((cache, false));
                send(Message(Kind::Lend, cache, line.memory));
            }
            (_, Some((borrower, recalled))) => {
                line.entry = Some((borrower, true));
                send(Message(Kind::Nack, cache, Version(0)));
                if !recalled {
                    send(Message(Kind::Recall, borrower, Version(0)));
                }
            }
        }
        Ok(Handled::Done(()))
    }

    fn copy(line: &Line) -> CopyState {
        if line.valid { CopyState::MODIFIED } else { CopyState::INVALID }
    }

    fn waiting(line: &Line) -> Option<Access> {
        line.waiting
    }

    fn is_quiet(line: &Line) -> bool {
        line.waiting.is_none() && !line.recalled
    }

    fn contents(line: &mut Line) -> &mut Version {
        &mut line.version
    }

    fn memory(line: &mut Self::HomeLine) -> &mut Version {
        &mut line.memory
    }

    fn carried(message: &mut Message) -> Option<&mut Version> {
        matches!(message.0, Kind::Lend | Kind::Return).then_some(&mut message.2)
    }

    fn line(_: &Message) -> LineAddr {
        LineAddr(0)
    }

    fn destination(&self, message: &Message) -> Destination {
        match message.0 {
            Kind::Borrow | Kind::Return => Destination::Home,
            Kind::Lend | Kind::Nack | Kind::Recall => Destination::cache(message.1.0),
        }
    }
}

impl Codec for Lending {
    type Notes = ();

    fn pack_cache(line: &Line, _: &Names) -> u32 {
        let waiting = line.waiting.map_or(0, |access| 1 + u32::from(access.writes()));
        Writer::default()
            .put(1, line.valid.into())
            .put(2, line.version.0)
            .put(2, waiting)
            .put(1, line.nacked.into())
            .put(1, line.recalled.into())
            .word()
    }

    fn unpack_cache(word: u32) -> Line {
        let mut word = Reader::new(word);
        let (valid, version) = (word.flag(), Version(word.take(2)));
        let waiting = [None, Some(Access::Load), Some(Access::Store)][word.take(2) as usize];
        Line { valid, version, waiting, nacked: word.flag(), recalled: word.flag() }
    }

    fn pack_home(&self, line: &Self::HomeLine, (): &(), (): (), names: &Names) -> [u32; 2] {
        let (borrower, recalled) =
            line.entry.map_or((0, false), |(cache, recalled)| (1 + names.cache(cache), recalled));
        [Writer::default().put(2, line.memory.0).put(3, borrower).put(1, recalled.into()).word(), 0]
    }

    fn unpack_home(&self, words: [u32; 2], _: LineAddr, (): &mut ()) -> (Self::HomeLine, ()) {
        let mut word = Reader::new(words[0]);
        let memory = Version(word.take(2));
        let borrower = word.take(3).checked_sub(1).map(|cache| CpuId(cache as u16));
        (HomeLine { memory, entry: borrower.map(|cache| (cache, word.flag())) }, ())
    }

    fn pack_message(message: &Message, names: &Names) -> u32 {
        Writer::default().put(3, message.0 as u32).put(2, names.cache(message.1)).put(2, message.2.0).word()
    }

    fn unpack_message(word: u32) -> Message {
        let mut word = Reader::new(word);
        let kind = [Kind::Borrow, Kind::Lend, Kind::Nack, Kind::Recall, Kind::Return][word.take(3) as usize];
        Message(kind, CpuId(word.take(2) as u16), Version(word.take(2)))
    }
}

impl Explored for Lending {
    fn disagreement(&self, line: &View<'_, Self>) -> Option<String> {
        let copy = line.caches().iter().position(|cache| cache.valid).map(|cache| (CpuId(cache as u16), false));
        let lost = copy.is_none() && !line.memory_is_latest();
        (copy != line.home().entry || lost).then(|| format!("{copy:?} has the copy, last store lost: {lost}"))
    }

    fn faults(&self) -> Vec<Planted<Self>> {
        let planted = |(name, breaks, plant)| Planted { name, breaks, config: CONFIG(2), plant };
        let faults: [(_, _, Plant<Self>); 4] = [
            ("lend-twice", Property::DirectoryAgreement, Plant::Home(|_, step| step.line.entry = None)),
            ("drop-data", Property::LatestValue, Plant::Home(|_, step| step.line.memory = step.before.memory)),
            ("keep-line", Property::EventualCompletion, Plant::Caches(|step| step.lines[0].recalled = false)),
            ("forget-retry", Property::DeadlockFreedom, Plant::NoRetry),
        ];
        faults.map(planted).into()
    }

    fn describe_cache(line: &Line) -> String {
        format!("{line:?}")
    }

    fn describe_home(&self, line: &Self::HomeLine, (): &()) -> String {
        format!("{:?}", line.entry)
    }
}

const CONFIG: fn(u16) -> Config =
    |caches| Config { accesses: vec![Access::Load, Access::Store], ..Config::new(caches, 1) };

const LENDING: Protocol = directory_protocol!(
    "lending",
    "one copy at a time",
    "# Transitions\n",
    verify::Limits { lines: 1, ..limits(&[Access::Load, Access::Store]) },
    || vec![CONFIG(2), CONFIG(3)],
    Consistency::Sequential,
    |_: &Config| Lending,
);

#[test]
fn it_has_every_property_and_passes_every_litmus_test() {
    for config in (LENDING.configurations)() {
        let run = LENDING.run(&config).expect("the configuration is good");
        assert_eq!(run.outcome, Outcome::Ok, "{config:?}");
        let named = LENDING.run(&Config { symmetry: false, ..config }).expect("good");
        assert!(run.states > 20 && run.states < named.states, "{} of {} states", run.states, named.states);
    }
    for litmus in &Litmus::ALL {
        assert_eq!(LENDING.run_litmus(litmus).expect("litmus tests are small").outcome, Outcome::Ok, "{litmus:?}");
    }
}

#[test]
fn its_planted_faults_are_found() {
    for fault in (LENDING.faults)() {
        let run = LENDING.run(&Config { mutation: Some(fault.name), ..fault.config }).expect("good");
        let Outcome::Counterexample(trace) = run.outcome else { panic!("{} is not found", fault.name) };
        assert_eq!(trace.violation.property, fault.breaks, "{}: {trace}", fault.name);
    }
}
