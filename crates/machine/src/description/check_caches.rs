//! Checks between the values of the private cache levels of a processor, and of its prefetcher.

use units::Bytes;

use super::check::Conflict;
use super::kind::{Alternatives, quoted};
use super::{CacheLevel, ControllerKind, Description, Inclusion, MOST_WAYS, PrefetchKind, WritePolicy};

/// Rejects private levels and a prefetcher whose values contradict each other or those of other tables.
pub(super) fn check_caches(description: &Description) -> Result<(), Conflict> {
    tables_of_levels(description)?;
    levels(description)?;
    prefetcher(description)
}

/// The tables of the levels: the port of the primary cache is needed where it is the only level; a third level needs a second.
fn tables_of_levels(description: &Description) -> Result<(), Conflict> {
    match (&description.l1_port, &description.l2, &description.l3) {
        (None, None, None) => Err(Conflict::new(
            "l1_port.clock_mhz",
            "without [l2], the primary cache needs a port to the system bus",
            "[l1_port], or [l2]",
        )),
        (_, None, Some(_)) => Err(Conflict::new("l3.size_mib", "no effect without [l2]", "[l3] with [l2]")),
        (Some(_), Some(_), _) => {
            Err(Conflict::new("l1_port.clock_mhz", "no effect with [l2]", "[l1_port] without [l2]"))
        }
        (Some(_), None, None) | (None, Some(_), _) => Ok(()),
    }
}

/// The levels in words, innermost first.
const LEVELS: [&str; 3] = ["primary", "secondary", "third"];

fn levels(description: &Description) -> Result<(), Conflict> {
    let levels: Vec<CacheLevel> = description.cache_levels().collect();
    for ((names, inner), outer) in LEVELS.windows(2).zip(&levels).zip(&levels[1..]) {
        fits_within(inner, outer, names[0], names[1])?;
    }
    if let Some((coherent, inside)) = levels.split_last() {
        keeps_lines(coherent)?;
        stores_around(description, coherent, inside)?;
        inside.iter().try_for_each(|level| nothing_of_others(level, coherent))?;
    }
    levels.iter().try_for_each(|level| shape(level).and_then(|()| gives_up_stored(level)))
}

/// Lines of others come into the outermost level alone: one that a level inside gives up for them would be a hit outside it.
fn nothing_of_others(level: &CacheLevel, outermost: &CacheLevel) -> Result<(), Conflict> {
    if level.others_mb_per_s == 0 {
        return Ok(());
    }
    let (key, table) = (format!("{}.others_mb_per_s", level.table), outermost.table);
    Err(Conflict::new(
        key,
        format!("the outermost level of a core is [{table}]"),
        format!("0, or {table}.others_mb_per_s"),
    ))
}

/// A level that gives up the line of a store that hits has no other copy of it, and brings none in for a store that misses.
fn gives_up_stored(level: &CacheLevel) -> Result<(), Conflict> {
    if level.keep_on_write_hit {
        return Ok(());
    }
    let key = format!("{}.keep_on_write_hit", level.table);
    let allocates = format!("{}.allocate_on_write_miss", level.table);
    if level.write != WritePolicy::Through {
        let reason = "a line of a write-back level is the only one with what was stored";
        return Err(Conflict::new(key, reason, "true"));
    }
    if level.allocate_on_write_miss {
        let reason = "a store miss would allocate a line that a store hit invalidates";
        return Err(Conflict::new(key, reason, format!("true, or {allocates} = false")));
    }
    Ok(())
}

/// A level inside another: of no greater size if the other includes it, of no longer lines, and of the same lines where
/// a part of a line would otherwise be all that the processor has of it.
fn fits_within(inner: &CacheLevel, outer: &CacheLevel, name: &str, outside: &str) -> Result<(), Conflict> {
    let (table, other) = (inner.table, outer.table);
    let at_most = |what: &str, limit: Bytes| format!("at most {other}.{what} = {limit}");
    let inclusive = inner.inclusion == Inclusion::Inclusive;
    if inclusive && inner.size > outer.size {
        let reason = format!("the {name} cache is larger than the {outside} ({})", outer.size);
        return Err(Conflict::new(format!("{table}.{}", inner.size_key), reason, at_most(outer.size_key, outer.size)));
    }
    if inner.line > outer.line {
        let reason = format!("the {name} line is larger than the {outside} ({})", outer.line);
        return Err(Conflict::new(format!("{table}.line_bytes"), reason, at_most("line_bytes", outer.line)));
    }
    if inclusive {
        return Ok(());
    }
    let with = format!("{table}.inclusion = {}", quoted(inner.inclusion.word()));
    if inner.line != outer.line {
        let reason = format!("{} B lines would lie in parts in {table} with {with}", outer.line.0);
        return Err(Conflict::new(format!("{table}.line_bytes"), reason, outer.line.0.to_string()));
    }
    if inner.write == WritePolicy::Through {
        let reason = format!("the outer level may not have the line with {with}");
        return Err(Conflict::new(format!("{table}.write"), reason, quoted(WritePolicy::Back.word())));
    }
    if !inner.allocate_on_write_miss {
        let reason = format!("the outer level receives no line on a miss with {with}");
        return Err(Conflict::new(format!("{table}.allocate_on_write_miss"), reason, "true"));
    }
    Ok(())
}

