//! Files that users name: regular files alone, and no more of them than they can hold.
//!
//! A device such as `/dev/zero` has no end, a FIFO without a writer never begins, and a directory has no text. All three are
//! refused before anything is opened, each by what it is.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use units::Bytes;

/// The most of a text that people write or look through: machine descriptions, metrics, routing tables.
pub const WRITTEN: Bytes = Bytes::from_mib(64);
/// The most of what programs write and is held in memory whole: records, executables.
pub const HELD: Bytes = Bytes::from_mib(8 << 10);

/// Opens a regular file.
///
/// # Errors
/// When there is none, it cannot be read, or it is something else than a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // Before it is opened: that alone waits for a FIFO's writer.
    regular(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// The whole of a regular file.
///
/// # Errors
/// As [`open`], and when it is larger than `most`.
pub fn bytes(path: &Path, most: Bytes) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let too_large = |size: Bytes| {
        let problem = format!("it is larger ({size}) than anything that could stand here ({most})");
        io::Error::new(ErrorKind::FileTooLarge, problem)
    };
    let size = file.metadata()?.len();
    if size > most.0 {
        return Err(too_large(Bytes(size)));
    }
    let mut content = Vec::with_capacity(size as usize);
    // A file of the kernel's announces no size, and another may grow meanwhile.
    file.take(most.0 + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most.0 { Err(too_large(Bytes(content.len() as u64))) } else { Ok(content) }
}

/// The whole of a regular file that is a text.
///
/// # Errors
/// As [`bytes`], and when it is not UTF-8.
pub fn text(path: &Path, most: Bytes) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        io::Error::new(ErrorKind::InvalidData, format!("it is no text in UTF-8: line {line} has other bytes"))
    })
}

/// Refuses what is no regular file by what it is.
fn regular(kind: FileType) -> io::Result<()> {
    let what = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let refusal = |path: &Path| text(path, WRITTEN).expect_err("refused").to_string();
        assert_eq!(refusal(Path::new("/dev/zero")), "it is a device, not a regular file");
        assert_eq!(refusal(folder.path()), "it is a directory, not a regular file");
        assert_eq!(refusal(&pipe), "it is a pipe, not a regular file");
        assert_eq!(open(&folder.path().join("none")).expect_err("none").kind(), ErrorKind::NotFound);
    }

    #[test]
    fn no_more_is_read_than_is_allowed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("text");
        fs::write(&path, "12345678").expect("written");
        assert_eq!(text(&path, Bytes(8)).expect("it fits"), "12345678");
        let refused = text(&path, Bytes(7)).expect_err("a byte too many").to_string();
        assert_eq!(refused, "it is larger (8 B) than anything that could stand here (7 B)");
        // A terabyte of nothing is refused by its announced size.
        File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("sparse");
        assert_eq!(text(&path, HELD).expect_err("too large").kind(), ErrorKind::FileTooLarge);
        // The kernel's files announce none.
        assert!(bytes(Path::new("/proc/self/status"), WRITTEN).is_ok_and(|status| !status.is_empty()));
        assert!(bytes(Path::new("/proc/self/status"), Bytes(10)).is_err());
    }

    #[test]
    fn what_is_no_text_is_named_by_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("text");
        fs::write(&path, b"a\nb\n\xff\n").expect("written");
        let refused = text(&path, WRITTEN).expect_err("no text").to_string();
        assert_eq!(refused, "it is no text in UTF-8: line 3 has other bytes");
    }
}
