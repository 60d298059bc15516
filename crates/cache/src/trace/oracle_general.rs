//! libCacheSim's binary format `oracleGeneral`: a record of 24 bytes a request, little endian:
//! `u32` seconds, `u64` object, `u32` bytes, `i64` next, which is the number of the next request
//! to the object, from 1, or -1.
//!
//! `next` is not read: a trace knows its own ([`Trace::next_uses`]). libCacheSim leaves requests
//! of zero bytes out; here they count, and are told of
//! ([`super::ReadSummary::requests_without_size`]).

use std::io::Write;
use std::path::Path;

use super::collect::{Clock, Full};
use super::input::Input;
use super::largest_size;
use super::read::Limits;
use super::save::save;
use super::table::{BATCH, Record, Table};
use super::{Format, NEVER, Names, ReadSummary, Trace, TraceError};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 24;

/// Records read at a time: of 96 KiB, so that they are in the cache when they are looked at.
const BLOCK_RECORDS: usize = 64 * BATCH;

/// Reads a trace.
///
/// *Errors*: a file that ends within a record or has none; more than the limits; a reader that
/// fails.
///
/// *Cost*: 8 bytes a request; while reading, 24 to 43 bytes an object more.
pub fn read(mut input: Input, limits: &Limits) -> Result<(Trace, ReadSummary), TraceError> {
    let path = input.path().to_owned();
    let mut told = ReadSummary::new(Format::OracleGeneral);
    let (mut table, mut clock) = (Table::new(), Clock::default());
    let mut requests: Vec<u32> = Vec::new();
    if let Some(length) = input.length() {
        let records = usize::try_from(length / RECORD_BYTES as u64).unwrap_or(usize::MAX);
        if records > limits.requests {
            return Err(Full::of_requests(limits).error(&path));
        }
        requests.reserve_exact(records);
        clock.seconds.reserve_exact(records);
    }
    let mut block = vec![0; BLOCK_RECORDS * RECORD_BYTES];
    loop {
        let filled = input.fill(&mut block)?;
        let (records, rest) = block[..filled].as_chunks::<RECORD_BYTES>();
        if !rest.is_empty() {
            return Err(TraceError::Binary {
                byte: input.given() - rest.len() as u64,
                path,
                wanted: format!("a record of {RECORD_BYTES} bytes"),
                found: format!("{}", rest.len()),
            });
        }
        if records.len() > limits.requests - requests.len() {
            return Err(Full::of_requests(limits).error(&path));
        }
        for batch in records.chunks(BATCH) {
            take(batch, &mut table, &mut clock, &mut requests, &mut told);
        }
        if filled < block.len() {
            break;
        }
    }
    told.lines = requests.len() as u64;
    told.out_of_order = clock.out_of_order;
    finish(requests, table, clock.seconds, told, &path)
}

#[inline]
fn take(
    batch: &[[u8; RECORD_BYTES]],
    table: &mut Table,
    clock: &mut Clock,
    requests: &mut Vec<u32>,
    told: &mut ReadSummary,
) {
    let mut records = [Record::default(); BATCH];
    let mut numbers = [0; BATCH];
    for (record, bytes) in records.iter_mut().zip(batch) {
        let [t0, t1, t2, t3, i0, i1, i2, i3, i4, i5, i6, i7, s0, s1, s2, s3, ..] = *bytes;
        record.id = u64::from_le_bytes([i0, i1, i2, i3, i4, i5, i6, i7]);
        record.size = u32::from_le_bytes([s0, s1, s2, s3]);
        told.requests_without_size += u64::from(record.size == 0);
        // 32 bits of seconds are always within what a clock takes.
        clock.push(i64::from(u32::from_le_bytes([t0, t1, t2, t3])));
    }
    table.numbers(&records[..batch.len()], &mut numbers);
    requests.extend_from_slice(&numbers[..batch.len()]);
}

