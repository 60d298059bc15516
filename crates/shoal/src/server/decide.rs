//! An operator's word about a cache: `PUT /v1/caches/{id}/state`.

use std::time::Duration;

use http_bodies::{BodyExt, Limited};
use hyper::body::Incoming;
use serde::Deserialize;

use super::Shared;
use super::handle::Client;
use super::reply::Reply;
use crate::registry::State;

/// The longest body of a decision.
const MOST_BYTES: usize = 256;
/// How long it may take.
const BODY: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    state: String,
}

/// Drains or bans a cache, or withdraws that. From loopback and trusted networks only.
pub(super) async fn decide(shared: &Shared, client: Client, id: u64, body: Incoming) -> Reply {
    if !client.trusted {
        return Reply::problem(403, "not_trusted", "an operator's word comes from --trust only");
    }
    let read = tokio::time::timeout(BODY, Limited::new(body, MOST_BYTES).collect()).await;
    let Ok(Ok(body)) = read else {
        return Reply::problem(400, "malformed", "the body did not come, or is too long");
    };
    let state = match serde_json::from_slice::<Word>(&body.to_bytes()) {
        Ok(Word { state }) => match &*state {
            "drained" => State::Drained,
            "banned" => State::Banned,
            "unverified" => State::Unverified,
            _ => return Reply::problem(400, "range", "not drained, banned or unverified"),
        },
        Err(error) => return Reply::problem(400, "malformed", &error.to_string()),
    };
    if !shared.registry().decide(id, state) {
        return Reply::problem(404, "not_found", "no such cache");
    }
    let kept = || shared.registry().kept().clone();
    match shared.folder.as_ref().map_or(Ok(()), |folder| folder.keep(kept)) {
        Ok(()) => Reply::empty(204),
        // It holds, but not over a restart.
        Err(_) => Reply::problem(500, "not_kept", "decided, but it cannot be written down"),
    }
}
