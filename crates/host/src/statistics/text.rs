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

    /// What the file says now, from its beginning. Does not allocate unless the file has grown. Bytes that are no UTF-8 end it.
    ///
    /// # Errors
    /// When it cannot be read any more, as of a thread that is gone.
    pub fn read(&mut self) -> io::Result<&str> {
        let mut length = 0;
        loop {
            // The kernel's files are made anew by a read at 0 and go on from there; a short read need not be the end.
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
        let bytes = &self.room[..length];
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        })
    }
}
