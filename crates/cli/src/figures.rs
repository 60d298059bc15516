//! Figures that a flag names, by the words that plans take, too.

use crate::terminal::error::{Result, read};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::subject::parts;
use plimsoll_units::ParseError;

/// Some figures, and others that are none of them.
pub(crate) fn joined(
    usual: impl IntoIterator<Item = &'static Figure>,
    more: impl IntoIterator<Item = &'static Figure>,
) -> Vec<&'static Figure> {
    let mut all: Vec<&'static Figure> = usual.into_iter().collect();
    for figure in more {
        if !all.contains(&figure) {
            all.push(figure);
        }
    }
    all
}

/// The figures of `--figure`, which may name several with commas between them.
pub(crate) fn named(words: &[String]) -> Result<Vec<&'static Figure>> {
    let all = words.iter().flat_map(|words| parts(words)).map(str::trim);
    let one = |word: &str| {
        read("--figure", word, |word| {
            figure::called(word, |_| true).ok_or_else(|| {
                let error = ParseError::new("the name of a figure", word, 0, word.len());
                match figure::nearest(word) {
                    Some(near) => error.hint(format!("did you mean {near}?")),
                    None => error.hint("`runs show --json` has all that there are"),
                }
            })
        })
    };
    all.map(|word| Ok(one(word)?)).collect()
}
