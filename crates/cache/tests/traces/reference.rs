//! The reference trace, bit for bit: check values of its definition, and a small one made by the
//! definition's own program (`zipfgen 1000 5000 7`).

use std::io::{self, Write};
use std::path::Path;

use plimsoll_cache::trace::oracle_general;
use plimsoll_cache::trace::read::{ReadOptions, read};
use plimsoll_cache::trace::reference::Reference;

/// FNV-1a, 64 bits, of what is written.
struct Fnv(u64);

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn fnv(reference: Reference) -> u64 {
    let mut sum = Fnv(0xcbf2_9ce4_8422_2325);
    let trace = reference.trace().expect("some requests");
    oracle_general::write(&trace, &mut sum, Path::new("sum")).expect("no disk");
    sum.0
}

#[test]
fn a_small_one_is_bit_for_bit() {
    let reference = Reference { objects: 1000, requests: 5000, seed: 7 };
    let trace = reference.trace().unwrap();
    assert_eq!((trace.len(), trace.distinct()), (5000, 890));
    assert_eq!(trace.footprint_bytes(), Some(10_119_345));
    let sizes = trace.sizes().unwrap();
    assert_eq!(sizes.largest(), 3_314_542);
    let requested: u64 = trace.requests().iter().map(|&object| sizes.of(object)).sum();
    assert_eq!(requested, 34_495_884);
    assert_eq!(fnv(reference), 0xc224_0925_f069_a4d5);
}

#[test]
fn the_full_one_is_bit_for_bit() {
    let reference = Reference { objects: 1_000_000, requests: 10_000_000, seed: 42 };
    assert_eq!(fnv(reference), 0x544c_0804_abfd_afd9);
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zipf.oracleGeneral.bin");
    let trace = Reference { objects: 300_000, requests: 400_000, seed: 3 }.trace().unwrap();
    oracle_general::write_file(&trace, &path).unwrap();
    let (read, told) = read(&path, &ReadOptions::default()).unwrap();
    assert!(read == trace);
    assert_eq!(told.warnings(), [""; 0]);
}
