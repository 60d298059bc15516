//! The list of another registry, copied at the start, so that the first clients have answers.
//!
//! A peer may take its time, or all the time there is: its list is fetched on a thread of its own,
//! while heartbeats are taken and answers given.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::{Shared, StartError};
use crate::Now;
use crate::heartbeat::parse;
use crate::registry::{Copied, State};
use plimsoll_net::http::client::{Ask, Dial, Limits, Plain};
use plimsoll_net::url::Url;
use plimsoll_units::failure::chain;

/// How long a list may take, and how long it may be: 200,000 caches.
const LIMITS: Limits = Limits { total: Duration::from_secs(10), answer_bytes: 200 * 1024 * 1024 };

/// What `/v1/caches` says, as much of it as is copied.
#[derive(Debug, Deserialize)]
struct List {
    caches: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    id: String,
    host: String,
    port: u16,
    public_ip: Option<String>,
    private_ip: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    upstream: String,
    cloud: Option<String>,
    version: Option<String>,
    state: String,
    /// As it came there: an integer stays one.
    load_kib_s: serde_json::Number,
    max_load_kib_s: Option<f64>,
    age_s: f64,
    /// Absent from lists of earlier registries, as what follows.
    #[serde(default)]
    latitude: Option<f64>,
    #[serde(default)]
    longitude: Option<f64>,
    #[serde(default)]
    signed: bool,
}

/// An entry, or what is not understood as one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Row {
    Entry(Box<Entry>),
    Odd(serde::de::IgnoredAny),
}

/// Why a peer's list is not copied.
#[derive(Debug, thiserror::Error)]
enum PeerError {
    #[error(transparent)]
    Url(#[from] plimsoll_units::ParseError),
    #[error(transparent)]
    Ask(#[from] plimsoll_net::http::client::Error),
    #[error("it is not ready: it is waiting for a list itself")]
    Starting,
    #[error("its answer to {0} has the status {1}")]
    Status(&'static str, u16),
    #[error("its list is none")]
    List(#[source] serde_json::Error),
    #[error("what was decided there cannot be written down")]
    Keep(#[source] super::FolderError),
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] plimsoll_net::tls::TlsError),
    #[cfg(not(feature = "tls"))]
    #[error("https: left out of this program; build it with the feature `tls`")]
    LeftOut,
}

/// How long to wait before all peers are asked again.
const PAUSE: Duration = Duration::from_secs(2);

/// Copies the list of the first peer that has one and is ready itself; the server is ready then.
/// Until an interval of heartbeats has passed they are asked again and again. Nobody waits for the
/// thread: one that still fetches when the server ends, ends with its own time-out.
pub(super) fn spawn(shared: Arc<Shared>) -> Result<(), StartError> {
    if shared.peers.is_empty() {
        return Ok(());
    }
    let spawned =
        std::thread::Builder::new().name("copy".to_owned()).spawn(move || copy_one(&shared));
    spawned.map(drop).map_err(StartError::Thread)
}

fn copy_one(shared: &Shared) {
    let mut told: Vec<Option<String>> = vec![None; shared.peers.len()];
    loop {
        for (peer, told) in shared.peers.iter().zip(&mut told) {
            if shared.stopped() {
                return;
            }
            match copy(shared, peer) {
                Ok(said) => {
                    shared.say(&format!("peer {peer}: {said}"));
                    return shared.set_ready();
                }
                Err(error) => {
                    let why = Some(chain(&error));
                    if *told != why {
                        shared.say(&format!("peer {peer}: {}", why.as_deref().unwrap_or_default()));
                        *told = why;
                    }
                }
            }
        }
        if shared.ready() {
            return shared.say("no peer's list was copied: what announces itself is listed");
        }
        std::thread::park_timeout(PAUSE);
    }
}

/// Copies the list of a peer, and says what became of it.
fn copy(shared: &Shared, peer: &str) -> Result<String, PeerError> {
    let (list, odd) = fetch(shared, peer)?;
    let taken = shared.registry().copy(shared.clock.now(), &list, &*shared.geography);
    if let Some(folder) = &shared.folder {
        folder.keep(|| shared.registry().kept().clone()).map_err(PeerError::Keep)?;
    }
    let odd = if odd > 0 { format!("; {odd} not understood") } else { String::new() };
    Ok(format!("{taken} of {} caches copied{odd}", list.len()))
}

/// The entries of its list, and how many more are not understood.
fn fetch(shared: &Shared, peer: &str) -> Result<(Vec<Copied>, usize), PeerError> {
    let now = shared.clock.now();
    let url = Url::parse(peer)?;
    let dial = dial(shared, &url)?;
    let ask = |path: &'static str| {
        let answer = Ask::get(&url.join(path)).send(&*dial, LIMITS)?;
        Ok::<_, PeerError>((path, answer))
    };
    match ask("/v1/ready")? {
        (_, answer) if answer.status == 200 => {}
        (_, answer) if answer.status == 503 => return Err(PeerError::Starting),
        (path, answer) => return Err(PeerError::Status(path, answer.status)),
    }
    let (path, answer) = ask("/v1/caches")?;
    if answer.status != 200 {
        return Err(PeerError::Status(path, answer.status));
    }
    let list: List = serde_json::from_slice(&answer.body).map_err(PeerError::List)?;
    let count = list.caches.len();
    // One that is not within its bounds is left out; the cache itself will announce it.
    let copied: Vec<Copied> = list.caches.iter().filter_map(|row| copied(row, now)).collect();
    let odd = count - copied.len();
    Ok((copied, odd))
}

/// How a peer is reached.
fn dial(shared: &Shared, url: &Url) -> Result<Box<dyn Dial>, PeerError> {
    if url.secure { encrypted(shared) } else { Ok(Box::new(Plain)) }
}

#[cfg(feature = "tls")]
fn encrypted(shared: &Shared) -> Result<Box<dyn Dial>, PeerError> {
    Ok(Box::new(plimsoll_net::tls::Tls::new(shared.peer_ca.as_deref(), None)?))
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: &Shared) -> Result<Box<dyn Dial>, PeerError> {
    Err(PeerError::LeftOut)
}

/// The entry as a heartbeat that was heard when its age says.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of an age")]
fn copied(row: &Row, now: Now) -> Option<Copied> {
    let Row::Entry(entry) = row else { return None };
    if !(entry.age_s >= 0.0 && entry.age_s < 1e9) {
        return None;
    }
    // Through the parser, whose bounds then hold for copies, too.
    let inner = entry.host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = inner.and_then(|inner| inner.parse::<std::net::Ipv6Addr>().ok());
    let said = serde_json::json!({
        "uuid": "copy",
        "hostname": if address.is_some() { "address" } else { &*entry.host },
        "cache_port": entry.port,
        "cache_type": entry.kind,
        "upstream": entry.upstream,
        "public_ip": entry.public_ip,
        "private_ip": entry.private_ip,
        "cloud": entry.cloud,
        "version": entry.version,
        "max_load": entry.max_load_kib_s,
        "timestamp": now.unix_s - entry.age_s,
        "load": entry.load_kib_s,
        "latitude": entry.latitude,
        "longitude": entry.longitude,
    });
    let mut beat = parse(said.to_string().as_bytes()).ok()?;
    beat.uuid = "".into();
    if let Some(address) = address {
        beat.hostname = format!("[{address}]").into();
    }
    Some(Copied {
        id: u64::from_str_radix(&entry.id, 16).ok()?,
        beat,
        age_ns: (entry.age_s * 1e9) as u64,
        state: State::ALL.into_iter().find(|state| state.name() == entry.state)?,
        signed: entry.signed,
    })
}
