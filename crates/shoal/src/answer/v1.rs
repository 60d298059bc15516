//! The bodies below `/v1`: compact JSON, units in the names of the fields, lists never `null`.
//!
//! `answer/openapi.json` describes them, and a test compares the two. A cache's secret, the
//! `uuid` of its heartbeats, is in none of them: `id` is a truncated HMAC of it.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_units::hash::{FNV_1A, fnv_1a_on};

use super::digits::{address, integer, name, number, shortest};
use super::{python_string, string_or_null};
use crate::Now;
use crate::geo::Spot;
use crate::order::Pick;
use crate::registry::Cache;

/// Who asked.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// Its own address, or the one that it asked to be answered for.
    pub ip: IpAddr,
    /// Where that is; `None` if nobody knows.
    pub spot: Option<Spot>,
}

/// Writes the body of `/v1/nearest`: who asked, the membership's generation, the caches, best
/// first.
pub fn nearest(out: &mut Vec<u8>, client: Client, generation: u64, picks: &[Pick<'_>], now: Now) {
    out.extend_from_slice(b"{\"client\":{\"ip\":");
    address(out, Some(client.ip));
    out.extend_from_slice(b",\"located\":");
    out.extend_from_slice(if client.spot.is_some() { b"true" } else { b"false" });
    out.extend_from_slice(b",\"country\":");
    let country = client.spot.and_then(|spot| spot.country);
    string_or_null(out, country.as_ref().and_then(|two| std::str::from_utf8(two).ok()));
    out.extend_from_slice(b"},\"generation\":");
    integer(out, generation);
    out.extend_from_slice(b",\"caches\":[");
    for (rank, pick) in picks.iter().enumerate() {
        if rank > 0 {
            out.push(b',');
        }
        members(out, pick.cache, now);
        out.extend_from_slice(b",\"distance_km\":");
        match pick.distance_km {
            Some(km) => tenths(out, km),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"local\":");
        out.extend_from_slice(if pick.local { b"true}" } else { b"false}" });
    }
    out.extend_from_slice(b"]}");
}

/// Writes the body of `/v1/caches`: the membership's generation, the caches in the order in which
/// they joined.
pub fn caches<'a>(
    out: &mut Vec<u8>,
    generation: u64,
    caches: impl Iterator<Item = &'a Arc<Cache>>,
    now: Now,
) {
    out.extend_from_slice(b"{\"generation\":");
    integer(out, generation);
    out.extend_from_slice(b",\"caches\":[");
    for (rank, one) in caches.enumerate() {
        if rank > 0 {
            out.push(b',');
        }
        cache(out, one, now);
    }
    out.extend_from_slice(b"]}");
}

/// Writes the body of `/v1/caches/{id}`: one cache, with what a registry needs that copies it.
pub fn cache(out: &mut Vec<u8>, cache: &Cache, now: Now) {
    members(out, cache, now);
    let coordinates = cache.coordinates();
    out.extend_from_slice(b",\"latitude\":");
    number_or_null(out, coordinates.map(|(latitude, _)| latitude));
    out.extend_from_slice(b",\"longitude\":");
    number_or_null(out, coordinates.map(|(_, longitude)| longitude));
    out.extend_from_slice(b",\"signed\":");
    out.extend_from_slice(if cache.signed { b"true}" } else { b"false}" });
}

fn number_or_null(out: &mut Vec<u8>, x: Option<f64>) {
    match x {
        Some(x) => shortest(out, x),
        None => out.extend_from_slice(b"null"),
    }
}

/// All that is said of a cache whoever asks, without the closing brace.
fn members(out: &mut Vec<u8>, cache: &Cache, now: Now) {
    out.extend_from_slice(b"{\"id\":");
    name(out, cache.id);
    out.extend_from_slice(b",\"host\":");
    python_string(cache.hostname(), out);
    out.extend_from_slice(b",\"port\":");
    integer(out, u64::from(cache.port));
    out.extend_from_slice(b",\"public_ip\":");
    address(out, cache.public_ip.or(cache.external_ip));
    out.extend_from_slice(b",\"private_ip\":");
    address(out, cache.private_ip);
    out.extend_from_slice(b",\"type\":");
    python_string(cache.kind.name(), out);
    out.extend_from_slice(b",\"upstream\":");
    python_string(cache.upstream.name(), out);
    out.extend_from_slice(b",\"cloud\":");
    string_or_null(out, cache.cloud.as_deref());
    out.extend_from_slice(b",\"version\":");
    string_or_null(out, cache.version.as_deref());
    out.extend_from_slice(b",\"state\":");
    python_string(cache.state().name(), out);
    out.extend_from_slice(b",\"load_kib_s\":");
    number(out, cache.load());
    out.extend_from_slice(b",\"max_load_kib_s\":");
    number_or_null(out, cache.max_load);
    out.extend_from_slice(b",\"country\":");
    string_or_null(out, cache.country_code());
    out.extend_from_slice(b",\"age_s\":");
    tenths(out, age_s(cache, now));
}

