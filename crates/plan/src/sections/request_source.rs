//! What of `[target]` is said by several keys: what is asked for, headers, bodies, credentials.

use std::path::PathBuf;

use plimsoll_units::ParseError;
use plimsoll_workload::request::secrets::is_in_body;
use plimsoll_workload::request::{Credentials, Template, bearer};
use serde_json::{Value as Json, json};

use crate::describe::Describe;
use crate::flag::Group;
use crate::key::Choice;
use crate::nested::Inner;
use crate::reading::Reading;
use crate::reading::secret::{REDACTED, Secret, key_is_secret};
use crate::reading::text::quoted;
use crate::reading::tree::{Entry, Node, Value};
use crate::section::{Part, Section};
use crate::sections::header::Header;
use crate::sections::replay::Replay;
use crate::takes::{File, Line, Own, Parsed, Takes, text_schema};
use crate::write::Writer;

/// Which of the ways to say what is asked for.
pub(crate) static ASKED: Choice = Choice(&[("urls", &[]), ("replay", &[]), ("scenario", &[])]);
/// Which of the ways to authenticate.
pub(crate) static AUTH: Choice =
    Choice(&[("basic", &[]), ("bearer", &[]), ("basic_env", &[]), ("bearer_env", &[])]);
/// Where a body comes from.
pub(crate) static BODY: Choice = Choice(&[("body", &[]), ("body_file", &[])]);

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestSource {
    /// The target's URL.
    Url,
    /// The URLs of a file.
    List(PathBuf),
    /// The requests of an access log, in its order.
    Replay(Replay),
    /// What users do, as the scenario of a file has it.
    Scenario(PathBuf),
}

section! {
    [part]
    #[derive(Default)]
    pub(crate) struct AskedKeys {
        /// A list of what to ask for: a URL or path a line, a weight if wanted.
        urls: Option<PathBuf> { File, "urls.csv" } flag [Group::Asked.flag("urls", "FILE")]
        /// An access log that is asked for again, in its order.
        replay: Option<Replay> { Inner::<Replay>::told("file or table"), "access.log.gz" }
        /// What a user does, step by step: a scenario. `rate`, `schedule` and `users` of `[load]`
        /// count users then.
        scenario: Option<PathBuf> { File, "checkout.toml" }
            flag [Group::Asked.flag("scenario", "FILE")
                .says("What a user does, step by step; --rate, --users and -n count users then")]
    }
}

impl Part for RequestSource {
    type Keys = AskedKeys;

    fn of(keys: AskedKeys, section: &Section<'_>) -> Option<Self> {
        let asked = match section.chosen(&ASKED) {
            None => None,
            Some("urls") => keys.urls.map(Self::List),
            Some("scenario") => keys.scenario.map(Self::Scenario),
            Some(_) => {
                check_replay(section);
                keys.replay.map(Self::Replay)
            }
        };
        Some(asked.unwrap_or(Self::Url))
    }

    fn keys(&self) -> AskedKeys {
        let none = AskedKeys::default();
        match self.clone() {
            Self::Url => none,
            Self::List(file) => AskedKeys { urls: Some(file), ..none },
            Self::Replay(replay) => AskedKeys { replay: Some(replay), ..none },
            Self::Scenario(file) => AskedKeys { scenario: Some(file), ..none },
        }
    }
}

fn check_replay(section: &Section<'_>) {
    for key in ["method", "body", "body_file"].into_iter().filter(|key| section.has(key)) {
        let message = format!("`{key}` and `replay` exclude each other");
        section.fault_beside(key, "replay", message, Some("the log says what is asked"));
    }
}

/// A table with the names of headers, each with a value or a list of them.
pub(crate) const HEADERS: Own<Vec<Header>> = Own {
    takes: "table",
    schema: || {
        let one = json!({"type": "string"});
        let values = json!({"anyOf": [one, {"type": "array", "items": one}]});
        json!({"type": "object", "additionalProperties": values})
    },
    is_map: true,
    read: read_headers,
    write: |headers| write_headers(headers),
};

