//! Losses of a run, brought together by line and by page, with the prices of misses.

use record::{Attribution, LineLoss, Losses, first_used};
use rustc_hash::FxHashMap;
use units::{CpuId, NodeId};

/// Losses of one processor at a line, wherever in the program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct User {
    /// The processor.
    pub cpu: CpuId,
    /// Its node.
    pub node: NodeId,
    /// How often.
    pub count: Losses<u64>,
    /// For how long, in nanoseconds.
    pub stalled: Losses<f64>,
    /// Words that it loaded.
    pub read: u32,
    /// Words that it stored to.
    pub written: u32,
}

/// A line and those who use it.
#[derive(Clone, PartialEq, Debug)]
pub struct LineUse {
    /// Its address.
    pub at: u64,
    /// The object that its first word in use is of.
    pub object: Option<usize>,
    /// Where it is.
    pub home: Option<NodeId>,
    /// Those who lost something at it, by number.
    pub users: Vec<User>,
    /// Time lost to misses that has been explained, in nanoseconds.
    pub explained: f64,
}

impl LineUse {
    /// Time lost to misses that has not been explained, of one user: in proportion.
    pub fn unexplained(&self, user: &User) -> f64 {
        let all: f64 = self.users.iter().map(|user| user.stalled.misses()).sum();
        if all > 0.0 { user.stalled.misses() * (1.0 - self.explained / all).max(0.0) } else { 0.0 }
    }
}

/// Misses of one kind, and what they took.
#[derive(Default)]
struct Price {
    count: u64,
    ns: f64,
}

impl Price {
    fn add(&mut self, user: &User) {
        self.count += user.count.misses();
        self.ns += user.stalled.misses();
    }

    fn mean(&self) -> f64 {
        if self.count > 0 { self.ns / self.count as f64 } else { 0.0 }
    }
}

/// Losses of a run, ordered for rules to look at.
pub struct Survey<'r> {
    /// The run.
    pub run: &'r Attribution,
    /// Lines at which something was lost, by address.
    pub lines: Vec<LineUse>,
    /// Mean time of a miss on a line of the own node, on the node where it is least, in nanoseconds: zero if there was none.
    pub local_ns: f64,
    /// Mean time of a miss on a line of another node.
    pub remote_ns: f64,
    /// How many of the one kind there were.
    pub local: u64,
    /// And of the other.
    pub remote: u64,
}

impl<'r> Survey<'r> {
    /// Brings together what `run` lost.
    pub fn new(run: &'r Attribution) -> Self {
        let nodes: FxHashMap<CpuId, NodeId> = run.threads.iter().map(|thread| (thread.cpu, thread.node)).collect();
        // Objects of one name, such as all that a loop allocates, are one.
        let mut first: FxHashMap<&str, usize> = FxHashMap::default();
        let named: Vec<usize> = run
            .objects
            .iter()
            .enumerate()
            .map(|(number, object)| *first.entry(&object.name).or_insert(number))
            .collect();
        let mut by_line: FxHashMap<u64, Vec<User>> = FxHashMap::default();
        for loss in &run.losses {
            let (Some(line), Some(&node)) = (loss.line, nodes.get(&loss.cpu)) else { continue };
            add(by_line.entry(line).or_default(), loss, node);
        }
        let line = |(at, mut users): (u64, Vec<User>)| {
            users.sort_unstable_by_key(|user| user.cpu);
            let home = run.page_at(at).and_then(|page| page.home);
            let [written, read] = [|user: &User| user.written, |user: &User| user.read]
                .map(|words| users.iter().fold(0, |all, user| all | words(user)));
            let object = run.object_at(first_used(at, written, read)).map(|object| named[object]);
            LineUse { at, object, home, users, explained: 0.0 }
        };
        let mut lines: Vec<LineUse> = by_line.into_iter().map(line).collect();
        lines.sort_unstable_by_key(|line| line.at);
        let (mut remote, mut local): (Price, FxHashMap<NodeId, Price>) = Default::default();
        for line in &lines {
            for user in &line.users {
                match line.home {
                    Some(home) if home != user.node => remote.add(user),
                    _ => local.entry(user.node).or_default().add(user),
                }
            }
        }
        // Where others crowd the memory, a miss is dear for its own processor, too: what one can cost, the quietest node tells.
        let least = local.values().map(|price| price.count).max().unwrap_or_default() / 16;
        let quiet = local.values().filter(|price| price.count > least).map(Price::mean);
        let local_ns = quiet.reduce(f64::min).unwrap_or_default();
        let (remote_ns, remote) = (remote.mean(), remote.count);
        let local = local.values().map(|price| price.count).sum();
        Self { run, lines, local_ns, remote_ns, local, remote }
    }

    /// A share of all processors' time.
    pub fn share(&self, ns: f64) -> f64 {
        let all = self.run.processor_ns();
        if all > 0.0 { ns / all } else { 0.0 }
    }

    /// Share of a remote miss's time that a local one would not take, as far as the run shows it.
    pub fn saved_by_locality(&self) -> f64 {
        if self.remote_ns > 0.0 && self.local > 0 { (1.0 - self.local_ns / self.remote_ns).max(0.0) } else { 1.0 }
    }

    /// The name of an object.
    pub fn name(&self, object: Option<usize>) -> String {
        object.map_or_else(|| "unnamed memory".to_owned(), |object| self.run.objects[object].name.clone())
    }

    /// The place of the program that loses most at lines of which `counts` gives how much.
    pub fn worst_site(&self, lost: impl Fn(&LineLoss) -> f64) -> Option<u64> {
        let mut sites: FxHashMap<u64, f64> = FxHashMap::default();
        for loss in self.run.losses.iter().filter(|loss| loss.site != 0) {
            *sites.entry(loss.site).or_default() += lost(loss);
        }
        let worst = sites.into_iter().filter(|(_, ns)| *ns > 0.0);
        worst.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(site, _)| site)
    }
}

fn add(users: &mut Vec<User>, loss: &LineLoss, node: NodeId) {
    let zero = User { cpu: loss.cpu, node, count: Losses::default(), stalled: Losses::default(), read: 0, written: 0 };
    let place = users.iter().position(|user| user.cpu == loss.cpu).unwrap_or_else(|| {
        users.push(zero);
        users.len() - 1
    });
    let user = &mut users[place];
    user.count = user.count.plus(&loss.count);
    user.stalled = user.stalled.plus(&loss.stalled_ns);
    user.read |= loss.read;
    user.written |= loss.written;
}
