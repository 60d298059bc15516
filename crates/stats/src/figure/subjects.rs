//! Figures of the requests of a name or a label: `checkout: response_us.p99`, `@eu: errors`.

use super::{ALL, Figure, by_word, members};
use crate::subject::Subject;

/// The objects and fields that a subject has figures of.
const OBJECTS: [&str; 3] = ["response_us.", "service_us.", "duration_us."];
const FIELDS: [&str; 3] = ["offered", "succeeded", "errors"];
/// What those of a label have beside: who they are, and the broadcasts that they received.
const OF_LABEL: [&str; 2] = ["users.arrived", "websocket.broadcast.latency_us."];

fn has(subject: &Subject, of: &Figure) -> bool {
    let is_label = subject.name.is_none();
    OBJECTS.iter().any(|object| of.name.starts_with(object))
        || FIELDS.contains(&of.name)
        || is_label && OF_LABEL.iter().any(|label| of.name.starts_with(label))
}

/// A figure of a subject; `None` where subjects have none of it.
#[must_use]
pub fn of_subject(subject: &Subject, of: &'static Figure) -> Option<&'static Figure> {
    let (name, label) = (format!("{subject}: {}", of.name), format!("{subject} {}", of.label));
    has(subject, of).then(|| members::like(of, &name, &label))?
}

/// What a figure of a subject is of, and the figure of the whole run that it is like; `None` for
/// every other figure.
#[must_use]
pub fn subject_of(figure: &Figure) -> Option<(Subject, &'static Figure)> {
    split(figure.name, whole)
}

fn split(
    word: &str,
    find: impl Fn(&Subject, &str) -> Option<&'static Figure>,
) -> Option<(Subject, &'static Figure)> {
    let (subject, at) = Subject::split(word).ok()??;
    let of = find(&subject, word[at..].trim())?;
    Some((subject, of))
}

/// The figure of the whole run of a name, where a subject has one like it.
fn whole(subject: &Subject, name: &str) -> Option<&'static Figure> {
    ALL.iter().find(|of| of.name == name && has(subject, of)).copied()
}

/// The figure of a subject of that name.
pub(super) fn member(name: &str) -> Option<&'static Figure> {
    let (subject, of) = split(name, whole)?;
    of_subject(&subject, of).filter(|of| of.name == name)
}

/// The figure of a subject that a word means: what is behind the colon as of the whole run.
pub(super) fn called(word: &str) -> Option<&'static Figure> {
    let (subject, of) = split(word, |subject, rest| {
        let is_there = |of: &Figure| has(subject, of);
        let received = || by_word(&format!("broadcast.{rest}"), &is_there);
        by_word(rest, &is_there).or_else(received)
    })?;
    of_subject(&subject, of)
}

#[cfg(test)]
mod tests {
    use super::super::{called as by, named};

    #[test]
    fn a_figure_of_a_subject_is_like_that_of_the_whole_run() {
        for (word, name, label) in [
            ("checkout: p99", "checkout: response_us.p99", "checkout response p99"),
            ("checkout: response_us.p99", "checkout: response_us.p99", "checkout response p99"),
            ("predict@eu:p50", "predict@eu: response_us.p50", "predict@eu response p50"),
            ("'a,b' : errors", "'a,b': errors", "'a,b' errors"),
            ("@eu: latency_us.p99", "@eu: websocket.broadcast.latency_us.p99", "@eu broadcast p99"),
            ("buy: duration_us.mean", "buy: duration_us.mean", "buy duration mean"),
            ("@eu: users.arrived", "@eu: users.arrived", "@eu users arrived"),
        ] {
            let figure = by(word, |_| true).unwrap_or_else(|| panic!("{word}"));
            assert_eq!((figure.name, figure.label), (name, label));
            assert!(std::ptr::eq(named(name).unwrap(), figure), "{word}");
            let (subject, of) = super::subject_of(figure).unwrap();
            assert_eq!(format!("{subject}: {}", of.name), name);
            assert_eq!((figure.unit, figure.better), (of.unit, of.better));
            assert_eq!(by(word, |of| of.name != name), None, "what is not there means nothing");
        }
        for word in
            ["checkout: cost", "checkout: nonsense", "a: host.cpu", "a: users.arrived", ": p99"]
        {
            assert_eq!(by(word, |_| true), None, "{word}");
        }
        assert_eq!(super::subject_of(super::super::RESPONSE_US_P99), None);
    }
}
