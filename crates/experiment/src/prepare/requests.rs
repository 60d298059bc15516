//! What is asked: one URL, a list, or a log's requests, with the plan's method, headers, body and
//! authentication on each.

use super::Place;
use crate::error::ExperimentError;
use plimsoll_plan::{Asked as Way, Auth, Body, Plan, Replay as ReplayPlan, Target};
use plimsoll_units::failure::FileError;
use plimsoll_units::{secret, show_count};
use plimsoll_workload::access_log::{Replay, ReplayOptions};
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::{
    Credentials, Order, Request, Requests, Template, Url, UrlListReader,
};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// What is asked, and when where a log says so.
pub(super) struct Asked {
    /// What is asked.
    pub(super) requests: Requests,
    /// The order of a log, as indices into the list.
    pub(super) sequence: Option<Arc<[u32]>>,
    /// The log's own due times.
    pub(super) times: Option<Arc<[u64]>>,
}

/// Reads what the plan's target names.
pub(super) fn read(
    plan: &Plan,
    place: &Place<'_>,
    notes: &mut Vec<String>,
) -> Result<Asked, ExperimentError> {
    let target = &plan.target;
    let mut asked = match &target.asked {
        Way::Url => {
            let url = target.url.clone().ok_or(ExperimentError::NoTarget)?;
            Asked { requests: Requests::one(Request::new(url)), sequence: None, times: None }
        }
        Way::List(file) => {
            let requests = read_list(file, target, notes)?;
            Asked { requests, sequence: None, times: None }
        }
        Way::Replay(replay) => read_log(replay, target, notes)?,
    };
    let body = read_body(&target.body, notes)?;
    // A store is told by its own commands who asks.
    let auth = if target.is_store() { None } else { read_auth(target.auth.as_ref(), place)? };
    let given = matches!(target.asked, Way::Replay(_));
    for request in &mut asked.requests.list {
        // A log has methods of its own.
        if !given {
            request.method.clone_from(&target.method);
        }
        for header in &target.headers {
            request.headers.push((header.name.clone(), header.value.clone()));
        }
        request.body.clone_from(&body);
        if let Some((name, value)) = &auth {
            request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            request.headers.push((name.clone(), value.clone()));
        }
    }
    one_server(&asked.requests)?;
    Ok(asked)
}

/// Reads a list of URLs; one with weights is asked for by them, unless the plan says otherwise.
fn read_list(
    file: &Path,
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<Requests, ExperimentError> {
    let commas = matches!(target.order, Some(Order::Weighted(_)));
    let list = UrlListReader { base: target.url.as_ref(), commas }.file(file)?;
    notes.extend(list.note);
    let order = match (&target.order, list.weights) {
        (None | Some(Order::Weighted(_)), Some(weights)) => Order::Weighted(weights),
        (None, None) => Order::RoundRobin,
        (Some(Order::Weighted(_)), None) => {
            let file = file.display();
            return Err(ExperimentError::Conflict(format!(
                "order the URLs by weight: {file} has no weights; add one behind each URL"
            )));
        }
        (Some(order), weights) => {
            if weights.is_some() {
                let file = file.display();
                notes.push(format!("{file}: its weights are not used, as the order is {order}"));
            }
            order.clone()
        }
    };
    Ok(Requests { list: list.urls.into_iter().map(Request::new).collect(), order })
}

fn read_log(
    replay: &ReplayPlan,
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<Asked, ExperimentError> {
    let base = target.url.as_ref().ok_or(ExperimentError::NoTarget)?;
    let options = ReplayOptions {
        format: replay.format,
        max_urls: usize::try_from(replay.max_urls).unwrap_or(usize::MAX),
        unsafe_methods: replay.unsafe_methods,
        other_servers: false,
    };
    let log = Replay::open(&replay.file, &options)?;
    let mut rest = log.left_out().reasons();
    if log.unreadable() > 0 {
        rest.push(format!("{} lines that cannot be read", show_count(log.unreadable())));
    }
    let file = replay.file.display();
    if !rest.is_empty() {
        let (total, rest) = (show_count(log.total()), rest.join(", "));
        notes.push(format!("{file}: {total} requests are replayed; left out: {rest}"));
    }
    notes.extend(log.damage().map(|damage| format!("{file}: {damage}")));
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
    Ok(Asked { requests, sequence: Some(sequence.into()), times: Some(times.into()) })
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

/// User and password, where the plan has them.
pub(super) fn credentials(
    auth: Option<&Auth>,
    place: &Place<'_>,
) -> Result<Option<Credentials>, ExperimentError> {
    match auth {
        Some(Auth::Basic(credentials)) => Ok(credentials.clone()),
        Some(Auth::BasicEnv(name)) => {
            let credentials = Credentials::parse(&variable(name, place)?);
            credentials.map(Some).map_err(|error| {
                let why = format!("expected {}", error.wanted);
                ExperimentError::Secret { name: name.clone(), why }
            })
        }
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
