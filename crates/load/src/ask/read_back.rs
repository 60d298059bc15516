//! Whether a data set that was written is there: a sample of its records is read, and compared with
//! what was written byte by byte. A store may take a record and not keep it: in a transaction that
//! nobody ends, in a column that is too short, in a memory that is too small.

use super::{CheckError, converse};
use crate::config::Config;
use crate::store::{Before, Failed, Store, Talk};
use plimsoll_workload::store::Operations;
use std::collections::BTreeSet;
use std::time::Duration;

/// The most records that are read.
const SAMPLE: u64 = 100;

/// What became of the records that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// How many were read.
    pub read: u64,
    /// Records that are not there.
    pub missing: u64,
    /// Records whose value is not the one that was written.
    pub different: u64,
    /// What is wrong with the first of these.
    pub first: Option<String>,
}

impl ReadBack {
    /// Whether each record has come back as it was written.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing == 0 && self.different == 0
    }

    fn note(&mut self, record: u64, wrong: &str) {
        self.first.get_or_insert_with(|| format!("record {record} {wrong}"));
    }
}

/// Reads up to a hundred records of a data set, spread evenly from the first to the last. Request n
/// of the store's operations has written record n.
///
/// # Errors
/// [`CheckError`]; nothing answers within `patience`, or not as such a store does.
pub fn read_back(
    config: &Config,
    store: &Store,
    patience: Duration,
) -> Result<ReadBack, CheckError> {
    converse(config, store, Before::Load, patience, |talk| compare(&store.operations, talk))
}

/// Reads the sample.
fn compare(operations: &Operations, talk: &mut dyn Talk) -> Result<ReadBack, Failed> {
    let mut found = ReadBack::default();
    for record in sample(operations.records()) {
        let operation = operations.at(record);
        let written = operations.value(&operation);
        found.read += 1;
        match talk.read(record)? {
            None => {
                found.missing += 1;
                found.note(record, "is not there");
            }
            Some((answer, len)) => {
                let is_there = memchr::memmem::find(&answer, written).is_some();
                let whole = written.len() as u64;
                let len = len.unwrap_or(whole);
                if len != whole {
                    let wrong = format!("has come back with {len} bytes of {whole}");
                    found.note(record, &wrong);
                } else if !is_there {
                    found.note(record, "has come back with other bytes");
                }
                found.different += u64::from(len != whole || !is_there);
            }
        }
    }
    Ok(found)
}

/// Up to [`SAMPLE`] of so many records.
fn sample(records: u64) -> BTreeSet<u64> {
    let Some(last) = records.checked_sub(1) else { return BTreeSet::new() };
    let steps = SAMPLE.min(records).saturating_sub(1).max(1);
    (0..=steps.min(last))
        .map(|step| {
            let at = u128::from(last) * u128::from(step) / u128::from(steps);
            u64::try_from(at).unwrap_or(last)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_goes_from_the_first_to_the_last() {
        for records in [0, 1, 2, 3, 99, 100, 101, 1000, u64::MAX] {
            let sample = sample(records);
            assert_eq!(sample.len() as u64, records.min(SAMPLE), "of {records}");
            if let Some(last) = records.checked_sub(1) {
                assert_eq!((sample.first(), sample.last()), (Some(&0), Some(&last)));
            }
        }
    }
}
