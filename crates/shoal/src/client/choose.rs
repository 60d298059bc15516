//! Which of the caches offered are used, in which order.
//!
//! Sources: Shoal's client (the private address of a local cache if the first two octets are the
//! client's own; measured time decides); the registry's bands of distance, which double from 100
//! km.

use std::net::IpAddr;
use std::time::Duration;

use super::Use;
use super::answer::Offer;
use plimsoll_net::url::bracketed;

/// A cache to be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// An address or a name that may stand anywhere.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Of its distance, 0 where that is least or the cache is of the client's own site; `None`
    /// where no distance is known.
    pub band: Option<u32>,
}

impl Candidate {
    /// As a proxy is written: `http://HOST:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}:{}", bracketed(&self.host), self.port)
    }
}

/// The candidates among offers, in their order, each host and port once.
#[must_use]
pub fn candidates(offers: &[Offer], own: &[IpAddr], purpose: Use) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for offer in offers.iter().filter(|offer| is_for(offer, purpose)) {
        let private = offer.private.filter(|&ip| offer.local && is_near(own, ip));
        let address = private.or(offer.public).map(|ip| ip.to_string());
        let Some(host) = address.or_else(|| offer.host.clone()) else { continue };
        let band =
            if offer.local { offer.distance_km.map(|_| 0) } else { offer.distance_km.map(band) };
        let is_known = |known: &Candidate| known.host == host && known.port == offer.port;
        if !found.iter().any(is_known) {
            found.push(Candidate { host, port: offer.port, band });
        }
    }
    found
}

fn is_for(offer: &Offer, purpose: Use) -> bool {
    let other = match purpose {
        Use::Cvmfs => "frontier",
        Use::Frontier => "cvmfs",
    };
    offer.upstream.as_deref() != Some(other)
}

/// Whether an address shares its first two octets (or, by IPv6, its first 48 bits) with one of
/// the host's own.
#[must_use]
pub fn is_near(own: &[IpAddr], address: IpAddr) -> bool {
    own.iter().any(|&own| match (own, address) {
        (IpAddr::V4(own), IpAddr::V4(other)) => own.octets()[..2] == other.octets()[..2],
        (IpAddr::V6(own), IpAddr::V6(other)) => own.octets()[..6] == other.octets()[..6],
        _ => false,
    })
}

/// The band of a distance: 0 below 100 km, then one more for each doubling.
#[must_use]
pub fn band(distance_km: f64) -> u32 {
    let (mut band, mut bound) = (0, 100.0);
    while distance_km >= bound && band < 32 {
        band += 1;
        bound *= 2.0;
    }
    band
}

/// Another cache is preferred to one that is in use only if it is quicker by this share of the
/// latter's time, and by [`NOTICED`]: less is chance, and no reason to change a file.
const NOTICED_SHARE: u32 = 4;
/// See [`NOTICED_SHARE`].
const NOTICED: Duration = Duration::from_millis(2);

/// The quickest of those that delivered, at most `count`: ordered by band where all have one, and
/// within a band, or where one has none, by time; those of equal time in the registry's order.
/// `standing` are the proxies in use, in their order, which keep their places against others that
/// are not noticeably quicker.
///
/// The nearest band goes first, because within a few milliseconds a far cache is quick only while
/// nobody uses it.
#[must_use]
pub fn order(
    tried: Vec<(Candidate, Option<Duration>)>,
    standing: &[&str],
    count: usize,
) -> Vec<Candidate> {
    let delivered = tried.into_iter().filter_map(|(candidate, time)| Some((candidate, time?)));
    let mut delivered: Vec<(Candidate, Duration)> = delivered.collect();
    let has_bands = delivered.iter().all(|(candidate, _)| candidate.band.is_some());
    let band_of = |candidate: &Candidate| candidate.band.filter(|_| has_bands);
    delivered.sort_by_key(|(candidate, time)| (band_of(candidate), *time));
    let place_of = |candidate: &Candidate| {
        let url = candidate.url();
        standing.iter().position(|proxy| *proxy == url).unwrap_or(usize::MAX)
    };
    // From the first in use on, each rises past those that are not noticeably quicker.
    let mut used: Vec<Candidate> = delivered.iter().map(|(cache, _)| cache.clone()).collect();
    used.retain(|cache| place_of(cache) < usize::MAX);
    used.sort_by_key(place_of);
    for cache in used {
        let Some(mut at) = delivered.iter().position(|(other, _)| *other == cache) else {
            continue;
        };
        while at > 0 {
            let ((before, quick), (_, slow)) = (&delivered[at - 1], &delivered[at]);
            let is_chance = slow.saturating_sub(*quick) < NOTICED.max(*slow / NOTICED_SHARE);
            let is_behind = place_of(before) > place_of(&cache);
            if band_of(before) != band_of(&cache) || !is_chance || !is_behind {
                break;
            }
            delivered.swap(at - 1, at);
            at -= 1;
        }
    }
    delivered.truncate(count);
    let candidates = delivered.into_iter().map(|(candidate, _)| candidate);
    candidates.map(|c| Candidate { band: c.band.filter(|_| has_bands), ..c }).collect()
}

/// Whether what came through a cache is the object: status 200 and, of a repository's signed list
/// `.cvmfswhitelist`, the line `N` with the repository's name.
#[must_use]
pub fn is_object(path: &str, status: u16, body: &[u8]) -> bool {
    if status != 200 {
        return false;
    }
    let Some(folder) = path.strip_suffix("/.cvmfswhitelist") else { return true };
    let repository = folder.rsplit('/').next().unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    text.lines().any(|line| line.starts_with('N') && line.contains(repository))
}
