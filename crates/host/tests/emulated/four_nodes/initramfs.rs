//! A root file system for Linux to start from: an archive in the `newc` format of cpio
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

/// The type bits of a mode, inode(7).
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive that grows entry by entry.
#[derive(Default)]
pub struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
}

impl Initramfs {
    /// Adds a folder; those above it must be there already.
    pub fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER | 0o755, (0, 0), &[]);
    }

    /// Adds a program.
    pub fn program(&mut self, name: &str, contents: &[u8]) {
        self.entry(name, FILE | 0o755, (0, 0), contents);
    }

    /// Adds a character device by its two numbers.
    pub fn device(&mut self, name: &str, numbers: (u32, u32)) {
        self.entry(name, CHARACTER_DEVICE | 0o600, numbers, &[]);
    }

    /// The finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
        self.entries += 1;
        let length = u32::try_from(contents.len()).expect("less than 4 GiB");
        let name_length = u32::try_from(name.len() + 1).expect("a short name");
        // inode, mode, owner, group, links, time, size, two numbers of the holding device, two of this one, name, checksum
        let fields = [self.entries, mode, 0, 0, 1, 0, length, 0, 0, device.0, device.1, name_length, 0]
            .map(|field| format!("{field:08x}"));
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.concat().bytes());
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(contents);
        self.pad();
    }

    /// Everything starts at a multiple of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
