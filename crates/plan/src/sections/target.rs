//! `[target]`: what is asked, of whom, and what counts as a right answer.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_net::url::percent_decode;
use plimsoll_units::Words;
use plimsoll_workload::check::Check;
use plimsoll_workload::request::{OF_HTTP, Order, StoreScheme, Url, parse_method, secrets};

use crate::flag::Group;
use crate::reading::Reading;
use crate::reading::secret::REDACTED;
use crate::reading::text::quoted;
use crate::reading::tree::{Node, Value};
use crate::section::Section;
use crate::sections::header::Header;
use crate::sections::proxy::Proxy;
use crate::sections::request_source::{
    ASKED, AUTH, Auth, BODY, Body, HEADERS, RequestSource, VARIABLE,
};
use crate::sections::resolve::Resolve;
use crate::sections::status::Statuses;
use crate::takes::Each;
use crate::takes::{Count, File, Form, Line, List, Own, Parsed, Switch, TIME, text_schema, word};
use crate::vocabulary::Vocabulary;
use crate::write::Writer;

section! {
    /// What is asked, of whom, and what counts as a right answer.
    ["target", choices &[&ASKED, &AUTH, &BODY]]
    pub struct Target {
        /// What to ask for; with `urls` or `replay`, the server of their paths; or a store.
        url: Option<Url> { URL, "http://127.0.0.1:8080/" }
        /// What is asked for.
        asked: RequestSource { part }
        /// In which order the URLs of a list are asked for.
        order: Option<Order> { ORDER, said "weighted where the list has weights, else round-robin",
            "zipf:0.9" }
            flag [Group::Asked.flag("order", "ORDER")
                .says("in-order, round-robin, uniform, weighted or zipf:EXPONENT")]
        /// The method of every request.
        method: String { METHOD, or "GET".to_owned(), "POST" }
            flag [Group::Asked.flag("method", "METHOD").short('X')]
        /// Headers of every request, with placeholders if wanted.
        headers: Vec<Header> { HEADERS, or Vec::new(), said "{}",
            r#"{ Accept = "text/html", X-Run = "{{counter}}" }"# }
            flag [Group::Asked.flag("header", "HEADER").short('H')
                .says("A header 'Name: value', with {{counter}}, {{uuid}}, {{random:1..100}}, \
                {{traceparent}}; repeatable")]
        /// The body of every request.
        body: Body { part }
        /// How to authenticate.
        auth: Option<Auth> { part }
        /// The `host` header (HTTP/2: `:authority`).
        host: Option<String> { Line("text"), said "the URL's", "shop.example" }
            flag [Group::Asked.flag("host", "NAME")]
        /// Addresses for names: `host:port:address`.
        resolve: Vec<Resolve> { List(RESOLVE, "list"), or Vec::new(),
            r#"["shop.example:443:127.0.0.1"]"# }
            flag [Group::Asked.flag("resolve", "HOST:PORT:ADDRESS")
                .says("Connect to this address for a name; may be repeated")]
        /// Which of a name's addresses are connected to: the first that answers, or all in turn.
        addresses: Addresses { word::<Addresses>(), or Addresses::First, "spread" }
            flag [Group::Asked.flag("addresses", "WHICH")
                .says("Of a name's several addresses first (that answers) or spread (over all)")]
        /// Forward proxies that connections go through, in turn: `http://host:port`.
        through: Vec<Proxy> { List(PROXY, "list"), or Vec::new(), r#"["http://127.0.0.1:3128"]"# }
            flag [Group::Asked.flag("through", "PROXY")
                .says("Go through a forward proxy, http://[user:password@]host:port; may be \
                repeated")]
        /// The environment variable that holds `user:password` for the proxies.
        through_env: Option<String> { VARIABLE, "PROXY_LOGIN" }
            flag [Group::Asked.flag("through-env", "VARIABLE")
                .says("The environment variable that holds user:password for --through")]
        /// The statuses that count as success.
        ok: Statuses { STATUSES, or Statuses::successful(), "200,304" }
            flag [Group::Asked.flag("ok", "STATUSES")]
        /// How many redirects are followed for a request, within the server under load; with 0 a
        /// redirect is an answer.
        follow: u32 { Count(0..=100_u32), or 0, "5" }
            flag [Group::Asked.flag("follow", "N")
                .says("Redirects that are followed for a request, within the server; default: 0")]
        /// Texts that the body of every right answer has in it.
        check_body: Vec<Check> { Each(CHECK_BODY, "text or list"), or Vec::new(), r#""Welcome""# }
            flag [Group::Asked.flag("check-body", "TEXT").hyphened()
                .says("A text that the body must have in it, else the request has failed; may be \
                repeated")]
        /// Values that the JSON of every right answer has at a place: `/id=42` (RFC 6901).
        check_json: Vec<Check> { Each(CHECK_JSON, "text or list"), or Vec::new(),
            r#"["/ok=true", "/items/0/id=42"]"# }
            flag [Group::Asked.flag("check-json", "POINTER=VALUE").hyphened()
                .says("A value that the body, as JSON, must have at a place; may be repeated")]
        /// Texts that a header of every right answer has in it: `Content-Type=text/html`.
        check_header: Vec<Check> { Each(CHECK_HEADER, "text or list"), or Vec::new(),
            r#""Content-Type=text/html""# }
            flag [Group::Asked.flag("check-header", "NAME=TEXT").hyphened()
                .says("A text that a header of the answer must have in it; may be repeated")]
        /// The version of HTTP; `auto` lets a TLS server choose.
        http: Http { word::<Http>(), or Http::One, "2" }
            flag [Group::Sent.flag("http", "VERSION").says("1.1, 2 or auto")]
        /// Accepts any certificate.
        insecure: bool { Switch, or false, "true" }
            flag [Group::Sent.switch("insecure").short('k').says("Accept any certificate")]
        /// Certificates to trust instead of the system's, as PEM.
        ca: Option<PathBuf> { File, said "the system's", "ca.pem" }
            flag [Group::Sent.flag("ca", "FILE")]
        /// A certificate that we show to servers which ask for one, and its chain, as PEM.
        cert: Option<PathBuf> { File, "client.pem" } flag [Group::Sent.flag("cert", "FILE")]
        /// The key of `cert`, as PEM. No run keeps a copy of either.
        key: Option<PathBuf> { File, "client.key" } flag [Group::Sent.flag("key", "FILE")]
        /// The server name that TLS asks for and checks.
        sni: Option<String> { Line("text"), said "the URL's host", "shop.example" }
            flag [Group::Sent.flag("sni", "NAME")]
        /// How the server is restarted, by `sh -c`: for `capacity --restarts`, and for `cold`.
        restart: Option<String> { Line("command"), "systemctl restart nginx" }
            flag [Group::Cold.flag("restart-command", "COMMAND")
                .says("Restarts the store for --cold: a command for `sh -c`")]
        /// How long the command may take, and then the server until it answers.
        restart_timeout: Duration { TIME, or RESTART_TIMEOUT, "5m" }
            flag [Group::Cold.flag("restart-timeout", "DURATION")
                .says("How long the command may take, and then the store until it answers")]
    }
}

/// A URL of one of the schemes that are known.
const URL: Own<Url> =
    Own { takes: "URL", schema: text_schema, is_map: false, read: read_url, write: write_url };

fn read_url(reading: &Reading, node: &Node) -> Option<Url> {
    let schemes = reading.vocabulary.map_or(&OF_HTTP[..], Vocabulary::schemes);
    let parse = |text: &str| Url::parse_among(text, schemes);
    reading.parsed(node, "a URL such as http://127.0.0.1:8080/", parse)
}

fn write_url(url: &Url) -> String {
    quoted(&secrets::without(&url.to_string(), REDACTED))
}

const ORDER: Parsed<Order> =
    Parsed::text("order", "an order such as round-robin", |text| Order::parse(text, Some(&[])));
const CHECK_BODY: Parsed<Check> = Parsed::text("text", "a text of a body", Check::body);
const CHECK_JSON: Parsed<Check> =
    Parsed::text("check", "a place and a value such as /id=42", Check::json);
const CHECK_HEADER: Parsed<Check> =
    Parsed::text("check", "a header and a text such as Content-Type=text/html", Check::header);
const METHOD: Parsed<String> = Parsed::text("method", "a method such as GET", parse_method);
const RESOLVE: Parsed<Resolve> = Parsed::text("address", "host:port:address", Resolve::parse);
const PROXY: Parsed<Proxy> = Parsed::text("proxy", "a proxy such as http://h:3128", Proxy::parse);
const STATUSES: Parsed<Statuses> = Parsed {
    form: Form::TextOrNumber,
    ..Parsed::text("statuses", "statuses such as 2xx", Statuses::parse)
};
/// How long a restart may take where the plan does not say.
const RESTART_TIMEOUT: Duration = Duration::from_secs(60);

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

/// Which of a name's addresses are connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// The first that answers, by all connections.
    First,
    /// All, by one connection after the other.
    Spread,
}

impl Words for Addresses {
    const WORDS: &'static [(&'static str, Self)] =
        &[("first", Self::First), ("spread", Self::Spread)];
}

impl Words for Http {
    const WORDS: &'static [(&'static str, Self)] =
        &[("1.1", Self::One), ("2", Self::Two), ("auto", Self::Auto)];
}

impl Target {
    /// Reads the section. Where nothing `is_simulated`, something has to be asked.
    pub(crate) fn read(section: &Section<'_>, is_simulated: bool) -> Option<Self> {
        let mut target = Self::read_keys(section)?;
        // The user of the URL is one of the ways to authenticate.
        if let Some(credentials) = target.url.as_mut().and_then(|url| url.credentials.take()) {
            match AUTH.keys().find(|key| section.has(key)) {
                Some(key) => {
                    let message = format!("`{key}` and a user in the URL exclude each other");
                    section.fault_beside(key, "url", message, Some("keep one of them"));
                }
                None => target.auth = Some(Auth::Basic(Some(credentials))),
            }
        }
        let is_missing = !section.has("url") && !is_simulated;
        if is_missing && !matches!(target.asked, RequestSource::List(_)) {
            let replay = section.has("replay");
            let what = if replay { "the `url` of the server that is asked again" } else { "`url`" };
            section.missing(what, "url", "http://127.0.0.1:8080/");
        }
        check_host(section);
        check_identity(section);
        target.check_way(section);
        target.check_order(section);
        target.check_scenario(section);
        check_target(section, &target);
        Some(target)
    }

    fn check_order(&mut self, section: &Section<'_>) {
        let Some(order) = &self.order else { return };
        match &self.asked {
            RequestSource::Replay(_) if *order != Order::InOrder => {
                let message = format!("a replay is in-order, not {order}");
                let hint = Some("give the log's URLs as `urls`");
                section.fault_beside("order", "replay", message, hint);
            }
            RequestSource::Url if !section.has("urls") => {
                let hint = "give them in a file: urls = \"urls.csv\"";
                let message = "`order` goes with a list of URLs, found one URL";
                section.fault("order", message, Some(hint));
            }
            RequestSource::Replay(_)
            | RequestSource::Url
            | RequestSource::List(_)
            | RequestSource::Scenario(_) => {}
        }
    }

    /// Whether it is users who ask, as a scenario has it.
    #[must_use]
    pub fn has_scenario(&self) -> bool {
        matches!(self.asked, RequestSource::Scenario(_))
    }

    /// Notes what stands in the steps of a scenario, where there is one, and what does not go with
    /// it.
    fn check_scenario(&self, section: &Section<'_>) {
        if !self.has_scenario() {
            if self.url.as_ref().is_some_and(|url| url.scheme.is_websocket()) {
                let message =
                    "expected `scenario` beside a URL of WebSockets, found none".to_owned();
                let hint = "what is sent over one stands in a scenario: connect, send, expect";
                section.fault("url", message, Some(hint));
            }
            return;
        }
        for (key, hint) in BESIDE_SCENARIO.into_iter().filter(|(key, _)| section.has(key)) {
            let message = format!("`{key}` and `scenario` exclude each other");
            section.fault_beside(key, "scenario", message, Some(hint));
        }
        let has_user = matches!(&self.auth, Some(Auth::Basic(_))) && !section.has("basic");
        if has_user && !section.has("basic_env") {
            let message = "a user in the URL and `scenario` exclude each other".to_owned();
            section.fault_beside("url", "scenario", message, Some(IN_STEPS));
        }
    }

    /// Notes what of the way to the target does not go together.
    fn check_way(&self, section: &Section<'_>) {
        let Some(first) = self.through.first() else {
            if section.has("through_env") {
                section.missing_beside("through", "through_env", "http://127.0.0.1:3128");
            }
            return;
        };
        if self.addresses == Addresses::Spread {
            let message = "`addresses` and `through` exclude each other".to_owned();
            let hint = "the proxy looks the name up";
            section.fault_beside("addresses", "through", message, Some(hint));
        }
        let has_some = self.through.iter().any(|one| one.credentials.is_some());
        if has_some && section.has("through_env") {
            let message = "a user of a proxy and `through_env` exclude each other".to_owned();
            section.fault_beside("through", "through_env", message, Some("keep one of them"));
        }
        if self.through.iter().any(|one| one.credentials != first.credentials) {
            let message = "expected one user and password for all proxies, found several";
            section.fault("through", message, Some("give each proxy the same"));
        }
        let url = self.url.as_ref();
        if url.is_some_and(|url| url.unix.is_some()) {
            let message = "a Unix socket is not gone to through a proxy".to_owned();
            section.fault_beside("through", "url", message, None);
        }
        let is_plain = url.is_some_and(|url| !url.scheme.is_secure);
        if is_plain && self.http != Http::One && !self.is_store() {
            let message = "a proxy is asked for plain URLs by HTTP/1.1".to_owned();
            section.fault_beside("http", "through", message, Some("leave `http` out"));
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        let is_store = self.is_store();
        let is_secure = self.url.as_ref().is_some_and(|url| url.scheme.is_secure);
        let is_replay = matches!(self.asked, RequestSource::Replay(_));
        let is_scenario = self.has_scenario();
        let is_usual = self.restart.is_none() && self.restart_timeout == RESTART_TIMEOUT;
        let left_out = [
            ("order", !matches!(self.asked, RequestSource::List(_))),
            ("method", is_replay || is_store || is_scenario),
            ("headers", is_store || is_scenario),
            ("follow", self.follow == 0),
            ("addresses", self.addresses == Addresses::First),
            ("through", self.through.is_empty()),
            ("ok", is_scenario),
            ("http", is_store),
            ("check_body", is_store || is_scenario),
            ("check_json", is_store || is_scenario),
            ("check_header", is_store || is_scenario),
            ("insecure", is_store && !is_secure),
            ("restart_timeout", is_usual),
        ];
        let left_out = left_out.into_iter().filter(|(_, is_left)| *is_left);
        let left_out: Vec<&str> = left_out.map(|(key, _)| key).collect();
        out.section(Self::SECTION.path);
        self.write_keys(out, &left_out);
    }

    /// Whether the URL is that of a store.
    #[must_use]
    pub fn is_store(&self) -> bool {
        self.store_scheme().is_some()
    }

    /// What there is to its scheme, where that is a store's.
    pub(crate) fn store_scheme(&self) -> Option<&'static StoreScheme> {
        self.url.as_ref().and_then(|url| url.scheme.store.as_ref())
    }

    /// Whether several requests may be on one connection.
    pub(crate) fn shares_connections(&self) -> bool {
        self.http != Http::One || self.is_store()
    }

    /// What every right answer must be beside its status.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        [&self.check_body[..], &self.check_json, &self.check_header].concat()
    }

    /// The files that the section names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let asked = match &self.asked {
            RequestSource::Url => &[],
            RequestSource::List(file) | RequestSource::Scenario(file) => std::slice::from_ref(file),
            RequestSource::Replay(replay) => &replay.files[..],
        };
        let body = match &self.body {
            Body::File(file) => Some(file),
            Body::None | Body::Text { .. } => None,
        };
        asked.iter().chain(body).chain(&self.ca)
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
        if self.url.as_ref().is_some_and(is_redacted) {
            keys.push("target.url".to_owned());
        }
        if matches!(&self.body, Body::Text { written, .. } if written == REDACTED) {
            keys.push("target.body".to_owned());
        }
        if self.through.iter().any(|proxy| proxy.is_redacted) {
            keys.push("target.through".to_owned());
        }
        let left_out = self.headers.iter().filter(|header| header.is_redacted());
        keys.extend(left_out.map(|header| format!("target.headers.{}", header.name)));
        keys.dedup();
        keys
    }
}

