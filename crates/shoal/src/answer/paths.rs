//! What a request line asks for.
//!
//! Shoal's own paths are regular expressions (`/nearest/?(\d+)?/?` and its like, matched in
//! whole), so `/nearest`, `/nearest/`, `/nearest/5`, `/nearest5` and `/nearest//` are all paths;
//! the query says nothing to them. Ours are below `/v1`, and CVMFS's geo-API is where CVMFS's
//! clients look for it. A path is matched as it was sent: no client escapes a letter or a digit.

use crate::order::Menu;
use crate::page::assets::Asset;

/// The most caches that an answer of an old path has, except `/all`.
pub const MAX_COUNT: usize = 1000;
/// How many caches are given where none says.
pub const DEFAULT_COUNT: usize = 5;
/// How many caches are on a page where none says.
pub const DEFAULT_PAGE: usize = 100;

/// What a request line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'a> {
    /// The nearest caches of a menu, 0 to [`MAX_COUNT`].
    Nearest {
        /// The kinds wanted.
        menu: Menu,
        /// The most caches wanted.
        count: usize,
    },
    /// Every cache; the count in the path says nothing.
    All,
    /// `/wpad.dat`.
    Wpad,
    /// `/proxy.pac`.
    ProxyPac,
    /// The page for people.
    Page {
        /// Caches on a page, at most [`MAX_COUNT`]; 0: as many as there may be.
        size: usize,
    },
    /// What the page loads.
    Asset(&'static Asset),
    /// A question to the geo-API of a CVMFS repository: what follows `/cvmfs/REPO/api/`.
    GeoApi(&'a str),
    /// Our own paths.
    V1(V1),
    /// Counters for Prometheus.
    Metrics,
    /// No such path: [`super::old::NOT_FOUND`].
    NotFound,
    /// An old path, asked in another way than GET: [`super::old::METHOD_NOT_ALLOWED`].
    MethodNotAllowed,
}

/// What is asked below `/v1`; its errors are problems of RFC 9457.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum V1 {
    /// `GET /v1/nearest`.
    Nearest,
    /// `GET /v1/caches`.
    Caches,
    /// `GET /v1/caches/{id}`.
    Cache(u64),
    /// `PUT /v1/caches/{id}/state`.
    State(u64),
    /// `POST /v1/heartbeat`.
    Heartbeat,
    /// `DELETE /v1/heartbeat`.
    Goodbye,
    /// `GET /v1/health`.
    Health,
    /// `GET /v1/ready`.
    Ready,
    /// `GET /v1/openapi.json`.
    OpenApi,
    /// No such path, or an id that can be no cache's.
    NotFound,
    /// The path is there, but not for this method; these are the methods for the header `Allow`.
    MethodNotAllowed(&'static str),
}

const READ: &str = "GET, HEAD";

/// What a method and a path (with or without a query) ask for.
///
/// *Shape*: HEAD asks for what GET asks for. Total: every string has a route.
#[must_use]
pub fn route<'a>(method: &str, path: &'a str) -> Route<'a> {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let reads = matches!(method, "GET" | "HEAD");
    if let Some(rest) = path.strip_prefix("/v1/") {
        return Route::V1(v1(method, reads, rest));
    }
    match read(path) {
        Route::NotFound => Route::NotFound,
        _ if !reads => Route::MethodNotAllowed,
        route => route,
    }
}

fn read(path: &str) -> Route<'_> {
    match path {
        "/wpad.dat" => return Route::Wpad,
        "/proxy.pac" => return Route::ProxyPac,
        "/metrics" => return Route::Metrics,
        _ => {}
    }
    if let Some(rest) = path.strip_prefix("/cvmfs/") {
        return geo_api(rest);
    }
    if let Some(name) = path.strip_prefix("/assets/") {
        return Asset::named(name).map_or(Route::NotFound, Route::Asset);
    }
    if let Some(rest) = path.strip_prefix("/all") {
        return tail(rest).map_or(Route::NotFound, |_| Route::All);
    }
    if let Some(rest) = path.strip_prefix("/nearest") {
        return nearest(rest);
    }
    // `/(\d+)?/?`: the first slash must be there.
    match path.strip_prefix('/').and_then(digits_and_slash) {
        Some(size) => Route::Page { size: size.unwrap_or(DEFAULT_PAGE) },
        None => Route::NotFound,
    }
}

/// `/nearestverified` is `/nearest` today: both order by what is verified.
const MENUS: [(&str, Menu); 4] = [
    ("verified", Menu::Squid),
    ("cvmfs", Menu::Cvmfs),
    ("conditions", Menu::Conditions),
    ("", Menu::Squid),
];

fn nearest(rest: &str) -> Route<'_> {
    for (name, menu) in MENUS {
        if let Some(count) = rest.strip_prefix(name).and_then(tail) {
            return Route::Nearest { menu, count: count.unwrap_or(DEFAULT_COUNT) };
        }
    }
    Route::NotFound
}

fn geo_api(rest: &str) -> Route<'_> {
    let asked = rest.split_once('/').and_then(|(repo, rest)| {
        let question = rest.strip_prefix("api/")?;
        if repo.is_empty() { None } else { Some(question) }
    });
    asked.map_or(Route::NotFound, Route::GeoApi)
}

/// `/?(\d+)?/?` in whole: the number, if there is one.
#[expect(clippy::option_option, reason = "no match, and a match without a number")]
fn tail(rest: &str) -> Option<Option<usize>> {
    digits_and_slash(rest.strip_prefix('/').unwrap_or(rest))
}

/// `(\d+)?/?` in whole. A number above [`MAX_COUNT`] is that, however long it is.
#[expect(clippy::option_option, reason = "no match, and a match without a number")]
fn digits_and_slash(rest: &str) -> Option<Option<usize>> {
    let digits = rest.strip_suffix('/').unwrap_or(rest);
    if digits.is_empty() {
        return Some(None);
    }
    let mut count = 0;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        count = (count * 10 + usize::from(byte - b'0')).min(MAX_COUNT);
    }
    Some(Some(count))
}

fn v1(method: &str, reads: bool, rest: &str) -> V1 {
    let found = match rest {
        "nearest" => V1::Nearest,
        "caches" => V1::Caches,
        "health" => V1::Health,
        "ready" => V1::Ready,
        "openapi.json" => V1::OpenApi,
        "heartbeat" => {
            return match method {
                "POST" => V1::Heartbeat,
                "DELETE" => V1::Goodbye,
                _ => V1::MethodNotAllowed("POST, DELETE"),
            };
        }
        _ => {
            let rest = rest.strip_prefix("caches/").unwrap_or("");
            if let Some(id) = rest.strip_suffix("/state").and_then(id) {
                return if method == "PUT" { V1::State(id) } else { V1::MethodNotAllowed("PUT") };
            }
            match id(rest) {
                Some(id) => V1::Cache(id),
                None => return V1::NotFound,
            }
        }
    };
    if reads { found } else { V1::MethodNotAllowed(READ) }
}

/// Sixteen lower-case hexadecimal digits.
fn id(text: &str) -> Option<u64> {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 16 || !text.bytes().all(digit) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}
