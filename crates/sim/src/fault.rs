//! Faults to plant in a machine, as a check that the tests detect them.

/// Declares the faults with their names.
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A fault in one rule of a machine, which strikes occasionally.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name under which it is selected.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

impl Fault {
    /// Occasions per strike: one for faults whose occasions are rare.
    const fn interval(self) -> u32 {
        match self {
            Self::OvertakenCopy => 1,
            _ => 10,
        }
    }
}

faults! {
    /// A sharer acknowledges an invalidation and keeps its copy.
    KeptCopy = "kept-copy";
    /// A writeback carries the contents before the last store.
    StaleData = "stale-data";
    /// An invalidation acknowledgement is lost.
    LostAcknowledgement = "lost-acknowledgement";
    /// A copy is used although an invalidation overtook it.
    OvertakenCopy = "overtaken-copy";
    /// The home grants a copy without recording the sharer (MAGIC).
    ForgottenSharer = "forgotten-sharer";
    /// A replacement hint is overtaken by the next request for its line (MAGIC, where there are hints).
    OvertakenHint = "overtaken-hint";
    /// A page is relocated or moved, and a line of it is not flushed (clusters).
    ForgottenFlush = "forgotten-flush";
    /// A line of a page that moves is taken from all caches, and not poisoned (clusters).
    ForgottenPoison = "forgotten-poison";
    /// A processor keeps the translation of a page that moves (clusters, MAGIC).
    StaleTranslation = "stale-translation";
    /// A link interface leaves idles in place of an echo (SCI rings).
    LostEcho = "lost-echo";
    /// A bypass FIFO drops a packet (SCI rings).
    DroppedPacket = "dropped-packet";
}

/// The state that makes a fault strike occasionally.
#[derive(Clone, Copy, Debug)]
pub struct PlantedFault {
    fault: Fault,
    spared: u32,
}

impl PlantedFault {
    /// A planted that plants `fault`.
    pub const fn new(fault: Fault) -> Self {
        Self { fault, spared: 0 }
    }

    /// Whether `fault` is the planted one and strikes on this occasion.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        if self.fault != fault {
            return false;
        }
        self.spared = (self.spared + 1) % fault.interval();
        self.spared == 0
    }
}
