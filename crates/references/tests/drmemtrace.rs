//! Traces of drmemtrace as its post-processing leaves them: plain, gzipped, zipped in chunks, cut, and of newer versions.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use references::{Access, AccessKind, Event, Warning, open};
use zip::write::SimpleFileOptions;

fn entry(kind: u16, size: u16, address: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &size.to_le_bytes(), &address.to_le_bytes()].concat()
}

/// Header, version, thread 7: two instructions and a load, a prefetch, a store of 100 bytes; thread 9: a bundle and a load.
fn entries() -> Vec<Vec<u8>> {
    vec![
        entry(25, 0, 6),
        entry(28, 11, 6),
        entry(22, 8, 7),
        entry(24, 8, 1),
        entry(10, 4, 0x1000),
        entry(48, 2, 0x1004),
        entry(0, 8, 0x8000),
        entry(8, 1, 0x9000),
        entry(1, 100, 0x8040),
        entry(22, 8, 9),
        entry(10, 4, 0x2000),
        entry(17, 3, 0),
        entry(0, 4, 0x8004),
        entry(23, 8, 9),
        entry(26, 0, 0),
    ]
}

fn access(kind: AccessKind, address: u64, bytes: u8) -> Event {
    Event::Access(Access { kind, dependent: false, bytes, address })
}

fn check(path: &Path) {
    let trace = open(path).expect("it is read");
    assert_eq!(trace.header().threads, 2);
    assert!(!trace.header().synchronised);
    let first: Vec<_> = trace.events(0).expect("there").gathered().expect("read");
    let expected = [
        Event::Instructions(2),
        Event::Site(0x1004),
        access(AccessKind::Load, 0x8000, 8),
        access(AccessKind::PrefetchExclusive, 0x9000, 1),
        access(AccessKind::Store, 0x8040, 64),
        access(AccessKind::Store, 0x8080, 36),
    ];
    assert_eq!(first, expected);
    let second: Vec<_> = trace.events(1).expect("there").gathered().expect("read");
    assert_eq!(second, [Event::Instructions(4), Event::Site(0x2000), access(AccessKind::Load, 0x8004, 4)]);
}

#[test]
fn every_packing_is_read_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = entries().concat();
    let plain = folder.path().join("plain.trace");
    std::fs::write(&plain, &bytes).expect("written");
    check(&plain);

    let zipped = folder.path().join("gz.trace.gz");
    let mut gz = GzEncoder::new(std::fs::File::create(&zipped).expect("created"), Compression::fast());
    gz.write_all(&bytes).and_then(|()| gz.finish()).expect("written");
    check(&zipped);

    let archive = folder.path().join("zip.trace.zip");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&archive).expect("created"));
    for (number, chunk) in bytes.chunks(60).enumerate() {
        zip.start_file(format!("chunk.{number:04}"), SimpleFileOptions::default()).expect("a part");
        zip.write_all(chunk).expect("written");
    }
    zip.finish().expect("written");
    check(&archive);
}

#[test]
fn a_folder_has_a_file_a_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("trace");
    std::fs::create_dir(&inner).expect("a folder");
    let all = entries();
    std::fs::write(inner.join("app.7.trace"), all[..9].concat()).expect("written");
    let second = [&all[..2], &all[9..]].concat();
    std::fs::write(inner.join("app.9.trace"), second.concat()).expect("written");
    check(folder.path());
}

#[test]
fn a_cut_is_told_and_what_is_before_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.trace");
    let bytes = entries().concat();
    for cut in 37..bytes.len() {
        std::fs::write(&path, &bytes[..cut]).expect("written");
        let trace = open(&path).expect("what is left is a trace");
        let whole = (cut / 12 * 12) as u64;
        let warnings = trace.warnings();
        match cut % 12 {
            0 => assert!(warnings.is_empty()),
            _ => assert_eq!(warnings, [Warning::CutOff { path: path.clone(), bytes: whole }]),
        }
        let events =
            (0..2).map(|thread| trace.events(thread).expect("there").gathered().expect("read").len()).sum::<usize>();
        assert!(events <= 9);
    }
}

#[test]
fn entries_of_newer_versions_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new.trace");
    let mut all = entries();
    all.insert(5, entry(77, 0, 0));
    std::fs::write(&path, all.concat()).expect("written");
    let trace = open(&path).expect("it is read");
    assert_eq!(trace.warnings(), [Warning::Unknown { path: path.clone(), kind: 77, count: 1 }]);
}

#[test]
fn what_is_no_trace_says_what_would_be_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("some.txt");
    std::fs::write(&path, "to whom it may concern\n").expect("written");
    let error = open(&path).err().expect("no trace").to_string();
    assert!(error.contains("some.txt") && error.contains("drmemtrace"), "{error}");
    assert!(open(folder.path()).is_err(), "an empty folder");
}
