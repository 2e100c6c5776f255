//! A file of the kernel's that is read over and over.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open file and room for what it says.
#[derive(Debug)]
pub struct Text {
    file: File,
    room: Vec<u8>,
}

/// Room at first; more is made when a file turns out longer.
const ROOM: usize = 4096;
/// The most that is read of a file.
const MOST: usize = 64 << 20;

impl Text {
    /// Opens a file.
    ///
    /// # Errors
    /// When it is not there or not for us to read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, room: vec![0; ROOM] })
    }

    /// Text of the file at present, from its beginning, however many records it has. Does not allocate unless the file has
    /// grown. Bytes that are no UTF-8 end it.
    ///
    /// # Errors
    /// When it cannot be read any more, as of a thread that is gone.
    pub fn read(&mut self) -> io::Result<&str> {
        let mut length = 0;
        loop {
            // The kernel makes such a file record by record: a short read need not be the end.
            match self.file.read_at(&mut self.room[length..], length as u64)? {
                0 => break,
                count => length += count,
            }
            if length == self.room.len() {
                if length >= MOST {
                    break;
                }
                self.room.resize(length * 2, 0);
            }
        }
        Ok(valid(&self.room[..length]))
    }

    /// The same of a file that the kernel makes in one piece, as those of sysfs and of threads: one call instead of two.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_whole(&mut self) -> io::Result<&str> {
        loop {
            let length = self.file.read_at(&mut self.room, 0)?;
            if length < self.room.len() || length >= MOST {
                return Ok(valid(&self.room[..length]));
            }
            self.room.resize(length * 2, 0);
        }
    }
}

/// As much of the bytes as is text.
fn valid(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn files_are_read_as_they_are_now() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut text = Text::open(file.path()).unwrap();
        assert_eq!(text.read().unwrap(), "");
        assert_eq!(text.read_whole().unwrap(), "");
        let long = "0123456789".repeat(1000);
        file.write_all(long.as_bytes()).unwrap();
        assert_eq!(text.read_whole().unwrap(), long);
        assert_eq!(text.read().unwrap(), long);
        file.write_all(b"\xffabc").unwrap();
        assert_eq!(text.read().unwrap(), long);
    }

    #[test]
    fn the_kernel_s_long_files_are_read_to_their_end() {
        let mut text = Text::open(Path::new("/proc/self/maps")).unwrap();
        assert!(text.read().unwrap().ends_with('\n'));
        let whole = std::fs::read_to_string("/proc/cpuinfo").unwrap().lines().count();
        assert_eq!(Text::open(Path::new("/proc/cpuinfo")).unwrap().read().unwrap().lines().count(), whole);
    }
}