fn finish(
    requests: Vec<u32>,
    table: Table,
    seconds: Vec<u32>,
    mut told: ReadSummary,
    path: &Path,
) -> Result<(Trace, ReadSummary), TraceError> {
    if requests.is_empty() {
        return Err(TraceError::Empty { path: path.to_owned(), of: String::new() });
    }
    let misfit = |source| TraceError::Misfit { path: path.to_owned(), source };
    let entries = table.into_entries();
    let names = Names::Numbers(entries.iter().map(|entry| entry.id).collect());
    let sizes = largest_size::table(entries.iter().map(|entry| entry.seen), &mut told);
    drop(entries);
    let mut trace = Trace::new(requests, names).map_err(misfit)?;
    trace = trace.with_seconds(seconds).map_err(misfit)?;
    if let Some(sizes) = sizes {
        trace = trace.with_size_table(sizes).map_err(misfit)?;
    }
    Ok((trace, told))
}

/// Whether the beginning of a file looks like this format: times that never fall, and each `next`
/// a later request or none.
#[must_use]
pub fn is_plausible(head: &[u8]) -> bool {
    are_records(head) && first_fall(head).is_none()
}

/// Where a file whose beginning looks like this format but for that has a time that falls: the
/// number of the record, from 0.
#[must_use]
pub fn falls_at(head: &[u8]) -> Option<usize> {
    if are_records(head) { first_fall(head) } else { None }
}

/// Whether each `next` is that of a later request, or none.
fn are_records(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let plausible = records.iter().enumerate().all(|(at, record)| {
        let [.., n0, n1, n2, n3, n4, n5, n6, n7] = *record;
        let next = i64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        // Beyond 2^40 requests it is something else; libCacheSim writes 2^63 - 1 for none too.
        let later = usize::try_from(next).is_ok_and(|next| next > at && next < 1 << 40);
        later || next == -1 || next == i64::MAX
    });
    plausible && !records.is_empty()
}

fn first_fall(head: &[u8]) -> Option<usize> {
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let time = |record: &[u8; RECORD_BYTES]| {
        let [t0, t1, t2, t3, ..] = *record;
        u32::from_le_bytes([t0, t1, t2, t3])
    };
    records.windows(2).position(|two| time(&two[1]) < time(&two[0])).map(|at| at + 1)
}

/// Writes a trace, with `next` computed.
///
/// What a trace does not have becomes: no times, 0; no sizes, 1 byte; names that are text, their
/// dense numbers.
///
/// *Errors*: an object of 4 GiB or more, a writer that fails.
///
/// *Cost*: 4 bytes a request and an object beside the trace.
pub fn write(trace: &Trace, out: &mut impl Write, path: &Path) -> Result<(), TraceError> {
    let failed = |source| TraceError::Write { path: path.to_owned(), source };
    if let Some(bytes) = trace.sizes().map(super::SizeTable::largest)
        && u32::try_from(bytes).is_err()
    {
        return Err(TraceError::TooWide { bytes });
    }
    let next = trace.next_uses();
    let mut block = Vec::with_capacity(BLOCK_RECORDS * RECORD_BYTES);
    for (at, (&object, &next)) in trace.requests().iter().zip(&next).enumerate() {
        let second = trace.seconds().map_or(0, |seconds| seconds[at]);
        let id = match trace.names() {
            Names::Numbers(numbers) => numbers[object as usize],
            Names::Text { .. } => u64::from(object),
        };
        let size = trace.sizes().map_or(1, |sizes| sizes.of(object));
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let next = if next == NEVER { -1 } else { i64::from(next) + 1 };
        block.extend_from_slice(&second.to_le_bytes());
        block.extend_from_slice(&id.to_le_bytes());
        block.extend_from_slice(&size.to_le_bytes());
        block.extend_from_slice(&next.to_le_bytes());
        if block.len() == block.capacity() {
            out.write_all(&block).map_err(failed)?;
            block.clear();
        }
    }
    out.write_all(&block).and_then(|()| out.flush()).map_err(failed)
}

