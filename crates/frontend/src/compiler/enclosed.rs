//! The runtime, which travels in the command: a copied or installed command is one file.

use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;
use std::{env, fs};

use flate2::read::DeflateDecoder;
use twox_hash::XxHash64;

use super::CompilerError;
use super::kept::{self, Kept};
use crate::wrapped::LIBRARY;

/// The runtime as the command holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enclosed {
    /// The shared library, a stream of RFC 1951.
    pub deflated: &'static [u8],
    /// Its length in bytes when it is inflated.
    pub length: usize,
    /// The XXH64 of what it is then, with seed 0.
    pub hash: u64,
}

impl Kept for Enclosed {
    fn name(&self) -> &'static str {
        LIBRARY
    }

    fn version(&self) -> String {
        format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), self.hash)
    }

    fn is(&self, content: &[u8]) -> bool {
        content.len() == self.length && hash(content) == self.hash
    }

    fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::with_capacity(self.length);
        DeflateDecoder::new(self.deflated).read_to_end(&mut content)?;
        if self.is(&content) { Ok(content) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(content);
    hasher.finish()
}

/// Puts the enclosed runtime back for a program that is linked with it, if it was removed from the user's cache.
///
/// # Errors
/// It cannot be put there.
pub fn restore(enclosed: Option<&Enclosed>, program: &Path) -> Result<(), CompilerError> {
    let Some(enclosed) = enclosed else { return Ok(()) };
    let bytes = fs::read(program).unwrap_or_default();
    let names = |path: &Path| {
        let name = path.as_os_str().as_encoded_bytes();
        bytes.windows(name.len()).any(|window| window == name)
    };
    kept::restore(enclosed, |name| env::var_os(name), names)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    const LIBRARY: &[u8] = b"a library, a library, a library";

    fn enclosed() -> Enclosed {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(LIBRARY).expect("written");
        let deflated = encoder.finish().expect("finished").leak();
        Enclosed { deflated, length: LIBRARY.len(), hash: hash(LIBRARY) }
    }

    #[test]
    fn what_is_enclosed_comes_out_again() {
        let enclosed = enclosed();
        assert_eq!(enclosed.content().expect("inflated"), LIBRARY);
        assert!(enclosed.is(LIBRARY) && !enclosed.is(b"a library"));
        assert!(Enclosed { hash: 1, ..enclosed }.content().is_err(), "it is another");
        assert!(Enclosed { deflated: &enclosed.deflated[..4], ..enclosed }.content().is_err(), "it was cut");
        assert_ne!(enclosed.version(), Enclosed { hash: 1, ..enclosed }.version());
    }
}
