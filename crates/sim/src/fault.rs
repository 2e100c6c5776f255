//! Faults to be planted in a machine, to see whether tests find them: a tester that has not found one shows nothing.

/// Declares the faults with their names.
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A fault in one rule of a machine, which strikes now and then.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that it is asked for by.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

impl Fault {
    /// Of so many occasions one is taken: what seldom has an occasion takes each.
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
    /// A line that goes to memory has missed its last store.
    StaleData = "stale-data";
    /// An acknowledgement of an invalidation is lost.
    LostAcknowledgement = "lost-acknowledgement";
    /// A copy that an invalidation has overtaken on its way is used.
    OvertakenCopy = "overtaken-copy";
    /// The home gives a copy away and forgets to whom (MAGIC).
    ForgottenSharer = "forgotten-sharer";
    /// A replacement hint is overtaken by the next request for its line (MAGIC, where there are hints).
    OvertakenHint = "overtaken-hint";
}

/// What a fault needs to strike seldom.
#[derive(Clone, Copy, Debug)]
pub struct Saboteur {
    fault: Fault,
    spared: u32,
}

impl Saboteur {
    /// One who plants `fault`.
    pub const fn new(fault: Fault) -> Self {
        Self { fault, spared: 0 }
    }

    /// Whether `fault` is planted and strikes on this occasion.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        if self.fault != fault {
            return false;
        }
        self.spared = (self.spared + 1) % fault.interval();
        self.spared == 0
    }
}
