//! What Squid counts itself, as its cache manager tells it.
//!
//! Source: Squid 5 and 6, `src/stat.cc` (`stat_info_dump`, the counters' names) and
//! `src/mgr/CounterAction.cc`; the pages `info` and `counters` below `/squid-internal-mgr/`.
//! Percentages of `info` are of the last five minutes and may be written `-0.0%`.

use plimsoll_net::http::client::{Dial, Error, Limits, Peer, Request, exchange};
use plimsoll_net::url::bracketed;

/// A cache's own counters; each is absent where the cache does not tell it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counters {
    /// Hits among requests: of the last five minutes, or since the start where that is not told.
    pub hit_ratio: Option<f64>,
    /// Addresses of clients seen.
    pub clients: Option<u64>,
    /// KiB of the disk store in use.
    pub disk_used_kib: Option<u64>,
    /// Requests since the start.
    pub requests: Option<u64>,
    /// Hits since the start.
    pub hits: Option<u64>,
    /// KiB sent to clients since the start.
    pub sent_kib: Option<u64>,
}

/// Reads the pages `info` and `counters`.
#[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2⁵³")]
#[must_use]
pub fn parse(info: &str, counters: &str) -> Counters {
    let counter = |name: &str| {
        let mut pairs = counters.lines().filter_map(|line| line.split_once('='));
        let (_, value) = pairs.find(|(own, _)| own.trim() == name)?;
        value.trim().parse::<u64>().ok()
    };
    let line = |label: &str| {
        let mut lines = info.lines().filter_map(|line| line.trim().strip_prefix(label));
        lines.find_map(|rest| rest.strip_prefix(':')).map(str::trim)
    };
    let (requests, hits) = (counter("client_http.requests"), counter("client_http.hits"));
    let recent = line("Hits as % of all requests").and_then(five_minutes);
    let total = match (requests, hits) {
        (Some(requests), Some(hits)) if requests > 0 && hits <= requests => {
            Some(hits as f64 / requests as f64)
        }
        _ => None,
    };
    let kib = |text: &str| text.strip_suffix("KB")?.trim().parse().ok();
    Counters {
        hit_ratio: recent.or(total),
        clients: line("Number of clients accessing cache").and_then(|text| text.parse().ok()),
        disk_used_kib: line("Storage Swap size").and_then(kib),
        requests,
        hits,
        sent_kib: counter("client_http.kbytes_out"),
    }
}

/// `5min: 12.5%, 60min: 3.0%` is 0.125.
fn five_minutes(text: &str) -> Option<f64> {
    let (percent, _) = text.strip_prefix("5min:")?.split_once('%')?;
    let share = percent.trim().parse::<f64>().ok()? / 100.0;
    // A share of no requests is written as minus zero.
    (-0.001..=1.0).contains(&share).then(|| share.max(0.0) + 0.0)
}

/// One page of a Squid's cache manager.
///
/// # Errors
/// Where there is no answer, or it is not 200: the cache's `http_access` may refuse its manager.
pub fn page(dial: &dyn Dial, peer: Peer<'_>, name: &str, limits: Limits) -> Result<String, Error> {
    let target = format!("/squid-internal-mgr/{name}");
    let host = format!("{}:{}", bracketed(peer.host), peer.port);
    let request = Request { method: "GET", target: &target, host: &host, headers: &[], body: &[] };
    let answer = exchange(dial, peer, &request, limits)?;
    if answer.status != 200 {
        return Err(Error::Status(answer.status));
    }
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

/// Asks a Squid for its counters.
///
/// # Errors
/// As [`page`].
pub fn ask(dial: &dyn Dial, peer: Peer<'_>, limits: Limits) -> Result<Counters, Error> {
    let info = page(dial, peer, "info", limits)?;
    Ok(parse(&info, &page(dial, peer, "counters", limits)?))
}
