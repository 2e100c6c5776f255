//! A world of one line in a memory and some caches, with the packet of each cache's transaction, delivered in an order
//! of the test's choice.

use protocol::sci::{
    CacheContext, CacheLine, CacheState, Command, MemoryLine, MemoryState, Operation, Outcome, Request, Response,
    Start, memory, receive, serve, start,
};
use protocol::{Agent, Version};
use units::{CpuId, LineAddr, NodeId};

#[derive(Clone, Copy, Debug)]
pub enum Packet {
    Request(Request),
    Response(Response),
}

pub struct World {
    pub memory: MemoryLine,
    pub caches: Vec<CacheLine>,
    pub packets: Vec<Option<Packet>>,
    /// All requests sent so far.
    pub sent: Vec<Command>,
    /// Stores performed so far: the version that every load must return.
    pub stores: u32,
}

fn context(cpu: usize) -> CacheContext {
    CacheContext { cpu: CpuId(cpu as u16), line: LineAddr(0), home: NodeId(0) }
}

impl World {
    pub fn new(caches: usize) -> Self {
        Self {
            memory: MemoryLine::default(),
            caches: vec![CacheLine::default(); caches],
            packets: vec![None; caches],
            sent: Vec::new(),
            stores: 0,
        }
    }

    /// Starts an operation; false if the line is busy.
    pub fn begin(&mut self, cpu: usize, operation: Operation) -> bool {
        match start(&mut self.caches[cpu], &context(cpu), operation) {
            Start::Blocked => return false,
            Start::Done => self.stores += u32::from(operation == Operation::Store),
            Start::Requested(request) => self.send(cpu, request),
        }
        self.check();
        true
    }

    fn send(&mut self, cpu: usize, request: Request) {
        self.sent.push(request.command);
        self.packets[cpu] = Some(Packet::Request(request));
    }

    /// Delivers the packet of a cache's transaction; false if there is none.
    pub fn deliver(&mut self, cpu: usize) -> bool {
        match self.packets[cpu].take() {
            None => return false,
            Some(Packet::Request(request)) => {
                let response = match request.to {
                    Agent::Processor(target) => {
                        serve(&mut self.caches[target.index()], &context(target.index()), &request).expect("possible").0
                    }
                    _ => memory(&mut self.memory, NodeId(0), &request).expect("possible").0,
                };
                self.packets[cpu] = Some(Packet::Response(response));
            }
            Some(Packet::Response(response)) => {
                let progress = receive(&mut self.caches[cpu], &context(cpu), &response).expect("possible");
                assert_eq!(progress.next.is_none(), matches!(progress.outcome, Outcome::Completed(_)));
                self.stores += u32::from(progress.outcome == Outcome::Completed(Operation::Store));
                if let Some(request) = progress.next {
                    self.send(cpu, request);
                }
            }
        }
        self.check();
        true
    }

    /// Delivers packets until the next request with this command is in flight.
    pub fn deliver_until(&mut self, cpu: usize, command: Command) {
        while !matches!(self.packets[cpu], Some(Packet::Request(request)) if request.command == command) {
            assert!(self.deliver(cpu), "{cpu} never sends {command:?}");
        }
    }

    /// Delivers the request in flight and its response.
    pub fn exchange(&mut self, cpu: usize) {
        assert!(matches!(self.packets[cpu], Some(Packet::Request(_))), "{:?}", self.packets[cpu]);
        self.deliver(cpu);
        self.deliver(cpu);
    }

    /// Delivers packets until the transaction is complete.
    pub fn finish(&mut self, cpu: usize) {
        for _ in 0..10_000 {
            if !self.deliver(cpu) {
                return;
            }
        }
        panic!("cache {cpu} does not complete: {:?}", self.caches[cpu]);
    }

    /// Performs an operation from beginning to end, without others.
    pub fn operate(&mut self, cpu: usize, operation: Operation) {
        assert!(self.begin(cpu, operation));
        self.finish(cpu);
    }

    pub fn load(&mut self, cpu: usize) {
        self.operate(cpu, Operation::Load);
    }

    pub fn store(&mut self, cpu: usize) {
        self.operate(cpu, Operation::Store);
    }

    pub fn roll_out(&mut self, cpu: usize) {
        self.operate(cpu, Operation::Rollout);
    }

    pub fn state(&self, cpu: usize) -> CacheState {
        self.caches[cpu].state
    }

    /// Requests sent since the last call.
    pub fn take_sent(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.sent)
    }

    /// Checks that every readable copy holds the last store, and that a writer is alone.
    fn check(&self) {
        let readers: Vec<_> = self.caches.iter().filter(|line| line.state.is_readable()).collect();
        assert!(readers.iter().all(|line| line.version == Version(self.stores)), "{:?}", self.caches);
        let writer = readers.iter().any(|line| line.state == CacheState::OnlyDirty);
        assert!(!writer || readers.len() == 1, "{:?}", self.caches);
    }

    /// The list from head to tail. Nothing may be outstanding; every pointer and every state is checked.
    pub fn list(&self) -> Vec<usize> {
        assert!(self.caches.iter().all(|line| line.state.is_stable()), "{:?}", self.caches);
        let (mut list, mut next) = (Vec::new(), self.memory.head);
        while let Some(cpu) = next {
            let line = &self.caches[cpu.index()];
            assert_eq!(line.backward, list.last().map(|&before: &usize| CpuId(before as u16)), "{:?}", self.caches);
            let gone = self.memory.state == MemoryState::Gone;
            let expected = match (list.is_empty(), line.forward.is_none()) {
                (true, true) if gone => CacheState::OnlyDirty,
                (true, true) => CacheState::OnlyFresh,
                (true, false) if gone => CacheState::HeadDirty,
                (true, false) => CacheState::HeadFresh,
                (false, false) => CacheState::MidValid,
                (false, true) => CacheState::TailValid,
            };
            assert_eq!(line.state, expected);
            list.push(cpu.index());
            next = line.forward;
        }
        let copies = self.caches.iter().filter(|line| line.state.is_readable()).count();
        assert_eq!(copies, list.len(), "a copy outside the list: {:?}", self.caches);
        assert_eq!(self.memory.state == MemoryState::Home, list.is_empty());
        if self.memory.state != MemoryState::Gone {
            assert_eq!(self.memory.version, Version(self.stores));
        }
        list
    }
}
