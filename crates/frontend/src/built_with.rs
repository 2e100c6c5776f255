//! The mark that the wrapper leaves in the programs it builds: which version of the instrumentation they have.

/// The symbol, absolute and dynamic, so that it outlives `strip`.
pub const SYMBOL: &str = "ccnuma_built_with";

/// The instrumentation that this version's wrapper asks for and its runtime answers, the symbol's value: changes when programs have
/// to be built again.
pub const THIS: u64 = 0x1_0000;
