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
use crate::http1::{Ask, Dial, Limits, Plain, Url};
use crate::registry::{Copied, State};

/// How long a list may take, and how long it may be: 200,000 caches.
const LIMITS: Limits = Limits { total: Duration::from_secs(10), answer_bytes: 200 * 1024 * 1024 };

/// What `/v1/caches` says, as much of it as is copied.
#[derive(Debug, Deserialize)]
struct List {
    caches: Vec<Entry>,
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
}

/// Copies the list of the first peer that has one; the server is ready then. Nobody waits for the
/// thread: one that still fetches when the server ends, ends with its own time-out.
pub(super) fn spawn(shared: Arc<Shared>) -> Result<(), StartError> {
    if shared.peers.is_empty() {
        return Ok(());
    }
    let run = move || {
        if shared.peers.iter().any(|peer| !shared.stopped() && copy(&shared, peer)) {
            shared.set_ready();
        }
    };
    let spawned = std::thread::Builder::new().name("copy".to_owned()).spawn(run);
    spawned.map(drop).map_err(StartError::Thread)
}

/// Copies the list of a peer; false if it has none.
fn copy(shared: &Shared, peer: &str) -> bool {
    let Some(list) = fetch(shared, peer) else { return false };
    shared.registry().copy(shared.clock.now(), &list, &*shared.geography);
    true
}

fn fetch(shared: &Shared, peer: &str) -> Option<Vec<Copied>> {
    let now = shared.clock.now();
    let url = Url::parse(peer).ok()?.join("/v1/caches");
    let dial = dial(shared, &url)?;
    let answer = Ask::get(&url).send(&*dial, LIMITS).ok();
    let answer = answer.filter(|answer| answer.status == 200)?;
    let list: List = serde_json::from_slice(&answer.body).ok()?;
    // An entry that is not within its bounds is left out; the cache itself will announce it.
    Some(list.caches.iter().filter_map(|entry| copied(entry, now)).collect())
}

/// How a peer is reached.
fn dial(shared: &Shared, url: &Url) -> Option<Box<dyn Dial>> {
    if url.secure { encrypted(shared) } else { Some(Box::new(Plain)) }
}

#[cfg(feature = "tls")]
fn encrypted(shared: &Shared) -> Option<Box<dyn Dial>> {
    let tls = crate::tls::Tls::new(shared.peer_ca.as_deref(), None).ok()?;
    Some(Box::new(tls))
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: &Shared) -> Option<Box<dyn Dial>> {
    None
}

/// The entry as a heartbeat that was heard when its age says.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of an age")]
fn copied(entry: &Entry, now: Now) -> Option<Copied> {
    if !(entry.age_s >= 0.0 && entry.age_s < 1e9) {
        return None;
    }
    // Through the parser, whose bounds then hold for copies, too.
    let said = serde_json::json!({
        "uuid": "copy",
        "hostname": entry.host,
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
    });
    let mut beat = parse(said.to_string().as_bytes()).ok()?;
    beat.uuid = "".into();
    Some(Copied {
        id: u64::from_str_radix(&entry.id, 16).ok()?,
        beat,
        age_ns: (entry.age_s * 1e9) as u64,
        state: match &*entry.state {
            "verified" => State::Verified,
            "failing" => State::Failing,
            _ => State::Unverified,
        },
    })
}
