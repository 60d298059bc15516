//! The market over HTTP, for users and for who looks at it by browser.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use crate::admin;
use crate::market::Market;
use crate::pool::{Prediction, fault_of_text};
use crate::store::{Answer, StoreError};
use crate::ws;

/// The most bytes of a request's body.
const MAX_BODY: usize = 8 << 10;

/// The place of one connection among those that may be open, given back with its last holder.
pub(crate) type Permit = Arc<OwnedSemaphorePermit>;

/// What is answered where something is wrong: a status and words.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) StatusCode, pub(crate) String);

impl Fault {
    /// No token, or nobody's.
    pub(crate) fn token() -> Self {
        let words = "say who you are: Authorization: Bearer TOKEN, of POST /users";
        Self(StatusCode::UNAUTHORIZED, words.to_owned())
    }

    pub(crate) fn unknown(what: &str) -> Self {
        Self(StatusCode::NOT_FOUND, format!("there is no such {what}"))
    }

    pub(crate) fn wrong(words: impl Into<String>) -> Self {
        Self(StatusCode::UNPROCESSABLE_ENTITY, words.into())
    }
}

impl From<StoreError> for Fault {
    fn from(_: StoreError) -> Self {
        // What the database says is not for strangers; it is counted.
        let words = "the database does not answer: ask again, a prediction with the same n";
        Self(StatusCode::SERVICE_UNAVAILABLE, words.to_owned())
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

/// All that is answered.
pub(crate) fn routes(market: Market) -> Router {
    let echo = if market.settings.echo {
        Router::new().route("/echo", get(ws::echo))
    } else {
        Router::new()
    };
    Router::new()
        .merge(echo)
        .route("/", get(page))
        .route("/openapi.json", get(openapi))
        .route("/metrics", get(metrics))
        .route("/health", get(|| async { "ok\n" }))
        .route("/users", post(register))
        .route("/users/{user}", get(user))
        .route("/users/{user}/predictions", get(own).post(predict))
        .route("/games", get(games))
        .route("/games/{game}/pools", get(pools))
        .route("/ws", get(ws::upgrade))
        .nest("/admin", admin::routes())
        .fallback(|| async { Fault::unknown("page: see /openapi.json") })
        .layer(middleware::from_fn_with_state(market.clone(), count))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(market)
}

async fn count(State(market): State<Market>, request: Request, next: Next) -> Response {
    market.metrics.requests.add(1);
    next.run(request).await
}

/// The token of a request, where it has one.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// What a body says, or what is wrong with it.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Fault> {
    serde_json::from_slice(body)
        .map_err(|error| Fault(StatusCode::BAD_REQUEST, format!("the body: {error}")))
}

/// The user of this path, who must be the one that asks.
async fn himself(market: &Market, headers: &HeaderMap, of: u64) -> Result<u64, Fault> {
    let token = bearer(headers).ok_or_else(Fault::token)?;
    let user = market.user_of(token).await?.ok_or_else(Fault::token)?;
    if user == of {
        Ok(user)
    } else {
        let words = "a user sees and stakes only his own money";
        Err(Fault(StatusCode::FORBIDDEN, words.to_owned()))
    }
}

async fn page() -> impl IntoResponse {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, include_str!("page.html"))
}

async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json"))
}

async fn metrics(State(market): State<Market>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], market.metrics.text())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

async fn register(State(market): State<Market>, body: Bytes) -> Result<Response, Fault> {
    let Name { name } = read(&body)?;
    if let Some(fault) = fault_of_text("the name", &name) {
        return Err(Fault::wrong(fault));
    }
    let user = market.register(name).await?;
    Ok((StatusCode::CREATED, Json(user)).into_response())
}

async fn user(
    State(market): State<Market>,
    Path(user): Path<u64>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    let user = himself(&market, &headers, user).await?;
    let (name, balance) = market.user(user).await?.ok_or_else(|| Fault::unknown("user yet"))?;
    Ok(Json(json!({ "user": user, "name": name, "balance": balance })))
}

async fn own(
    State(market): State<Market>,
    Path(user): Path<u64>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    let user = himself(&market, &headers, user).await?;
    Ok(Json(json!({ "predictions": market.own(user).await? })))
}

async fn predict(
    State(market): State<Market>,
    Path(user): Path<u64>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Fault> {
    let user = himself(&market, &headers, user).await?;
    let prediction: Prediction = read(&body)?;
    let (answer, placed) = market.predict(user, prediction).await?;
    if let Some(placed) = placed {
        market.announce(placed).await;
    }
    let n = prediction.n;
    Ok(Json(match answer {
        Answer::Ok(balance) => json!({ "op": "ok", "n": n, "balance": balance }),
        Answer::Refused(reason) => json!({ "op": "refused", "n": n, "reason": reason }),
    }))
}

async fn games(State(market): State<Market>) -> Result<Json<Value>, Fault> {
    Ok(Json(json!({ "games": market.games().await? })))
}

async fn pools(
    State(market): State<Market>,
    Path(game): Path<u64>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    let user = match bearer(&headers) {
        Some(token) => Some(market.user_of(token).await?.ok_or_else(Fault::token)?),
        None => None,
    };
    Ok(Json(json!({ "pools": market.pools(game, user).await? })))
}
