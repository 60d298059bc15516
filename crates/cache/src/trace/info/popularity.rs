//! How requests are spread over objects.
//!
//! # The exponent of Zipf's law
//!
//! Objects are ranked by their requests; Zipf's law says that the object of rank r has a share of
//! requests proportional to 1/r^a. The exponent a is the one under which the requests found are
//! likeliest, where the mean of ln r over the requests is what the law expects. Only ranks whose
//! objects have at least [`Zipf::LEAST_REQUESTS`] requests are used, and the law is that of a
//! request being for one of them.
//!
//! Its weakness: ranks are read from the same requests that are then explained by them. Of objects
//! alike in popularity, those that chance favours come first, so the spectrum looks steeper than
//! it is, by little where every rank has many requests and by much where it has few; hence the
//! least number. Nor does the estimate tell whether Zipf's law holds at all: many traces follow it
//! in the middle only.
//!
//! *Source*: maximum likelihood for the discrete power law over a finite range: Clauset, Shalizi
//! and Newman, *Power-law distributions in empirical data*, SIAM Review 51(4), 2009, section 3 and
//! appendix B; of popularity by rank: Breslau et al., *Web caching and Zipf-like distributions*,
//! INFOCOM 1999.

use super::{nearest_rank, share};

/// How requests are spread over objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Popularity {
    /// Share of objects that are asked for once only.
    pub one_hit_objects: f64,
    /// Share of requests that go to those.
    pub one_hit_requests: f64,
    /// Share of requests to the most popular 1% of objects, rounded up to a whole object.
    pub top_1_percent: f64,
    /// Share of requests to the most popular 10% of objects.
    pub top_10_percent: f64,
    /// The law that the popular ones follow best; `None` where fewer than ten objects have
    /// [`Zipf::LEAST_REQUESTS`].
    pub zipf: Option<Zipf>,
}

/// Zipf's law as far as it is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipf {
    /// The exponent; 0 where all are equally popular.
    pub exponent: f64,
    /// How many ranks it was estimated from, the most popular ones.
    pub ranks: u64,
}

impl Popularity {
    /// From the number of requests to each object.
    pub(super) fn of(asked: &[u32]) -> Self {
        let mut ranked: Vec<u32> = asked.to_vec();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        let sum = |ranks: &[u32]| ranks.iter().map(|&requests| u64::from(requests)).sum::<u64>();
        let (requests, objects) = (sum(&ranked), ranked.len() as u64);
        let once = (ranked.len() - ranked.partition_point(|&requests| requests > 1)) as u64;
        let top = |part| {
            let rank = usize::try_from(nearest_rank(part, objects)).unwrap_or(usize::MAX);
            share(sum(&ranked[..rank.min(ranked.len())]), requests)
        };
        Self {
            one_hit_objects: share(once, objects),
            one_hit_requests: share(once, requests),
            top_1_percent: top(0.01),
            top_10_percent: top(0.1),
            zipf: Zipf::of(&ranked),
        }
    }
}

impl Zipf {
    /// Ranks with fewer requests say more of chance than of popularity.
    pub const LEAST_REQUESTS: u32 = 10;

    /// Fewer ranks make no spectrum.
    const LEAST_RANKS: usize = 10;

    /// The greatest exponent that is looked for.
    const STEEPEST: f64 = 10.0;

    /// From requests by rank, falling.
    fn of(ranked: &[u32]) -> Option<Self> {
        let many = ranked.partition_point(|&requests| requests >= Self::LEAST_REQUESTS);
        let ranked = &ranked[..many];
        if many < Self::LEAST_RANKS {
            return None;
        }
        let (mut requests, mut logs) = (0.0, 0.0);
        for (place, &asked) in ranked.iter().enumerate() {
            requests += f64::from(asked);
            logs += f64::from(asked) * ln_rank(place + 1);
        }
        // The mean that the law expects falls with the exponent, so the one is found by halving.
        let (mut low, mut high) = (0.0, Self::STEEPEST);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if mean_ln_rank(middle, many) > logs / requests {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(Self { exponent: (low + high) / 2.0, ranks: many as u64 })
    }
}

#[expect(clippy::cast_precision_loss, reason = "ranks are below 2^32")]
fn ln_rank(rank: usize) -> f64 {
    libm::log(rank as f64)
}

/// Ranks that are summed one by one; beyond them sums are integrals, near enough to 1e-9.
const ONE_BY_ONE: usize = 1000;

/// The mean of ln r over ranks 1 to `ranks` where rank r has a share proportional to r^-exponent.
fn mean_ln_rank(exponent: f64, ranks: usize) -> f64 {
    let (mut all, mut logs) = (0.0, 0.0);
    for rank in 1..=ranks.min(ONE_BY_ONE) {
        let ln = ln_rank(rank);
        let weight = libm::exp(-exponent * ln);
        (all, logs) = (all + weight, logs + weight * ln);
    }
    if ranks > ONE_BY_ONE {
        // Midpoints: rank r is the integral from r - 1/2 to r + 1/2, over u = ln r.
        #[expect(clippy::cast_precision_loss, reason = "ranks are below 2^32")]
        let (from, to) = (libm::log(ONE_BY_ONE as f64 + 0.5), libm::log(ranks as f64 + 0.5));
        let weight = |u: f64| libm::exp((1.0 - exponent) * u);
        all += integral(from, to, weight);
        logs += integral(from, to, |u| u * weight(u));
    }
    logs / all
}

/// By Simpson's rule over 64 parts: the functions here are smooth exponentials.
fn integral(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    const PARTS: u32 = 64;
    let step = (to - from) / f64::from(PARTS);
    let inner: f64 = (1..PARTS)
        .map(|part| of(from + f64::from(part) * step) * if part % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    (of(from) + inner + of(to)) * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_stand_for_sums() {
        let ranks = 60_000;
        for exponent in [0.0, 0.5, 0.8, 1.0, 1.3, 2.5] {
            let (mut all, mut logs) = (0.0, 0.0);
            for rank in 1..=ranks {
                let weight = libm::exp(-exponent * ln_rank(rank));
                (all, logs) = (all + weight, logs + weight * ln_rank(rank));
            }
            let found = mean_ln_rank(exponent, ranks);
            assert!((found / (logs / all) - 1.0).abs() < 1e-6, "{found} at {exponent}");
        }
    }

    #[test]
    fn exact_spectra_give_their_exponents() {
        for exponent in [0.0, 0.6, 1.0, 1.7] {
            let asked = |rank: u32| 2e6 * libm::pow(f64::from(rank), -exponent);
            #[expect(clippy::cast_possible_truncation, reason = "two million at most")]
            let spectrum: Vec<u32> = (1..=500).map(|rank| asked(rank).round() as u32).collect();
            let zipf = Zipf::of(&spectrum).unwrap();
            assert!((zipf.exponent - exponent).abs() < 1e-3, "{zipf:?} of {exponent}");
            assert_eq!(zipf.ranks, 500);
        }
    }

    #[test]
    fn few_requests_give_no_exponent() {
        assert_eq!(Zipf::of(&[]), None);
        assert_eq!(Zipf::of(&[9; 5000]), None);
        assert_eq!(Zipf::of(&[10; 9]), None);
        assert!(Zipf::of(&[10; 10]).unwrap().exponent < 1e-9);
    }
}
