//! A world of one line in some caches on a bus, with memory and a cluster device, and a minimal model of the other
//! nodes.

use protocol::Version;
use protocol::snoop::{Cache, Command, DataPhase, Device, Moesi, Operation, Reply, Rights, Start, memory};
use units::{CpuId, NodeId};

pub struct World {
    pub caches: Vec<Cache>,
    pub memory: Version,
    pub device: Device,
    /// Contents at the other nodes, unless this node has the only right to the line.
    pub outside: Version,
    /// Stores performed so far: the version that every load must return.
    pub stores: u32,
}

impl World {
    /// Creates a node with every right.
    pub fn new(caches: usize) -> Self {
        let device = Device { rights: Rights::Write, ..Device::default() };
        let caches = vec![Cache::default(); caches];
        Self { caches, memory: Version(0), device, outside: Version(0), stores: 0 }
    }

    /// Creates a node without rights.
    pub fn remote(caches: usize) -> Self {
        Self { device: Device::default(), ..Self::new(caches) }
    }

    /// Starts an operation; false if the line is busy.
    pub fn begin(&mut self, cpu: usize, operation: Operation) -> bool {
        match self.caches[cpu].start(operation) {
            Start::Blocked => return false,
            Start::Done => self.stores += u32::from(operation == Operation::Store),
            Start::Requested(_) => {}
        }
        self.check();
        true
    }

    /// Grants the bus to the cache (or the device) if it requests it; `None` if it requests nothing or is retried.
    pub fn bus(&mut self, requester: Option<usize>) -> Option<DataPhase> {
        let command = requester.map_or(self.device.request(), |cpu| self.caches[cpu].request)?;
        let others: Vec<usize> = (0..self.caches.len()).filter(|&cpu| Some(cpu) != requester).collect();
        let name = |cpu: usize| CpuId(cpu as u16);
        let mut reply = match requester {
            Some(_) => self.device.snoop(NodeId(0), command).expect("possible"),
            None => Reply::default(),
        };
        for &cpu in &others {
            reply = reply.and(self.caches[cpu].snoop(name(cpu), command).expect("possible"));
        }
        if reply.retry {
            return None;
        }
        for &cpu in &others {
            self.caches[cpu].observe(name(cpu), command).expect("possible");
        }
        let phase = memory(&mut self.memory, command, reply, requester.map(|cpu| self.caches[cpu].version));
        match requester {
            Some(cpu) => {
                self.caches[cpu].complete(reply, phase);
                self.stores += u32::from(matches!(command, Command::ReadExclusive | Command::Upgrade));
            }
            None => {
                self.device.complete();
                self.outside = phase.data.expect("the device reads").0;
            }
        }
        self.check();
        Some(phase)
    }

    /// Grants the right that the device has requested from the other nodes.
    pub fn grant(&mut self) -> Option<Rights> {
        let granted = self.device.grant();
        if granted.is_some() {
            self.memory = self.outside;
        }
        self.check();
        granted
    }

    /// Performs an operation from beginning to end; the other nodes grant the rights that it needs.
    pub fn operate(&mut self, cpu: usize, operation: Operation) -> Option<DataPhase> {
        assert!(self.begin(cpu, operation));
        let mut phase = None;
        while self.caches[cpu].request.is_some() {
            phase = self.bus(Some(cpu));
            if phase.is_none() {
                self.grant().expect("a retried transaction has recorded the right that it needs");
            }
        }
        phase
    }

    pub fn load(&mut self, cpu: usize) -> Option<DataPhase> {
        self.operate(cpu, Operation::Load)
    }

    pub fn store(&mut self, cpu: usize) -> Option<DataPhase> {
        self.operate(cpu, Operation::Store)
    }

    pub fn evict(&mut self, cpu: usize) -> Option<DataPhase> {
        self.operate(cpu, Operation::Evict)
    }

    pub fn states(&self) -> Vec<Moesi> {
        self.caches.iter().map(|cache| cache.state).collect()
    }

    /// Checks that every copy holds the last store, that a writer is alone, and that the caches respect the node's
    /// rights.
    fn check(&self) {
        let copies: Vec<_> = self.caches.iter().filter(|cache| cache.state != Moesi::Invalid).collect();
        assert!(copies.iter().all(|cache| cache.version == Version(self.stores)), "{:?}", self.caches);
        let sole = copies.iter().filter(|cache| matches!(cache.state, Moesi::Exclusive | Moesi::Modified)).count();
        let owned = copies.iter().filter(|cache| cache.state.is_owner()).count();
        assert!(sole == 0 || copies.len() == 1, "{:?}", self.caches);
        assert!(owned <= 1, "{:?}", self.caches);
        let rights = self.device.rights;
        assert!(rights == Rights::Write || (sole == 0 && owned == 0), "{:?} {:?}", self.device, self.caches);
        assert!(rights != Rights::None || copies.is_empty(), "{:?} {:?}", self.device, self.caches);
        assert!(rights == Rights::None || owned == 1 || self.memory == Version(self.stores), "{:?}", self.caches);
        assert!(rights == Rights::Write || self.outside == Version(self.stores), "{:?}", self.device);
    }
}
