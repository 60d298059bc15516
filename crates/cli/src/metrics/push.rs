//! Pushes figures to a receiver, from a thread of its own for which no request waits.
//!
//! What cannot be delivered waits, so much of it and no more; the oldest second is dropped first,
//! and counted.

use plimsoll_net::http::client::{Answer, Deadline, Error};
use plimsoll_units::failure::chain;
use plimsoll_units::show_count;
use serde_json::Value as Json;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So many seconds wait at most.
const MOST_WAITING: usize = 60;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what waits at the end may take to be delivered, all together.
const LINGER: Duration = Duration::from_secs(5);
/// How long is waited after a failure; after each further one in a row twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// How long is waited at most, whatever the receiver asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What came of pushing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Seconds that the receiver has taken.
    pub(super) delivered: u64,
    /// Seconds that it has not.
    pub(super) dropped: u64,
    /// Points that it has rejected of seconds that it has taken.
    pub(super) rejected: u64,
    /// What the last failure was.
    pub(super) why: Option<String>,
}

impl Tally {
    /// What a person has to know of it; `None` where all has been delivered.
    pub(super) fn told(&self, to: &str) -> Option<String> {
        let Self { delivered, dropped, rejected, why } = self;
        if dropped + rejected == 0 {
            return None;
        }
        let all = show_count(delivered + dropped);
        let mut text = format!("note: --otlp: {} of {all} seconds", show_count(*delivered));
        text += &format!(" were delivered to {to}");
        if *rejected > 0 {
            text += &format!(", which rejected {} points of them", show_count(*rejected));
        }
        Some(why.iter().fold(text, |text, why| format!("{text}: {why}")))
    }
}

/// What came of one try.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Taken,
    /// All but so many points.
    Partly(u64, String),
    /// It may be taken at another try, after so long where the receiver says it.
    Later(String, Option<Duration>),
    /// It is not taken at any.
    Refused(String),
}

/// Hands a body to a receiver within a time.
pub(super) trait Post: Send + 'static {
    /// What the receiver answers.
    ///
    /// # Errors
    /// As [`plimsoll_net::http::client::exchange`].
    fn post(&self, body: &[u8], within: Duration) -> Result<Answer, Error>;
    /// Nanoseconds since 1970.
    fn now_ns(&self) -> u64;
}

/// Pushes bodies, one after the other.
pub(super) struct Push {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    is_sending: bool,
    /// Failures in a row.
    failures: u32,
    tally: Tally,
    /// What has not been said yet.
    note: Option<String>,
    /// By when all must be over, once nothing more comes.
    end: Option<Deadline>,
    is_over: bool,
}

impl Push {
    /// Begins to push.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub(super) fn start(post: impl Post) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("otlp".to_owned()).spawn(move || own.deliver(&post))?;
        Ok(Self { shared })
    }

    /// Adds a second's body; what waits too long makes room.
    pub(super) fn add(&self, body: Vec<u8>) {
        let mut state = self.shared.lock();
        state.waiting.push_back(body);
        state.keep_within();
        self.shared.changed.notify_all();
    }

    /// What has come of it so far.
    pub(super) fn tally(&self) -> Tally {
        self.shared.lock().tally.clone()
    }

    /// What a person should hear now.
    pub(super) fn note(&self) -> Option<String> {
        self.shared.lock().note.take()
    }

    /// Delivers what waits, within [`LINGER`], and says what came of all.
    pub(super) fn finish(&self) -> Tally {
        let mut state = self.shared.lock();
        state.end.get_or_insert_with(|| Deadline::after(LINGER));
        self.shared.changed.notify_all();
        let waited = self.shared.changed.wait_timeout_while(state, LINGER, |state| !state.is_over);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let undelivered = state.waiting.len() + usize::from(state.is_sending);
        state.waiting.clear();
        state.is_over = true;
        Tally { dropped: state.tally.dropped + undelivered as u64, ..state.tally.clone() }
    }
}

impl State {
    /// Drops the oldest seconds where too many wait.
    fn keep_within(&mut self) {
        while self.waiting.len() + usize::from(self.is_sending) > MOST_WAITING {
            self.waiting.pop_front();
            self.tally.dropped += 1;
        }
    }

