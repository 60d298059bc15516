//! The queueing model's number, and its correction by what is seen.

use super::scene::{Scene, facts};
use plimsoll_elastic::demand::Demand;
use plimsoll_elastic::observation::Metric::{Lost, Rate, Response};

/// Without headroom and window: what is needed is done.
const PLAIN: [(&str, &str); 2] = [("headroom", "0"), ("down_window", "0s")];

fn needed(rate: f64) -> u32 {
    Demand::new(&facts()).instances(rate, 1.0).unwrap()
}

/// A tick at 200/s with a response time: for which rate it is taken.
fn taken(scene: &mut Scene, response_s: f64) -> String {
    let reason = scene.tick(&[(Rate, 200.0), (Response, response_s), (Lost, 0.0)]).reason;
    let taken = reason.split("taken for ").nth(1).and_then(|rest| rest.split("/s").next());
    taken.unwrap().to_owned()
}

#[test]
fn it_is_the_models_number() {
    let mut scene = Scene::new("slo", &PLAIN);
    assert_eq!(scene.see_all(Rate, &[300.0, 100.0]), [needed(300.0), needed(100.0)]);
    let mut headroom = Scene::new("slo", &[("headroom", "0.5"), ("down_window", "0s")]);
    assert_eq!(headroom.see(Rate, 100.0), needed(150.0));
    assert!(needed(300.0) >= 11 && needed(300.0) <= 14, "10.5 are saturated");
    let mut fast = Scene::new("slo", &PLAIN);
    fast.instances.iter_mut().for_each(|of| of.speed = 2.0);
    assert_eq!(Some(fast.see(Rate, 300.0)), Demand::new(&facts()).instances(300.0, 2.0));
}

#[test]
fn a_broken_slo_takes_the_rate_for_greater_and_room_for_less() {
    let mut scene = Scene::new("slo", &PLAIN);
    let mut of = |response_s| taken(&mut scene, response_s);
    assert_eq!(
        [0.1, 0.5, 0.5, 0.35, 0.1].map(&mut of),
        ["200.0", "220.0", "242.0", "242.0", "237.2"]
    );
    assert_eq!(of(f64::NAN), "232.4", "nobody was slow");
    // Never more than three times, and never less than once.
    let most: Vec<String> = (0..30).map(|_| of(9.0)).collect();
    assert_eq!(most[29], "600.0");
    let least: Vec<String> = (0..80).map(|_| of(0.1)).collect();
    assert_eq!(least[79], "200.0");
}

#[test]
fn losses_break_it_as_well() {
    let mut scene = Scene::new("slo", &PLAIN);
    let mut with = |lost: f64| scene.tick(&[(Rate, 200.0), (Response, 0.1), (Lost, lost)]).reason;
    assert!(with(1.9).contains("taken for 200.0/s"), "one in a hundred may");
    assert!(with(2.1).contains("taken for 220.0/s"));
}

#[test]
fn it_waits_until_what_was_decided_has_shown() {
    let mut scene = Scene::new("slo", &PLAIN).booting_for(300.0);
    let found = [0.5; 5].map(|response_s| taken(&mut scene, response_s));
    assert_eq!(found, ["220.0"; 5], "it boots");
    assert_eq!(taken(&mut scene, 0.5), "242.0", "and is there in minute six");
    // Ticks of ten seconds: once a minute.
    let mut often = Scene::new("slo", &PLAIN).with(20).ticks_of(10.0);
    (0..5).for_each(|_| often.pass(&[(Rate, 200.0), (Response, 0.5)]));
    let reasons: Vec<String> = (0..7).map(|_| taken(&mut often, 0.5)).collect();
    assert_eq!(reasons, ["220.0", "220.0", "220.0", "220.0", "220.0", "220.0", "242.0"]);
}

#[test]
fn it_removes_only_what_all_of_the_window_could_spare() {
    let mut scene = Scene::new("slo", &[("headroom", "0")]).with(15);
    let few = needed(100.0);
    assert_eq!(scene.see_for(6, Rate, 100.0), [15, 15, 15, 15, 15, few]);
    assert_eq!(scene.see(Rate, f64::NAN), few);
}
