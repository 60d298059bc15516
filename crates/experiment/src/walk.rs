//! One user's way through a scenario, step by step, with all that was sent, came back and was
//! taken: for a person who writes one. Nothing is recorded, and think times are not waited for.

mod http2;
mod talk;

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_load::http2::ALPN;
use plimsoll_net::http::client::{Answer, Deadline, Dial, Peer, Request, Wire, exchange_over};
use plimsoll_plan::Http;
use plimsoll_units::failure::chain;
use plimsoll_workload::scenario::take::Headers;
use plimsoll_workload::scenario::{
    Came, End, Failure, Held, Message, Next, Now, Received, Scenario, Sending, User,
};
use talk::Talk;
pub use talk::{Came as MessageCame, Said};

/// So many requests are sent at most.
const MOST_REQUESTS: u32 = 1000;
/// Said where a server is asked by a socket of the file system.
const NO_SOCKET: &str = "a scenario is tried over TCP, not over a Unix socket";
/// The longest answer that is read, bytes.
const MOST_BYTES: usize = 64 << 20;

/// Something that the user did.
#[derive(Debug)]
pub enum Walked {
    /// He thinks for so many nanoseconds, which is not waited for.
    Thought(u64),
    /// He asked.
    Asked(Box<Exchange>),
    /// He sent a message over a WebSocket, awaited some, or both.
    Said(Box<Said>),
    /// He closed a WebSocket, by this code.
    Closed(u16),
    /// He did not ask, as his step failed before.
    Unsent {
        /// The step's name.
        name: String,
        /// Why.
        failure: Failure,
    },
}

/// A request and what came of it.
#[derive(Debug)]
pub struct Exchange {
    /// The step's name.
    pub name: String,
    /// Whether it follows a redirect.
    pub is_redirect: bool,
    /// The URL.
    pub url: String,
    /// What was sent.
    pub message: Message,
    /// What came back, or why nothing did.
    pub answer: Result<Answer, String>,
    /// The response time, nanoseconds.
    pub response_ns: u64,
    /// What was taken: names and values.
    pub taken: Vec<(String, String)>,
    /// Why the step has failed, where it has.
    pub failure: Option<Failure>,
}

/// How a walk has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All steps were gone through.
    Finished,
    /// A step failed, and the user ended with it.
    Failed,
    /// As many requests were sent as are at most.
    TooLong,
    /// There is no such user: the rows of a data file are used up.
    Nobody,
}

/// How a user walks.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    /// What he does, bound to a target.
    pub scenario: &'a Scenario,
    /// His number.
    pub number: u64,
    /// How he connects.
    pub dial: &'a dyn Dial,
    /// By which version of HTTP he asks.
    pub http: Http,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Tells nanoseconds since 1970.
    pub now_ns: fn() -> u64,
}

