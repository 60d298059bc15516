//! What is to be said of a run in which no request succeeded.

use crate::{Counters, ErrorKind};

/// Why nothing succeeded; `None` where something did, or nothing has ended yet.
pub(super) fn note(counters: &Counters) -> Option<String> {
    if counters.succeeded > 0 {
        return None;
    }
    redirected(counters).or_else(|| failed(counters))
}

/// What is to be said where every answer sends the client elsewhere, and none was expected to.
fn redirected(counters: &Counters) -> Option<String> {
    let sends_on = |code: &u16| matches!(code, 300..=303 | 307 | 308);
    let codes: Vec<u16> = counters.status.iter().map(|(code, _)| *code).collect();
    let all = !codes.is_empty() && codes.iter().all(sends_on) && counters.succeeded == 0;
    all.then(|| {
        let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
        format!(
            "every answer was {}: redirects are not followed unless --follow says so; ask for \
             where they lead, or say by --ok that they are what you expect",
            codes.join(" or ")
        )
    })
}

fn failed(counters: &Counters) -> Option<String> {
    let happened = |kind: &ErrorKind| counters.errors_of(*kind) > 0;
    let kinds: Vec<ErrorKind> = ErrorKind::ALL.into_iter().filter(happened).collect();
    let is_looked_at = kinds
        .iter()
        .any(|kind| matches!(kind, ErrorKind::Check | ErrorKind::Take | ErrorKind::Redirect));
    let word = |kind: &ErrorKind| match kind {
        // Where answers failed otherwise, too, a status need not be what was wrong with them.
        ErrorKind::Status if !is_looked_at => {
            let mut codes: Vec<u16> = counters.status.iter().map(|(code, _)| *code).collect();
            codes.sort_unstable();
            let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
            format!("status {}", codes.join(" or "))
        }
        kind => kind.name().replace('_', " "),
    };
    let words: Vec<String> = kinds.iter().map(word).collect();
    (!words.is_empty()).then(|| format!("every request failed: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(errors: &[(ErrorKind, u64)], status: &[(u16, u64)]) -> Counters {
        let mut counters = Counters::default();
        errors.iter().for_each(|(kind, n)| counters.errors[*kind as usize] = *n);
        counters.status = status.to_vec();
        counters
    }

    #[test]
    fn what_failed_is_named() {
        let of = |errors: &[_], status: &[_]| note(&counters(errors, status));
        let says = |text: &str| Some(format!("every request failed: {text}"));
        assert_eq!(of(&[(ErrorKind::Status, 3)], &[(404, 3)]), says("status 404"));
        let both = [(404, 1), (500, 2)];
        assert_eq!(of(&[(ErrorKind::Status, 3)], &both), says("status 404 or 500"));
        let checked = [(ErrorKind::Status, 1), (ErrorKind::Check, 2)];
        assert_eq!(of(&checked, &[(200, 2), (404, 1)]), says("status, check"));
        let silent = [(ErrorKind::Timeout, 1), (ErrorKind::InFlightAtEnd, 2)];
        assert_eq!(of(&silent, &[]), says("timeout, in flight at end"));
        assert!(of(&[(ErrorKind::Status, 2)], &[(302, 2)]).unwrap().contains("--follow"));
        assert_eq!(of(&[], &[]), None, "nothing has ended yet");
        let some = Counters { succeeded: 1, ..counters(&[(ErrorKind::Status, 3)], &[(404, 3)]) };
        assert_eq!(note(&some), None);
    }
}
