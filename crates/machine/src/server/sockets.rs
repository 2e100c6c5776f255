//! The links between the sockets of a server.

/// The sockets of a machine and the links between them: every two are joined if there are links enough, otherwise those of a
/// hypercube.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sockets {
    /// Their number.
    pub count: u16,
    /// Links of a socket.
    pub links: u16,
}

impl Sockets {
    /// `count` sockets with `links` links each; `None` if those do not join them.
    pub fn new(count: u32, links: u32) -> Option<Self> {
        let dimensions = count.next_power_of_two().trailing_zeros();
        let enough = links + 1 >= count || count.is_power_of_two() && links >= dimensions;
        enough.then_some(Self { count: count as u16, links: links as u16 })
    }

    /// Whether every two sockets are joined.
    pub const fn all_joined(self) -> bool {
        self.links + 1 >= self.count
    }

    /// The sockets that are joined with `socket`, ascending.
    pub fn neighbours(self, socket: u16) -> impl Iterator<Item = u16> {
        let joined = move |other: u16| self.all_joined() || (socket ^ other).is_power_of_two();
        (0..self.count).filter(move |&other| other != socket && joined(other))
    }

    /// The next socket on the way from one to another: the lowest dimension of a hypercube first.
    pub const fn next(self, from: u16, to: u16) -> u16 {
        if self.all_joined() {
            return to;
        }
        let apart = from ^ to;
        from ^ (apart & apart.wrapping_neg())
    }

    /// The links of `from` that lead to its neighbour `to`: as many to each neighbour, the first neighbours one more.
    pub fn links_to(self, from: u16, to: u16) -> std::ops::Range<u16> {
        let neighbours = self.neighbours(from).count() as u16;
        let place = self.neighbours(from).position(|other| other == to).unwrap_or(0) as u16;
        let (each, more) = (self.links / neighbours.max(1), self.links % neighbours.max(1));
        let first = place * each + place.min(more);
        first..first + each + u16::from(place < more)
    }
}
