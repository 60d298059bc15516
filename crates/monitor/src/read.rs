//! Files of the kernel, read whole and bounded, and the numbers in them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::collector::CollectError;
use crate::sample::{Group, Samples, Series};

/// The longest file that is read: far above any of the kernel's that has a fixed number of lines.
const MOST: usize = 4 << 20;

/// The text of a file; `None` where there is none, or the kernel does not support what it tells
/// of.
pub(crate) fn text(path: &Path) -> Result<Option<String>, CollectError> {
    let mut bytes = Vec::with_capacity(4096);
    let read = File::open(path).and_then(|file| {
        // One more than the most tells a longer file from one of just that length.
        file.take(MOST as u64 + 1).read_to_end(&mut bytes)
    });
    match read {
        Ok(length) if length > MOST => {
            Err(CollectError::Long { what: path.display().to_string(), most: MOST })
        }
        Ok(_) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(CollectError::File { path: path.to_owned(), source }),
    }
}

/// Whether an error says that there is no such file: pressure that the kernel was not started
/// with is there and cannot be opened.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    let unsupported = rustix::io::Errno::OPNOTSUPP.raw_os_error();
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(unsupported)
}

/// A number as the kernel and most services write them: digits, and nothing else.
pub(crate) fn count(word: &str) -> Option<f64> {
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    // What is above 2⁵³ is rounded: counters of nanoseconds are exact for 104 days.
    word.parse().ok().filter(|_| is_number)
}

/// A finite number, with or without a fraction or a sign.
pub(crate) fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Reads lines `KEY VALUE …` of which a group knows some. A known one whose value is no number is
/// left out.
pub(crate) fn keyed(text: &str, group: &'static Group, out: &mut Samples) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(key) = words.next() else { continue };
        let Some(series) = group.find(key.trim_end_matches(':')) else { continue };
        match words.next().and_then(count) {
            Some(value) => out.push(series, &[], value),
            None => out.leave_out(1, format!("{key} in {}", group.source)),
        }
    }
}

/// Reads a row of which a group knows some fields by their numbers, counted from 1. A row that
/// lacks one of them, or has something else than a number there, is left out whole.
pub(crate) fn row<'a>(
    words: impl IntoIterator<Item = &'a str>,
    group: &'static Group,
    labels: &[&str],
    out: &mut Samples,
) {
    let fields: Vec<&str> = words.into_iter().collect();
    let value = |series: &Series| {
        let field: usize = series.key.parse().ok()?;
        count(fields.get(field.checked_sub(1)?)?)
    };
    let values: Option<Vec<f64>> = group.series.iter().map(value).collect();
    match values {
        Some(values) => {
            for (series, value) in group.series.iter().zip(values) {
                out.push(series, labels, value);
            }
        }
        None => out.leave_out(1, format!("the row of {:?} in {}", labels.concat(), group.source)),
    }
}
