//! What a saturated server is seen to complete, on queues whose speed is known.

use plimsoll_capacity::conduct::World;
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::window::{Offer, Phase, Saturated};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

/// A ramp in windows of a second, until one is cut, and a recovery, as a search offers them.
fn ramp(workers: u32, seed: u64) -> Saturated {
    let mut model = ServiceModel::new(ServiceTime::Law(Distribution::parse("exp:4ms").unwrap()));
    model.cores = NonZeroU32::new(workers).unwrap();
    let mut world = Simulated::new(model, 30_000_000, seed);
    let mut seen = Saturated::default();
    let mut offer = |rate_per_s, seconds, phase| {
        let (settle_s, may_cut, fresh) = (0.1, true, false);
        let offer = Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh };
        let Ok(window) = world.window(&offer);
        seen.add(window.saturated);
        window.was_cut
    };
    let mut rate_per_s = 16.0;
    while !offer(rate_per_s, 1.0, Phase::Ramp) {
        rate_per_s *= 2.0;
    }
    for _ in 0..4 {
        offer(10.0, 0.5, Phase::Recover);
    }
    seen
}

/// Slices that are chosen by how much was completed in them are too slow by 1.5%, and those of a
/// recovery that comes to its end within them by 2%.
#[test]
fn a_saturated_server_is_seen_to_be_as_fast_as_it_is() {
    for (workers, per_s) in [(1, 250.0), (2, 500.0), (4, 1000.0), (8, 2000.0)] {
        let mut all = Saturated::default();
        (0..600).for_each(|seed| all.add(ramp(workers, seed)));
        let off = all.per_s() / per_s - 1.0;
        // Of 40,000 and more completions the share's standard error is 0.5% at most.
        assert!(all.completions > 40_000 && off.abs() < 0.01, "{workers}: {all:?}, {off:+.4}");
    }
}
