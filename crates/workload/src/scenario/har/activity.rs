//! Which requests of a recording are what a page waits for, and which go on behind it: event
//! streams, long polls, beacons, downloads. What goes on while the next page is asked for was
//! awaited by nobody: its end is no end of a page, and takes no time away in which a user thinks.

use super::recording::Entry;
use super::steps::{Timed, is_static_kind};

/// The shortest time for which a request must have been open before the next page is asked for, so
/// that it counts as one that goes on behind: what is shorter, a page has asked for as it came.
const LEAST_OPEN_MS: f64 = 1_000.0;
/// The shortest answer that may be a long poll.
const LEAST_POLL_MS: f64 = 5_000.0;
/// How far before its end something must have been asked for: clocks of recordings are coarse.
const SLACK_MS: f64 = 50.0;

/// What a request is for the times between pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Something waits for its end.
    Awaited,
    /// It is sent, and goes on behind what follows.
    Behind,
    /// It is open until the server has something to say, while users do other things.
    LongPoll,
    /// It has no end.
    EventStream,
}

/// What each entry is; they are in the order in which they were sent.
pub(super) fn of(entries: &[Timed]) -> Vec<Activity> {
    let is_open_behind: Vec<bool> =
        (0..entries.len()).map(|at| is_open_behind(entries, at)).collect();
    let is_poll = |at: usize| {
        is_open_behind[at] && took_ms(&entries[at].1) >= LEAST_POLL_MS && is_call(&entries[at].1)
    };
    let polls: Vec<&str> =
        (0..entries.len()).filter(|at| is_poll(*at)).map(|at| path_of(&entries[at].1)).collect();
    let repeats = |path: &str| polls.iter().filter(|of| **of == path).count() > 1;
    let mut found = Vec::with_capacity(entries.len());
    for (at, (_, entry)) in entries.iter().enumerate() {
        let path = path_of(entry);
        let is_long = is_call(entry) && took_ms(entry) >= LEAST_POLL_MS;
        // What was sent once with a body is an upload rather than a poll.
        let may_be_poll = entry.request.method == "GET" || repeats(path);
        found.push(if is_event_stream(entry, is_open_behind[at]) {
            Activity::EventStream
        } else if is_long && may_be_poll && polls.contains(&path) {
            Activity::LongPoll
        } else if is_open_behind[at] || is_beacon(entry) {
            Activity::Behind
        } else {
            Activity::Awaited
        });
    }
    found
}

/// Whether a user has gone on while a request was open.
fn is_open_behind(entries: &[Timed], at: usize) -> bool {
    let (at_ms, entry) = &entries[at];
    let end_ms = at_ms + took_ms(entry) - SLACK_MS;
    if end_ms - at_ms < LEAST_OPEN_MS {
        return false;
    }
    let is_long = took_ms(entry) >= LEAST_POLL_MS && !is_document(entry);
    let later = entries[at + 1..].iter().skip_while(|(ms, _)| ms - at_ms < LEAST_OPEN_MS);
    later.take_while(|(ms, _)| *ms < end_ms).any(|(_, other)| {
        let is_answered = other.response.status > 0;
        let is_other_page = match (&entry.page, &other.page) {
            (Some(own), Some(page)) => own != page,
            // A page within the page is told from another one by nothing else.
            _ => true,
        };
        let is_next_page = is_document(other) && is_other_page;
        // A page of one document: what is asked for meanwhile is what a user did.
        let is_call =
            is_long && is_call(other) && !is_beacon(other) && path_of(other) != path_of(entry);
        is_answered && (is_next_page || is_call)
    })
}

fn took_ms(entry: &Entry) -> f64 {
    entry.time.filter(|time| *time > 0.0).unwrap_or_default()
}

fn path_of(entry: &Entry) -> &str {
    entry.request.url.split(['?', '#']).next().unwrap_or_default()
}

/// Whether it is a page by itself, as far as the recording tells.
pub(super) fn is_document(entry: &Entry) -> bool {
    match entry.kind.as_deref() {
        Some(kind) => kind == "document",
        None => {
            let is_asked_by_script = entry.request.headers.iter().any(|field| {
                field.name.eq_ignore_ascii_case("x-requested-with")
                    || field.name.eq_ignore_ascii_case("sec-fetch-dest") && field.value == "empty"
            });
            entry.response.content.kind.contains("html") && !is_asked_by_script
        }
    }
}

/// Whether a script has asked for it: it is neither a page nor a file.
pub(super) fn is_call(entry: &Entry) -> bool {
    !is_document(entry) && !is_static_kind(entry)
}

/// Whether nobody waits for its answer.
pub(super) fn is_beacon(entry: &Entry) -> bool {
    matches!(entry.kind.as_deref(), Some("ping" | "beacon" | "cspviolationreport" | "csp_report"))
        || entry.request.headers.iter().any(|field| field.name.eq_ignore_ascii_case("ping-to"))
}

/// Whether the answer has no end: one that was asked for by POST may be read to its end.
fn is_event_stream(entry: &Entry, is_open_behind: bool) -> bool {
    let kind = &entry.response.content.kind;
    let is_stream = kind.starts_with("text/event-stream")
        || kind.starts_with("multipart/x-mixed-replace")
        || entry.request.headers.iter().any(|field| {
            field.name.eq_ignore_ascii_case("accept")
                && field.value.trim().eq_ignore_ascii_case("text/event-stream")
        });
    entry.kind.as_deref() == Some("eventsource")
        || is_stream && (entry.request.method == "GET" || is_open_behind)
}
