//! What a simulated user does, step by step, and what he keeps meanwhile.
//!
//! A [`Scenario`] is read once and shared by all users. A [`User`] is a place in it with a small
//! memory: a few hundred bytes, no thread. He says what he does next ([`User::next`]), and is told
//! what came of it ([`User::answered`], [`User::broke`]); who drives him owns sockets and clocks.
//!
//! [`cookies`] is his jar, [`take`] finds in an answer what a later request needs, [`unpack`]
//! unpacks answers within bounds. [`har`] and [`from_log`] make scenarios of what a browser or a
//! server recorded.
//!
//! # Determinism
//!
//! What a user sends is a function of the scenario, the seed, his number and the answers that he
//! got. Each place of the file that draws has a stream of its own for each user. Only `{{date}}`
//! reads the clock, which is handed in, and `{{traceparent}}` never comes again.

mod check;
pub mod cookies;
mod data;
mod draws;
mod encoding;
mod exchange;
mod frame;
pub mod from_log;
pub mod har;
mod json;
mod message;
mod outcome;
mod program;
mod reference;
mod server_clock;
mod step;
pub mod take;
mod text;
pub mod unpack;
mod user;
mod written;

use std::sync::Arc;

pub use check::{Check, Checks, JsonTest};
pub use data::{Data, DataError, Each, RowOrder};
pub use encoding::{Encoding, Pipe, forms};
pub use exchange::{
    Broadcast, Compress, Expect, Form, Published, Reconnect, Rule, Say, Since1970, Upgrade,
    key as broadcast_key,
};
pub use json::Json;
pub use message::{Lane, Message, is_token};
pub use outcome::{Came, End, Failure, FailureKind, GroupEnd, Next, Now, Received, Sending};
pub use server_clock::ServerClock;
pub use step::{Ask, Condition, OnFailure, Rounds, Step, Taking, Test, Verb};
pub use text::{DateForm, Held, Names, Text, Unfilled, Value, Writing};
pub use user::{Counted, Heard, User};

use crate::request::Url;
use crate::traceparent::Traceparents;
use draws::Draws;
use program::Program;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// Steps that ask.
    Step,
    /// Groups of steps.
    Group,
    /// Steps that open a WebSocket.
    Handshake,
    /// Messages that are expected, or that a rule is for.
    Message,
    /// Messages that go to many.
    Broadcast,
}

/// A name whose figures are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub kind: NameKind,
}

/// What a scenario is made of.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// What reports call it.
    pub title: Option<String>,
    /// The steps of a user.
    pub steps: Vec<Step>,
    /// The steps of what is called, by number.
    pub called: Vec<Vec<Step>>,
    /// The names of steps and groups, by number.
    pub names: Vec<Name>,
    /// The names of variables, and what they hold at the beginning.
    pub variables: Vec<(String, Held)>,
    /// The data files.
    pub data: Vec<Data>,
    /// How many places draw.
    pub places: u32,
    /// Servers besides the target, which is number 0: these are 1, 2, … A scheme of none is the
    /// target's.
    pub hosts: Vec<Host>,
    /// The files that the scenario names, as they are written in it.
    pub files: Vec<std::path::PathBuf>,
    /// What of the environment is in it, in all forms.
    pub secrets: Vec<String>,
    /// What is done with messages that no step expects: the first that fits.
    pub rules: Vec<Rule>,
    /// The names of the WebSockets of a user, by their numbers from 1 on.
    pub channels: Vec<String>,
    /// How the server is asked for its time.
    pub clock: Option<ServerClock>,
    /// The label under which a user's figures are told.
    pub label: Option<Text>,
}

/// A server besides the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// `http` or `https`; of none the target's.
    pub scheme: Option<String>,
    /// Its name or address, lower case.
    pub host: String,
    /// Its port; of none the scheme's own.
    pub port: Option<u16>,
}

/// What users do: shared by all of them.
#[derive(Debug, Clone)]
pub struct Scenario {
    title: Option<String>,
    program: Program,
    names: Vec<Name>,
    variables: Vec<(String, Held)>,
    data: Vec<Data>,
    places: u32,
    origins: Vec<Url>,
    /// What `Host` says of each of them.
    authorities: Vec<String>,
    hosts: Vec<Host>,
    files: Vec<std::path::PathBuf>,
    secrets: Vec<String>,
    rules: Arc<[Rule]>,
    channels: Vec<String>,
    clock: Option<ServerClock>,
    label: Option<Text>,
    /// The variables with which what is asked for begins: what they hold may be a link.
    links: Vec<u16>,
    key: u64,
    traced: Option<Traced>,
}

/// Under which ids the requests of users are traced.
#[derive(Debug, Clone)]
struct Traced {
    by: Traceparents,
    /// Whether requests say so that do not of themselves.
    all: bool,
}

