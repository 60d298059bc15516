//! An operator's word about a cache: `PUT /v1/caches/{id}/state`.

use std::net::IpAddr;

use hyper::body::Incoming;
use hyper_body::{BodyExt, Limited};
use serde::Deserialize;

use super::Shared;
use super::reply::Reply;
use crate::registry::State;

/// The longest body of a decision.
const MOST_BYTES: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    state: String,
}

/// Drains or bans a cache, or withdraws that. From loopback and trusted networks only.
pub(super) async fn decide(shared: &Shared, client: IpAddr, id: u64, body: Incoming) -> Reply {
    if !shared.trusts(client) {
        return Reply::problem(403, "not_trusted", "an operator's word comes from --trust only");
    }
    let Ok(body) = Limited::new(body, MOST_BYTES).collect().await else {
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
    let kept = {
        let mut registry = shared.registry();
        if !registry.decide(id, state) {
            return Reply::problem(404, "not_found", "no such cache");
        }
        registry.kept().clone()
    };
    match shared.folder.as_ref().map_or(Ok(()), |folder| folder.keep(&kept)) {
        Ok(()) => Reply::empty(204),
        // It holds, but not over a restart.
        Err(_) => Reply::problem(500, "not_kept", "decided, but it cannot be written down"),
    }
}