/// Whether a printed plan has left out something of a URL.
fn is_redacted(url: &Url) -> bool {
    String::from_utf8_lossy(&percent_decode(url.target.as_bytes())).contains(REDACTED)
}

/// Notes a certificate without its key, and a key without its certificate.
fn check_identity(section: &Section<'_>) {
    match (section.has("cert"), section.has("key")) {
        (true, false) => section.missing_beside("key", "cert", "client.key"),
        (false, true) => section.missing_beside("cert", "key", "client.pem"),
        (true, true) | (false, false) => {}
    }
}

/// Notes a `host` among the headers beside the key of that name.
fn check_host(section: &Section<'_>) {
    let headers = section.node("headers").filter(|_| section.has("host"));
    let Some(Node { value: Value::Table(headers), .. }) = headers else { return };
    for entry in headers.entries.iter().filter(|entry| entry.key.eq_ignore_ascii_case("host")) {
        let place = match &entry.node.value {
            Value::List(items) => items.first().map_or(entry.node.place, |node| node.place),
            _ => entry.node.place,
        };
        let message = "`host` and a `host` header exclude each other";
        section.reading.fault(place, message, Some("keep one of them".into()));
    }
}

/// What is said of what stands in the steps of a scenario.
const IN_STEPS: &str = "say it in the steps of the scenario, secrets by {{env.NAME}}";

