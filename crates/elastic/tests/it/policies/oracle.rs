//! The oracle: the most of what is to come.

use super::scene::{Scene, facts, made};
use plimsoll_elastic::demand::Demand;
use plimsoll_elastic::observation::Metric::Cpu;
use plimsoll_elastic::policy::{Facts, Future};

fn scene(given: &[(&str, &str)]) -> Scene {
    let rates = vec![100.0, 100.0, 400.0, 100.0, 50.0, 50.0];
    let future = Some(Future { step_s: 60.0, rates }.into());
    Scene::of(made("oracle", given, &Facts { future, ..facts() }))
}

fn needed(rate: f64) -> u32 {
    Demand::new(&facts()).instances(rate, 1.0).unwrap()
}

#[test]
fn it_has_what_will_be_needed() {
    let mut scene = scene(&[("ahead", "90s")]);
    let found = scene.see_for(6, Cpu, 0.0);
    // After 1 to 6 minutes: the steps that the next minute and a half touch.
    let most = [400.0, 400.0, 100.0, 50.0, 50.0, 0.0];
    assert_eq!(found, most.map(needed));
    assert_eq!(needed(0.0), 1);
}

#[test]
fn it_looks_twice_the_boot_time_ahead_and_takes_headroom() {
    assert_eq!(scene(&[]).see(Cpu, 0.0), needed(400.0));
    assert_eq!(scene(&[("ahead", "0s"), ("headroom", "1")]).see(Cpu, 0.0), needed(200.0));
}
