//! The steps of a scenario, as a recording has them in time.

use std::fmt::Write as _;

use super::activity::{self, Activity};
use super::body::{self, WrittenBody};
use super::hosts::Servers;
use super::names::Names;
use super::recording::{Entry, Field};
use super::secret_names::signs_in;
use super::secrets::Secrets;
use super::urls::{host, leads_to, split};
use super::{HarError, HarScenario, LeftOut};
use crate::access_log::iso_ns;
use crate::request::parse_header;
use crate::scenario::written::{
    StepNames, comment, constant_ms, is_static, literal, path, quoted, table,
};
use crate::traceparent;

/// The shortest time that a user is believed to think, milliseconds; what is shorter is the
/// browser's.
const LEAST_THINK_MS: i64 = 100;
/// How long after all had come a file is asked for behind the page, milliseconds.
const LATE_FILE_MS: f64 = 1_000.0;
/// The most redirects that one step follows.
const MOST_REDIRECTS: u32 = 20;
/// The methods that steps have.
const METHODS: [(&str, &str); 6] = [
    ("GET", "get"),
    ("POST", "post"),
    ("PUT", "put"),
    ("PATCH", "patch"),
    ("DELETE", "delete"),
    ("HEAD", "head"),
];
/// Headers that a client writes itself, or that are about the recording's moment and browser.
const OWN_HEADERS: [&str; 24] = [
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "accept-encoding",
    "accept-language",
    "user-agent",
    "cookie",
    "origin",
    "referer",
    "upgrade-insecure-requests",
    "cache-control",
    "pragma",
    "dnt",
    "te",
    "priority",
    "keep-alive",
    "upgrade",
    "expect",
    "purpose",
    "x-client-data",
    "save-data",
    "proxy-authorization",
];

/// What a user does.
enum Step {
    Ask(Ask),
    Think(u64),
    /// The static files of a page: their steps, written.
    Static(Vec<String>),
}

/// A request.
struct Ask {
    /// Its number, by which what is taken from its answer finds it.
    number: usize,
    /// The server of the last answer.
    server: String,
    verb: &'static str,
    name: String,
    /// Path and query, or URL, written.
    target: String,
    headers: Vec<(String, String)>,
    body: Option<WrittenBody>,
    /// Status of the last answer.
    status: i64,
    follow: u32,
    /// Where the last answer leads.
    redirect: Option<String>,
}

/// Reads a recording into steps.
pub(super) struct Steps {
    steps: Vec<Step>,
    names: Names,
    step_names: StepNames,
    left_out: LeftOut,
    servers: Servers,
    requests: usize,
    asked: usize,
    static_files: usize,
    redirects: usize,
    /// When all that was asked for so far had come, milliseconds since 1970.
    busy_until_ms: Option<f64>,
}

/// An entry and when it was sent, milliseconds since 1970.
pub(super) type Timed = (f64, Entry);

/// The entries in the order in which they were sent, and how many lack what every one has.
///
/// # Errors
/// None that has a time, where one has something else in its place.
pub(super) fn timed(entries: Vec<Entry>, origin: &str) -> Result<(Vec<Timed>, u64), HarError> {
    let (mut timed, mut incomplete, mut wrong) = (Vec::with_capacity(entries.len()), 0, None);
    for (at, entry) in entries.into_iter().enumerate() {
        let is_whole = !entry.request.url.is_empty() && !entry.request.method.is_empty();
        match iso_ns(&entry.started) {
            Some(ns) if is_whole => timed.push((ns as f64 / 1e6, entry)),
            found => {
                incomplete += 1;
                if found.is_none() && !entry.started.is_empty() {
                    wrong.get_or_insert((at + 1, entry.started));
                }
            }
        }
    }
    if let Some((number, found)) = wrong.filter(|_| timed.is_empty()) {
        let found = found.chars().take(64).collect();
        return Err(HarError::Time { origin: origin.to_owned(), number, found });
    }
    timed.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok((timed, incomplete))
}

