//! The lines of a ledger: how they are written, and what they say together.
//!
//! A line may have been cut, by a disk that was full or a kill. It is taken off before another one
//! is written. Where one stands in the midst all the same, it is told, and it is no end: what comes
//! after it is read. What it would have told of was not made, as nothing is made that could not be
//! written down.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::{Owner, Serves, Stood};
use crate::thing::Thing;

/// How much of a file is read at once, from its end, bytes.
const BLOCK: usize = 4096;

/// A line of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<Owner>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) serves: Option<Serves>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stands: Option<Stood>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made: Option<Thing>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) gone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) falls: Option<bool>,
}

/// What a ledger says.
#[derive(Default)]
pub(crate) struct Contents {
    /// What is there by its number, in the order in which it was made.
    pub(crate) things: BTreeMap<u64, Thing>,
    /// The cell that it is of.
    pub(super) of: Option<Owner>,
    /// The instances that were ready, by their names.
    pub(super) serving: BTreeMap<String, Serves>,
    /// Where its instances are, where it was left standing.
    pub(super) stood: Option<Stood>,
    /// Whether somebody has begun to take it down.
    pub(crate) falls: bool,
    /// The greatest number.
    pub(super) last: u64,
    /// The numbers of lines that were cut, from 1. What they would have told of was not made.
    pub(crate) cut: Vec<usize>,
    /// The numbers of lines that are whole and not understood: those of a later version.
    pub(crate) unknown: Vec<usize>,
}

/// Appends a line. What is left of one that was cut is taken off before, and what was written of
/// this one where it cannot be written whole; where a file cannot be cut back, that is ended.
pub(super) fn append(file: &mut File, line: &Line) -> std::io::Result<()> {
    let text = serde_json::to_string(line).map_err(std::io::Error::other)?;
    let (length, whole) = (file.metadata()?.len(), whole(file)?);
    let is_cut = length > whole;
    let end = if is_cut && file.set_len(whole).is_err() { "\n" } else { "" };
    let written = file.write_all(format!("{end}{text}\n").as_bytes());
    if written.is_err() {
        let _ = file.set_len(whole);
    }
    written
}

/// The length of the whole lines of a file, bytes.
fn whole(file: &File) -> std::io::Result<u64> {
    let (mut end, mut block) = (file.metadata()?.len(), [0; BLOCK]);
    while end > 0 {
        let begin = end.saturating_sub(BLOCK as u64);
        let read = usize::try_from(end - begin).unwrap_or(BLOCK);
        file.read_exact_at(&mut block[..read], begin)?;
        if let Some(at) = block[..read].iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

/// Writes whether a bed is being taken down, by who holds its ledger: others wait for that.
pub(crate) fn falls(file: &mut File, falls: bool) -> std::io::Result<()> {
    append(file, &Line { falls: Some(falls), ..Line::default() })
}

/// Reads a ledger.
pub(crate) fn read(file: &File) -> Contents {
    let (mut contents, mut bytes) = (Contents::default(), Vec::new());
    let mut lines = BufReader::new(file);
    let mut number = 0;
    loop {
        bytes.clear();
        if !lines.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
            return contents;
        }
        number += 1;
        let text = bytes.trim_ascii();
        // What has no end yet is being written, or was not written: it tells of nothing.
        if text.is_empty() || !bytes.ends_with(b"\n") {
            continue;
        }
        match serde_json::from_slice::<Line>(text) {
            Ok(line) => contents.take(line),
            Err(_) if serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() => {
                contents.unknown.push(number);
            }
            Err(_) => contents.cut.push(number),
        }
    }
}

impl Contents {
    fn take(&mut self, line: Line) {
        self.last = self.last.max(line.id);
        match line {
            Line { of: Some(of), .. } => self.of = Some(of),
            Line { serves: Some(of), .. } => drop(self.serving.insert(of.name.clone(), of)),
            Line { stands: Some(stands), .. } => self.stood = Some(stands),
            Line { falls: Some(falls), .. } => self.falls = falls,
            Line { id, made: Some(thing), .. } => drop(self.things.insert(id, thing)),
            Line { id, .. } => drop(self.things.remove(&id)),
        }
    }
}
