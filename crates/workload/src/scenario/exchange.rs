//! Messages over a WebSocket: what a user sends, which ones he expects, and what is done with those
//! that nobody asked for.

use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use plimsoll_units::Words;
use plimsoll_units::hash::fnv_1a;
use serde_json::Value;

use super::check::Checks;
use super::step::{OnFailure, Taking};
use super::text::Text;

/// How messages on a connection are compressed (RFC 7692).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compress {
    /// Not at all: none is offered.
    Off,
    /// Each message by itself, where the server agrees: no memory for it while a connection waits.
    #[default]
    Each,
    /// With what was sent before, where the server agrees: 48 kB a connection.
    Context,
}

impl Words for Compress {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("each", Self::Each), ("context", Self::Context)];
}

/// How a WebSocket that was lost is opened again: each wait is drawn from nothing up to a bound,
/// which doubles from attempt to attempt ("full jitter").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// The longest wait before the first attempt, nanoseconds.
    pub first_ns: u64,
    /// The longest wait of all, nanoseconds.
    pub most_ns: u64,
    /// Its place among those that draw.
    pub place: u32,
}

impl Reconnect {
    /// The longest wait behind so many attempts in a row, nanoseconds.
    #[must_use]
    pub fn bound_ns(self, attempts: u32) -> u64 {
        let times = 1_u64.checked_shl(attempts).unwrap_or(u64::MAX);
        self.first_ns.saturating_mul(times).min(self.most_ns)
    }
}

/// What makes a WebSocket of the connection on which a step asks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Upgrade {
    /// The number of the user's connection, from 1 on: 0 is that of requests over HTTP.
    pub channel: u16,
    /// The protocols within the messages that are offered, the dearest first; often none. One may
    /// be a token of the user's, as browsers can set no header.
    pub protocols: Vec<Text>,
    /// Which compression is offered.
    pub compress: Compress,
    /// How it is opened again where it is lost; `None`: not at all.
    pub reconnect: Option<Reconnect>,
}

/// What a message is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Text, where its bytes are UTF-8.
    #[default]
    Text,
    /// Binary: its bytes as they are.
    Binary,
    /// Binary: the bytes that it stands for in base64, with padding or without.
    Base64,
}

impl Form {
    /// Whether it goes as a binary message.
    #[must_use]
    pub fn is_binary(self) -> bool {
        self != Self::Text
    }

    /// Makes of what is written what is sent; `false` where it cannot be.
    #[must_use]
    pub(super) fn make(self, said: &mut Vec<u8>) -> bool {
        if self != Self::Base64 {
            return true;
        }
        const ANY: GeneralPurpose = GeneralPurpose::new(
            &STANDARD,
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
        );
        let Ok(bytes) = ANY.decode(&said) else { return false };
        *said = bytes;
        true
    }
}

/// A step that sends a message, awaits some, or both.
#[derive(Debug, Clone)]
pub struct Say {
    /// The number of its name.
    pub name: u16,
    /// On which of the user's connections.
    pub channel: u16,
    /// What is sent; `None` where it only awaits.
    pub text: Option<Text>,
    /// What it is sent as.
    pub form: Form,
    /// What is expected, each entry met by messages of its own.
    pub expects: Arc<[Expect]>,
    /// What makes its user a subscriber once it is answered: the key of the broadcasts.
    pub subscribes: Option<Text>,
    /// What its failure means.
    pub on_failure: OnFailure,
    /// The data files that have something in it and a row for each step.
    pub stepwise: Vec<u16>,
    /// Whether it has a counter in it.
    pub counts: bool,
}

/// Messages that are expected.
#[derive(Debug, Clone)]
pub struct Expect {
    /// The number of its name, where it has figures of its own.
    pub name: Option<u16>,
    /// What such a message is.
    pub when: Checks,
    /// How many of them, at least 1.
    pub count: u32,
    /// How long they may take, from when the step's message was sent, nanoseconds; `None` is as
    /// long as any answer.
    pub within_ns: Option<u64>,
    /// What is taken from each.
    pub takes: Vec<Taking>,
}

/// What is done with messages that no step expects.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The number of its name.
    pub name: u16,
    /// On which connection; `None` on any.
    pub channel: Option<u16>,
    /// Which messages.
    pub when: Checks,
    /// What is taken from them.
    pub takes: Vec<Taking>,
    /// What is sent in answer.
    pub reply: Option<Text>,
    /// What that is sent as.
    pub form: Form,
    /// The data files that have something in the answer and a row for each.
    pub stepwise: Vec<u16>,
    /// Whether a counter is in the answer.
    pub counts: bool,
    /// What is measured of them.
    pub broadcast: Option<Broadcast>,
    /// The code by which the connection is closed behind them.
    pub close: Option<u16>,
}

/// How a server writes the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since1970 {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

/// Where a message that goes to many says what is measured of it, by JSON Pointers.
#[derive(Debug, Clone, Default)]
pub struct Broadcast {
    /// When it was published, a number or decimal text, and what that counts.
    pub published: Option<(String, Since1970)>,
    /// Its number within those of its key, which rises by 1.
    pub sequence: Option<String>,
    /// What it is about.
    pub key: Option<String>,
    /// How many before it the server has left out for this client.
    pub skipped: Option<String>,
}

/// What a broadcast has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// When it was published, nanoseconds since 1970.
    pub at_unix_ns: Option<u64>,
    /// Its number.
    pub sequence: Option<u64>,
    /// What it is about, as a hash; one that all have where no key is told.
    pub key: u64,
    /// How many before it were left out.
    pub skipped: u64,
}

