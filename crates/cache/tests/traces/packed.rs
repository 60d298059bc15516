//! Packed traces: whatever a format, packing changes nothing; and small files that unpack to large
//! ones take no more than what is allowed.

use std::io::{Cursor, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_cache::trace::input::Input;
use plimsoll_cache::trace::read::{Limits, ReadOptions, read_input};
use plimsoll_cache::trace::reference::Reference;
use plimsoll_cache::trace::{Trace, TraceError, compiled, oracle_general};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn read(bytes: Vec<u8>, requests: usize) -> Result<Trace, TraceError> {
    let length = Some(bytes.len() as u64);
    let input = Input::new(Cursor::new(bytes), Path::new("t"), length)?;
    let limits = Limits { requests, name_bytes: 1 << 20 };
    Ok(read_input(input, &ReadOptions { limits, ..ReadOptions::default() })?.0)
}

#[test]
fn packing_changes_nothing() {
    let trace = Reference { objects: 1000, requests: 20_000, seed: 1 }.trace().unwrap();
    let (mut plt, mut oracle) = (Vec::new(), Vec::new());
    compiled::write(&trace, &mut plt).unwrap();
    oracle_general::write(&trace, &mut oracle, Path::new("t")).unwrap();
    for bytes in [plt, oracle] {
        for packed in [gzip(&bytes), zstd(&bytes), bytes] {
            assert!(read(packed, 1 << 20).unwrap() == trace);
        }
    }
}

#[test]
fn what_is_cut_off_is_an_error_with_its_place() {
    let text: String = (0..400).map(|n| format!("{},{}\n", n / 7, n * n % 83)).collect();
    let text = format!("time,object\n{text}").into_bytes();
    for packed in [gzip(&text), zstd(&text)] {
        for len in 4..packed.len() {
            let error = read(packed[..len].to_vec(), 1000).unwrap_err();
            assert!(matches!(error, TraceError::Read { .. }), "{len}: {error}");
            assert!(error.to_string().contains("bytes (unpacked)"), "{error}");
        }
    }
}

#[test]
fn bombs_are_bounded() {
    let mut record = [0; 24];
    record[16..].copy_from_slice(&(-1_i64).to_le_bytes());
    let records = record.repeat(1 << 20);
    let lines = b"7\n".repeat(1 << 22);
    for bytes in [&records[..], &lines] {
        for packed in [gzip(bytes), zstd(bytes)] {
            assert!(packed.len() < bytes.len() / 8, "{}", packed.len());
            let error = read(packed, 1 << 16).unwrap_err();
            assert!(matches!(error, TraceError::TooMany { most: 0x1_0000, .. }), "{error}");
        }
    }
    let names: Vec<u8> = (0..200_000).flat_map(|n| format!("/name/{n}\n").into_bytes()).collect();
    let error = read(gzip(&names), 1 << 20).unwrap_err();
    assert!(error.to_string().contains("bytes of names"), "{error}");
}
