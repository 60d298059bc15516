//! What of `[target]` is said by several keys: what is asked for, headers, bodies, credentials.

use std::path::PathBuf;

use plimsoll_units::ParseError;
use plimsoll_workload::request::{Credentials, Template, bearer};
use serde_json::{Value as Json, json};

use crate::describe::Describe;
use crate::header::Header;
use crate::key::{Choice, Key};
use crate::replay::Replay;
use crate::secret::REDACTED;
use crate::secret::{Secret, key_is_secret};
use crate::section::{Part, Section};
use crate::takes::{File, Form, Line, Nested, Parsed};
use crate::tree::{Entry, Node, Value};
use crate::write::Writer;

/// Which of the ways to say what is asked for.
pub(crate) static ASKED: Choice = Choice(&[("urls", &[]), ("replay", &[])]);
/// Which of the ways to authenticate.
pub(crate) static AUTH: Choice =
    Choice(&[("basic", &[]), ("bearer", &[]), ("basic_env", &[]), ("bearer_env", &[])]);
/// Where a body comes from.
pub(crate) static BODY: Choice = Choice(&[("body", &[]), ("body_file", &[])]);

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The target's URL.
    Url,
    /// The URLs of a file.
    List(PathBuf),
    /// The requests of an access log, in its order.
    Replay(Replay),
}

impl Part for Asked {
    const KEYS: &'static [Key] = &[
        key!("urls": File, "urls.csv",
            "A list of what to ask for: a URL or path a line, a weight if wanted."),
        key!("replay": Nested("file or table"), "access.log.gz",
            "An access log that is asked for again, in its order."),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let asked = match section.chosen(&ASKED) {
            None => None,
            Some("urls") => section.get("urls", &File).map(Self::List),
            Some(_) => read_replay(section).map(Self::Replay),
        };
        Some(asked.unwrap_or(Self::Url))
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Self::Url => {}
            Self::List(file) => out.put("urls", &File, file),
            Self::Replay(replay) => out.inline("replay", |out| replay.write_keys(out, &[])),
        }
    }
}

fn read_replay(section: &Section<'_>) -> Option<Replay> {
    let replay = section.inner(Replay::SECTION)?;
    for key in ["method", "body", "body_file"] {
        if section.has(key) {
            let message = format!("`{key}` and `replay` exclude each other");
            section.fault_beside(key, "replay", message, Some("the log says what is asked"));
        }
    }
    Replay::read(&replay)
}

/// A table with the names of headers, each with a value or a list of them.
struct Headers;

impl Describe for Headers {
    fn takes(&self) -> String {
        "table".to_owned()
    }

    fn schema(&self) -> Json {
        let one = json!({"type": "string"});
        let values = json!({"anyOf": [one, {"type": "array", "items": one}]});
        json!({"type": "object", "additionalProperties": values})
    }

    fn is_map(&self) -> bool {
        true
    }
}

impl Part for Vec<Header> {
    const KEYS: &'static [Key] = &[key!("headers": Headers, said "{}",
        r#"{ Accept = "text/html", X-Run = "{{counter}}" }"#,
        "Headers of every request, with placeholders if wanted.")];

    fn read(section: &Section<'_>) -> Option<Self> {
        let mut headers = Self::new();
        for entry in section.map("headers") {
            let values: Vec<&Node> = match &entry.node.value {
                Value::List(items) => items.iter().collect(),
                _ => vec![&entry.node],
            };
            for node in values {
                let Some(text) = section.reading.text(node) else { continue };
                match Header::read(&entry.key, text) {
                    Ok(header)
                        if header.name.eq_ignore_ascii_case("host") && section.has("host") =>
                    {
                        let message = "`host` and a `host` header exclude each other";
                        section.reading.fault(node.place, message, Some("keep one of them".into()));
                    }
                    Ok(header) => insert_beside(&mut headers, header),
                    Err(error) => header_fault(section, entry, node, error),
                }
            }
        }
        Some(headers)
    }

    fn write(&self, out: &mut Writer) {
        out.inline("headers", |out| {
            for same in self.chunk_by(|a, b| a.name == b.name) {
                match same {
                    [one] => out.text(&one.name, one.shown()),
                    several => {
                        let values = several.iter().map(|header| header.shown().to_owned());
                        out.list(&several[0].name, values);
                    }
                }
            }
        });
    }
}

/// The fault of a header at its name or within its value; a secret value is not repeated.
fn header_fault(section: &Section<'_>, entry: &Entry, node: &Node, error: ParseError) {
    let in_name = error.at < entry.key.len() || entry.key.is_empty();
    let place = if in_name && entry.key_place.span.is_some() {
        entry.key_place
    } else {
        let at = error.at.saturating_sub(entry.key.len());
        section.reading.sources[node.place.source].within(node.place, at, error.len)
    };
    let hidden = !in_name && key_is_secret(&entry.key);
    let message = if hidden { format!("expected {}", error.wanted) } else { error.to_string() };
    section.reading.fault(place, message, error.hint);
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

const BODY_TEXT: Parsed<Template> = Parsed {
    takes: "template",
    wanted: "a body",
    form: Form::Text,
    parse: Template::parse,
    show: |_| String::new(),
};

impl Part for Body {
    const KEYS: &'static [Key] = &[
        key!("body": BODY_TEXT, r#"'{"n": {{random:1..100}}}'"#,
            "The body of every request, with placeholders if wanted."),
        key!("body_file": File, "body.json", "A file that is sent as the body, as it is."),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let body = match section.chosen(&BODY) {
            None => None,
            Some(key @ "body") => section.text(key).and_then(|written| {
                let template = section.get(key, &BODY_TEXT)?;
                Some(Self::Text { written: written.into(), template })
            }),
            Some(key) => section.get(key, &File).map(Self::File),
        };
        Some(body.unwrap_or(Self::None))
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Self::None => {}
            Self::Text { written, .. } => out.text("body", written),
            Self::File(file) => out.put("body_file", &File, file),
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

const VARIABLE: Parsed<String> =
    Parsed::text("variable", "the name of an environment variable", variable);

impl Part for Option<Auth> {
    const KEYS: &'static [Key] = &[
        key!("basic": Line("user:password"), "me:secret", "Basic authentication. Never printed."),
        key!("bearer": Line("token"), "abc.def", "Bearer authentication. Never printed."),
        key!("basic_env": VARIABLE, "SHOP_LOGIN",
            "The environment variable that holds `user:password`."),
        key!("bearer_env": VARIABLE, "SHOP_TOKEN",
            "The environment variable that holds the token."),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        Some(match section.chosen(&AUTH) {
            None => None,
            Some(key @ "basic") => read_basic(section, key),
            Some(key @ "bearer") => read_bearer(section, key),
            Some(key @ "basic_env") => section.get(key, &VARIABLE).map(Auth::BasicEnv),
            Some(key) => section.get(key, &VARIABLE).map(Auth::BearerEnv),
        })
    }

    fn write(&self, out: &mut Writer) {
        match self {
            None => {}
            Some(Auth::Basic(_)) => out.text("basic", REDACTED),
            Some(Auth::Bearer(_)) => out.text("bearer", REDACTED),
            Some(Auth::BasicEnv(name)) => out.put("basic_env", &VARIABLE, name),
            Some(Auth::BearerEnv(name)) => out.put("bearer_env", &VARIABLE, name),
        }
    }
}

fn read_basic(section: &Section<'_>, key: &str) -> Option<Auth> {
    let secret = section.secret(key)?;
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

fn read_bearer(section: &Section<'_>, key: &str) -> Option<Auth> {
    let secret = section.secret(key)?;
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