fn read_headers(reading: &Reading, node: &Node) -> Option<Vec<Header>> {
    let mut headers = Vec::new();
    for entry in reading.map(node) {
        let values = match &entry.node.value {
            Value::List(items) => &items[..],
            _ => std::slice::from_ref(&entry.node),
        };
        for node in values {
            let Some(text) = reading.text(node) else { continue };
            match Header::read(&entry.key, text) {
                Ok(header) => insert_beside(&mut headers, header),
                Err(error) => header_fault(reading, entry, node, error),
            }
        }
    }
    Some(headers)
}

fn write_headers(headers: &[Header]) -> String {
    Writer::table(|out| {
        for same in headers.chunk_by(|a, b| a.name == b.name) {
            match same {
                [one] => out.text(&one.name, one.shown()),
                several => {
                    let values = several.iter().map(|header| header.shown().to_owned());
                    out.list(&several[0].name, values);
                }
            }
        }
    })
}

/// The fault of a header at its name or within its value; a secret value is not repeated.
fn header_fault(reading: &Reading, entry: &Entry, node: &Node, error: ParseError) {
    let in_name = error.at < entry.key.len() || entry.key.is_empty();
    let place = if in_name && entry.key_place.span.is_some() {
        entry.key_place
    } else {
        let at = error.at.saturating_sub(entry.key.len());
        reading.sources[node.place.source].within(node.place, at, error.len)
    };
    let hidden = !in_name && key_is_secret(&entry.key);
    let message = if hidden { format!("expected {}", error.wanted) } else { error.to_string() };
    reading.fault(place, message, error.hint);
}

/// Keeps headers of one name together, in the order of their first.
fn insert_beside(headers: &mut Vec<Header>, header: Header) {
    let after = headers.iter().rposition(|there| there.name == header.name);
    headers.insert(after.map_or(headers.len(), |last| last + 1), header);
}

/// The body of every request.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// None, and no `content-length`.
    None,
    /// A text with placeholders.
    Text {
        /// As written.
        written: String,
        /// As rendered for each request.
        template: Template,
    },
    /// A file, sent as it is.
    File(PathBuf),
}

/// A text with placeholders, as it was written and as it is rendered.
const BODY_TEXT: Own<(String, Template)> = Own {
    takes: "template",
    schema: text_schema,
    is_map: false,
    read: read_body_text,
    write: write_body_text,
};

fn read_body_text(reading: &Reading, node: &Node) -> Option<(String, Template)> {
    let written = reading.text(node)?;
    Some((written.to_owned(), reading.parsed(node, "a body", Template::parse)?))
}

fn write_body_text((written, _): &(String, Template)) -> String {
    // What of it is a secret cannot be told from the rest.
    quoted(if is_in_body(written) { REDACTED } else { written })
}