/// Writes a trace to a file, which is whole or as it was.
///
/// *Errors*: as [`write()`].
pub fn write_file(trace: &Trace, path: &Path) -> Result<(), TraceError> {
    save(path, |out| write(trace, out, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::SizeTable;
    use std::io::Cursor;

    fn record(second: u32, id: u64, size: u32, next: i64) -> Vec<u8> {
        let mut record = second.to_le_bytes().to_vec();
        record.extend_from_slice(&id.to_le_bytes());
        record.extend_from_slice(&size.to_le_bytes());
        record.extend_from_slice(&next.to_le_bytes());
        record
    }

    fn sample() -> Vec<u8> {
        [
            record(7, u64::MAX, 10, 3),
            record(7, 0, 0, -1),
            record(9, u64::MAX, 12, -1),
            record(8, 5, u32::MAX, -1),
        ]
        .concat()
    }

    fn read_bytes(bytes: &[u8], limits: &Limits) -> Result<(Trace, ReadSummary), TraceError> {
        let length = Some(bytes.len() as u64);
        read(Input::new(Cursor::new(bytes.to_vec()), Path::new("t"), length)?, limits)
    }

    #[test]
    fn reads_records() {
        let (trace, told) = read_bytes(&sample(), &Limits::default()).unwrap();
        assert_eq!(trace.requests(), [0, 1, 0, 2]);
        assert_eq!(trace.names(), &Names::Numbers(vec![u64::MAX, 0, 5]));
        assert_eq!(trace.sizes(), Some(&SizeTable::Narrow(vec![12, 0, u32::MAX])));
        assert_eq!(trace.seconds(), Some(&[0, 0, 2, 2][..]));
        assert_eq!((told.lines, told.requests_without_size, told.objects_without_size), (4, 1, 1));
        assert_eq!((told.sizes_differ, told.out_of_order), (1, 1));
    }

    #[test]
    fn every_cut_is_an_error_or_a_shorter_trace() {
        let sample = sample();
        for len in 0..sample.len() {
            let read = read_bytes(&sample[..len], &Limits::default());
            match read {
                Ok((trace, _)) => assert_eq!(trace.len() * RECORD_BYTES, len),
                Err(TraceError::Empty { .. }) => assert_eq!(len, 0),
                Err(error) => {
                    let place = format!("at byte {}", len / RECORD_BYTES * RECORD_BYTES);
                    assert!(error.to_string().contains(&place), "{error}");
                }
            }
        }
    }

    #[test]
    fn limits_hold() {
        let limits = Limits { requests: 3, ..Limits::default() };
        let error = read_bytes(&sample(), &limits).unwrap_err();
        assert!(error.to_string().contains("at most 3 requests"), "{error}");
    }

    #[test]
    fn what_is_written_reads_back() {
        let (trace, _) = read_bytes(&sample(), &Limits::default()).unwrap();
        let mut out = Vec::new();
        write(&trace, &mut out, Path::new("t")).unwrap();
        let expected = [
            record(0, u64::MAX, 12, 3),
            record(0, 0, 0, -1),
            record(2, u64::MAX, 12, -1),
            record(2, 5, u32::MAX, -1),
        ]
        .concat();
        assert_eq!(out, expected);
        assert_eq!(read_bytes(&out, &Limits::default()).unwrap().0, trace);
        assert!(is_plausible(&out) && !is_plausible(b"time,object,size\n1,2,3\n4,5,6\n"));
        assert!(!is_plausible(&record(0, 0, 0, 1)[..23]));
    }

    #[test]
    fn what_the_format_cannot_hold_is_refused() {
        let text = Names::Text { bytes: b"ab".to_vec(), ends: vec![1, 2] };
        let trace = Trace::new(vec![0, 1, 0], text).unwrap();
        let mut out = Vec::new();
        write(&trace, &mut out, Path::new("t")).unwrap();
        assert_eq!(out, [record(0, 0, 1, 3), record(0, 1, 1, -1), record(0, 0, 1, -1)].concat());
        let wide = trace.with_sizes(vec![1, 1 << 32]).unwrap();
        let error = write(&wide, &mut Vec::new(), Path::new("t")).unwrap_err();
        assert!(error.to_string().contains("4294967296"), "{error}");
    }
}
