//! Compiled traces: what is written reads back, and nothing else reads.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::trace::read::Limits;

fn read_bytes(bytes: &[u8], length: Option<u64>) -> Result<Trace, TraceError> {
    let input = Input::new(Cursor::new(bytes.to_vec()), Path::new("t.plt"), length)?;
    Ok(read(input, &Limits { requests: 1000, name_bytes: 1000 })?.0)
}

fn written(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(trace, &mut out).unwrap();
    out
}

fn whole(bytes: &[u8]) -> Result<Trace, TraceError> {
    read_bytes(bytes, Some(bytes.len() as u64))
}

fn full() -> Trace {
    let names = Names::Text { bytes: b"/a/bb".to_vec(), ends: vec![2, 5, 5] };
    let trace = Trace::new(vec![0, 1, 0, 2, 1], names).unwrap();
    let trace = trace.with_sizes(vec![7, 1 << 40, 0]).unwrap();
    trace.with_seconds(vec![0, 0, 3, 3, 9]).unwrap().with_clients(vec![4, 0, 4, 1, 1]).unwrap()
}

fn plain() -> Trace {
    Trace::new(vec![0, 0, 1], Names::Numbers(vec![u64::MAX, 3])).unwrap()
}

#[test]
fn what_is_written_reads_back() {
    for trace in [full(), plain(), plain().with_sizes(vec![1, 2]).unwrap()] {
        let bytes = written(&trace);
        assert_eq!(whole(&bytes).unwrap(), trace);
        assert_eq!(read_bytes(&bytes, None).unwrap(), trace);
    }
}

#[test]
fn a_file_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.plt");
    write_file(&full(), &path).unwrap();
    let (trace, told) = read(Input::open(&path).unwrap(), &Limits::default()).unwrap();
    assert_eq!(trace, full());
    assert_eq!((told.format, told.lines), (Format::Compiled, 5));
    assert!(is_named_so(&path));
}

#[test]
fn every_cut_is_an_error() {
    for trace in [full(), plain()] {
        let bytes = written(&trace);
        for len in 0..bytes.len() {
            let error = whole(&bytes[..len]).unwrap_err().to_string();
            assert!(error.contains("of t.plt") && error.contains("at byte"), "{len}: {error}");
            assert!(read_bytes(&bytes[..len], None).is_err(), "{len}");
        }
    }
}

#[test]
fn every_flip_is_an_error() {
    let bytes = written(&full());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(whole(&changed).is_err() && read_bytes(&changed, None).is_err(), "{at}.{bit}");
        }
    }
}

#[test]
fn what_follows_is_an_error() {
    let mut bytes = written(&full());
    bytes.push(0);
    assert!(whole(&bytes).unwrap_err().to_string().contains("the end after the last section"));
}

/// A file with checksums that are right, made by hand.
fn made(requests: u64, objects: u64, sections: &[(u32, &[u8])]) -> Vec<u8> {
    let sum = |bytes: &[&[u8]]| {
        let mut checksum = checksum::Checksum::new();
        bytes.iter().for_each(|part| checksum.update(part));
        checksum.finish().to_le_bytes()
    };
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&u32::try_from(sections.len()).unwrap().to_le_bytes());
    out.extend_from_slice(&requests.to_le_bytes());
    out.extend_from_slice(&objects.to_le_bytes());
    let head = sum(&[&out]);
    out.extend_from_slice(&head);
    for (kind, data) in sections {
        let mut start = [0; 32];
        start[..4].copy_from_slice(&kind.to_le_bytes());
        start[8..16].copy_from_slice(&(data.len() as u64).to_le_bytes());
        out.extend_from_slice(&start[..16]);
        out.extend_from_slice(data);
        out.extend_from_slice(&sum(&[&start, data]));
    }
    out
}

#[test]
fn what_does_not_fit_together_is_an_error() {
    let requests: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0];
    let names: &[u8] = &[9, 0, 0, 0, 0, 0, 0, 0];
    let good = [(1, requests), (6, names)];
    assert_eq!(whole(&made(2, 1, &good)).unwrap().len(), 2);
    for (requests, objects, sections) in [
        (2, 1, &good[..1]),
        (2, 1, &good[1..]),
        (2, 2, &good),
        (3, 1, &good),
        (0, 0, &[(1, &[][..]), (6, &[])]),
        (1 << 32, 1, &good),
        (2, 3, &good),
        (1_000_000_000, 1, &good),
        (2, 1, &[good[0], good[0]]),
        (2, 1, &[good[0], good[1], (9, &[])]),
        (2, 1, &[good[0], good[1], (2, &[0, 0, 0])]),
        (2, 1, &[good[0], good[1], (3, &[0, 0, 0, 0, 0, 0, 0, 0x80])]),
        (2, 1, &[good[0], good[1], (4, &[0, 0, 0, 0, 3, 0, 0, 0])]),
        (2, 1, &[good[0], good[1], (4, &[0, 0, 0, 0])]),
        (2, 1, &[good[0], good[1], (4, &[5, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0])]),
        (2, 1, &[good[0], good[1], (5, &[0, 0, 0, 0])]),
        (2, 1, &[good[0], good[1], (7, names), (8, &[0; 9])]),
        (2, 1, &[good[0], (7, names)]),
        (2, 1, &[good[0], (7, names), (8, &[0; 8])]),
    ] {
        let bytes = made(requests, objects, sections);
        assert!(whole(&bytes).is_err(), "{requests} {objects} {sections:?}");
    }
}

proptest! {
    #[test]
    fn any_trace_reads_back(
        picks in prop::collection::vec((0u32..40, 0u32..3, 0u32..9), 1..200),
        sizes in prop::collection::vec(0u64..=1 << 48, 40),
        parts in 0u8..16,
    ) {
        let mut order: Vec<u32> = Vec::new();
        let mut requests = Vec::new();
        for (pick, ..) in &picks {
            let at = order.iter().position(|known| known == pick).unwrap_or_else(|| {
                order.push(*pick);
                order.len() - 1
            });
            requests.push(u32::try_from(at).unwrap());
        }
        let names = if parts & 1 == 0 {
            Names::Numbers(order.iter().map(|&n| u64::from(n) << 30).collect())
        } else {
            let text: Vec<String> = order.iter().map(|n| "x".repeat(*n as usize)).collect();
            let ends = text.iter().scan(0, |end, text| { *end += text.len() as u64; Some(*end) });
            Names::Text { ends: ends.collect(), bytes: text.concat().into_bytes() }
        };
        let mut trace = Trace::new(requests, names).unwrap();
        if parts & 2 != 0 {
            let shift = picks.len() % 40;
            let sizes = sizes.iter().take(order.len()).map(|size| size >> shift).collect();
            trace = trace.with_sizes(sizes).unwrap();
        }
        if parts & 4 != 0 {
            let seconds = picks.iter().scan(0, |now, (_, gap, _)| { *now += gap; Some(*now) });
            trace = trace.with_seconds(seconds.collect()).unwrap();
        }
        if parts & 8 != 0 {
            trace = trace.with_clients(picks.iter().map(|pick| pick.2).collect()).unwrap();
        }
        let bytes = written(&trace);
        prop_assert_eq!(whole(&bytes).unwrap(), trace);
    }
}
