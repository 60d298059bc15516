//! What is asked: one URL, a list, or a log's requests, with the plan's method, headers, body and
//! authentication on each.

use super::Place;
use super::traces::Traces;
use crate::error::ExperimentError;
use plimsoll_plan::{Auth, Body, Plan, Replay as ReplayPlan, RequestSource as Way, Target};
use plimsoll_runs::{NameKind, Names, Naming};
use plimsoll_units::failure::FileError;
use plimsoll_units::{secret, show_count};
use plimsoll_workload::access_log::{Replay, ReplayOptions};
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::{
    Credentials, Listed, Order, Request, RequestListReader, Requests, Template, Url, pattern,
};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// What is asked, and when where a log says so.
pub(super) struct PreparedRequests {
    /// What is asked.
    pub(super) requests: Requests,
    /// The order of a log, as indices into the list.
    pub(super) sequence: Option<Arc<[u32]>>,
    /// The log's own due times.
    pub(super) times: Option<Arc<[u64]>>,
    /// What the requests of the list are called.
    pub(super) called: Called,
}

/// What requests are called: the names, and the number of that of each request. One URL alone has
/// none.
#[derive(Default)]
pub(super) struct Called {
    pub(super) names: Names,
    pub(super) of: Option<Arc<[u16]>>,
}

impl Called {
    fn by(names: impl Iterator<Item = String>) -> Self {
        let mut naming = Naming::default();
        let of = names.map(|name| naming.number(&name, NameKind::Request)).collect();
        Self { names: naming.finish(), of: Some(of) }
    }
}

/// What a request is called that is called by what it asks for.
fn called(method: &str, target: &str) -> String {
    if method == "GET" { target.to_owned() } else { format!("{method} {target}") }
}

/// Reads what the plan's target names.
pub(super) fn read(
    plan: &Plan,
    place: &Place<'_>,
    traces: &Traces,
    notes: &mut Vec<String>,
) -> Result<PreparedRequests, ExperimentError> {
    let target = &plan.target;
    let body = read_body(&target.body, notes)?;
    // A store is told by its own commands who asks.
    let auth = if target.is_store() { None } else { read_auth(target.auth.as_ref(), place)? };
    let mut asked = match &target.asked {
        Way::Url => {
            let url = target.url.clone().ok_or(ExperimentError::NoTarget)?;
            let request = Request { method: target.method.clone(), body, ..Request::new(url) };
            let (requests, called) = (Requests::one(request), Called::default());
            PreparedRequests { requests, sequence: None, times: None, called }
        }
        Way::List(file) => {
            let (requests, called) = read_list(file, target, body.as_ref(), notes)?;
            PreparedRequests { requests, sequence: None, times: None, called }
        }
        Way::Scenario(_) => {
            let url = target.url.clone().ok_or(ExperimentError::NoTarget)?;
            let requests = Requests::one(Request::new(url));
            PreparedRequests { requests, sequence: None, times: None, called: Called::default() }
        }
        // A log has methods of its own, and no bodies.
        Way::Replay(replay) => read_log(replay, target, notes)?,
    };
    for request in &mut asked.requests.list {
        // What a list says of a request comes before what the plan says of all.
        let own = request.headers.clone();
        let is_own = |name: &str| own.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        for header in target.headers.iter().filter(|header| !is_own(&header.name)) {
            request.headers.push((header.name.clone(), header.value.clone()));
        }
        if let Some((name, value)) = &auth {
            request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            request.headers.push((name.clone(), value.clone()));
        }
    }
    traces.of_list(&mut asked.requests.list);
    one_server(&asked.requests)?;
    Ok(asked)
}

