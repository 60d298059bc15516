//! Reading and writing `[target]`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use plimsoll_units::ParseError;
use plimsoll_workload::access_log::Format;
use plimsoll_workload::request::{Credentials, Order, Template, Url, bearer, parse_method};

use crate::error::REDACTED;
use crate::header::Header;
use crate::secret::key_is_secret;
use crate::section::Section;
use crate::status::Statuses;
use crate::store::check_target;
use crate::target::{
    ASKED, AUTH, Asked, Auth, BODY, Body, HTTP, Http, REPLAY, Replay, Resolve, TARGET, Target,
};
use crate::tree::{Entry, Node, Value};
use crate::write::{Inline, Writer};

impl Target {
    /// Reads the section; `folder` is where its files are. Where nothing `is_simulated`, something
    /// has to be asked.
    pub(crate) fn read(section: &Section<'_>, folder: &Path, is_simulated: bool) -> Self {
        let (url, in_url) = read_url(section);
        let auth = read_auth(section, in_url);
        let asked = read_asked(section, folder);
        let is_missing = url.is_none() && !section.has("url") && !is_simulated;
        if is_missing && !matches!(asked, Some(Asked::List(_))) {
            let replay = section.has("replay");
            let what = if replay { "the `url` of the server that is asked again" } else { "`url`" };
            section.missing(what, "url", "http://127.0.0.1:8080/");
        }
        let asked = asked.unwrap_or(Asked::Url);
        let host = section.line("host").map(str::to_owned);
        let target = Self {
            url,
            order: read_order(section, &asked),
            asked,
            method: section
                .parsed("method", "a method such as GET", parse_method)
                .unwrap_or_else(|| "GET".into()),
            headers: read_headers(section),
            body: read_body(section, folder),
            auth,
            host,
            resolve: read_resolve(section),
            ok: section
                .parsed("ok", "statuses such as 2xx", Statuses::parse)
                .unwrap_or_else(Statuses::successful),
            http: section.word("http", &HTTP).unwrap_or(Http::One),
            insecure: section.switch("insecure").unwrap_or(false),
            ca: file(section, "ca", folder),
            sni: section.line("sni").map(str::to_owned),
            restart: section.line("restart").map(str::to_owned),
            restart_timeout: section
                .positive_duration("restart_timeout")
                .unwrap_or(Self::RESTART_TIMEOUT),
        };
        check_target(section, &target);
        target
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(TARGET.path);
        if let Some(url) = &self.url {
            out.text("url", url);
        }
        match &self.asked {
            Asked::Url => {}
            Asked::List(file) => out.text("urls", file.display()),
            Asked::Replay(replay) => {
                let mut table = Inline::default();
                table.text("file", replay.file.display());
                if let Some(format) = replay.format {
                    table.text("format", format.name());
                }
                table.whole("max_urls", replay.max_urls);
                table.switch("unsafe_methods", replay.unsafe_methods);
                table.number("speed", replay.speed);
                out.inline("replay", &table);
            }
        }
        if let (Asked::List(_), Some(order)) = (&self.asked, &self.order) {
            out.text("order", order);
        }
        if !matches!(self.asked, Asked::Replay(_)) && !self.is_store() {
            out.text("method", &self.method);
        }
        if !self.is_store() {
            write_headers(&self.headers, out);
        }
        match &self.body {
            Body::None => {}
            Body::Text { written, .. } => out.text("body", written),
            Body::File(file) => out.text("body_file", file.display()),
        }
        match &self.auth {
            None => {}
            Some(Auth::Basic(_)) => out.text("basic", REDACTED),
            Some(Auth::Bearer(_)) => out.text("bearer", REDACTED),
            Some(Auth::BasicEnv(name)) => out.text("basic_env", name),
            Some(Auth::BearerEnv(name)) => out.text("bearer_env", name),
        }
        if let Some(host) = &self.host {
            out.text("host", host);
        }
        out.list("resolve", self.resolve.iter().map(ToString::to_string));
        out.text("ok", &self.ok);
        if !self.is_store() {
            for (word, _) in HTTP.iter().filter(|(_, http)| *http == self.http) {
                out.text("http", word);
            }
            out.switch("insecure", self.insecure);
        }
        if let Some(ca) = &self.ca {
            out.text("ca", ca.display());
        }
        if let Some(sni) = &self.sni {
            out.text("sni", sni);
        }
        if let Some(restart) = &self.restart {
            out.text("restart", restart);
        }
        if self.restart.is_some() || self.restart_timeout != Self::RESTART_TIMEOUT {
            out.duration("restart_timeout", self.restart_timeout);
        }
    }
}

