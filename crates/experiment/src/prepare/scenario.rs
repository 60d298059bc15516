//! A scenario for the engine: its file and those that it names are read, its servers become
//! addresses, its steps and groups get the numbers of their names.

use super::requests::Called;
use super::traces::Traces;
use super::{Contact, Place, Reach, endpoint, tls};
use crate::again::files_of_scenario;
use crate::error::ExperimentError;
use plimsoll_load::{Endpoint, Protocol, Tls, Users};
use plimsoll_net::tls::CertificateEnd;
use plimsoll_plan::{
    Connections, Environment, Http, LoadShape, Places, Plan, RequestSource, WrittenScenario,
    read_scenario,
};
use plimsoll_runs::{NameKind, Naming};
use plimsoll_units::failure::FileError;
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::{self, Scenario};
use std::cell::RefCell;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The longest file of a scenario, and the longest that it names, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// So much of a file tells what its columns are, bytes.
const HEADING: u64 = 1 << 16;

/// Reads a scenario and the files that it names. `places` says where the roles of its plan stand.
///
/// # Errors
/// A file that cannot be read; all that is wrong with the scenario.
pub fn read(
    file: &Path,
    environment: Environment,
    places: Option<&Places>,
) -> Result<Scenario, ExperimentError> {
    let bytes = open(file).map_err(FileError::of("read the scenario", file))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8"))
        .map_err(FileError::of("read the scenario", file))?;
    let origin = file.display().to_string();
    let find = files_of_scenario(file);
    let open = |path: &Path| open(&find(path));
    let (text, origin, open) = (text.as_str(), origin.as_str(), &open);
    Ok(read_scenario(&WrittenScenario { text, origin, environment, places, open })?)
}

/// The files that a plan reads, with those that its scenario names. What is wrong with that is told
/// by whoever executes it.
pub(crate) fn files_of(plan: &Plan) -> Vec<PathBuf> {
    let mut files = plan.files();
    let RequestSource::Scenario(file) = &plan.target.asked else { return files };
    let Ok(text) = open(file).map(|bytes| String::from_utf8(bytes).unwrap_or_default()) else {
        return files;
    };
    let (find, named) = (files_of_scenario(file), RefCell::new(Vec::new()));
    let open = |path: &Path| {
        let path = find(path);
        let rows = first_rows(&path);
        named.borrow_mut().push(path);
        rows
    };
    let (origin, environment) = (file.display().to_string(), Environment::StandIn);
    let (text, origin, places, open) = (text.as_str(), origin.as_str(), None, &open);
    let _ = read_scenario(&WrittenScenario { text, origin, environment, places, open });
    files.extend(named.take().into_iter().filter(|file| file.exists()));
    files
}

/// The whole lines at the beginning of a file: of rows of data, what their columns are.
fn first_rows(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(HEADING).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
    bytes.truncate(end);
    Ok(bytes)
}

/// The bytes of a file, if they are not too many.
fn open(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 256 MiB"));
    }
    Ok(bytes)
}

/// The users of a plan with a scenario, who ask this server, by its protocol.
pub(super) fn users(
    plan: &Plan,
    (url, protocol, traces): (&Url, Protocol, &Traces),
    place: &Place<'_>,
    contact: Contact,
    end: &CertificateEnd,
    notes: &mut Vec<String>,
) -> Result<Option<Users>, ExperimentError> {
    let RequestSource::Scenario(file) = &plan.target.asked else { return Ok(None) };
    let places = (!plan.places.is_empty()).then_some(&plan.places);
    let scenario = read(file, Environment::Of(place.environment), places)?;
    if scenario.channels() > 0 && protocol == Protocol::Http2 {
        let text = "open WebSockets over HTTP/2: they are opened over HTTP/1.1; write ws:// or \
                    wss:// in the URL, and leave `http` out";
        return Err(ExperimentError::Conflict(text.to_owned()));
    }
    let scenario = traces.of_users(scenario).shared(url, plan.seed);
    let others = scenario.origins().iter().skip(1);
    let others = others
        .map(|url| other(plan, (url, protocol), (place.reach, contact), end, notes))
        .collect::<Result<_, _>>()?;
    Ok(Some(Users { scenario, others, connect_rate: plan.load.connect_rate }))
}

/// A server besides the target: where it is, and what TLS is spoken there. All are spoken to by one
/// protocol, that of the target.
fn other(
    plan: &Plan,
    (url, protocol): (&Url, Protocol),
    to: (&Reach, Contact),
    end: &CertificateEnd,
    notes: &mut Vec<String>,
) -> Result<(Endpoint, Option<Tls>), ExperimentError> {
    let (endpoint, _) = endpoint::resolve(&plan.target, url, to, notes)?;
    // The name that the plan gives is that of the target.
    let http = if protocol == Protocol::Http2 { Http::Two } else { Http::One };
    let target = plimsoll_plan::Target { sni: None, http, ..plan.target.clone() };
    let to = tls::To { endpoint: &endpoint, proxies: None };
    let (tls, _) = tls::choose(&target, plan.load.resumes_tls(), url, to, false, end)?;
    Ok((endpoint, tls))
}

/// The names of steps and groups, and the number of each in the scenario.
pub(super) fn called(scenario: &Scenario) -> Called {
    let mut naming = Naming::default();
    let kind = |kind| match kind {
        scenario::NameKind::Step => NameKind::Step,
        scenario::NameKind::Group => NameKind::Group,
        scenario::NameKind::Handshake => NameKind::Handshake,
        scenario::NameKind::Message => NameKind::Message,
        scenario::NameKind::Broadcast => NameKind::Broadcast,
    };
    let names = scenario.names().iter();
    let of = names.map(|name| naming.number(&name.name, kind(name.kind))).collect();
    Called { names: naming.finish(), of: Some(of) }
}

/// How many connections users have at most: each one to each server that he may ask over HTTP, and
/// one for each of his WebSockets. How many there are at a time is not known of users who arrive by
/// the clock.
pub(super) fn connections(plan: &Plan, users: &Users) -> u32 {
    let most = u32::try_from(*Connections::RANGE.end()).unwrap_or(u32::MAX);
    let speaks_http = users.scenario.asks().any(|ask| ask.upgrade.is_none());
    let servers = if speaks_http { users.scenario.origins().len() } else { 0 };
    let each = servers + users.scenario.channels();
    let each = u32::try_from(each.max(1)).unwrap_or(u32::MAX);
    match plan.load.shape {
        LoadShape::Closed { users, .. } => users.saturating_mul(each).min(most),
        LoadShape::Open { .. } | LoadShape::Replay => most,
    }
}
