//! SLOs as people of other tools write them, and how they are written here: `p(95)` of k6, clauses
//! joined by `and` or `&&`, times without a unit.

use plimsoll_units::ParseError;

use super::parse::is_number;

/// Where a text has `and` or `&&` between two clauses, and how long that word is.
pub(super) fn conjunction(text: &str) -> Option<(usize, usize)> {
    let stands_alone = |at: usize| {
        text[..at].ends_with(char::is_whitespace) && text[at + 3..].starts_with(char::is_whitespace)
    };
    let and = text.match_indices("and").find(|(at, _)| stands_alone(*at));
    let both = and.into_iter().chain(text.match_indices("&&").next());
    both.map(|(at, word)| (at, word.len())).min()
}

/// Clauses that `and` or `&&` joins, joined by commas, without blanks around them.
pub(super) fn by_commas(text: &str) -> String {
    match conjunction(text) {
        Some((at, len)) => format!("{},{}", text[..at].trim(), by_commas(&text[at + len..])),
        None => text.trim().to_owned(),
    }
}

/// The error of a metric that is a percentile as k6 writes it, `p(95)`, with how it is written
/// here.
pub(super) fn as_ours(error: ParseError, word: &str, clause: &str) -> ParseError {
    let percent = word.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
    match percent.filter(|percent| is_number(percent)) {
        Some(percent) => {
            let ours = clause.replacen(word, &format!("p{percent}"), 1);
            error.hint(format!("write {}", by_commas(&ours)))
        }
        None => error,
    }
}

/// The error of a time without a unit: a bound is hardly ever meant in seconds.
pub(super) fn in_milliseconds(error: ParseError, text: &str) -> ParseError {
    if !is_number(text) {
        return error;
    }
    error.hint(format!("units are us, ms, s, m and h: {text}ms is {text} milliseconds"))
}