/// The URL, and the credentials that stood in it.
fn read_url(section: &Section<'_>) -> (Option<Url>, Option<Credentials>) {
    let Some(mut url) = section.parsed("url", "a URL such as http://127.0.0.1:8080/", Url::parse)
    else {
        return (None, None);
    };
    let credentials = url.credentials.take();
    (Some(url), credentials)
}

fn read_asked(section: &Section<'_>, folder: &Path) -> Option<Asked> {
    match section.chosen(&ASKED)? {
        "urls" => file(section, "urls", folder).map(Asked::List),
        _ => read_replay(section, folder).map(Asked::Replay),
    }
}

fn read_replay(section: &Section<'_>, folder: &Path) -> Option<Replay> {
    let replay = section.inner(&REPLAY)?;
    if !replay.has("file") {
        replay.missing("`file`", "file", "access.log.gz");
    }
    for key in ["method", "body", "body_file"] {
        if section.has(key) {
            let message = format!("`{key}` and `replay` exclude each other");
            section.fault_beside(key, "replay", message, Some("the log says what is asked"));
        }
    }
    let formats = Format::ALL.map(|format| (format.name(), format));
    let format = replay.word("format", &formats);
    let max_urls = replay.whole("max_urls", 1..=10_000_000).unwrap_or(Replay::MAX_URLS);
    let unsafe_methods = replay.switch("unsafe_methods").unwrap_or(false);
    let speed = replay.positive_number("speed").unwrap_or(1.0);
    Some(Replay { file: file(&replay, "file", folder)?, format, max_urls, unsafe_methods, speed })
}

fn read_order(section: &Section<'_>, asked: &Asked) -> Option<Order> {
    let wanted = "an order such as round-robin";
    let order = section.parsed("order", wanted, |text| Order::parse(text, Some(&[])))?;
    match asked {
        Asked::Replay(_) if order != Order::InOrder => {
            let message = format!("a replay is in-order, not {order}");
            section.fault_beside("order", "replay", message, Some("give the log's URLs as `urls`"));
            None
        }
        Asked::Url if !section.has("urls") => {
            let hint = "give them in a file: urls = \"urls.csv\"";
            section.fault("order", "`order` goes with a list of URLs, found one URL", Some(hint));
            None
        }
        Asked::Replay(_) | Asked::Url | Asked::List(_) => Some(order),
    }
}

