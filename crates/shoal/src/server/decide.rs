//! An operator's word about a cache: `PUT /v1/caches/{id}/state`.

use std::time::Duration;

use http_bodies::{BodyExt, Limited};
use hyper::HeaderMap;
use hyper::body::Incoming;
use serde::Deserialize;

use super::client::Client;
use super::reply::Reply;
use super::{Auth, Shared, announce};
use crate::auth::KEY_HEADER;
use crate::heartbeat::Refusal;
use crate::registry::State;

/// The longest body of a decision.
const MOST_BYTES: usize = 256;
/// How long it may take.
const BODY: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    state: String,
    /// The cache's name again. A signature is of the body alone, so a word that is signed has to
    /// say there whom it is about.
    #[serde(default)]
    id: Option<String>,
}

/// Under which name the time of a key's last decision is remembered: no uuid has a blank.
const OPERATOR: &str = "an operator's word";

/// Drains or bans a cache, or withdraws that: by the operator's socket, from networks that are
/// trusted, or signed with an operator's key.
pub(super) async fn decide(
    shared: &Shared,
    client: Client,
    id: u64,
    headers: &HeaderMap,
    body: Incoming,
) -> Reply {
    let is_signed = shared.auth != Auth::Off && headers.contains_key(KEY_HEADER);
    if !client.is_trusted() && !is_signed {
        let detail = "an operator's word comes by --operator-socket, from --trust, or signed";
        return Reply::problem(403, "not_trusted", detail);
    }
    let read = tokio::time::timeout(BODY, Limited::new(body, MOST_BYTES).collect()).await;
    let Ok(Ok(body)) = read else {
        return Reply::problem(400, "malformed", "the body did not come, or is too long");
    };
    let body = body.to_bytes();
    let word = match serde_json::from_slice::<Word>(&body) {
        Ok(word) => word,
        Err(error) => return Reply::problem(400, "malformed", &error.to_string()),
    };
    let state = match &*word.state {
        "drained" => State::Drained,
        "banned" => State::Banned,
        "unverified" => State::Unverified,
        _ => return Reply::problem(400, "range", "not drained, banned or unverified"),
    };
    if word.id.as_deref().is_some_and(|named| named != format!("{id:016x}")) {
        return Reply::problem(400, "range", "`id` is another than that of the path");
    }
    if !client.is_trusted()
        && let Err(refusal) = may_decide(shared, headers, &body, id, &word)
    {
        return announce::refused(&shared.registry().refuse(refusal));
    }
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

/// Whether a signed word may be said: by an operator's key, about this cache, once.
fn may_decide(
    shared: &Shared,
    headers: &HeaderMap,
    body: &[u8],
    id: u64,
    word: &Word,
) -> Result<(), Refusal> {
    let now = shared.clock.now();
    let signed = announce::signed(shared, headers, body, now)?;
    let signed = signed.ok_or(Refusal::Signature("there must be one"))?;
    if word.id.is_none() {
        return Err(Refusal::Missing("id"));
    }
    let cache = shared.registry().find(id).cloned().ok_or(Refusal::Unknown)?;
    signed.may_decide(&cache)?;
    announce::note(shared, &signed, OPERATOR, now)
}