section! {
    [part]
    #[derive(Default)]
    pub(crate) struct BodyKeys {
        /// The body of every request, with placeholders if wanted.
        body: Option<(String, Template)> { BODY_TEXT, r#"'{"n": {{random:1..100}}}'"# }
            flag [Group::Asked.flag("body", "TEXT").hyphened()]
        /// A file that is sent as the body, as it is.
        body_file: Option<PathBuf> { File, "body.json" }
            flag [Group::Asked.flag("body-file", "FILE")]
    }
}

impl Part for Body {
    type Keys = BodyKeys;

    fn of(keys: BodyKeys, section: &Section<'_>) -> Option<Self> {
        let body = match section.chosen(&BODY) {
            None => None,
            Some("body") => keys.body.map(|(written, template)| Self::Text { written, template }),
            Some(_) => keys.body_file.map(Self::File),
        };
        Some(body.unwrap_or(Self::None))
    }

    fn keys(&self) -> BodyKeys {
        let none = BodyKeys::default();
        match self.clone() {
            Self::None => none,
            Self::Text { written, template } => {
                BodyKeys { body: Some((written, template)), ..none }
            }
            Self::File(file) => BodyKeys { body_file: Some(file), ..none },
        }
    }
}

/// How to authenticate. `None` within stands for a secret that a printed plan left out.
#[derive(Debug, Clone, PartialEq)]
pub enum Auth {
    /// User and password.
    Basic(Option<Credentials>),
    /// A token.
    Bearer(Secret),
    /// The environment variable that holds user and password.
    BasicEnv(String),
    /// The environment variable that holds a token.
    BearerEnv(String),
}

pub(crate) const VARIABLE: Parsed<String> =
    Parsed::text("variable", "the name of an environment variable", variable);

/// A text that is never shown; the words of the manual for it.
struct Hidden(&'static str);

impl Describe for Hidden {
    fn takes(&self) -> String {
        self.0.to_owned()
    }

    fn schema(&self) -> Json {
        Line(self.0).schema()
    }
}

impl Takes for Hidden {
    type Value = Secret;

    fn read(&self, reading: &Reading, node: &Node) -> Option<Secret> {
        match &node.value {
            Value::Text(text) | Value::Typed(text) => Some(Secret::read(text)),
            _ => {
                reading.fault(node.place, "expected text", Some("put it in quotes".into()));
                None
            }
        }
    }

    fn write(&self, _: &Secret) -> String {
        quoted(REDACTED)
    }
}

section! {
    [part]
    #[derive(Default)]
    pub(crate) struct AuthKeys {
        /// Basic authentication. Never printed.
        basic: Option<Secret> { Hidden("user:password"), "me:secret" }
            flag [Group::Asked.flag("basic", "USER:PASSWORD").hyphened()
                .says("Basic authentication")]
        /// Bearer authentication. Never printed.
        bearer: Option<Secret> { Hidden("token"), "abc.def" }
            flag [Group::Asked.flag("bearer", "TOKEN").hyphened().says("Bearer authentication")]
        /// The environment variable that holds `user:password`.
        basic_env: Option<String> { VARIABLE, "SHOP_LOGIN" }
            flag [Group::Asked.flag("basic-env", "VARIABLE")]
        /// The environment variable that holds the token.
        bearer_env: Option<String> { VARIABLE, "SHOP_TOKEN" }
            flag [Group::Asked.flag("bearer-env", "VARIABLE")]
    }
}

impl Part for Option<Auth> {
    type Keys = AuthKeys;

    fn of(keys: AuthKeys, section: &Section<'_>) -> Option<Self> {
        Some(match section.chosen(&AUTH) {
            None => None,
            Some(key @ "basic") => keys.basic.and_then(|secret| basic(section, key, &secret)),
            Some(key @ "bearer") => keys.bearer.and_then(|secret| token(section, key, secret)),
            Some("basic_env") => keys.basic_env.map(Auth::BasicEnv),
            Some(_) => keys.bearer_env.map(Auth::BearerEnv),
        })
    }

    fn keys(&self) -> AuthKeys {
        let none = AuthKeys::default();
        match self.clone() {
            None => none,
            // What it is is not written.
            Some(Auth::Basic(_)) => AuthKeys { basic: Some(Secret::new(REDACTED)), ..none },
            Some(Auth::Bearer(token)) => AuthKeys { bearer: Some(token), ..none },
            Some(Auth::BasicEnv(name)) => AuthKeys { basic_env: Some(name), ..none },
            Some(Auth::BearerEnv(name)) => AuthKeys { bearer_env: Some(name), ..none },
        }
    }
}

fn basic(section: &Section<'_>, key: &str, secret: &Secret) -> Option<Auth> {
    let Some(text) = secret.reveal() else { return Some(Auth::Basic(None)) };
    if !text.contains(':') {
        let hint = "write user:password; keep it out of the plan with basic_env";
        section.fault(key, "expected user:password, found no colon", Some(hint));
        return None;
    }
    match Credentials::parse(text) {
        Ok(credentials) => Some(Auth::Basic(Some(credentials))),
        Err(error) => {
            section.fault(key, format!("expected {}", error.wanted), None);
            None
        }
    }
}

fn token(section: &Section<'_>, key: &str, secret: Secret) -> Option<Auth> {
    if let Some(Err(error)) = secret.reveal().map(bearer) {
        section.fault(key, format!("expected {}", error.wanted), None);
        return None;
    }
    Some(Auth::Bearer(secret))
}

/// A name as POSIX has it: letters, digits and `_`, no digit first.
fn variable(text: &str) -> Result<String, ParseError> {
    let wanted = "the name of an environment variable";
    let wrong = |at, len| {
        // What was put here may be the secret itself.
        ParseError::new(wanted, "another text", at, len)
            .hint("name the variable, not its value: bearer_env = \"TOKEN\"")
    };
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong(0, text.len()));
    }
    match text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        Some(_) => Err(wrong(0, text.len())),
        None => Ok(text.to_owned()),
    }
}