    /// Takes what came of a body. Returns how long to wait before the next try.
    fn settle(&mut self, body: Vec<u8>, outcome: Outcome, share: f64) -> Option<Duration> {
        self.is_sending = false;
        let failures = std::mem::take(&mut self.failures);
        let noted = |state: &mut Self, why: String| {
            if state.tally.why.as_ref() != Some(&why) {
                state.note = Some(why.clone());
            }
            state.tally.why = Some(why);
        };
        match outcome {
            Outcome::Taken => {
                self.tally.delivered += 1;
                if failures > 0 {
                    self.note = Some("it takes figures again".to_owned());
                    self.tally.why = None;
                }
                None
            }
            Outcome::Partly(points, why) => {
                self.tally.delivered += 1;
                self.tally.rejected += points;
                noted(self, why);
                None
            }
            Outcome::Refused(why) => {
                self.tally.dropped += 1;
                noted(self, why);
                None
            }
            Outcome::Later(why, asked) => {
                self.failures = failures.saturating_add(1);
                noted(self, why);
                self.waiting.push_front(body);
                self.keep_within();
                Some(delay(self.failures, asked, share))
            }
        }
    }
}

/// How long to wait after so many failures in a row: twice as long after each, and a random share
/// of it more or less, so that many who push do not come back all at once.
fn delay(failures: u32, asked: Option<Duration>, share: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(10));
    let own = doubled.min(LONGEST_WAIT).mul_f64(0.75 + share.clamp(0.0, 1.0) / 2.0);
    asked.map_or(own, |asked| asked.max(own)).min(LONGEST_WAIT)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, post: &impl Post) {
        let mut state = self.lock();
        while !state.is_over {
            if state.waiting.is_empty() && state.end.is_none() {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let within = state.end.as_ref().map_or(Ok(PATIENCE), Deadline::left);
            let (Ok(within), Some(body)) = (within, state.waiting.pop_front()) else { break };
            state.is_sending = true;
            drop(state);
            let answer = post.post(&body, within.min(PATIENCE));
            let now_ns = post.now_ns();
            state = self.lock();
            let share = (now_ns % 1_000_000) as f64 / 1e6;
            let Some(wait) = state.settle(body, judged(answer, now_ns), share) else { continue };
            // At the end a receiver that does not answer twice is given up.
            let wait = match &state.end {
                Some(_) if state.failures > 1 => break,
                Some(end) => wait.min(end.left().unwrap_or_default()),
                None => wait,
            };
            let had_end = state.end.is_some();
            let goes_on = |state: &mut State| state.end.is_some() == had_end && !state.is_over;
            let waited = self.changed.wait_timeout_while(state, wait, goes_on);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_over = true;
        self.changed.notify_all();
    }
}

/// What an answer means (OTLP specification 1, OTLP/HTTP response).
fn judged(answer: Result<Answer, Error>, now_ns: u64) -> Outcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error @ Error::Request(_)) => return Outcome::Refused(chain(&error)),
        Err(error) => return Outcome::Later(chain(&error), None),
    };
    let status = answer.status;
    match status {
        200..=299 => taken(&answer.body),
        429 | 502..=504 => {
            let asked = answer.header("retry-after").and_then(|text| asked_wait(text, now_ns));
            Outcome::Later(format!("it answers {status}"), asked)
        }
        300..=399 => Outcome::Refused(format!("it answers {status}, which is not followed")),
        _ => Outcome::Refused(format!("it answers {status}{}", excerpt(&answer.body))),
    }
}

/// `Retry-After`: seconds, or a date.
fn asked_wait(text: &str, now_ns: u64) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let at = chrono::DateTime::parse_from_rfc2822(text).ok()?.timestamp();
    let now = i64::try_from(now_ns / 1_000_000_000).ok()?;
    Some(Duration::from_secs(u64::try_from(at - now).unwrap_or(0)))
}

/// What of a body was taken; a receiver that says nothing has taken all of it.
fn taken(body: &[u8]) -> Outcome {
    let answer: Json = serde_json::from_slice(body).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    let rejected = match &partial["rejectedDataPoints"] {
        Json::String(text) => text.parse().unwrap_or(0),
        number => number.as_u64().unwrap_or(0),
    };
    match partial["errorMessage"].as_str().unwrap_or_default() {
        "" if rejected == 0 => Outcome::Taken,
        "" => Outcome::Partly(rejected, "it rejects some points".to_owned()),
        why => Outcome::Partly(rejected, format!("it says {}", short(why))),
    }
}

/// The beginning of what a receiver says beside a status; nothing of what is no text.
fn excerpt(body: &[u8]) -> String {
    let answer: Json = serde_json::from_slice(body).unwrap_or_default();
    let text = answer["message"].as_str().or_else(|| std::str::from_utf8(body).ok());
    let text = text.map(str::trim).filter(|text| !text.is_empty() && !text.starts_with('<'));
    text.map_or_else(String::new, |text| format!(": {}", short(text)))
}

fn short(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}

#[cfg(test)]
mod tests;