/// Reads a request list; one with weights is asked for by them, unless the plan says otherwise.
fn read_list(
    file: &Path,
    target: &Target,
    body: Option<&Template>,
    notes: &mut Vec<String>,
) -> Result<(Requests, Called), ExperimentError> {
    let commas = matches!(target.order, Some(Order::Weighted(_)));
    let list = RequestListReader { base: target.url.as_ref(), commas }.file(file)?;
    let order = order_of(file, target, list.weights(), notes)?;
    notes.extend(list.note);
    let is_usual = |of: &Listed| of.method.as_deref().is_none_or(|own| own == target.method);
    let name = |of: &Listed| {
        let method = if is_usual(of) { "GET" } else { of.method.as_deref().unwrap_or("GET") };
        of.name.clone().unwrap_or_else(|| called(method, &of.url.target))
    };
    let called = Called::by(list.requests.iter().map(name));
    let request = |of: Listed| {
        let mut request = Request::new(of.url);
        request
            .headers
            .retain(|(name, _)| !of.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)));
        request.headers.extend(of.headers);
        request.method = of.method.unwrap_or_else(|| target.method.clone());
        request.body = of.body.or_else(|| body.cloned());
        request
    };
    let list = list.requests.into_iter().map(request).collect();
    Ok((Requests { list, order }, called))
}

/// The order of a list with these weights.
fn order_of(
    file: &Path,
    target: &Target,
    weights: Option<Vec<f64>>,
    notes: &mut Vec<String>,
) -> Result<Order, ExperimentError> {
    let file = file.display();
    Ok(match (&target.order, weights) {
        (None | Some(Order::Weighted(_)), Some(weights)) => Order::Weighted(weights),
        (None, None) => Order::RoundRobin,
        (Some(Order::Weighted(_)), None) => {
            return Err(ExperimentError::Conflict(format!(
                "order the URLs by weight: {file} has no weights; add one behind each URL"
            )));
        }
        (Some(order), weights) => {
            if weights.is_some() {
                notes.push(format!("{file}: its weights are not used, as the order is {order}"));
            }
            order.clone()
        }
    })
}

fn read_log(
    replay: &ReplayPlan,
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<PreparedRequests, ExperimentError> {
    let base = target.url.as_ref().ok_or(ExperimentError::NoTarget)?;
    let options = ReplayOptions {
        format: replay.format.clone(),
        max_urls: usize::try_from(replay.max_urls).unwrap_or(usize::MAX),
        unsafe_methods: replay.unsafe_methods,
        other_servers: false,
        keep_host: replay.keep_host,
        rewrites: replay.rewrite.clone(),
    };
    let log = Replay::open_all(&replay.files, &options)?;
    let names: Vec<String> = replay.files.iter().map(|of| of.display().to_string()).collect();
    note_log(&log, &names.join(", "), replay.keep_host, notes);
    let (mut sequence, mut times) = (Vec::new(), Vec::new());
    for request in log.due(Share { index: 0, of: 1 })? {
        let request = request?;
        sequence.push(request.index);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "offsets of a log are far below 2^53 ns, and the cast saturates"
        )]
        times.push((request.offset_ns as f64 / replay.speed) as u64);
    }
    let requests = log.requests(&Request::new(base.clone()))?;
    let name = |of: &Request| called(&of.method, &pattern(&of.url.target));
    let called = Called::by(requests.list.iter().map(name));
    let (sequence, times) = (Some(sequence.into()), Some(times.into()));
    Ok(PreparedRequests { requests, sequence, times, called })
}

/// What a reader of the run must know of the logs of these names.
fn note_log(log: &Replay, names: &str, keeps_host: bool, notes: &mut Vec<String>) {
    let mut rest = log.left_out().reasons();
    if log.unreadable() > 0 {
        rest.push(format!("{} lines that cannot be read", show_count(log.unreadable())));
    }
    if !rest.is_empty() {
        let (total, rest) = (show_count(log.total()), rest.join(", "));
        let first = log.example().map(|of| {
            let several =
                if names == of.origin { String::new() } else { format!("{}, ", of.origin) };
            format!("; the first: {several}line {}: {} ({})", of.line, of.text, of.why)
        });
        let first = first.unwrap_or_default();
        notes.push(format!("{names}: {total} requests are replayed; left out: {rest}{first}"));
    }
    notes.extend(log.damage().map(|damage| format!("{names}: {damage}")));
    let mut hosts = log.hosts();
    let count = hosts.len();
    if let Some(host) = hosts.next().filter(|_| !keeps_host && count > 1) {
        notes.push(format!(
            "{names}: its lines name {count} hosts, such as {host}, and all are asked by the \
             target's own name; --keep-host sends theirs"
        ));
    }
}

