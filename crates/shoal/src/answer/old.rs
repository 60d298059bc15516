//! The answers of Shoal's own paths, to the letter.
//!
//! Shoal's client reads them with regular expressions, so the blanks after `:` and `,`, the order
//! of the keys and every key in every entry are part of the format; `local` is `true` or `null`.
//! The format is that of Shoal's server as recorded (master 7ca44b8).

use super::digits::{address, integer, number};
use super::{python_float, python_string};
use crate::registry::{Cache, DEFAULT_MAX_LOAD, State};

/// One cache of an answer.
#[derive(Debug, Clone, Copy)]
pub struct OldEntry<'a> {
    /// The cache.
    pub cache: &'a Cache,
    /// It is at the client's own site; never in `/all`.
    pub local: bool,
    /// The cost of [`old_distance`]; absent in `/all`.
    pub distance: Option<f64>,
}

/// An answer that is always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    /// Of HTTP.
    pub status: u16,
    /// The header `Content-Type`.
    pub content_type: &'static str,
    /// The header `Allow`, where there is one.
    pub allow: Option<&'static str>,
    /// The body.
    pub body: &'static str,
}

/// For a path that is none.
pub const NOT_FOUND: Fixed =
    Fixed { status: 404, content_type: "text/html; charset=utf-8", allow: None, body: "not found" };

/// For another method than GET and HEAD.
pub const METHOD_NOT_ALLOWED: Fixed = Fixed {
    status: 405,
    content_type: "text/html",
    allow: Some("GET"),
    body: "method not allowed",
};

/// Writes the body of `/nearest` and its like, and of `/all`: an object whose keys are the ranks
/// from 0, or `null` where there is none.
///
/// *Cost*: no allocation but the growth of `out`.
pub fn entries<'a>(out: &mut Vec<u8>, items: impl Iterator<Item = OldEntry<'a>>) {
    let mut rank = 0;
    for item in items {
        out.extend_from_slice(if rank == 0 { b"{\"" } else { b", \"" });
        integer(out, rank);
        out.extend_from_slice(b"\": ");
        entry(out, item);
        rank += 1;
    }
    out.extend_from_slice(if rank == 0 { b"null" } else { b"}" });
}

fn entry(out: &mut Vec<u8>, item: OldEntry<'_>) {
    let cache = item.cache;
    out.extend_from_slice(b"{\"created\": ");
    python_float(cache.created_s, out);
    out.extend_from_slice(b", \"last_active\": ");
    python_float(cache.last_active_s(), out);
    out.extend_from_slice(b", \"hostname\": ");
    python_string(cache.hostname(), out);
    // Whatever key the agent used, and `squid` in its name whatever the program.
    out.extend_from_slice(b", \"squid_port\": ");
    out.extend_from_slice(cache.port_text().as_bytes());
    out.extend_from_slice(b", \"public_ip\": ");
    address(out, cache.public_ip.or(cache.external_ip));
    out.extend_from_slice(b", \"private_ip\": ");
    address(out, cache.private_ip);
    out.extend_from_slice(b", \"external_ip\": ");
    address(out, cache.external_ip);
    out.extend_from_slice(b", \"geo_data\": ");
    out.extend_from_slice(cache.place_text().unwrap_or(NOWHERE));
    out.extend_from_slice(b", \"load\": ");
    number(out, cache.load());
    // The original's `verify()` sets both at once, and nothing sets one of them.
    out.extend_from_slice(if cache.state() == State::Verified {
        b", \"verified\": true, \"global_access\": true, \"max_load\": "
    } else {
        b", \"verified\": false, \"global_access\": false, \"max_load\": "
    });
    out.extend_from_slice(match cache.max_load_text() {
        "" => b"122000",
        text => text.as_bytes(),
    });
    // `false` would become the string "false" in the client, which is true.
    out.extend_from_slice(if item.local { b", \"local\": true" } else { b", \"local\": null" });
    out.extend_from_slice(b", \"cache_type\": \"");
    out.extend_from_slice(cache.kind.name().as_bytes());
    out.extend_from_slice(b"\", \"upstream\": \"");
    out.extend_from_slice(cache.upstream.name().as_bytes());
    out.push(b'"');
    if let Some(distance) = item.distance {
        out.extend_from_slice(b", \"distance\": ");
        python_float(distance, out);
    }
    out.push(b'}');
}

/// `geo_data` of a cache that could not be located.
const NOWHERE: &[u8] = b"{\"city\": null, \"region_code\": null, \"time_zone\": null, \
    \"metro_code\": null, \"latitude\": null, \"longitude\": null, \"postal_code\": null, \
    \"country_code\": null, \"country_name\": null, \"continent\": null}";

/// The original's radius of the Earth, km, and its π.
#[expect(clippy::approx_constant, reason = "the original's digits, to get its last bits")]
const HALF_AROUND_KM: f64 = 6378.0 * 3.14159265359;

/// What the original calls `distance`, a cost without a unit: half the distance over half the way
/// around the Earth, plus half of the load (KiB/s) over 122,000 whatever the cache can send.
///
/// *Shape*: 0 to ½ for an idle cache; a cache or client that cannot be located is as far as can
/// be. *Source*: `utilities.get_nearest_verified_caches` of Shoal's server with its defaults
/// (`cache_distloadweight` ½, `cache_loadconstant` 1), its order of operations included.
#[must_use]
pub fn old_distance(distance_km: Option<f64>, load: f64) -> f64 {
    let distance_km = distance_km.map_or(HALF_AROUND_KM, hundredths);
    distance_km / HALF_AROUND_KM * 0.5 + load / DEFAULT_MAX_LOAD * 0.5
}

/// Python's `round(x, 2)`: the double nearest to the decimal of two places that is nearest to
/// the exact value of `x`.
fn hundredths(x: f64) -> f64 {
    let scaled = x * 100.0;
    // A product that is so near the middle may lie on its other side than the exact value does.
    if (scaled.fract().abs() - 0.5).abs() < 1e-6 {
        return format!("{x:.2}").parse().unwrap_or(x);
    }
    scaled.round() / 100.0
}
