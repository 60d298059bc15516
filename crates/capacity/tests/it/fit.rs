//! What a fit makes of windows: how sure it is.

use plimsoll_capacity::adaptive::evidence::Evidence;
use plimsoll_capacity::adaptive::fit::Fit;
use plimsoll_capacity::conduct::Site;
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::window::{Offer, Phase, Window};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

/// The line of M/M/1 with a service time of 4 ms under 90% within 30 ms, per second.
const LINE: f64 = 173.2;
const BOUND_NS: u64 = 30_000_000;

/// Windows of a low load, and of one just below the line of a server; 4 ms is the mean of its
/// service times; `service` is what it takes in each of them, in turn.
fn windows(services: &[&str], seed: u64) -> Vec<Window> {
    let world = |(k, service): (usize, &&str)| {
        let law = ServiceTime::Law(Distribution::parse(service).unwrap());
        Simulated::new(ServiceModel::new(law), BOUND_NS, seed + 1000 * k as u64)
    };
    let mut worlds: Vec<Simulated> = services.iter().enumerate().map(world).collect();
    let rates = [0.15; 4].into_iter().chain([0.92; 24]);
    let offered = rates.enumerate().map(|(k, share)| {
        let world = k % worlds.len();
        let Ok(window) = worlds[world].window(&Offer {
            rate_per_s: share * LINE,
            seconds: 8.0,
            settle_s: 1.0,
            phase: Phase::Search,
            may_cut: false,
            fresh: false,
        });
        window
    });
    offered.collect()
}

fn fit(windows: &[Window]) -> Fit {
    Evidence::of(windows).fit((0.9, BOUND_NS as f64 / 1e9), f64::INFINITY, None).unwrap()
}

/// Over many fits the error that is claimed is about the error that is made.
#[test]
fn the_error_that_is_claimed_is_the_one_that_is_made() {
    let fits: Vec<Fit> = (0..60).map(|seed| fit(&windows(&["exp:4ms"], seed))).collect();
    let n = fits.len() as f64;
    let squares: f64 = fits.iter().map(|fit| (fit.line_per_s / LINE).ln().powi(2)).sum();
    let made = (squares / n).sqrt();
    let claimed = fits.iter().map(|fit| fit.error).sum::<f64>() / n;
    assert!((0.6..1.6).contains(&(made / claimed)), "made {made}, claimed {claimed}");
    assert!(fits.iter().all(|fit| (fit.line_per_s / LINE).ln().abs() < 0.15));
}

/// A server that is now slow and now fast scatters more than one that is neither, by a cause that
/// no curve over the rate knows of: the interval becomes wider by what the windows themselves show.
#[test]
fn windows_that_scatter_more_than_one_queue_would_widen_the_interval() {
    let mean = |services: &[&str]| -> f64 {
        (0..10).map(|seed| fit(&windows(services, seed)).error).sum::<f64>() / 10.0
    };
    let (steady, moody) = (mean(&["exp:4ms"]), mean(&["exp:3300us", "exp:4700us"]));
    assert!(moody > 1.3 * steady, "{moody}, and {steady} where it is steady");
}