impl Scenario {
    /// The scenario of its parts, of users who ask `target`, under a seed.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let program = Program::of(parts.steps, parts.called);
        let links = program.asks().filter_map(|ask| ask.target.first_variable()).collect();
        Self {
            title: parts.title,
            program,
            links,
            names: parts.names,
            variables: parts.variables,
            data: parts.data,
            places: parts.places,
            origins: Vec::new(),
            authorities: Vec::new(),
            hosts: parts.hosts,
            files: parts.files,
            secrets: parts.secrets,
            rules: parts.rules.into(),
            channels: parts.channels,
            clock: parts.clock,
            label: parts.label,
            key: Draws::key(0),
            traced: None,
        }
    }

    /// The same, whose requests are traced under these ids: those that say so, or `all` of them.
    #[must_use]
    pub fn traced(mut self, by: Traceparents, all: bool) -> Self {
        self.traced = Some(Traced { by, all });
        self
    }

    /// The same for users who ask this server, under this seed.
    #[must_use]
    pub fn at(mut self, target: &Url, seed: u64) -> Self {
        self.key = Draws::key(seed);
        let target = &Url { scheme: target.scheme.of_requests(), ..target.clone() };
        let others = self.hosts.iter().map(|host| host.beside(target));
        self.origins = std::iter::once(target.clone()).chain(others).collect();
        self.authorities = self.origins.iter().map(Url::authority).collect();
        self
    }

    /// As [`Scenario::at`], shared.
    #[must_use]
    pub fn shared(self, target: &Url, seed: u64) -> Arc<Self> {
        Arc::new(self.at(target, seed))
    }

    /// What reports call it.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The names of steps and groups, in the file's order.
    #[must_use]
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// The servers that may be asked: the target, then `hosts`.
    #[must_use]
    pub fn origins(&self) -> &[Url] {
        &self.origins
    }

    /// What the `Host` header says of a server.
    #[must_use]
    pub fn authority(&self, origin: u16) -> &str {
        self.authorities.get(usize::from(origin)).map_or("", |of| of)
    }

    /// The files that it names, as they are written in it.
    #[must_use]
    pub fn files(&self) -> &[std::path::PathBuf] {
        &self.files
    }

    /// The name of a variable.
    #[must_use]
    pub fn variable(&self, number: u16) -> &str {
        self.variables.get(usize::from(number)).map_or("", |(name, _)| name)
    }

    /// What of it nobody may be shown.
    #[must_use]
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// The variables that the step of that number takes.
    pub fn taken_by(&self, step: u32) -> impl Iterator<Item = u16> {
        let asked = self.ask(step).into_iter().flat_map(|ask| &ask.takes);
        let said = self.say(step).into_iter().flat_map(|say| say.expects.iter());
        let said = said.flat_map(|expect| &expect.takes);
        asked.chain(said).map(|taking| taking.variable)
    }

    /// The same, whose loops without an end go round once: for who only looks at it.
    #[must_use]
    pub fn with_an_end(mut self) -> Self {
        for op in &mut self.program.ops {
            if let program::Op::Loop { rounds: rounds @ Rounds::UntilTheEnd, .. } = op {
                *rounds = Rounds::Times(1);
            }
        }
        self
    }

    /// How many users there can be, where rows of a data file are handed out once.
    #[must_use]
    pub fn most_users(&self) -> Option<u64> {
        let once = self.data.iter().filter(|data| data.order == RowOrder::Once);
        once.map(|data| data.rows() as u64).min()
    }

    /// The number of a server that may be asked.
    fn origin_of(&self, url: &Url) -> Option<u16> {
        let is_same = |origin: &Url| {
            origin.scheme.name == url.scheme.name
                && origin.host == url.host
                && origin.port == url.port
                && origin.unix.is_none()
        };
        u16::try_from(self.origins.iter().position(is_same)?).ok()
    }
}

impl Scenario {
    /// What the operation of that number asks for.
    fn ask(&self, op: u32) -> Option<&Ask> {
        match self.program.ops.get(op as usize) {
            Some(program::Op::Ask(ask)) => Some(ask),
            _ => None,
        }
    }

    /// What the operation of that number says over a WebSocket.
    fn say(&self, op: u32) -> Option<&Say> {
        match self.program.ops.get(op as usize) {
            Some(program::Op::Say(say)) => Some(say),
            _ => None,
        }
    }

    /// What the failure of an operation means.
    fn on_failure(&self, op: u32) -> OnFailure {
        let asks = self.ask(op).map(|ask| ask.on_failure);
        asks.or_else(|| self.say(op).map(|say| say.on_failure)).unwrap_or_default()
    }

    /// The name of a WebSocket of a user, by its number; empty where he has but one.
    #[must_use]
    pub fn channel(&self, number: u16) -> &str {
        let at = usize::from(number).checked_sub(1);
        at.and_then(|at| self.channels.get(at)).map_or("", |name| name)
    }

    /// How many WebSockets a user has at most.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels.len()
    }

    /// The rows that are handed out.
    #[must_use]
    pub fn data(&self) -> &[Data] {
        &self.data
    }

    /// Whether users have labels.
    #[must_use]
    pub fn has_labels(&self) -> bool {
        self.label.is_some()
    }

    /// How the server is asked for its time, where it is.
    #[must_use]
    pub fn clock(&self) -> Option<&ServerClock> {
        self.clock.as_ref()
    }

    /// The names of the rules' figures, in their order.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Whether a request of it says by itself under which id it is traced.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        let is_it = |text: &Text| text.values().any(|value| matches!(value, Value::Traceparent));
        self.asks().any(|ask| {
            is_it(&ask.target)
                || ask.headers.iter().any(|(_, value)| is_it(value))
                || ask.body.as_ref().is_some_and(is_it)
        })
    }

    /// What the steps ask for, in the file's order.
    pub fn asks(&self) -> impl Iterator<Item = &Ask> {
        self.program.asks()
    }
}

impl Host {
    /// Its URL, where it stands beside this target.
    fn beside(&self, target: &Url) -> Url {
        let scheme = match self.scheme.as_deref() {
            Some("https" | "wss") => &crate::request::HTTPS,
            Some(_) => &crate::request::HTTP,
            None => target.scheme,
        };
        Url {
            scheme,
            host: self.host.clone(),
            port: self.port.unwrap_or(scheme.port),
            target: "/".to_owned(),
            template: None,
            unix: None,
            credentials: None,
        }
    }
}