impl Walk<'_> {
    /// Walks to the end; each thing that is done is told to `tell`.
    ///
    /// # Errors
    /// What `tell` fails with.
    pub fn all<E>(&self, tell: &mut dyn FnMut(Walked) -> Result<(), E>) -> Result<Ending, E> {
        let began_ns = (self.now_ns)();
        // Think times pass at once: the user's clock runs ahead by them.
        let mut ahead_ns = 0;
        let now = |ahead_ns: u64| {
            let unix_ns = (self.now_ns)();
            Now { ns: unix_ns.saturating_sub(began_ns) + ahead_ns, unix_ns }
        };
        let Some(mut user) = User::new(self.scenario, self.number, 0) else {
            return Ok(Ending::Nobody);
        };
        let (mut groups, mut sent) = (Vec::new(), 0);
        let mut talks: BTreeMap<u16, Talk> = BTreeMap::new();
        // What telling takes is none of his time.
        let mut at = now(ahead_ns);
        loop {
            match user.next(self.scenario, at, &mut groups) {
                Next::Think { until_ns } => {
                    let rest = until_ns.saturating_sub(at.ns);
                    ahead_ns += rest;
                    at = Now { ns: until_ns, ..now(ahead_ns) };
                    tell(Walked::Thought(rest))?;
                }
                Next::Unsent { sending, failure } => {
                    let name = self.name(&sending);
                    tell(Walked::Unsent { name, failure })?;
                }
                Next::Done(End::Finished) => return Ok(Ending::Finished),
                Next::Done(End::Failed | End::EndRun) => return Ok(Ending::Failed),
                Next::Ask(_) | Next::Say { .. } if sent == MOST_REQUESTS => {
                    return Ok(Ending::TooLong);
                }
                Next::Say { sending, channel, sends, .. } => {
                    sent += 1;
                    let step = (self.name(&sending), sending.step, channel, sends);
                    let said = self.say(&mut user, &mut talks, step, || now(ahead_ns));
                    at = now(ahead_ns);
                    tell(Walked::Said(Box::new(said)))?;
                }
                Next::Close { channel, code } => {
                    if let Some(talk) = talks.remove(&channel) {
                        talk.close(code);
                    }
                    at = now(ahead_ns);
                    user.has_closed(at);
                    tell(Walked::Closed(code))?;
                }
                Next::Ask(sending) => {
                    sent += 1;
                    let (asked, done) = self.ask(&mut user, &mut talks, &sending, || now(ahead_ns));
                    at = done;
                    tell(Walked::Asked(Box::new(asked)))?;
                }
            }
        }
    }

    fn name(&self, sending: &Sending) -> String {
        let name = self.scenario.names().get(usize::from(sending.name));
        name.map_or(String::new(), |name| name.name.clone())
    }

    /// Sends what a user wants to, and tells him what came of it. Returns when that was.
    fn ask(
        &self,
        user: &mut User,
        talks: &mut BTreeMap<u16, Talk>,
        sending: &Sending,
        now: impl Fn() -> Now,
    ) -> (Exchange, Now) {
        let message = user.message().clone();
        let before = now();
        let (url, answer) = match &message.upgrade {
            None => self.send(&message),
            Some(upgrade) => {
                let (url, answer, talk) = self.open(&message);
                talks.extend(talk.map(|talk| (upgrade.channel, talk)));
                (url, answer)
            }
        };
        let after = now();
        let response_ns = after.ns.saturating_sub(before.ns);
        let came = match &answer {
            Ok(answer) => {
                let fields: Vec<(&[u8], &[u8])> = answer
                    .headers
                    .iter()
                    .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
                    .collect();
                let keep = usize::try_from(sending.keep).unwrap_or(usize::MAX);
                let received = Received {
                    status: answer.status,
                    headers: Headers(&fields),
                    body: &answer.body[..answer.body.len().min(keep)],
                    is_whole: answer.body.len() <= keep,
                };
                user.answered(self.scenario, &received, response_ns, after, &mut Vec::new())
            }
            Err(_) => {
                user.broke(self.scenario, after);
                Came::Passed
            }
        };
        let taken = match (&answer, &came) {
            (Ok(_), Came::Passed) => self.scenario.taken_by(sending.step).collect(),
            _ => Vec::new(),
        };
        let asked = Exchange {
            name: self.name(sending),
            is_redirect: sending.is_redirect,
            url,
            message,
            answer,
            response_ns,
            taken: taken.into_iter().map(|number| self.held(user, number)).collect(),
            failure: match came {
                Came::Failed(failure) => Some(failure),
                Came::Passed | Came::Redirected => None,
            },
        };
        (asked, after)
    }

    /// A variable of a user and what it holds.
    fn held(&self, user: &User, number: u16) -> (String, String) {
        let value = match user.variable(number) {
            Held::Nothing => String::new(),
            Held::Text(text) | Held::Json(text) => text.to_string(),
        };
        (self.scenario.variable(number).to_owned(), value)
    }

    /// Sends a message over a connection of its own.
    fn send(&self, message: &Message) -> (String, Result<Answer, String>) {
        let origin = self.scenario.origins().get(usize::from(message.origin));
        let Some(origin) = origin else {
            return (message.target.clone(), Err("there is no such server".to_owned()));
        };
        let url =
            plimsoll_workload::request::Url { target: message.target.clone(), ..origin.clone() };
        let shown = url.to_string();
        if url.unix.is_some() {
            return (shown, Err(NO_SOCKET.to_owned()));
        }
        let lines = String::from_utf8_lossy(&message.head);
        let headers: Vec<(&str, &str)> =
            lines.lines().filter_map(|line| line.split_once(": ")).collect();
        let host = url.authority();
        let request = Request {
            method: &message.method,
            target: &url.target,
            host: &host,
            headers: &headers,
            body: message.body.as_deref().unwrap_or_default(),
        };
        let peer = Peer { secure: url.scheme.is_secure, ..Peer::new(&url.host, url.port) };
        let deadline = Deadline::after(self.timeout);
        let mut wire = match self.dial.dial(peer, &deadline) {
            Ok(wire) => wire,
            Err(error) => return (shown, Err(chain(&error))),
        };
        let agrees = wire.agreed() == Some(ALPN);
        let answer = match self.http {
            Http::Two if peer.secure && !agrees => Err("it agrees on no HTTP/2".to_owned()),
            Http::Auto if !agrees => by_http1(&mut *wire, &request, &deadline),
            Http::One => by_http1(&mut *wire, &request, &deadline),
            Http::Two | Http::Auto => {
                http2::exchange(&mut *wire, message, (self.scenario, &url), &deadline)
            }
        };
        (shown, answer)
    }
}

/// Asks by HTTP/1.1 over a connection.
fn by_http1(
    wire: &mut dyn Wire,
    request: &Request<'_>,
    deadline: &Deadline,
) -> Result<Answer, String> {
    exchange_over(wire, request, deadline, MOST_BYTES).map_err(|error| chain(&error))
}