impl Steps {
    pub(super) fn of(
        (entries, incomplete): &(Vec<Timed>, u64),
        origin: &str,
        hosts: &[String],
        secrets: Secrets,
    ) -> Result<Self, HarError> {
        let servers = Servers::of(entries, hosts).map_err(|wrong| match wrong {
            None => HarError::Empty { origin: origin.to_owned() },
            Some(wrong) => {
                HarError::Host { origin: origin.to_owned(), found: wrong.found, known: wrong.known }
            }
        })?;
        let mut steps = Self {
            steps: Vec::new(),
            names: Names { secrets, ..Names::default() },
            step_names: StepNames::default(),
            left_out: LeftOut { incomplete: *incomplete, ..LeftOut::default() },
            servers,
            requests: entries.len() + usize::try_from(*incomplete).unwrap_or_default(),
            asked: 0,
            static_files: 0,
            redirects: 0,
            busy_until_ms: None,
        };
        for ((at_ms, entry), activity) in entries.iter().zip(activity::of(entries)) {
            steps.take(*at_ms, entry, activity);
        }
        if steps.asked == 0 {
            return Err(HarError::Empty { origin: origin.to_owned() });
        }
        Ok(steps)
    }

    pub(super) fn into_secrets(self) -> Secrets {
        self.names.secrets
    }

