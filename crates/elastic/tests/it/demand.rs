//! Demand: the least number of instances that holds, and none fewer.

use plimsoll_elastic::demand::{Demand, MOST};
use plimsoll_elastic::policy::Facts;
use proptest::prelude::*;

fn facts(cores: u32, limit: Option<u32>, slo: Option<(f64, f64)>, points_s: &[f64]) -> Facts {
    Facts {
        cores,
        limit,
        service_s: points_s.iter().sum::<f64>() / points_s.len() as f64,
        service_points_s: points_s.into(),
        income: 0.0,
        price_per_hour: 0.0,
        slo,
        boot_s: 0.0,
        start: None,
        future: None,
    }
}

/// Points of equal weight of the exponential law of 70 ms.
fn exponential() -> Vec<f64> {
    (0..200).map(|k| -0.07 * ((f64::from(k) + 0.5) / 200.0).ln()).collect()
}

proptest! {
    #[test]
    fn it_is_the_least_that_holds(
        rate in 0.0f64..2000.0,
        speed in 0.5f64..2.0,
        cores in 1u32..5,
        limit in prop::option::of(5u32..20),
        slo in prop::option::of((0.5f64..0.99, 1.0f64..2.0)),
    ) {
        let demand = Demand::new(&facts(cores, limit, slo, &exponential()));
        let least = demand.instances(rate, speed).unwrap();
        prop_assert!((1..MOST).contains(&least));
        prop_assert!(demand.holds(least, rate, speed));
        prop_assert!(least == 1 || !demand.holds(least - 1, rate, speed));
        prop_assert!(demand.instances(rate * 1.1 + 1.0, speed) >= Some(least));
        prop_assert!(demand.instances(rate, speed * 1.1) <= Some(least));
    }
}

#[test]
fn without_an_slo_it_is_what_is_not_saturated() {
    let demand = Demand::new(&facts(2, None, None, &[0.07]));
    // Half a server each, 35 ms.
    for (rate, least) in [(0.0, 1), (28.5, 1), (28.6, 2), (300.0, 11), (600.0, 22)] {
        assert_eq!(demand.instances(rate, 1.0), Some(least), "{rate}");
    }
    assert!(demand.describe().contains("not saturated"));
}

#[test]
fn what_no_number_can_hold_has_no_demand() {
    let slow = Demand::new(&facts(2, Some(10), Some((0.99, 0.05)), &[0.07]));
    assert_eq!(slow.instances(1.0, 1.0), None);
    assert!(slow.instances(1.0, 2.0) == Some(1), "35 ms are within 50");
    let too_much = Demand::new(&facts(1, None, None, &[1.0]));
    assert_eq!(too_much.instances(1e9, 1.0), None);
}

/// 600 requests a second of 70 ms on instances of two cores and ten places: 22 are not saturated,
/// and lose less than one in a thousand.
#[test]
fn a_limit_of_requests_needs_some_more() {
    let unlimited = Demand::new(&facts(2, None, None, &[0.07]));
    let limited = Demand::new(&facts(2, Some(2), None, &[0.07]));
    assert_eq!(unlimited.instances(600.0, 1.0), Some(22));
    // Without a place to wait it is Erlang's formula B: 42 erlang lose a thousandth on 62 servers.
    let servers = plimsoll_stats::queueing::least_servers_b(42.0, 0.001, 1000).unwrap();
    assert_eq!(limited.instances(600.0, 1.0), Some(servers.div_ceil(2)));
}