/// The longest body that is read from a file, in bytes.
const MAX_BODY_BYTES: u64 = 256 << 20;

fn read_body(body: &Body, notes: &mut Vec<String>) -> Result<Option<Template>, ExperimentError> {
    match body {
        Body::None => Ok(None),
        Body::Text { written, template } => {
            let names_a_file = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
            if let Some(name) = written.strip_prefix('@').filter(|name| names_a_file(name)) {
                notes.push(format!(
                    "the body is the text `@{name}`; `--body-file {name}` sends the file"
                ));
            }
            Ok(Some(template.clone()))
        }
        Body::File(path) => {
            let failed = FileError::of("read", path);
            let file = std::fs::File::open(path).map_err(&failed)?;
            let mut bytes = Vec::new();
            file.take(MAX_BODY_BYTES + 1).read_to_end(&mut bytes).map_err(&failed)?;
            if bytes.len() as u64 > MAX_BODY_BYTES {
                let text = format!("send the body {}: it has more than 256 MiB", path.display());
                return Err(ExperimentError::Conflict(text));
            }
            Ok(Some(Template::literal(bytes)))
        }
    }
}

fn variable(name: &str, place: &Place<'_>) -> Result<String, ExperimentError> {
    let unset =
        || ExperimentError::Secret { name: name.to_owned(), why: "it is not set".to_owned() };
    secret::variable(name, place.environment).map_err(|_| unset())
}

/// User and password that an environment variable holds.
pub(super) fn login(name: &str, place: &Place<'_>) -> Result<Credentials, ExperimentError> {
    Credentials::parse(&variable(name, place)?).map_err(|error| {
        let why = format!("expected {}", error.wanted);
        ExperimentError::Secret { name: name.to_owned(), why }
    })
}

/// User and password, where the plan has them.
pub(super) fn credentials(
    auth: Option<&Auth>,
    place: &Place<'_>,
) -> Result<Option<Credentials>, ExperimentError> {
    match auth {
        Some(Auth::Basic(credentials)) => Ok(credentials.clone()),
        Some(Auth::BasicEnv(name)) => login(name, place).map(Some),
        None | Some(Auth::Bearer(_) | Auth::BearerEnv(_)) => Ok(None),
    }
}

fn read_auth(
    auth: Option<&Auth>,
    place: &Place<'_>,
) -> Result<Option<(String, Template)>, ExperimentError> {
    let bearer = |token: &str, name: &str| {
        plimsoll_workload::request::bearer(token).map_err(|error| ExperimentError::Secret {
            name: name.to_owned(),
            why: format!("expected {}", error.wanted),
        })
    };
    Ok(match auth {
        Some(Auth::Bearer(token)) => {
            token.reveal().map(|token| bearer(token, "target.bearer")).transpose()?
        }
        Some(Auth::BearerEnv(name)) => Some(bearer(&variable(name, place)?, name)?),
        other => credentials(other, place)?.as_ref().map(Credentials::header),
    })
}

fn one_server(requests: &Requests) -> Result<(), ExperimentError> {
    let server = |url: &Url| (url.scheme.name, url.host.clone(), url.port, url.unix.clone());
    let Some(first) = requests.list.first() else { return Err(ExperimentError::NoTarget) };
    let differs = |one: &&Request| server(&one.url) != server(&first.url);
    match requests.list.iter().find(differs) {
        None => Ok(()),
        Some(other) => Err(ExperimentError::SeveralServers {
            one: first.url.authority(),
            other: other.url.authority(),
        }),
    }
}