fn read_headers(section: &Section<'_>) -> Vec<Header> {
    let mut headers: Vec<Header> = Vec::new();
    for entry in section.map("headers") {
        let values: Vec<&Node> = match &entry.node.value {
            Value::List(items) => items.iter().collect(),
            _ => vec![&entry.node],
        };
        for node in values {
            let Some(text) = section.reading.text(node) else { continue };
            match Header::read(&entry.key, text) {
                Ok(header) if header.name.eq_ignore_ascii_case("host") && section.has("host") => {
                    let message = "`host` and a `host` header exclude each other";
                    section.reading.fault(node.place, message, Some("keep one of them".into()));
                }
                Ok(header) => insert_beside(&mut headers, header),
                Err(error) => header_fault(section, entry, node, error),
            }
        }
    }
    headers
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

fn write_headers(headers: &[Header], out: &mut Writer) {
    let mut table = Inline::default();
    for same in headers.chunk_by(|a, b| a.name == b.name) {
        let values: Vec<&str> = same.iter().map(Header::shown).collect();
        table.texts(&same[0].name, &values);
    }
    out.inline("headers", &table);
}

fn read_body(section: &Section<'_>, folder: &Path) -> Body {
    match section.chosen(&BODY) {
        Some("body") => section
            .text("body")
            .and_then(|written| {
                let template = section.parsed("body", "a body", Template::parse)?;
                Some(Body::Text { written: written.into(), template })
            })
            .unwrap_or(Body::None),
        Some(_) => file(section, "body_file", folder).map_or(Body::None, Body::File),
        None => Body::None,
    }
}

fn read_auth(section: &Section<'_>, in_url: Option<Credentials>) -> Option<Auth> {
    let chosen = section.chosen(&AUTH);
    if let (Some(key), Some(_)) = (chosen, &in_url) {
        let message = format!("`{key}` and a user in the URL exclude each other");
        section.fault_beside(key, "url", message, Some("keep one of them"));
    }
    match chosen {
        None => in_url.map(|credentials| Auth::Basic(Some(credentials))),
        Some(key @ "basic") => {
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
        Some(key @ "bearer") => {
            let secret = section.secret(key)?;
            if let Some(Err(error)) = secret.reveal().map(bearer) {
                section.fault(key, format!("expected {}", error.wanted), None);
                return None;
            }
            Some(Auth::Bearer(secret))
        }
        Some(key) => {
            let name = section.parsed(key, "the name of an environment variable", variable)?;
            let basic = key == "basic_env";
            Some(if basic { Auth::BasicEnv(name) } else { Auth::BearerEnv(name) })
        }
    }
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

fn read_resolve(section: &Section<'_>) -> Vec<Resolve> {
    let wanted = "host:port:address";
    let items = section.list("resolve").into_iter();
    items.filter_map(|node| section.reading.parsed(node, wanted, Resolve::parse)).collect()
}

impl Resolve {
    /// Reads `host:port:address`; an IPv6 address with or without brackets.
    ///
    /// # Errors
    /// Which of the three is wrong, at its position.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let whole = || {
            ParseError::new(
                "host:port:address such as shop.test:443:127.0.0.1",
                text,
                0,
                text.len(),
            )
        };
        let (host, rest) = text.split_once(':').ok_or_else(whole)?;
        let (port, address) = rest.split_once(':').ok_or_else(whole)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if host.is_empty() || !host.chars().all(allowed) {
            return Err(ParseError::new("a host name", host, 0, host.len()));
        }
        let port_at = host.len() + 1;
        let number = port.parse::<u16>().ok().filter(|&number| number > 0);
        let Some(number) = number else {
            return Err(ParseError::new("a port from 1 to 65535", port, port_at, port.len()));
        };
        let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Ok(address) = bare.unwrap_or(address).parse::<IpAddr>() else {
            let at = port_at + port.len() + 1;
            return Err(ParseError::new("an IP address", address, at, address.len()));
        };
        Ok(Self { host: host.to_ascii_lowercase(), port: number, address })
    }
}

impl std::fmt::Display for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(f, "{}:{}:{address}", self.host, self.port),
            IpAddr::V6(address) => write!(f, "{}:{}:[{address}]", self.host, self.port),
        }
    }
}

/// The file a key names: of a plan's key from `folder`, of a flag from the working folder, where
/// `-` is standard input.
pub(crate) fn file(section: &Section<'_>, key: &str, folder: &Path) -> Option<PathBuf> {
    let name = section.line(key)?;
    let flag = section.reading.is_flag(section.place(key));
    Some(match name {
        "-" if flag => PathBuf::from("/dev/stdin"),
        _ if flag => PathBuf::from(name),
        _ => folder.join(name),
    })
}