/// The coherent level owns the lines that it modifies, as the protocols require.
fn keeps_lines(coherent: &CacheLevel) -> Result<(), Conflict> {
    let conflict = |key: &str, reason: &str, accepted: String| {
        Err(Conflict::new(format!("{}.{key}", coherent.table), reason, accepted))
    };
    let owns = "the coherence protocol acts on this level";
    if coherent.inclusion != Inclusion::Inclusive {
        return conflict("inclusion", "there is no private level outside it", quoted(Inclusion::Inclusive.word()));
    }
    if coherent.write != WritePolicy::Back {
        return conflict("write", owns, quoted(WritePolicy::Back.word()));
    }
    if !coherent.allocate_on_write_miss {
        return conflict("allocate_on_write_miss", owns, "true".into());
    }
    Ok(())
}

/// A store to private data goes around all levels or none, and only where the node's controller takes it to memory.
fn stores_around(description: &Description, coherent: &CacheLevel, inside: &[CacheLevel]) -> Result<(), Conflict> {
    let conflict = |level: &CacheLevel, reason: String| {
        Err(Conflict::new(format!("{}.allocate_on_private_write_miss", level.table), reason, "true"))
    };
    if let Some(level) = inside.iter().find(|level| !level.allocate_on_private_write_miss) {
        return conflict(level, format!("a store goes around the coherent level, {}, or around none", coherent.table));
    }
    let kind = description.controller.kind;
    if coherent.allocate_on_private_write_miss || kind == ControllerKind::Sci {
        return Ok(());
    }
    conflict(coherent, format!("no store goes around the caches with controller.kind = {}", quoted(kind.word())))
}

/// The sets of a level, and the blocks of its fills.
fn shape(level: &CacheLevel) -> Result<(), Conflict> {
    let CacheLevel { table, size_key, size, ways, line, .. } = *level;
    if level.port.is_some_and(|port| port.fill_block > line) {
        let its = if table == "l1" { "l1_port" } else { table };
        let reason = format!("the block is larger than the line ({line})");
        return Err(Conflict::new(
            format!("{its}.fill_block_bytes"),
            reason,
            format!("at most {table}.line_bytes = {line}"),
        ));
    }
    if divides_into_sets(size, ways, line) {
        return Ok(());
    }
    let fitting: Vec<_> = (1..=MOST_WAYS).filter(|&ways| divides_into_sets(size, ways, line)).collect();
    let (key, accepted) = match fitting.is_empty() {
        false => ("ways", units::ranges(fitting.into_iter().map(|ways| ways as usize))),
        true => (size_key, format!("what 1 to {MOST_WAYS} ways of a power of two of sets have room for")),
    };
    Err(Conflict::new(
        format!("{table}.{key}"),
        format!("{size} cannot be divided into a power of two of sets of {ways} lines of {line}"),
        accepted,
    ))
}

/// A prefetcher has a table if its rule needs one, and a miss register beside the one of the reference.
fn prefetcher(description: &Description) -> Result<(), Conflict> {
    let Some(spec) = &description.prefetch else { return Ok(()) };
    let with = format!("with prefetch.kind = {}", quoted(spec.kind.word()));
    match spec.kind {
        PrefetchKind::NextLine if spec.streams > 0 => {
            return Err(Conflict::new("prefetch.streams", format!("no effect {with}"), "0"));
        }
        PrefetchKind::Stride | PrefetchKind::Stream if spec.streams == 0 => {
            return Err(Conflict::new("prefetch.streams", format!("its table has no entry {with}"), "at least 1"));
        }
        _ => {}
    }
    for (key, wanted) in [("migration", description.os.migration), ("replication", description.os.replication)] {
        if wanted {
            let reason = "a prefetch of [prefetch] would trap on a page that is given up";
            return Err(Conflict::new(format!("os.{key}"), reason, "false"));
        }
    }
    if description.processor.outstanding_misses < 2 {
        let reason = "[prefetch] needs a miss register beside the reference's";
        return Err(Conflict::new("processor.outstanding_misses", reason, "at least 2"));
    }
    Ok(())
}

/// Whether the number of a cache's sets is a power of two, as its index consists of address bits.
fn divides_into_sets(size: Bytes, ways: u32, line: Bytes) -> bool {
    let set = u64::from(ways) * line.0;
    size.0.is_multiple_of(set) && (size.0 / set).is_power_of_two()
}
