//! From a request to its answer.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;

use http_bodies::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::IF_NONE_MATCH;
use hyper::{HeaderMap, Request, Response};
use plimsoll_workload::random::Stream;

use super::client::{Client, Peer};
use super::look::Lookup;
use super::reply::Reply;
use super::{Shared, announce, decide, geo_api, log, page};
use crate::answer::paths::{Route, V1, route};
use crate::answer::{JSON, METRICS, old, openapi, v1};

/// What one serving thread has of its own.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) lookup: RefCell<Lookup>,
    pub(super) log: RefCell<Option<log::Buffer>>,
}

impl Worker {
    pub(super) fn new(number: usize, shared: Arc<Shared>) -> Self {
        // Any seed will do: it decides which of equals comes first.
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), number);
        let random = Stream::named(seed, "order");
        let log = shared.log.as_ref().map(log::File::buffer);
        Self { shared, lookup: RefCell::new(Lookup::new(random)), log: RefCell::new(log) }
    }

    /// Answers one request.
    pub(super) async fn answer(
        &self,
        peer: Peer,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        let start = self.shared.clock.now();
        let (head, body) = request.into_parts();
        let client @ Client { address, .. } = Client::of(&self.shared, peer, &head.headers);
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let route = route(head.method.as_str(), path);
        let reply = match route {
            Route::V1(V1::Heartbeat) => {
                announce::heartbeat(&self.shared, client, &head.headers, body).await
            }
            Route::V1(V1::Goodbye) => {
                announce::goodbye(&self.shared, client, &head.headers, body).await
            }
            Route::V1(V1::State(id)) => {
                decide::decide(&self.shared, client, id, &head.headers, body).await
            }
            Route::GeoApi(question) => geo_api::answer(&self.shared, address, question).await,
            Route::Page { size } => page::answer(&self.shared, size, path, &head.headers).await,
            Route::Asset(asset) => page::asset(asset),
            route => self.read(address, route, path, &head.headers),
        };
        let taken_ns = self.shared.clock.now().elapsed_ns.saturating_sub(start.elapsed_ns);
        self.shared.metrics.answered(route, reply.status, taken_ns);
        if let Some(log) = self.log.borrow_mut().as_mut() {
            let method = head.method.as_str();
            let (status, bytes) = (reply.status, reply.body.len());
            log.line(&log::Line {
                now: start,
                peer,
                client: address,
                method,
                path,
                status,
                bytes,
                taken_ns,
            });
        }
        reply.into_http()
    }

    /// Writes what the access log has kept back.
    pub(super) fn flush(&self) {
        if let Some(log) = self.log.borrow_mut().as_mut() {
            log.flush();
        }
    }

    fn read(&self, client: IpAddr, route: Route<'_>, path: &str, headers: &HeaderMap) -> Reply {
        let shared = &self.shared;
        let mut lookup = self.lookup.borrow_mut();
        match route {
            Route::Nearest { menu, count } => lookup.old_nearest(shared, client, menu, count),
            Route::All => lookup.all(shared),
            Route::Wpad => lookup.script(shared, client, false),
            Route::ProxyPac => lookup.script(shared, client, true),
            Route::Metrics => Reply::new(METRICS, shared.metrics.text(shared)),
            Route::MethodNotAllowed => Reply::fixed(&old::METHOD_NOT_ALLOWED),
            Route::V1(V1::Nearest) => lookup.nearest(shared, client, path),
            Route::V1(V1::Caches) => lookup.caches(shared, headers.get(IF_NONE_MATCH)),
            Route::V1(V1::Cache(id)) => lookup.cache(shared, id, headers.get(IF_NONE_MATCH)),
            Route::V1(V1::Health) => health(shared),
            Route::V1(V1::Ready) => ready(shared.ready()),
            Route::V1(V1::OpenApi) => Reply::new(JSON, openapi::DOCUMENT),
            Route::V1(V1::MethodNotAllowed(methods)) => {
                let detail = format!("this path is for {methods}");
                Reply::problem(405, "method_not_allowed", &detail).allowing(methods)
            }
            Route::V1(_) => Reply::problem(404, "not_found", "no such path"),
            // Announcements, the geo-API and the page are answered before, as they wait.
            Route::NotFound | Route::GeoApi(_) | Route::Page { .. } | Route::Asset(_) => {
                Reply::fixed(&old::NOT_FOUND)
            }
        }
    }
}

fn health(shared: &Shared) -> Reply {
    let snapshot = shared.shelf.load();
    let all = shared.brokers();
    let brokers: Vec<_> = all
        .iter()
        .map(|broker| v1::BrokerHealth {
            name: broker.name(),
            connected: broker.is_connected(),
            reason: broker.reason(),
            message_age_s: broker.message_ns().map(|ns| shared.ago_s(ns)),
        })
        .collect();
    let mut body = Vec::new();
    let told = v1::Health {
        version: env!("CARGO_PKG_VERSION"),
        generation: snapshot.generation,
        caches: snapshot.caches().count(),
        message_age_s: shared.heard_ago_s(),
        brokers: &brokers,
        files: &shared.files.list(),
        object: shared.verify.as_ref().map(|_| !shared.object.is_suspected()),
    };
    v1::health(&mut body, &told);
    Reply::json(body).no_store()
}

fn ready(ready: bool) -> Reply {
    let mut body = Vec::new();
    match v1::ready(&mut body, ready) {
        200 => Reply::json(body).no_store(),
        status => {
            let problem = Reply::new(crate::answer::PROBLEM_JSON, body).status(status);
            problem.no_store().retry_after(5)
        }
    }
}
