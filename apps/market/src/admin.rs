//! What the administrator does by hand: feed events, end pools, move clients, look at all money.
//! Without the file of his token, nobody does.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::hub::Event;
use crate::market::{Market, token_hash};
use crate::message::ServerMessage;
use crate::money::Verdict;
use crate::pool::{MAX_OUTCOMES, fault_of_text};
use crate::resolver::Resolver;
use crate::rest::{Fault, bearer, read};
use crate::store::{NewPool, Resolution};

/// The most characters of where clients should go.
const MAX_TO: usize = 300;

/// What is below `/admin`.
pub(crate) fn routes() -> Router<Market> {
    Router::new()
        .route("/games", post(begin))
        .route("/games/{game}/end", post(end))
        .route("/games/{game}/pools", post(open))
        .route("/pools/{pool}/close", post(close))
        .route("/pools/{pool}/resolve", post(resolve))
        .route("/reconnect", post(reconnect))
        .route("/ledger", get(ledger))
}

fn check(market: &Market, headers: &HeaderMap) -> Result<(), Fault> {
    let Some(admin) = &market.settings.admin else {
        let words = "there is no administrator: start the server with --admin-token FILE";
        return Err(Fault(StatusCode::FORBIDDEN, words.to_owned()));
    };
    // Digests are compared: how long that takes says nothing of the token.
    match bearer(headers) {
        Some(token) if token_hash(token) == *admin => Ok(()),
        Some(_) | None => {
            let words = "this needs the administrator's token: Authorization: Bearer TOKEN";
            Err(Fault(StatusCode::UNAUTHORIZED, words.to_owned()))
        }
    }
}

fn resolver(market: &Market) -> Resolver {
    Resolver { store: market.announcer.store.clone(), bus: market.announcer.bus.clone() }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    name: String,
}

async fn begin(
    State(market): State<Market>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Fault> {
    check(&market, &headers)?;
    let Begin { name } = read(&body)?;
    if let Some(fault) = fault_of_text("the name", &name) {
        return Err(Fault::wrong(fault));
    }
    let game =
        market.call(|market| async move { resolver(&market).begin(&name, None).await }).await?;
    Ok((StatusCode::CREATED, Json(json!({ "game": game }))))
}

async fn end(
    State(market): State<Market>,
    Path(game): Path<u64>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    check(&market, &headers)?;
    let ended = market.call(|market| async move { resolver(&market).end(game).await }).await?;
    if ended { Ok(Json(json!({ "game": game }))) } else { Err(Fault::unknown("game that goes on")) }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    question: String,
    outcomes: Vec<String>,
    /// As `90s`.
    open_for: String,
}

async fn open(
    State(market): State<Market>,
    Path(game): Path<u64>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Fault> {
    check(&market, &headers)?;
    let Open { question, outcomes, open_for } = read(&body)?;
    if !(2..=MAX_OUTCOMES).contains(&outcomes.len()) {
        let words = format!("a pool has 2 to {MAX_OUTCOMES} outcomes, not {}", outcomes.len());
        return Err(Fault::wrong(words));
    }
    let fault = fault_of_text("the question", &question);
    if let Some(fault) =
        fault.or_else(|| outcomes.iter().find_map(|one| fault_of_text("an outcome", one)))
    {
        return Err(Fault::wrong(fault));
    }
    let open_for = plimsoll_units::duration(&open_for)
        .map_err(|error| Fault::wrong(format!("open_for: {error}")))?;
    if open_for > Duration::from_secs(366 * 86_400) {
        return Err(Fault::wrong("open_for is more than a year"));
    }
    let pool = NewPool { game, question, outcomes, open_for, rake: market.settings.rake };
    let pool = market.call(|market| async move { resolver(&market).open(&pool).await }).await?;
    let pool = pool.ok_or_else(|| Fault::unknown("game that goes on"))?;
    Ok((StatusCode::CREATED, Json(json!({ "pool": pool }))))
}

async fn close(
    State(market): State<Market>,
    Path(pool): Path<u64>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    check(&market, &headers)?;
    let closed = market.call(|market| async move { resolver(&market).close(pool).await }).await?;
    if closed { Ok(Json(json!({ "pool": pool }))) } else { Err(Fault::unknown("pool")) }
}

/// How a pool ends: by an outcome, or not at all.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum End {
    Outcome { outcome: u32 },
    Void { void: bool },
}

async fn resolve(
    State(market): State<Market>,
    Path(pool): Path<u64>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Fault> {
    check(&market, &headers)?;
    let verdict = match read(&body)? {
        End::Outcome { outcome } => Verdict::Outcome(outcome),
        End::Void { void: true } => Verdict::Void,
        End::Void { void: false } => return Err(Fault::wrong("void is true, or left out")),
    };
    let resolution =
        market.call(|market| async move { resolver(&market).resolve(pool, verdict).await }).await?;
    let conflict = |words: &str| Err(Fault(StatusCode::CONFLICT, words.to_owned()));
    match resolution {
        Resolution::Done { state, outcome, .. } | Resolution::Before { state, outcome } => {
            Ok(Json(json!({ "pool": pool, "state": state, "outcome": outcome })))
        }
        Resolution::Otherwise { state, outcome } => {
            let how = outcome.map_or("nothing".to_owned(), |outcome| outcome.to_string());
            conflict(&format!("it is {} before, with outcome {how}", state.word()))
        }
        Resolution::Open => conflict("it still takes stakes: close it first"),
        Resolution::Unknown => Err(Fault::unknown("pool, or no such outcome of it")),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reconnect {
    to: String,
}

async fn reconnect(
    State(market): State<Market>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Fault> {
    check(&market, &headers)?;
    let Reconnect { to } = read(&body)?;
    let is_url = to.starts_with("ws://") || to.starts_with("wss://");
    if !is_url || to.len() > MAX_TO || to.chars().any(char::is_control) {
        let words = format!("to is ws://… or wss://… of at most {MAX_TO} bytes");
        return Err(Fault::wrong(words));
    }
    let told = Event::Reconnect(ServerMessage::Reconnect { to: &to }.text());
    market.workers.tell(&told).await;
    Ok(Json(json!({ "to": to })))
}

async fn ledger(State(market): State<Market>, headers: HeaderMap) -> Result<Json<Value>, Fault> {
    check(&market, &headers)?;
    let ledger = market.call(|market| async move { market.announcer.store.ledger().await }).await?;
    Ok(Json(json!(ledger)))
}
