//! What all windows together say binds what is found: failures at any rate, which no single window
//! tells.

use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Ended, Limits, Outcome, conduct};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::simulated::admission::Admission;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

fn world(seed: u64, slo_ns: u64) -> Simulated {
    let law = ServiceTime::Law(Distribution::parse("exp:20ms").unwrap());
    let mut model = ServiceModel::new(law);
    model.cores = NonZeroU32::new(4).unwrap();
    Simulated::new(model, slo_ns, seed)
}

fn search(mut world: Simulated, slo: (f64, u64), most_errors: Option<f64>) -> Outcome {
    let (start_per_s, precision) = (10.0, 0.05);
    let settings = Settings { slo, start_per_s, precision, most_errors, max_rate_per_s: None };
    let limits = Limits { seconds: 90.0, ..Limits::default() };
    let Ok(outcome) = conduct(&mut Adaptive::new(settings), &mut world, limits, &mut |_| {});
    outcome
}

#[test]
fn where_too_many_fail_at_every_rate_nothing_holds() {
    let slo = (0.9, 150_000_000);
    for seed in 0..24 {
        let of = search(
            world(seed, slo.1).with_admission(Admission::AllBut { share: 0.03 }),
            slo,
            Some(0.01),
        );
        assert_eq!((of.found.estimate_per_s, of.found.held_per_s), (None, None), "{seed}: {of:?}");
        assert_ne!(of.ended, Ended::Found, "{seed}");
        // Fewer than are allowed take nothing away.
        let of = search(
            world(seed, slo.1).with_admission(Admission::AllBut { share: 0.002 }),
            slo,
            Some(0.01),
        );
        assert!(of.found.held_per_s.is_some_and(|held| held > 50.0), "{seed}: {:?}", of.found);
    }
}
