//! Addresses of a program's code in messages, told as functions and source lines.

use std::path::Path;

use symbols::{Place, Symbols};

/// The text with every address of the program's code (`0x4011d6`) replaced by its function and source line, as far as the program's
/// debug information tells. Programs for simulated machines stand at the addresses that they were linked for.
pub fn with_lines(program: &Path, text: &str) -> String {
    let Ok(symbols) = Symbols::of(program) else { return text.to_owned() };
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("0x") {
        let digits = rest[start + 2..].find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len() - start - 2);
        let (before, from) = rest.split_at(start);
        let (address, after) = from.split_at(2 + digits);
        told.push_str(before);
        let place = u64::from_str_radix(&address[2..], 16).ok().and_then(|address| place(&symbols, address));
        told.push_str(place.as_deref().unwrap_or(address));
        rest = after;
    }
    told.push_str(rest);
    told
}

/// The function and the line of an instruction. A return address is looked up as the call before it: the byte before is part of
/// that, and of an instruction that crashed the lines of both are the same but at the first of a line.
fn place(symbols: &Symbols, address: u64) -> Option<String> {
    let innermost = symbols.place(address.checked_sub(1)?);
    let mut told = named(&innermost, address)?;
    // An inlined function is part of its callers.
    for caller in innermost.callers.iter().filter_map(|caller| named(caller, address)) {
        told.push_str(", part of ");
        told.push_str(&caller);
    }
    Some(told)
}

fn named(Place { function, file, line, .. }: &Place, address: u64) -> Option<String> {
    let file = file.as_ref().and_then(|file| Some(Path::new(file).file_name()?.to_string_lossy().into_owned()));
    match (function, file.zip(*line)) {
        (Some(function), Some((file, line))) => Some(format!("{function} ({file}:{line})")),
        (Some(function), None) => Some(format!("{function} ({address:#x})")),
        (None, Some((file, line))) => Some(format!("{file}:{line}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_of_the_program_stays() {
        let program = std::env::current_exe().expect("a test runs");
        for text in ["", "0x", "address 0x0, at 0x", "nothing here", "0xffffffffffffffffff and 0x10"] {
            assert_eq!(with_lines(&program, text), text);
        }
        assert_eq!(with_lines(Path::new("/nowhere"), "at 0x401000"), "at 0x401000");
    }
}