/// What of `[target]` does not go with a scenario, and what to do about it.
const BESIDE_SCENARIO: [(&str, &str); 16] = [
    ("order", IN_STEPS),
    ("method", IN_STEPS),
    ("headers", IN_STEPS),
    ("body", IN_STEPS),
    ("body_file", IN_STEPS),
    ("basic", IN_STEPS),
    ("basic_env", IN_STEPS),
    ("bearer", IN_STEPS),
    ("bearer_env", IN_STEPS),
    ("ok", "say it by `check` in the steps of the scenario"),
    ("check_body", "say it by `check` in the steps of the scenario"),
    ("check_json", "say it by `check` in the steps of the scenario"),
    ("check_header", "say it by `check` in the steps of the scenario"),
    ("follow", "say it by `follow` in the steps of the scenario"),
    ("through", "users go to their servers directly: leave it out"),
    ("through_env", "users go to their servers directly: leave it out"),
];

/// What of `[target]` a store has no use for.
const HTTP_ONLY: [&str; 18] = [
    "scenario",
    "check_body",
    "check_json",
    "check_header",
    "urls",
    "replay",
    "order",
    "method",
    "headers",
    "body",
    "body_file",
    "bearer",
    "bearer_env",
    "host",
    "follow",
    "through",
    "through_env",
    "http",
];
/// What of `[target]` is about TLS.
const OF_TLS: [&str; 5] = ["insecure", "ca", "cert", "key", "sni"];

