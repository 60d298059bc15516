//! Paths with a service time of their own, and what was asked for by path.

use std::collections::BTreeMap;
use std::str::FromStr;

use plimsoll_units::ParseError;
use plimsoll_workload::distribution::Distribution;

use crate::http::answer::Status;

/// The most paths that are counted apart; those of the rest are counted together.
pub const MOST: usize = 1000;
/// How much of a path it is known by, bytes.
const MOST_BYTES: usize = 256;

/// A path with a service time of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct PathService {
    /// The path, without a query.
    pub path: String,
    /// The time that one worker needs for a request.
    pub service: Distribution,
}

impl FromStr for PathService {
    type Err = ParseError;

    /// Reads `/slow=exp:20ms`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wanted = "a path and its service time, such as /slow=exp:20ms";
        let wrong = || ParseError::new(wanted, text, 0, text.len());
        let (path, service) = text.rsplit_once('=').ok_or_else(wrong)?;
        if !path.starts_with('/') || path.contains(['?', '#']) || path.len() > MOST_BYTES {
            return Err(ParseError::new(wanted, path, 0, path.len()));
        }
        let service =
            Distribution::parse(service).map_err(|error| error.shifted(path.len() + 1))?;
        Ok(Self { path: path.to_owned(), service })
    }
}

/// What became of the requests for a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Requests read whole.
    pub requests: u64,
    /// Answered 200.
    pub succeeded: u64,
    /// Answered 500, as drawn.
    pub errors: u64,
    /// Answered 503: the queue was full.
    pub refused: u64,
    /// Answered 403: without the cookie, or the newest token.
    pub forbidden: u64,
}

impl PathCounts {
    pub(crate) fn count(&mut self, status: Status) {
        self.requests += 1;
        match status {
            Status::InternalError => self.errors += 1,
            Status::Unavailable => self.refused += 1,
            Status::Forbidden => self.forbidden += 1,
            _ => self.succeeded += 1,
        }
    }
}

/// The counts of all paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of each path, cut to 256 bytes.
    pub paths: BTreeMap<String, PathCounts>,
    /// Of those for which there was no room left.
    pub other: PathCounts,
}

impl Counts {
    pub(crate) fn count(&mut self, path: &[u8], status: Status) {
        let path = String::from_utf8_lossy(&path[..path.len().min(MOST_BYTES)]);
        let has_room = self.paths.len() < MOST;
        match self.paths.get_mut(&*path) {
            Some(counts) => counts.count(status),
            None if has_room => self.paths.entry(path.into_owned()).or_default().count(status),
            None => self.other.count(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_and_what_is_none_is_not() {
        let read: PathService = "/slow=a=exp:20ms".parse().unwrap();
        assert_eq!(
            (read.path.as_str(), read.service.to_string().as_str()),
            ("/slow=a", "exp:20ms")
        );
        for (text, at) in [("/slow", 0), ("slow=exp:1ms", 0), ("/a?b=exp:1ms", 0), ("/a=ex:1ms", 3)]
        {
            assert_eq!(text.parse::<PathService>().unwrap_err().at, at, "{text}");
        }
    }

    #[test]
    fn paths_beyond_what_is_kept_are_counted_together() {
        let mut counts = Counts::default();
        for n in 0..MOST + 5 {
            counts.count(format!("/{n}").as_bytes(), Status::Ok);
        }
        counts.count(b"/0", Status::Forbidden);
        counts.count(&[0xff; 1000], Status::Unavailable);
        assert_eq!(counts.paths.len(), MOST);
        let other = PathCounts { requests: 6, succeeded: 5, refused: 1, ..PathCounts::default() };
        assert_eq!(counts.other, other);
        assert_eq!((counts.paths["/0"].requests, counts.paths["/0"].forbidden), (2, 1));
    }
}
