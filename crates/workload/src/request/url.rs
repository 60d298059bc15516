//! URLs of the servers under load: of HTTP and of the stores, and each without TLS over a Unix
//! socket.
//!
//! A URL is read by [`plimsoll_net::url`], and kept in the form that a driver needs. What stands
//! before an `@` is kept apart, a fragment is dropped.

use std::fmt;
use std::path::PathBuf;

use plimsoll_net::url::{self, Parts};
use plimsoll_units::ParseError;

use super::auth::Credentials;
use super::scheme::{Databases, OF_HTTP, Scheme};
use super::template::{RenderState, Template};
use super::tls_query::tls_of_query;

/// The longest name of a SQL database: 64 characters of MySQL, 63 bytes of PostgreSQL.
const MAX_DATABASE_NAME: usize = 256;
/// The longest name of a keyspace of Cassandra.
const MAX_KEYSPACE_NAME: usize = 48;

/// Where to connect and what to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// What the connection speaks.
    pub scheme: &'static Scheme,
    /// Name or address, lower case; an IPv6 address without its brackets. `localhost` for a Unix
    /// socket.
    pub host: String,
    /// The port, the scheme's own where the URL names none.
    pub port: u16,
    /// Path and query as they go on the request line: starts with `/`, visible ASCII only. Where
    /// they hold placeholders, as they were written.
    pub target: String,
    /// The same, where it holds placeholders and so differs from request to request.
    pub template: Option<Template>,
    /// The Unix socket to connect to instead of host and port.
    pub unix: Option<PathBuf>,
    /// What stood before the `@`; shown by neither `Debug` nor `Display`.
    /// [`Request::new`](super::Request::new) makes a header of it.
    pub credentials: Option<Credentials>,
}

