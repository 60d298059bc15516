//! Histograms as columns of a table: their exact values, then what is recorded in buckets.

use plimsoll_stats::histogram::{Compact, Exact, codec};
use rusqlite::types::Type;

/// Bytes of a histogram's column before its payload.
const EXACT: usize = 48;

/// A histogram as a column has it; none where it is empty.
pub(crate) fn encoded(times: &Compact) -> Option<Vec<u8>> {
    let Exact { min, max, sum, squares } = times.exact()?;
    let mut bytes = Vec::with_capacity(EXACT + 256);
    bytes.extend(min.to_le_bytes());
    bytes.extend(max.to_le_bytes());
    bytes.extend(sum.to_le_bytes());
    bytes.extend(squares.to_le_bytes());
    bytes.extend(codec::encode_v2_compressed(&times.to_histogram()));
    Some(bytes)
}

/// What a column says that is no histogram.
pub(crate) fn damaged(why: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, why.into())
}

/// A histogram as a column has it.
pub(crate) fn decoded(bytes: &[u8]) -> rusqlite::Result<Compact> {
    let (exact, payload) = bytes.split_at_checked(EXACT).ok_or_else(|| damaged("cut"))?;
    let eight = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&exact[at..at + 8]);
        u64::from_le_bytes(word)
    };
    let sixteen = |at: usize| u128::from(eight(at)) | u128::from(eight(at + 8)) << 64;
    let exact = Exact { min: eight(0), max: eight(8), sum: sixteen(16), squares: sixteen(32) };
    let histogram = codec::decode(payload).map_err(|error| damaged(&error.to_string()))?;
    Ok(Compact::of(&histogram, Some(exact)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_histograms_are_errors() {
        let mut times = Compact::default();
        times.record(77);
        let whole = encoded(&times).unwrap();
        assert_eq!(decoded(&whole).unwrap().exact(), times.exact());
        for len in 0..whole.len() {
            assert!(decoded(&whole[..len]).is_err(), "{len}");
        }
    }
}
