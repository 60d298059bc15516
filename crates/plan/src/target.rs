//! `[target]`: what is asked, of whom, and what counts as a right answer.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_workload::access_log::Format;
use plimsoll_workload::request::{Credentials, Order, Template, Url};

use crate::header::Header;
use crate::key::{Alternative, Choice, SectionKeys, key};
use crate::secret::Secret;
use crate::status::Statuses;

/// Which of the ways to say what is asked for.
pub(crate) static ASKED: Choice = Choice {
    among: &[Alternative { key: "urls", with: &[] }, Alternative { key: "replay", with: &[] }],
};
/// Which of the ways to authenticate.
pub(crate) static AUTH: Choice = Choice {
    among: &[
        Alternative { key: "basic", with: &[] },
        Alternative { key: "bearer", with: &[] },
        Alternative { key: "basic_env", with: &[] },
        Alternative { key: "bearer_env", with: &[] },
    ],
};
/// Where a body comes from.
pub(crate) static BODY: Choice = Choice {
    among: &[Alternative { key: "body", with: &[] }, Alternative { key: "body_file", with: &[] }],
};

/// The keys of `[target]`.
pub(crate) static TARGET: SectionKeys = SectionKeys {
    path: "target",
    keys: &[
        key(
            "url",
            "URL",
            "–",
            r#""http://127.0.0.1:8080/""#,
            "What to ask for; with `urls` or `replay`, the server of their paths; or a store.",
        ),
        key(
            "urls",
            "file",
            "–",
            r#""urls.csv""#,
            "A list of what to ask for: a URL or path a line, a weight if wanted.",
        ),
        key(
            "replay",
            "file or table",
            "–",
            r#""access.log.gz""#,
            "An access log that is asked for again, in its order.",
        ),
        key(
            "order",
            "order",
            "weighted where the list has weights, else round-robin",
            r#""zipf:0.9""#,
            "In which order the URLs of a list are asked for.",
        ),
        key("method", "method", "GET", r#""POST""#, "The method of every request."),
        key(
            "headers",
            "table",
            "{}",
            r#"{ Accept = "text/html", X-Run = "{{counter}}" }"#,
            "Headers of every request, with placeholders if wanted.",
        ),
        key(
            "body",
            "template",
            "–",
            r#"'{"n": {{random:1..100}}}'"#,
            "The body of every request, with placeholders if wanted.",
        ),
        key(
            "body_file",
            "file",
            "–",
            r#""body.json""#,
            "A file that is sent as the body, as it is.",
        ),
        key(
            "basic",
            "user:password",
            "–",
            r#""me:secret""#,
            "Basic authentication. Never printed.",
        ),
        key("bearer", "token", "–", r#""abc.def""#, "Bearer authentication. Never printed."),
        key(
            "basic_env",
            "variable",
            "–",
            r#""SHOP_LOGIN""#,
            "The environment variable that holds `user:password`.",
        ),
        key(
            "bearer_env",
            "variable",
            "–",
            r#""SHOP_TOKEN""#,
            "The environment variable that holds the token.",
        ),
        key(
            "host",
            "text",
            "the URL's",
            r#""shop.example""#,
            "The `host` header (HTTP/2: `:authority`).",
        ),
        key(
            "resolve",
            "list",
            "[]",
            r#"["shop.example:443:127.0.0.1"]"#,
            "Addresses for names: `host:port:address`.",
        ),
        key("ok", "statuses", "2xx", r#""200,304""#, "The statuses that count as success."),
        key(
            "http",
            "1.1, 2 or auto",
            "1.1",
            r#""2""#,
            "The version of HTTP; `auto` lets a TLS server choose.",
        ),
        key("insecure", "switch", "false", "true", "Accepts any certificate."),
        key(
            "ca",
            "file",
            "the system's",
            r#""ca.pem""#,
            "Certificates to trust instead of the system's, as PEM.",
        ),
        key(
            "sni",
            "text",
            "the URL's host",
            r#""shop.example""#,
            "The server name that TLS asks for and checks.",
        ),
        key(
            "restart",
            "command",
            "–",
            r#""systemctl restart nginx""#,
            "How the server is restarted, by `sh -c`: for `capacity --restarts`, and for `cold`.",
        ),
        key(
            "restart_timeout",
            "duration",
            "60s",
            r#""5m""#,
            "How long the command may take, and then the server until it answers.",
        ),
    ],
    shorthand: None,
    lists: &["resolve"],
    maps: &["headers"],
    choices: &[&ASKED, &AUTH, &BODY],
};

/// The keys of `target.replay`.
pub(crate) static REPLAY: SectionKeys = SectionKeys {
    path: "target.replay",
    keys: &[
        key("file", "file", "–", r#""access.log.gz""#, "The access log, plain or gzip."),
        key(
            "format",
            "common, combined, squid or json",
            "as detected",
            r#""squid""#,
            "How the log is written.",
        ),
        key(
            "max_urls",
            "count",
            "200000",
            r#""50k""#,
            "How many distinct requests are kept; others are left out.",
        ),
        key(
            "unsafe_methods",
            "switch",
            "false",
            "true",
            "Asks also what changes something: POST, PUT, DELETE, …",
        ),
        key(
            "speed",
            "number",
            "1",
            "2.5",
            "How many times faster than it was, where its own times hold.",
        ),
    ],
    shorthand: Some("file"),
    lists: &[],
    maps: &[],
    choices: &[],
};

/// What is asked, of whom, and what counts as a right answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// What to ask for, or the server of the paths in a list or log. Without credentials: those
    /// of the URL are in `auth`.
    pub url: Option<Url>,
    /// What is asked for.
    pub asked: Asked,
    /// In which order a list is asked for; `None` is by its weights where it has some, else round
    /// robin. [`Order::Weighted`] holds no weights here: those of the list's file are meant.
    pub order: Option<Order>,
    /// The method of every request.
    pub method: String,
    /// Headers of every request, those of one name together.
    pub headers: Vec<Header>,
    /// The body of every request.
    pub body: Body,
    /// How to authenticate.
    pub auth: Option<Auth>,
    /// The `host` header, where it is not the URL's.
    pub host: Option<String>,
    /// Addresses for names, in the place of what the resolver says.
    pub resolve: Vec<Resolve>,
    /// The statuses that count as success.
    pub ok: Statuses,
    /// The version of HTTP.
    pub http: Http,
    /// Accepts any certificate.
    pub insecure: bool,
    /// Certificates to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// The server name that TLS asks for and checks, where it is not the URL's host.
    pub sni: Option<String>,
    /// The command that restarts the server, for a shell.
    pub restart: Option<String>,
    /// How long the command may take, and then the server until it answers.
    pub restart_timeout: Duration,
}

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

/// An access log that is asked for again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The log, plain or gzip.
    pub file: PathBuf,
    /// How it is written; `None` tells it from the first lines.
    pub format: Option<Format>,
    /// How many distinct requests are kept.
    pub max_urls: u64,
    /// Whether requests that change something are asked for too.
    pub unsafe_methods: bool,
    /// How many times faster than it was; of no effect where `[load]` gives other times.
    pub speed: f64,
}

impl Replay {
    /// How many distinct requests are kept where the plan does not say.
    pub(crate) const MAX_URLS: u64 = 200_000;
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

/// An address in the place of what the resolver says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// The name, lower case.
    pub host: String,
    /// The port that is asked for.
    pub port: u16,
    /// Where to connect.
    pub address: IpAddr,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    One,
    /// HTTP/2, over plain TCP by prior knowledge.
    Two,
    /// HTTP/2 where a TLS server offers it, else HTTP/1.1.
    Auto,
}

/// The words of `http`.
pub(crate) const HTTP: [(&str, Http); 3] =
    [("1.1", Http::One), ("2", Http::Two), ("auto", Http::Auto)];

impl Target {
    /// How long a request may take where the plan does not say.
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
    /// How long a restart may take where the plan does not say.
    pub(crate) const RESTART_TIMEOUT: Duration = Duration::from_secs(60);

    /// Whether the URL is that of a store.
    #[must_use]
    pub fn is_store(&self) -> bool {
        self.url.as_ref().is_some_and(|url| url.scheme.is_store())
    }

    /// Whether several requests may be on one connection.
    pub(crate) fn shares_connections(&self) -> bool {
        self.http != Http::One || self.is_store()
    }

    /// The files that the section names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let asked = match &self.asked {
            Asked::Url => None,
            Asked::List(file) => Some(file),
            Asked::Replay(replay) => Some(&replay.file),
        };
        let body = match &self.body {
            Body::File(file) => Some(file),
            Body::None | Body::Text { .. } => None,
        };
        asked.into_iter().chain(body).chain(&self.ca)
    }

    /// The keys whose secrets a printed plan has left out: nobody can execute it as it is.
    pub(crate) fn redacted(&self) -> Vec<String> {
        let mut keys = Vec::new();
        match &self.auth {
            Some(Auth::Basic(None)) => keys.push("target.basic".to_owned()),
            Some(Auth::Bearer(token)) if token.reveal().is_none() => {
                keys.push("target.bearer".to_owned());
            }
            _ => {}
        }
        let left_out = self.headers.iter().filter(|header| header.is_redacted());
        keys.extend(left_out.map(|header| format!("target.headers.{}", header.name)));
        keys.dedup();
        keys
    }
}
