//! Windows made by hand.

use plimsoll_capacity::ranked::Ranked;
use plimsoll_capacity::window::{Offer, Saturated, Second, Window};

/// A window of an offer in which every request took `ms` milliseconds, and each second's median was
/// that, with a round trip of `rtt_ms`.
pub(crate) fn window(offer: &Offer, ms: f64, rtt_ms: u64) -> Window {
    let due = (offer.rate_per_s * offer.seconds).round().max(1.0) as u64;
    let ns = (ms * 1e6) as u64;
    let mut response = Ranked::default();
    response.times.record_n(ns, due);
    let rtt_ns = rtt_ms * 1_000_000;
    let second = Second { p50_ns: Some(ns), due: due / 10 + 1, beyond: 0, failed: 0, rtt_ns };
    Window {
        start_s: 0.0,
        seconds: offer.seconds,
        phase: offer.phase,
        rate_per_s: offer.rate_per_s,
        due,
        succeeded: due,
        failed: 0,
        settle_s: 0.0,
        counted_s: offer.seconds,
        response,
        beyond: 0,
        counted_failed: 0,
        refused: 0,
        each_second: vec![second; 10],
        handshakes_ns: vec![rtt_ns; 10],
        saturated: Saturated::default(),
        was_cut: false,
        generator_limited: false,
        generator_late: false,
        target_lost: false,
    }
}