/// Notes what of `[target]` goes with HTTP only or with TLS, and a path that names no database.
fn check_target(section: &Section<'_>, target: &Target) {
    let (Some(url), Some(store)) = (&target.url, target.store_scheme()) else { return };
    let scheme = url.scheme.name;
    for key in HTTP_ONLY.into_iter().filter(|key| section.has(key)) {
        let message = format!("`{key}` goes with HTTP, not with {scheme}://");
        section.fault_beside(key, "url", message, Some("what is asked stands in [store]"));
    }
    let over_tls = url.scheme.over_tls.filter(|_| url.unix.is_none());
    let hint = over_tls.map(|over_tls| format!("write {}://", over_tls.name));
    let is_plain = !url.scheme.is_secure;
    for key in OF_TLS.into_iter().filter(|key| is_plain && section.has(key)) {
        let message = format!("`{key}` goes with TLS, not with {scheme}://");
        section.fault_beside(key, "url", message, hint.as_deref());
    }
    if let Err(error) = url.database() {
        let hint = error.hint.as_deref();
        section.fault("url", error.to_string(), hint);
    }
    if let Some(why) = store.refuses_login.filter(|_| target.auth.is_some()) {
        let hint = format!("leave the user and the password out: {why}");
        section.fault("url", format!("{scheme} takes no password"), Some(&hint));
    }
}
