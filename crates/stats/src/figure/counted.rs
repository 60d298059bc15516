//! Figures that are counted over the whole run, of users and of WebSockets: an SLO may bound each.

use super::{ALL, Figure};

/// The objects of `--json` that hold them.
const OBJECTS: [&str; 2] = ["users.", "websocket."];
/// What a word may leave out before the name of a figure of broadcasts.
const LEFT_OUT: &str = "websocket.";

fn all() -> impl Iterator<Item = &'static Figure> {
    ALL.iter().copied().filter(|of| OBJECTS.iter().any(|object| of.name.starts_with(object)))
}

/// The figure of that name, also where it begins with `broadcast.`; `None` for any other.
#[must_use]
pub fn counted(word: &str) -> Option<&'static Figure> {
    let is_called = |of: &&Figure| {
        let short = of.name.strip_prefix(LEFT_OUT).filter(|short| short.starts_with("broadcast."));
        of.name == word || short == Some(word)
    };
    all().find(is_called)
}

/// The names of all of them, for a hint.
pub fn counts() -> impl Iterator<Item = String> {
    all().map(|of| of.name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{BROADCAST_LATENCY_US_P99, USERS_FAILED, WEBSOCKET_SENT};
    use super::*;

    #[test]
    fn they_are_found_by_their_names_and_those_of_broadcasts_by_a_shorter_one() {
        assert_eq!(counted("users.failed"), Some(USERS_FAILED));
        assert_eq!(counted("websocket.sent"), Some(WEBSOCKET_SENT));
        for word in ["websocket.broadcast.latency_us.p99", "broadcast.latency_us.p99"] {
            assert_eq!(counted(word), Some(BROADCAST_LATENCY_US_P99));
        }
        for word in ["sent", "response_us.p99", "failed", "broadcast", ""] {
            assert_eq!(counted(word), None, "{word}");
        }
        assert!(counts().any(|name| name == "users.failed"));
    }
}
