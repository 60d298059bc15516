//! Whether a window says something of the server, or of a generator that was late itself.
//!
//! Response time counts from when a request was due, so what the generator is late by is part of
//! it. Where the SLO held all the same, the server held it. Where it did not, and would not have
//! been broken without the requests that were late, nobody knows. On a machine that is not
//! the generator's alone, of every hundred requests one or two are late by milliseconds, however
//! little it has to do: that alone decides on nothing.

use plimsoll_stats::Histogram;

/// Lateness up to this counts as none, nanoseconds.
const NONE_NS: u64 = 1_000_000;
/// Nor does lateness up to this share of the SLO's bound.
const NONE_SHARE: f64 = 0.1;
/// Above this share of the bound, at the SLO's quantile, the generator is the greater part.
const MOST_SHARE: f64 = 0.5;
/// Fewer late requests than these may be chance.
const FEWEST: u64 = 4;

/// What the generator's lateness means for a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// Nothing.
    No,
    /// More requests were late than the SLO allows to be slow, but the verdict is the server's.
    Noticed,
    /// The verdict may be the generator's.
    Decides,
}

/// Judges the lateness of a window's requests under an SLO (quantile, bound in ns), of whose
/// `counted` requests `beyond` did not keep the bound.
pub(crate) fn judge(lateness: &Histogram, slo: (f64, u64), counted: u64, beyond: u64) -> Late {
    let (quantile, bound_ns) = slo;
    let part = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ns")]
        let ns = (share * bound_ns as f64) as u64;
        ns.max(NONE_NS)
    };
    let late = lateness.count_above(part(NONE_SHARE));
    let allowed = |of: u64| (1.0 - quantile) * of as f64;
    if late < FEWEST || late as f64 <= allowed(lateness.count()) {
        return Late::No;
    }
    let at_quantile = lateness.value_at_quantile(quantile).unwrap_or(0);
    let is_broken = beyond as f64 > allowed(counted);
    let is_broken_anyway = beyond.saturating_sub(late) as f64 > allowed(counted);
    if at_quantile > part(MOST_SHARE) || (is_broken && !is_broken_anyway) {
        return Late::Decides;
    }
    Late::Noticed
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLO: (f64, u64) = (0.99, 20_000_000);

    /// Of a thousand requests, so many were late by so much.
    fn late(n: u64, ms: u64) -> Histogram {
        let mut lateness = Histogram::new();
        lateness.record_n(10_000, 1000 - n);
        lateness.record_n(ms * 1_000_000, n);
        lateness
    }

    #[test]
    fn a_few_late_requests_decide_on_nothing() {
        assert_eq!(judge(&late(10, 6), SLO, 1000, 0), Late::No, "as many as may be slow");
        assert_eq!(judge(&late(10, 6), SLO, 1000, 100), Late::No);
        let mut few = Histogram::new();
        few.record_n(10_000, 97);
        few.record_n(6_000_000, 3);
        assert_eq!(judge(&few, SLO, 100, 0), Late::No, "three may be chance");
        assert_eq!(judge(&Histogram::new(), SLO, 0, 0), Late::No);
        assert_eq!(judge(&late(500, 1), SLO, 1000, 11), Late::No, "a millisecond is none");
    }

    #[test]
    fn a_verdict_that_lateness_could_not_turn_is_the_servers() {
        assert_eq!(judge(&late(30, 6), SLO, 1000, 10), Late::Noticed, "it held all the same");
        assert_eq!(judge(&late(30, 6), SLO, 1000, 41), Late::Noticed, "it broke in any case");
        assert_eq!(judge(&late(30, 6), SLO, 1000, 40), Late::Decides);
        assert_eq!(judge(&late(30, 6), SLO, 1000, 11), Late::Decides);
    }

    #[test]
    fn a_generator_that_makes_most_of_the_response_decides() {
        assert_eq!(judge(&late(30, 11), SLO, 1000, 0), Late::Decides);
        let of_ten = (0.9, 20_000_000);
        assert_eq!(judge(&late(110, 9), of_ten, 1000, 0), Late::Noticed);
        assert_eq!(judge(&late(110, 11), of_ten, 1000, 0), Late::Decides);
    }
}