impl Broadcast {
    /// What a message says, where it is JSON.
    ///
    /// # Errors
    /// What is not where it is looked for, in words that tell of a kind of message, not of one.
    pub(super) fn read(&self, message: Option<&Value>) -> Result<Published, String> {
        let message = message.ok_or_else(|| "it is no JSON".to_owned())?;
        let at = |pointer: &str, wanted: &str| {
            let found = message.pointer(pointer);
            let lacks = || format!("expected {wanted} at {pointer}, found {}", kind_of(found));
            (found, lacks())
        };
        let at_unix_ns = match &self.published {
            None => None,
            Some((pointer, unit)) => {
                let (found, lacks) = at(pointer, unit.wanted());
                Some(found.and_then(|of| unit.nanoseconds(of)).ok_or(lacks)?)
            }
        };
        let sequence = match &self.sequence {
            None => None,
            Some(pointer) => {
                let (found, lacks) = at(pointer, "a whole number");
                Some(found.and_then(whole).ok_or(lacks)?)
            }
        };
        // A server that has left nothing out may leave that out, too.
        let skipped = self.skipped.as_ref().and_then(|pointer| message.pointer(pointer));
        let key = match &self.key {
            None => 0,
            Some(pointer) => {
                let (found, lacks) = at(pointer, "a key");
                key_of(found.ok_or(lacks)?)
            }
        };
        Ok(Published {
            at_unix_ns,
            sequence,
            key,
            skipped: skipped.and_then(self::whole).unwrap_or(0),
        })
    }
}

/// What kind of value is found in a place.
fn kind_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(of)) if of.as_u64().is_none() => "a number that is none",
        Some(Value::Number(_)) => "another number",
        Some(Value::String(_)) => "other text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// The hash of a key as a message has it: of a text what it says, of another value its JSON.
fn key_of(value: &Value) -> u64 {
    match value {
        Value::String(text) => key(text.as_bytes()),
        other => key(other.to_string().as_bytes()),
    }
}

/// The hash of a key.
#[must_use]
pub fn key(text: &[u8]) -> u64 {
    fnv_1a(text)
}

/// A whole number, or one in decimal text.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

impl Since1970 {
    /// What is expected, in words.
    fn wanted(self) -> &'static str {
        match self {
            Self::Ns => "nanoseconds since 1970",
            Self::Us => "microseconds since 1970",
            Self::Ms => "milliseconds since 1970",
            Self::S => "seconds since 1970",
        }
    }

    /// Nanoseconds since 1970; what is beyond the year 2554, as of another unit, is its end.
    pub(super) fn nanoseconds(self, value: &Value) -> Option<u64> {
        let each: u64 = match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        };
        if let Some(number) = whole(value) {
            return Some(number.saturating_mul(each));
        }
        let number = match value {
            Value::String(text) => text.parse().ok()?,
            other => other.as_f64()?,
        };
        let ns = number * each as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the range that is checked"
        )]
        let whole = ns as u64;
        (ns >= 0.0).then_some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_are_read_as_numbers_and_as_text() {
        for (unit, value, ns) in [
            (Since1970::Ns, json!("1700000000123456789"), Some(1_700_000_000_123_456_789)),
            (Since1970::Ms, json!(1_700_000_000_123_u64), Some(1_700_000_000_123_000_000)),
            (Since1970::Ms, json!("1.5"), Some(1_500_000)),
            (Since1970::Us, json!(2.5), Some(2_500)),
            (Since1970::Ms, json!("soon"), None),
            (Since1970::Ms, json!(-1), None),
            (Since1970::Ms, json!(u64::MAX), Some(u64::MAX)),
            (Since1970::S, json!(1_700_000_000_123_u64), Some(u64::MAX)),
            (Since1970::S, json!(1_700_000_000.5), Some(1_700_000_000_500_000_000)),
            (Since1970::S, json!("nan"), None),
            (Since1970::S, json!("1700000000"), Some(1_700_000_000_000_000_000)),
        ] {
            assert_eq!(unit.nanoseconds(&value), ns, "{value}");
        }
    }

    #[test]
    fn a_broadcast_that_lacks_what_is_looked_for_is_none() {
        let broadcast = Broadcast {
            published: Some(("/at".to_owned(), Since1970::Ns)),
            sequence: Some("/seq".to_owned()),
            key: Some("/game".to_owned()),
            skipped: Some("/skipped".to_owned()),
        };
        let whole = json!({ "at": "12", "seq": 3, "game": "a", "skipped": 2 });
        let read = broadcast.read(Some(&whole)).unwrap();
        assert_eq!((read.at_unix_ns, read.sequence, read.skipped), (Some(12), Some(3), 2));
        assert_eq!(read.key, key(b"a"));
        assert!(broadcast.read(Some(&json!({ "at": "12", "seq": 3, "game": "a" }))).is_ok());
        for (lacks, said) in [
            (json!({ "seq": 3, "game": "a" }), "nanoseconds since 1970 at /at, found nothing"),
            (json!({ "at": "2026-11-29", "seq": 3, "game": "a" }), "at /at, found other text"),
            (json!({ "at": true, "seq": 3, "game": "a" }), "at /at, found true or false"),
            (json!({ "at": -1, "seq": 3, "game": "a" }), "at /at, found a number that is none"),
            (json!({ "at": 1, "game": "a" }), "a whole number at /seq, found nothing"),
            (json!({ "at": 1, "seq": 7.0, "game": "a" }), "at /seq, found a number that is none"),
            (json!({ "at": 1, "seq": [7], "game": "a" }), "at /seq, found a list"),
            (json!({ "at": 1, "seq": 7 }), "a key at /game, found nothing"),
        ] {
            let why = broadcast.read(Some(&lacks)).unwrap_err();
            assert!(why.contains(said), "{lacks}: {why}");
        }
        assert_eq!(broadcast.read(None).unwrap_err(), "it is no JSON");
    }
}
