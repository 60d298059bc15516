//! What a trace is: how much is asked for, how popular objects are, how large, how soon again.

mod popularity;
mod size;

pub use popularity::{Popularity, Zipf};
pub use size::{SizeClass, SizeSpread, Sizes};

use crate::curve::{Curve, exact_in_requests};

use super::Trace;

/// What a trace is, in figures.
///
/// *Units*: shares are from 0 to 1; 0 where there is nothing to share.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// How many requests there are.
    pub requests: u64,
    /// How many objects are asked for.
    pub objects: u64,
    /// Share of requests that are the first to their object: a miss in any cache.
    pub compulsory_miss_ratio: f64,
    /// How requests are spread over objects.
    pub popularity: Popularity,
    /// How large objects are; `None` where the trace has no sizes.
    pub sizes: Option<Sizes>,
    /// How soon objects are asked for again; `None` where none is.
    pub reuse: Option<Reuse>,
    /// When requests come; `None` where the trace has no times, or no requests.
    pub times: Option<Times>,
    /// Who asks; `None` where the trace does not say.
    pub clients: Option<Clients>,
}

/// Reuse distances: how many other objects are asked for between two requests to one object, over
/// all requests that are not the first to their object. LRU needs room for one more to hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reuse {
    /// A tenth of the distances is not above this.
    pub p10: u32,
    /// A quarter.
    pub p25: u32,
    /// Half.
    pub median: u32,
    /// Three quarters.
    pub p75: u32,
    /// Nine tenths.
    pub p90: u32,
    /// Ninety-nine in a hundred.
    pub p99: u32,
    /// All.
    pub max: u32,
}

/// When requests come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// From the first request to the last, seconds.
    pub duration_s: u32,
    /// Requests a second in the mean; `None` where all come within one second.
    pub rate_per_s: Option<f64>,
    /// The most requests of one second.
    pub busiest_second: u64,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clients {
    /// How many ask.
    pub count: u64,
    /// Share of the requests of the one who asks most.
    pub busiest_share: f64,
}

impl Info {
    /// Looks through a trace.
    ///
    /// *Cost*: a pass for exact reuse distances ([`exact_in_requests`]) and sorts of the objects.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut asked = vec![0u32; trace.distinct() as usize];
        for &object in trace.requests() {
            asked[object as usize] += 1;
        }
        let (requests, objects) = (trace.len() as u64, u64::from(trace.distinct()));
        Self {
            requests,
            objects,
            compulsory_miss_ratio: share(objects, requests),
            popularity: Popularity::of(&asked),
            sizes: trace.sizes().map(|sizes| Sizes::of(sizes, &asked)),
            reuse: Reuse::of(&exact_in_requests(trace)),
            times: trace.seconds().and_then(Times::of),
            clients: trace.clients().map(Clients::of),
        }
    }
}

impl Reuse {
    fn of(curve: &Curve) -> Option<Self> {
        let at = |share| Some(curve.depth_at(share)? - 1);
        Some(Self {
            p10: at(0.1)?,
            p25: at(0.25)?,
            median: at(0.5)?,
            p75: at(0.75)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            max: at(1.0)?,
        })
    }
}

impl Times {
    fn of(seconds: &[u32]) -> Option<Self> {
        let duration_s = seconds.last()? - seconds.first()?;
        let longest = seconds.chunk_by(|one, next| one == next).map(<[u32]>::len).max();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = seconds.len() as f64 / f64::from(duration_s);
        Some(Self {
            duration_s,
            rate_per_s: (duration_s > 0).then_some(rate),
            busiest_second: longest.unwrap_or(0) as u64,
        })
    }
}

impl Clients {
    fn of(clients: &[u32]) -> Self {
        let mut clients = clients.to_vec();
        clients.sort_unstable();
        let (mut count, mut most) = (0, 0);
        for requests in clients.chunk_by(|one, next| one == next) {
            count += 1;
            most = most.max(requests.len() as u64);
        }
        Self { count, busiest_share: share(most, clients.len() as u64) }
    }
}

/// A share; 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The place of what a share of `count` does not exceed, from 1: the nearest rank.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no more than count")]
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn nearest_rank(share: f64, count: u64) -> u64 {
    (libm::ceil(share * count as f64) as u64).clamp(1, count.max(1))
}

#[cfg(test)]
mod tests;
