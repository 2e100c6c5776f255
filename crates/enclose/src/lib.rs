//! Puts the shared library that a dependency is built as into the program that uses the dependency.
//!
//! A crate of type `["cdylib", "rlib"]` becomes both in one run of the compiler, side by side in one folder. A program is compiled
//! only after its dependencies are complete, since it is linked with them: cargo names the `rlib` to the compiler
//! (`--extern NAME=FOLDER/libCRATE.rlib`), and the shared library of the same run lies beside it. So `cargo build` and `cargo install`
//! alike make one file that has all it needs, in the order that cargo keeps anyway.

use std::ffi::OsStr;
use std::hash::Hasher;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use proc_macro::{Literal, TokenStream, TokenTree};
use twox_hash::XxHash64;

/// The shared library of the dependency with this name, as `Some((deflated, length, hash))`: a `&'static [u8]` that holds a stream of
/// RFC 1951, the length of the library in bytes (`usize`), and its XXH64 with seed 0 (`u64`). `None` where the program is only
/// checked, since then nothing is built.
///
/// # Errors
/// It does not compile if the dependency is built without a shared library.
#[proc_macro]
pub fn shared_library(name: TokenStream) -> TokenStream {
    let mut words = name.into_iter();
    let tokens = match (words.next(), words.next()) {
        (Some(TokenTree::Ident(name)), None) => enclosed(&name.to_string()),
        _ => Err("the name of a dependency is accepted, and nothing else".to_owned()),
    };
    tokens.unwrap_or_else(|problem| {
        let text = Literal::string(&problem);
        format!("::core::compile_error!({text})").parse().unwrap_or_default()
    })
}

fn enclosed(name: &str) -> Result<TokenStream, String> {
    let words: Vec<String> = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let dependency =
        path_of(name, &words).ok_or_else(|| format!("{name}: the compiler was given no such dependency"))?;
    // Checks use the metadata of dependencies, which are not compiled for them.
    if dependency.extension() == Some(OsStr::new("rmeta")) {
        return Ok("::core::option::Option::None".parse().unwrap_or_default());
    }
    let library = dependency.with_extension("so");
    let content = fs::read(&library).map_err(|error| {
        format!("{}: {error}; the crate-type of {name} has to be [\"cdylib\", \"rlib\"]", library.display())
    })?;
    let deflated = deflated(&content).map_err(|error| format!("{}: {error}", library.display()))?;
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(&content);
    let parts = [
        Literal::byte_string(&deflated),
        Literal::usize_suffixed(content.len()),
        Literal::u64_suffixed(hasher.finish()),
    ];
    let [deflated, length, hash] = parts.map(|literal| TokenStream::from(TokenTree::Literal(literal)));
    let comma: TokenStream = ",".parse().unwrap_or_default();
    let inside: TokenStream = [deflated, comma.clone(), length, comma, hash].into_iter().collect();
    let group = |inside| TokenTree::Group(proc_macro::Group::new(proc_macro::Delimiter::Parenthesis, inside));
    let some: TokenStream = "::core::option::Option::Some".parse().unwrap_or_default();
    let tuple = TokenStream::from(group(inside));
    Ok(some.into_iter().chain([group(tuple)]).collect())
}

/// Data that are deflated for tests alone need not be small.
const LEVEL: Compression = if cfg!(debug_assertions) { Compression::fast() } else { Compression::best() };

fn deflated(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), LEVEL);
    encoder.write_all(content)?;
    encoder.finish()
}

/// The file of a dependency on the command line of a compiler: `--extern [OPTIONS:]NAME=PATH`.
fn path_of(name: &str, words: &[String]) -> Option<PathBuf> {
    let of_word = |word: &str| {
        let (named, path) = word.split_once('=')?;
        (named.rsplit(':').next() == Some(name)).then(|| Path::new(path).to_path_buf())
    };
    let pairs = words.windows(2).filter(|pair| pair[0] == "--extern").map(|pair| pair[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("--extern="));
    pairs.chain(joined).find_map(of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_found_on_the_compilers_command_line() {
        let line = "rustc --crate-name x --extern a=/t/liba.rlib --extern priv:b=/t/b=c/libb.rmeta --extern=c=/t/libc.so --extern d";
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let of = |name: &str| path_of(name, &words).map(|path| path.display().to_string());
        assert_eq!(of("a").as_deref(), Some("/t/liba.rlib"));
        assert_eq!(of("b").as_deref(), Some("/t/b=c/libb.rmeta"));
        assert_eq!(of("c").as_deref(), Some("/t/libc.so"));
        assert_eq!(of("d"), None);
        assert_eq!(of("x"), None);
    }
}