impl Url {
    /// Reads a URL of HTTP whose path and query may hold placeholders: `http://host/path`,
    /// `https://[::1]:8443/`, `http://user:pw@host/{{counter}}`,
    /// `http+unix://%2Frun%2Fx.sock/path`.
    ///
    /// # Errors
    /// Names what was wanted at which byte; in an error nothing before an `@` is repeated.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_among(text, &OF_HTTP)
    }

    /// Reads a URL of one of these schemes. One that asks for TLS by its query, as
    /// `postgres://ann@h/shop?sslmode=require`, has the scheme that means the same.
    ///
    /// # Errors
    /// As for [`Url::parse`].
    pub fn parse_among(text: &str, schemes: &[&'static Scheme]) -> Result<Self, ParseError> {
        Self::parse_open(text, schemes, true).map_err(|error| url::without_secret(text, error))
    }

    /// [`Url::parse_among`], whose errors may repeat a password; with or without placeholders.
    fn parse_open(
        text: &str,
        schemes: &[&'static Scheme],
        is_template: bool,
    ) -> Result<Self, ParseError> {
        let parts = Parts::split(text)?;
        let (scheme, over_unix) = Scheme::find(parts.scheme, schemes)?;
        let credentials = parts.user_info.map(Credentials::from_user_info);
        let (rest, at) = parts.rest();
        if scheme.store.is_some() {
            refuse_placeholders(rest).map_err(|error| error.shifted(at))?;
        }
        let target = parts.target()?;
        let (scheme, target) =
            tls_of_query(scheme, over_unix, target, rest).map_err(|error| error.shifted(at))?;
        let template = match is_template {
            true => template(rest, &target).map_err(|error| error.shifted(at))?,
            false => None,
        };
        let (host, port, unix) = if over_unix {
            ("localhost".to_owned(), None, Some(parts.socket_path()?))
        } else {
            let (host, port) = parts.host_and_port()?;
            (host, port, None)
        };
        let port = port.unwrap_or(scheme.port);
        Ok(Self { scheme, host, port, target, template, unix, credentials })
    }

    /// Reads a URL of HTTP that a server wrote: what looks like a placeholder is text.
    ///
    /// # Errors
    /// As for [`Url::parse`].
    pub fn parse_literal(text: &str) -> Result<Self, ParseError> {
        let read = Self::parse_open(text, &OF_HTTP, false);
        read.map_err(|error| url::without_secret(text, error))
    }

    /// The same server asked for another path: `text` is a path with its query (`/a?b=1`), or a
    /// whole URL of HTTP, which is taken as it is. Placeholders are refused: nobody meant them.
    ///
    /// # Errors
    /// As for [`Url::parse`].
    pub fn join(&self, text: &str) -> Result<Self, ParseError> {
        refuse_placeholders(text)?;
        self.join_template(text)
    }

    /// The same, where path and query may hold placeholders.
    ///
    /// # Errors
    /// As for [`Url::parse`].
    pub fn join_template(&self, text: &str) -> Result<Self, ParseError> {
        if !text.starts_with('/') {
            return Self::parse(text);
        }
        url::refuse_unfit(text)?;
        let target = url::target(text)?;
        Ok(Self { template: template(text, &target)?, target, ..self.clone() })
    }

    /// Appends path and query for the state's present request.
    pub fn render_target(&self, state: &mut RenderState, out: &mut Vec<u8>) {
        match &self.template {
            Some(template) => template.render(state, out),
            None => out.extend_from_slice(self.target.as_bytes()),
        }
    }

    /// The database that the path of a store's URL names: `/3` of Redis, a name of SQL, percent-
    /// decoded. Empty where the store has one only, or numbers them and none is given.
    ///
    /// # Errors
    /// A path that is no number below a million where databases have numbers, none or no name where
    /// they have names, and any path where there is one database only.
    pub fn database(&self) -> Result<String, ParseError> {
        let text = self.target.strip_prefix('/').unwrap_or(&self.target);
        let wrong = |wanted: &str| ParseError::new(wanted, &self.target, 0, self.target.len());
        let databases = self.scheme.store.as_ref().map_or(Databases::None, |of| of.databases);
        let name = self.scheme.name;
        match databases {
            Databases::Names => self.database_name(text),
            Databases::Words => {
                let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                if is_word && (1..=MAX_KEYSPACE_NAME).contains(&text.len()) {
                    return Ok(text.to_owned());
                }
                let error = wrong("a keyspace as the path: up to 48 letters, digits and _");
                Err(error.hint(format!("write {name}://{}/test", self.authority())))
            }
            Databases::None | Databases::Numbers if text.is_empty() => Ok(String::new()),
            Databases::None => Err(wrong("no path behind the server: it has no databases")),
            Databases::Numbers => {
                let digits = text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit());
                let number = text.parse::<u32>().ok().filter(|_| digits);
                number.map(|number| number.to_string()).ok_or_else(|| {
                    let hint = format!("write {name}://127.0.0.1:{}/0", self.scheme.port);
                    wrong("the number of a database as the path").hint(hint)
                })
            }
        }
    }

    /// A name of a SQL database: what the path says, without a query.
    fn database_name(&self, text: &str) -> Result<String, ParseError> {
        let name = String::from_utf8(url::percent_decode(text.as_bytes())).unwrap_or_default();
        let is_plain = !text.contains(['/', '?']) && !name.contains(|c: char| c.is_control());
        if is_plain && (1..=MAX_DATABASE_NAME).contains(&name.len()) {
            return Ok(name);
        }
        let wanted = "the name of a database as the path";
        let error = ParseError::new(wanted, &self.target, 0, self.target.len());
        Err(error.hint(format!("write {}://user@{}/test", self.scheme.name, self.authority())))
    }

    /// The value of the `host` header and of `:authority`: the host, an IPv6 address in its
    /// brackets, and the port where it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        url::authority(&self.host, self.port, self.scheme.port)
    }
}

impl fmt::Display for Url {
    /// The URL without its credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unix {
            Some(path) => {
                let path = url::encode_socket_path(path);
                write!(f, "{}+unix://{path}{}", self.scheme.name, self.target)
            }
            None => write!(f, "{}://{}{}", self.scheme.name, self.authority(), self.target),
        }
    }
}

impl std::str::FromStr for Url {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The template of a target, where it was written with placeholders; faults are at their place in
/// the text.
fn template(text: &str, target: &str) -> Result<Option<Template>, ParseError> {
    let text = text.split('#').next().unwrap_or("");
    if !text.contains("{{") {
        return Ok(None);
    }
    Template::parse(text)?;
    Template::parse(target).map(Some)
}

/// Refuses the placeholders of a template, where nobody can have meant any.
fn refuse_placeholders(text: &str) -> Result<(), ParseError> {
    let text = text.split('#').next().unwrap_or("");
    if let Some(at) = text.find("{{") {
        let error = ParseError::new("a URL without placeholders", &text[at..], at, text.len() - at);
        return Err(error.hint("write %7B%7B for {{ itself"));
    }
    Ok(())
}
