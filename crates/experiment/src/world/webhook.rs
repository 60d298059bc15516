//! Webhooks: what a rule that is watched tells to a URL, one after the other, on a thread of its
//! own, so that no sample and no second waits for it.
//!
//! The body has the rule, whether it holds, and the values that it saw; neither the plan nor a
//! secret. What is said of a webhook names its host and its path; the query may be a secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_net::http::client::{Ask, Dial, Error, Limits, Plain};
use plimsoll_net::tls::Tls;
use plimsoll_net::url::Url;
use plimsoll_plan::Plan;
use plimsoll_runs::Event;
use plimsoll_runs::event::Class;
use plimsoll_units::failure;
use plimsoll_units::secret::hidden;
use serde::Serialize;

use crate::error::ExperimentError;

/// The longest time of an attempt.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is tried again.
const RETRIES: u32 = 2;
/// How long is waited before it is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the end of a load waits for what is still to be told.
const LAST: Duration = Duration::from_secs(10);
/// The most that wait to be told: a rule that flaps every second fills no memory.
const MOST_WAITING: usize = 100;

/// The version of the body.
const SCHEMA: u32 = 1;

/// What is told.
#[derive(Debug, Clone, Serialize)]
struct Body<'a> {
    schema: u32,
    /// The plan's name; may be empty.
    name: &'a str,
    /// The rule's name.
    rule: &'a str,
    /// What it looks at.
    when: &'a str,
    /// Whether it began to hold, or ceased to.
    holds: bool,
    /// The last value of each of its clauses, for a person.
    values: &'a str,
    /// When, seconds since the load began.
    at_s: f64,
}

/// Something that is to be told.
struct Post {
    url: Url,
    rule: String,
    body: Vec<u8>,
    at_ns: u64,
}

/// A change of a rule.
pub(crate) struct Change<'a> {
    pub(crate) rule: &'a str,
    pub(crate) when: String,
    pub(crate) holds: bool,
    pub(crate) values: &'a str,
    pub(crate) at_ns: u64,
}

/// The webhook of a rule.
///
/// # Errors
/// A text that is no URL of HTTP, or one with a user.
pub(crate) fn url_of(rule: &str, text: &str) -> Result<Url, ExperimentError> {
    let is_whole = text.starts_with("http://") || text.starts_with("https://");
    let wrong = |why: String| {
        let text = format!("read the webhook of watch.{rule}: {why}");
        Err(ExperimentError::Conflict(text))
    };
    match Url::parse(text) {
        Ok(url) if is_whole => Ok(url),
        Ok(_) => wrong("expected a URL that begins with http:// or https://".to_owned()),
        // What was found may be a password.
        Err(error) => wrong(format!("expected {}", error.wanted)),
    }
}

/// Whether all webhooks of a plan can be asked.
///
/// # Errors
/// As for [`url_of`].
pub(crate) fn check(plan: &Plan) -> Result<(), ExperimentError> {
    let mut given = plan.watches.iter().filter_map(|(name, of)| Some((name, of.webhook.as_ref()?)));
    given.try_for_each(|(name, text)| url_of(name, text).map(drop))
}

/// A URL without what may be a secret.
fn shown(url: &Url) -> String {
    let whole = url.to_string();
    whole.split('?').next().unwrap_or_default().to_owned()
}

/// Tells webhooks until it is ended.
pub(crate) struct Webhooks {
    name: String,
    posts: Option<Sender<Post>>,
    waiting: Arc<AtomicUsize>,
    ends: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Webhooks {
    /// Begins to tell of the rules of a plan of this name. What fails is an event.
    pub(crate) fn start(name: &str, events: Sender<Event>) -> Self {
        let (posts, taken) = channel();
        let (ends, ended) = channel();
        let waiting = Arc::default();
        let worker = Worker { events, ended, waiting: Arc::clone(&waiting) };
        let thread = std::thread::Builder::new().name("webhook".to_owned());
        let thread = thread.spawn(move || worker.run(&taken)).ok();
        Self { name: name.to_owned(), posts: Some(posts), waiting, ends, thread }
    }

    /// Has a change told. Returns why not, where too many wait already.
    pub(crate) fn tell(&self, url: &Url, change: &Change<'_>) -> Option<String> {
        let Change { rule, when, holds, values, at_ns } = change;
        let body = Body {
            schema: SCHEMA,
            name: &self.name,
            rule,
            when,
            holds: *holds,
            values,
            at_s: *at_ns as f64 / 1e9,
        };
        let body = serde_json::to_string(&body).unwrap_or_default();
        let body = hidden(&body).into_owned().into_bytes();
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Some(format!("{rule}: its webhook was not told: {MOST_WAITING} wait already"));
        }
        let post = Post { url: url.clone(), rule: (*rule).to_owned(), body, at_ns: *at_ns };
        // The thread is gone where the host gave none.
        let _ = self.posts.as_ref().map(|posts| posts.send(post));
        None
    }
}

impl Drop for Webhooks {
    /// Waits for what is still to be told, for a bounded time.
    fn drop(&mut self) {
        self.posts = None;
        let _ = self.ends.send(());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Worker {
    events: Sender<Event>,
    ended: Receiver<()>,
    waiting: Arc<AtomicUsize>,
}

impl Worker {
    fn run(self, posts: &Receiver<Post>) {
        let tls = Tls::new(None, None);
        let mut last = None;
        for post in posts {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            let failed = match (post.url.secure, &tls) {
                (false, _) => self.deliver(&post, &Plain, &mut last),
                (true, Ok(tls)) => self.deliver(&post, tls, &mut last),
                (true, Err(error)) => Some(failure::chain(error)),
            };
            if let Some(why) = failed {
                let text =
                    format!("{}: its webhook {} was not told: {why}", post.rule, shown(&post.url));
                let kind = "webhook".to_owned();
                let event = Event { at_ns: post.at_ns, class: Class::Failure, kind, text };
                // The run takes no events any more where it has ended.
                let _ = self.events.send(event);
            }
        }
    }

    /// Tells once, and again where that failed. Returns why it could not be told. `last` is when
    /// the end of the load gives up on it.
    fn deliver(&self, post: &Post, dial: &dyn Dial, last: &mut Option<Clock>) -> Option<String> {
        let mut why = String::new();
        for attempt in 0..=RETRIES {
            if attempt > 0 {
                // Its end comes in the midst of the pause, or has come already.
                let _ = self.ended.recv_timeout(PAUSE).map(|()| *last = Some(Clock::start()));
            } else if self.ended.try_recv() != Err(TryRecvError::Empty) && last.is_none() {
                *last = Some(Clock::start());
            }
            let gone = last.map_or(0, |since| since.now());
            let left = LAST.saturating_sub(Duration::from_nanos(gone));
            if left.is_zero() {
                return Some("the load had ended".to_owned());
            }
            let headers = [("Content-Type", "application/json")];
            let asked =
                Ask { method: "POST", headers: &headers, body: &post.body, ..Ask::get(&post.url) };
            match asked.send(dial, Limits::within(PATIENCE.min(left))) {
                Ok(answer) if (200..300).contains(&answer.status) => return None,
                Ok(answer) => why = failure::chain(&Error::Status(answer.status)),
                Err(error) => why = failure::chain(&error),
            }
        }
        Some(why)
    }
}
