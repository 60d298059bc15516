//! Writes a compiled trace.

use std::io::{self, Write};
use std::path::Path;

use super::checksum::{Checksum, STRIPE};
use super::{MAGIC, VERSION, kind};
use crate::trace::save::save;
use crate::trace::{Names, SizeTable, Trace, TraceError};

/// Bytes handed on at a time; whole stripes of the checksum.
const BLOCK: usize = 256 * 1024;

/// Writes a trace; the same trace gives the same bytes.
///
/// *Errors*: those of the writer.
pub fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let optional = [trace.sizes().is_some(), trace.seconds().is_some(), trace.clients().is_some()];
    let names = match trace.names() {
        Names::Numbers(_) => 1,
        Names::Text { .. } => 2,
    };
    let sections = 1 + names + optional.into_iter().map(u32::from).sum::<u32>();
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(&sections.to_le_bytes());
    head.extend_from_slice(&(trace.len() as u64).to_le_bytes());
    head.extend_from_slice(&u64::from(trace.distinct()).to_le_bytes());
    let mut checksum = Checksum::new();
    checksum.update(&head);
    out.write_all(&head)?;
    out.write_all(&checksum.finish().to_le_bytes())?;
    narrow(out, kind::REQUESTS, trace.requests())?;
    match trace.sizes() {
        Some(SizeTable::Narrow(sizes)) => narrow(out, kind::SIZES_NARROW, sizes)?,
        Some(SizeTable::Wide(sizes)) => wide(out, kind::SIZES_WIDE, sizes)?,
        None => {}
    }
    if let Some(seconds) = trace.seconds() {
        narrow(out, kind::SECONDS, &runs(seconds))?;
    }
    if let Some(clients) = trace.clients() {
        narrow(out, kind::CLIENTS, clients)?;
    }
    match trace.names() {
        Names::Numbers(numbers) => wide(out, kind::NAMES_NUMBERS, numbers)?,
        Names::Text { bytes, ends } => {
            wide(out, kind::NAMES_ENDS, ends)?;
            section(out, kind::NAMES_TEXT, bytes.len() as u64, bytes.chunks(BLOCK))?;
        }
    }
    out.flush()
}

/// Writes a trace to a file, which is whole or as it was.
///
/// *Errors*: a file that cannot be written.
pub fn write_file(trace: &Trace, path: &Path) -> Result<(), TraceError> {
    let failed = |source| TraceError::Write { path: path.to_owned(), source };
    save(path, |out| write(trace, out).map_err(failed))
}

/// Seconds as pairs of second and number of requests.
fn runs(seconds: &[u32]) -> Vec<u32> {
    let mut runs = Vec::new();
    for run in seconds.chunk_by(|a, b| a == b) {
        // A trace has fewer requests than 2^32.
        runs.extend([run[0], u32::try_from(run.len()).unwrap_or(u32::MAX)]);
    }
    runs
}

fn narrow(out: &mut impl Write, kind: u32, values: &[u32]) -> io::Result<()> {
    let blocks = values
        .chunks(BLOCK / 4)
        .map(|block| block.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    section(out, kind, values.len() as u64 * 4, blocks)
}

fn wide(out: &mut impl Write, kind: u32, values: &[u64]) -> io::Result<()> {
    let blocks = values
        .chunks(BLOCK / 8)
        .map(|block| block.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    section(out, kind, values.len() as u64 * 8, blocks)
}

fn section<B: AsRef<[u8]>>(
    out: &mut impl Write,
    kind: u32,
    bytes: u64,
    blocks: impl Iterator<Item = B>,
) -> io::Result<()> {
    let mut start = [0; STRIPE];
    start[..4].copy_from_slice(&kind.to_le_bytes());
    start[8..16].copy_from_slice(&bytes.to_le_bytes());
    let mut checksum = Checksum::new();
    checksum.update(&start);
    out.write_all(&start[..16])?;
    for block in blocks {
        checksum.update(block.as_ref());
        out.write_all(block.as_ref())?;
    }
    out.write_all(&checksum.finish().to_le_bytes())
}