    /// Takes the next request.
    fn take(&mut self, at_ms: f64, entry: &Entry, activity: Activity) {
        let scheme = entry.request.url.split_once("://").map(|(scheme, _)| scheme);
        let is_by = |schemes: &[&str]| {
            scheme.is_some_and(|of| schemes.iter().any(|known| of.eq_ignore_ascii_case(known)))
        };
        let is_upgraded = entry.response.status == 101 && is_by(&["http", "https"]);
        if is_by(&["ws", "wss"]) || entry.kind.as_deref() == Some("websocket") || is_upgraded {
            self.left_out.websockets += 1;
            return;
        }
        let Some((server, target)) = split(&entry.request.url) else {
            self.left_out.not_http += 1;
            return;
        };
        if self.servers.prefix(&server).is_none() {
            *self.left_out.hosts.entry(host(&entry.request.url)).or_default() += 1;
            return;
        }
        let verb = METHODS.iter().find(|(method, _)| *method == entry.request.method);
        let Some(&(_, verb)) = verb else {
            let method: String = entry.request.method.chars().take(32).collect();
            *self.left_out.methods.entry(method).or_default() += 1;
            return;
        };
        let left_out = match activity {
            _ if entry.is_from_cache => Some(&mut self.left_out.cached),
            Activity::EventStream => Some(&mut self.left_out.event_streams),
            // No check can be of another status.
            _ if !(100..1000).contains(&entry.response.status) => {
                Some(&mut self.left_out.without_answer)
            }
            Activity::LongPoll => Some(&mut self.left_out.long_polls),
            Activity::Awaited | Activity::Behind => None,
        };
        if let Some(count) = left_out {
            *count += 1;
            return;
        }
        let took_ms = entry.time.filter(|time| *time > 0.0 && activity == Activity::Awaited);
        let end_ms = at_ms + took_ms.unwrap_or_default();
        let busy_until_ms = self.busy_until_ms;
        let is_file = verb == "get" && is_file(entry, &target);
        // A picture that counts who looks, say: no page waits for it.
        let is_late = busy_until_ms.is_some_and(|before| at_ms - before >= LATE_FILE_MS);
        if !(is_file && is_late) {
            self.busy_until_ms = Some(busy_until_ms.map_or(end_ms, |before| before.max(end_ms)));
        }
        if self.is_redirected(entry, &server, &target) {
            return;
        }
        self.names.tokens.step = self.asked;
        let sent = entry.request.body.as_ref().and_then(|body| body.text.as_deref());
        self.names.signs_in = signs_in(&target, sent.unwrap_or_default());
        if is_file {
            self.file(&server, &target, entry.response.status);
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        let gap_ms = busy_until_ms.map_or(0, |before| (at_ms - before).round() as i64);
        if gap_ms >= LEAST_THINK_MS && self.asked > 0 {
            self.steps.push(Step::Think(gap_ms.unsigned_abs()));
        }
        self.ask(verb, &server, &target, entry);
    }

    /// What a step asks for, with names in it: a path of the main server, or a URL of another.
    fn target(&mut self, server: &str, target: &str) -> String {
        let target = self.names.target(target);
        format!("{}{target}", self.servers.prefix(server).unwrap_or_default())
    }

    /// Whether a request is where the step before was led: it is that step's then.
    fn is_redirected(&mut self, entry: &Entry, server: &str, target: &str) -> bool {
        let mut asks = self.steps.iter_mut().rev().filter_map(|step| match step {
            Step::Ask(ask) => Some(ask),
            _ => None,
        });
        let Some(last) = asks.next() else { return false };
        let leads_here = (300..400).contains(&last.status)
            && last.follow < MOST_REDIRECTS
            && last
                .redirect
                .as_deref()
                .is_some_and(|to| leads_to(to, &last.server, server, target));
        if !leads_here {
            return false;
        }
        last.follow += 1;
        last.status = entry.response.status;
        last.redirect = entry.response.redirect.clone();
        server.clone_into(&mut last.server);
        self.redirects += 1;
        if let Some(page) = &entry.response.content.page {
            self.names.tokens.page(page, last.number);
        }
        true
    }

    fn file(&mut self, server: &str, target: &str, status: i64) {
        self.static_files += 1;
        let target = self.target(server, target);
        let name = self.step_names.name("get", &target);
        let mut fields = vec![("name", quoted(&name)), ("get", quoted(&path(&target)))];
        fields.extend(check(status).map(|check| ("check", check)));
        let step = table(fields);
        match self.steps.last_mut() {
            Some(Step::Static(files)) => files.push(step),
            _ => self.steps.push(Step::Static(vec![step])),
        }
    }

    fn ask(&mut self, verb: &'static str, server: &str, target: &str, entry: &Entry) {
        let number = self.asked;
        self.asked += 1;
        let mut headers = self.headers(&entry.request.headers);
        let written = entry.request.body.as_ref().map(|body| body::written(body, &mut self.names));
        if let Some(None) = written {
            self.left_out.bodies += 1;
        }
        let body = written.flatten();
        if let Some(kind) = body.as_ref().and_then(|body| body.kind.clone()) {
            headers.push(("Content-Type".to_owned(), literal(&kind)));
        }
        let target = self.target(server, target);
        let name = self.step_names.name(verb, &target);
        // All operations of GraphQL are asked for at one path.
        let sent = entry.request.body.as_ref().and_then(|body| body.text.as_deref());
        let operation = sent.filter(|_| target.contains("graphql")).and_then(body::operation);
        let name = operation.map_or(name.clone(), |operation| format!("{name} {operation}"));
        if let Some(page) = &entry.response.content.page {
            self.names.tokens.page(page, number);
        }
        self.steps.push(Step::Ask(Ask {
            number,
            server: server.to_owned(),
            verb,
            name,
            target: quoted(&path(&target)),
            headers,
            body,
            status: entry.response.status,
            follow: 0,
            redirect: entry.response.redirect.clone(),
        }));
    }

    /// The headers that a scenario gives, written.
    fn headers(&mut self, fields: &[Field]) -> Vec<(String, String)> {
        let mut headers: Vec<(String, Vec<String>)> = Vec::new();
        for Field { name, value, .. } in fields {
            let lower = name.to_ascii_lowercase();
            let is_own = OWN_HEADERS.contains(&lower.as_str())
                || [":", "sec-", "if-"].iter().any(|start| lower.starts_with(start));
            // What a browser accepts of a page makes no difference.
            let is_usual = lower == "accept" && (value.contains("html") || value == "*/*");
            if is_own || is_usual {
                continue;
            }
            let is_line = !value.contains(|c: char| c != '\t' && c.is_control());
            if !is_line || parse_header(&format!("{name}: x")).is_err() {
                self.left_out.headers += 1;
                continue;
            }
            // What was recorded is one trace: each request is to be one of its own.
            let written = match lower == traceparent::NAME {
                true => quoted(&format!("{{{{{}}}}}", traceparent::WORD)),
                false => quoted(&self.names.header(name, value).template()),
            };
            match headers.iter_mut().find(|(taken, _)| taken.eq_ignore_ascii_case(name)) {
                Some((_, values)) => values.push(written),
                None => headers.push((name.clone(), vec![written])),
            }
        }
        let value = |values: Vec<String>| match &values[..] {
            [value] => value.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        headers.into_iter().map(|(name, values)| (name, value(values))).collect()
    }

    /// The whole scenario.
    pub(super) fn written(self, origin: &str) -> Result<HarScenario, HarError> {
        let thinks = || {
            self.steps.iter().filter_map(|step| match step {
                Step::Think(ms) => Some(ms),
                _ => None,
            })
        };
        let mut scenario = HarScenario {
            text: String::new(),
            server: self.servers.main.clone(),
            hosts: self.servers.others.clone(),
            requests: self.requests,
            steps: self.asked,
            static_files: self.static_files,
            redirects: self.redirects,
            thinks: thinks().count(),
            think_ms: thinks().sum(),
            secrets: Vec::new(),
            tokens: self.names.tokens.variables(),
            unjudged: self.names.unjudged.clone(),
            still_there: Vec::new(),
            left_out: LeftOut { files: self.names.files, ..self.left_out.clone() },
        };
        let mut steps = String::new();
        for step in &self.steps {
            self.write(step, &mut steps);
        }
        scenario.secrets = self.names.secrets.used(&steps);
        let mut text = String::new();
        let made = format!(
            "Made of the recording {origin} by `plimsoll scenario from-har`: {} requests of {}.",
            self.requests, self.servers.main
        );
        let head = [vec![made.clone()], scenario.remarks()].concat().join("\n");
        scenario.still_there = self.names.secrets.still_in(&format!("{head}\n{steps}"));
        comment(&mut text, &[vec![made], scenario.remarks()].concat());
        if !self.servers.others.is_empty() {
            let hosts: Vec<String> = self.servers.others.iter().map(|of| quoted(of)).collect();
            let _ = writeln!(text, "\nhosts = [{}]", hosts.join(", "));
        }
        text.push_str(&steps);
        scenario.text = text;
        Ok(scenario)
    }

    fn write(&self, step: &Step, out: &mut String) {
        out.push_str("\n[[step]]\n");
        match step {
            Step::Think(ms) => {
                let _ = writeln!(out, "think = \"{}\"", constant_ms(*ms));
            }
            Step::Static(files) => {
                out.push_str("group = \"static files\"\nsteps = [\n");
                for step in files {
                    let _ = writeln!(out, "  {step},");
                }
                out.push_str("]\n");
            }
            Step::Ask(ask) => self.write_ask(ask, out),
        }
    }

    fn write_ask(&self, ask: &Ask, out: &mut String) {
        let _ = writeln!(out, "name = {}", quoted(&ask.name));
        let _ = writeln!(out, "{} = {}", ask.verb, ask.target);
        if !ask.headers.is_empty() {
            let _ = writeln!(out, "headers = {}", table(ask.headers.iter().cloned()));
        }
        for (key, value) in ask.body.iter().flat_map(|body| &body.keys) {
            let _ = writeln!(out, "{key} = {value}");
        }
        if ask.follow > 0 {
            let _ = writeln!(out, "follow = {}", ask.follow);
        }
        for taken in self.names.tokens.taken_of(ask.number) {
            let mut take =
                vec![("css", quoted(&taken.css)), ("attribute", quoted(taken.attribute))];
            take.extend(taken.which.map(|which| ("which", which.to_string())));
            let _ = writeln!(out, "take.{} = {}", taken.variable, table(take));
        }
        if let Some(check) = check(ask.status) {
            let _ = writeln!(out, "check = {check}");
        }
    }
}

/// What has to be checked of an answer, where 2xx is not what came, or a part of a file. What was
/// in the browser's cache (304) is asked for anew.
fn check(status: i64) -> Option<String> {
    let is_usual = ((200..300).contains(&status) && status != 206) || status == 304;
    (!is_usual).then(|| table([("status", status.to_string())]))
}

/// Whether a request is for a static file, by what the browser took it for, else by its looks. A
/// part of one is asked for by a step of its own, which has the header that says which.
fn is_file(entry: &Entry, target: &str) -> bool {
    let is_part = entry.request.headers.iter().any(|of| of.name.eq_ignore_ascii_case("range"));
    !is_part && (is_static_kind(entry) || is_static(target))
}

/// Whether what came is a static file, by what the browser took it for, or by its type.
pub(super) fn is_static_kind(entry: &Entry) -> bool {
    let by_kind = entry.kind.as_deref().map(|kind| {
        matches!(
            kind,
            "stylesheet" | "image" | "font" | "script" | "media" | "manifest" | "texttrack"
        )
    });
    let content = &entry.response.content.kind;
    let is_of = |start: &str| content.starts_with(start);
    let by_content = is_of("image/")
        || is_of("font/")
        || is_of("audio/")
        || is_of("video/")
        || is_of("text/css")
        || content.contains("javascript");
    by_kind == Some(true) || by_content
}