/// Seconds since the last heartbeat.
#[expect(clippy::cast_precision_loss, reason = "2⁵³ ns are more than 100 days; then by tenths")]
fn age_s(cache: &Cache, now: Now) -> f64 {
    now.elapsed_ns.saturating_sub(cache.heard_ns()) as f64 / 1e9
}

/// To the nearest tenth.
fn tenths(out: &mut Vec<u8>, x: f64) {
    shortest(out, (x * 10.0).round() / 10.0);
}

/// The header `ETag` of `/v1/caches` (of all caches) and `/v1/caches/{id}` (of one).
///
/// It changes with the membership and with each cache's state and last heartbeat, hence with its
/// load, but not with `age_s`, which only the clock changes: so it is a weak one (RFC 9110,
/// 8.8.1).
pub fn etag<'a>(generation: u64, caches: impl Iterator<Item = &'a Arc<Cache>>) -> String {
    let mut digest = FNV_1A;
    let mut take = |word: u64| digest = fnv_1a_on(digest, &word.to_le_bytes());
    for cache in caches {
        take(cache.id);
        take(cache.heard_ns());
        take(cache.state() as u64);
    }
    format!("W/\"{generation:x}-{digest:016x}\"")
}

/// Whether a header `If-None-Match` names this tag: the answer is then 304, without a body.
///
/// *Source*: RFC 9110, 13.1.2, by the weak comparison.
#[must_use]
pub fn none_match(header: &str, etag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    header.split(',').any(|tag| tag.trim() == "*" || opaque(tag) == opaque(etag))
}

/// A message broker in `/v1/health`.
#[derive(Debug, Clone, Copy)]
pub struct BrokerHealth<'a> {
    /// Host and port.
    pub name: &'a str,
    /// Whether it brings messages now.
    pub connected: bool,
    /// Why not, in a word.
    pub reason: Option<&'a str>,
    /// Seconds since it last brought a message; `None` before the first.
    pub message_age_s: Option<f64>,
}

/// What `/v1/health` tells.
#[derive(Debug, Clone, Copy)]
pub struct Health<'a> {
    /// The program's.
    pub version: &'a str,
    /// Of the membership.
    pub generation: u64,
    /// Living ones.
    pub caches: usize,
    /// Seconds since the last announcement that was believed or came by a broker.
    pub message_age_s: Option<f64>,
    /// Message brokers that are heard.
    pub brokers: &'a [BrokerHealth<'a>],
    /// Files that are read again, by their options, and whether what is in force is what they hold.
    pub files: &'a [(&'a str, bool)],
    /// Whether the object of verification answers as it should, where there is one.
    pub object: Option<bool>,
}

/// Writes the body of `/v1/health`: the process answers. A broker that is away, a file that cannot
/// be read and an object that answers wrongly are told, but do not make the registry ill: it lists
/// what lives.
pub fn health(out: &mut Vec<u8>, health: &Health<'_>) {
    out.extend_from_slice(b"{\"status\":\"ok\",\"version\":");
    python_string(health.version, out);
    out.extend_from_slice(b",\"generation\":");
    integer(out, health.generation);
    out.extend_from_slice(b",\"caches\":");
    integer(out, health.caches as u64);
    out.extend_from_slice(b",\"message_age_s\":");
    age(out, health.message_age_s);
    out.extend_from_slice(b",\"object\":");
    out.extend_from_slice(match health.object {
        Some(true) => &b"\"answers\""[..],
        Some(false) => b"\"suspect\"",
        None => b"null",
    });
    out.extend_from_slice(b",\"files\":[");
    for (index, (option, is_read)) in health.files.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"{\"file\":" } else { b",{\"file\":" });
        python_string(option, out);
        out.extend_from_slice(b",\"read\":");
        out.extend_from_slice(if *is_read { b"true}" } else { b"false}" });
    }
    out.extend_from_slice(b"],\"brokers\":[");
    for (index, broker) in health.brokers.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"{\"broker\":" } else { b",{\"broker\":" });
        python_string(broker.name, out);
        out.extend_from_slice(b",\"connected\":");
        out.extend_from_slice(if broker.connected { b"true" } else { b"false" });
        out.extend_from_slice(b",\"reason\":");
        match broker.reason {
            Some(reason) => python_string(reason, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"message_age_s\":");
        age(out, broker.message_age_s);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
}

fn age(out: &mut Vec<u8>, age_s: Option<f64>) {
    number_or_null(out, age_s.map(|age_s| (age_s * 10.0).round() / 10.0));
}

/// Writes the body of `/v1/ready` and returns its status: 200 once the list may be taken for
/// whole, until then a problem with 503.
pub fn ready(out: &mut Vec<u8>, ready: bool) -> u16 {
    if ready {
        out.extend_from_slice(b"{\"status\":\"ready\"}");
        return 200;
    }
    let detail = "neither has a peer's list been copied nor one interval of heartbeats passed";
    super::problem(out, 503, "starting", detail);
    503
}
