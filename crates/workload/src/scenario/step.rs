//! The steps of a scenario as they stand in its file, each with one verb.

use std::sync::Arc;

use plimsoll_units::Words;

use super::check::Checks;
use super::exchange::{Say, Upgrade};
use super::take::Take;
use super::text::{Text, Value};
use crate::distribution::Distribution;

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it does.
    pub verb: Verb,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Verb {
    /// Asks for something and awaits the answer.
    Ask(Box<Ask>),
    /// Sends a message over a WebSocket, awaits some, or both.
    Say(Box<Say>),
    /// Closes a WebSocket.
    Close {
        /// The number of the user's connection.
        channel: u16,
        /// The code that the server is told.
        code: u16,
    },
    /// Waits.
    Think {
        /// How long.
        time: Distribution,
        /// Its place among those that draw.
        place: u32,
    },
    /// Goes through steps several times.
    Loop {
        /// How many times.
        rounds: Rounds,
        /// Its place among those that draw.
        place: u32,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Goes one of several ways, by chance.
    Choose {
        /// The weight of each way, above zero, and its steps.
        ways: Vec<(f64, Vec<Step>)>,
        /// Its place among those that draw.
        place: u32,
    },
    /// Goes one of two ways.
    If {
        /// What decides.
        condition: Condition,
        /// Where it holds.
        then: Vec<Step>,
        /// Where it does not.
        otherwise: Vec<Step>,
    },
    /// Goes through steps that are a transaction with a time of its own.
    Group {
        /// The number of its name.
        name: u16,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Goes through the steps of another scenario of the file, by its number.
    Call(u32),
}

/// How often a loop goes round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// So many times.
    Times(u32),
    /// A number of times that is drawn, both bounds included.
    Between(u32, u32),
    /// Until the load ends.
    UntilTheEnd,
}

/// What a failed step means for its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// He ends.
    #[default]
    EndUser,
    /// He goes on with the next step.
    GoOn,
    /// The run ends.
    EndRun,
}

impl Words for OnFailure {
    const WORDS: &'static [(&'static str, Self)] =
        &[("end user", Self::EndUser), ("go on", Self::GoOn), ("end run", Self::EndRun)];
}

/// What a user asks for, and what he does with the answer.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The number of its name.
    pub name: u16,
    /// The method, as it goes on the request line.
    pub method: String,
    /// The number of the server.
    pub origin: u16,
    /// Path and query, or a reference of another kind where it begins with a hole.
    pub target: Text,
    /// Names of headers with their values.
    pub headers: Vec<(String, Text)>,
    /// The body; without one, none is sent.
    pub body: Option<Text>,
    /// What has to hold of the answer.
    pub checks: Checks,
    /// What is taken from it.
    pub takes: Vec<Taking>,
    /// How many redirects are followed.
    pub follow: u32,
    /// How much of the answer is kept, bytes.
    pub keep: u64,
    /// What its failure means.
    pub on_failure: OnFailure,
    /// The data files that have something in it and a row for each step.
    pub stepwise: Vec<u16>,
    /// Whether it has a counter in it.
    pub counts: bool,
    /// What makes a WebSocket of its connection, where it is to become one.
    pub upgrade: Option<Arc<Upgrade>>,
}

impl Ask {
    /// Whether the body of the answer is looked at, and not only counted.
    #[must_use]
    pub fn needs_body(&self) -> bool {
        self.checks.need_body() || self.takes.iter().any(|taking| taking.needs_body)
    }
}

/// Something that is taken from an answer.
#[derive(Debug, Clone)]
pub struct Taking {
    /// The variable that holds it from then on.
    pub variable: u16,
    /// Where it is found.
    pub take: Take,
    /// Whether it is looked for in the body.
    pub needs_body: bool,
    /// Its place among those that draw.
    pub place: u32,
}

/// What decides where a user goes on.
#[derive(Debug, Clone)]
pub struct Condition {
    /// What is looked at.
    pub value: Value,
    /// What has to hold of it.
    pub test: Test,
}

/// What has to hold of a value.
#[derive(Debug, Clone)]
pub enum Test {
    /// It is this text.
    Is(Text),
    /// It matches.
    Matches(regex::bytes::Regex),
    /// It is there, or is not.
    Set(bool),
}
