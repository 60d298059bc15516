//! The revenue policy: when it decides, by which rate, and how many.

use super::scene::Scene;
use plimsoll_elastic::observation::Metric::Rate;

const ERLANG_B: (&str, &str) = ("blocking", "erlang-b");

/// Parameters.
type Given<'a> = &'a [(&'a str, &'a str)];

/// Minutes at a rate each, without a decision.
fn pass(scene: &mut Scene, minutes: usize, rate: f64) {
    (0..minutes).for_each(|_| scene.pass(&[(Rate, rate)]));
}

/// What is decided after these minutes at these rates, where nothing was decided before.
fn after(given: &[(&str, &str)], instances: u32, hours: &[(usize, f64)]) -> u32 {
    let mut scene = Scene::new("revenue", given).with(instances).starting_at(5.0).between(1, 99);
    hours.iter().for_each(|&(minutes, rate)| pass(&mut scene, minutes, rate));
    scene.ask().desired
}

#[test]
fn it_adds_at_the_full_hour_and_removes_five_minutes_before() {
    let mut scene = Scene::new("revenue", &[ERLANG_B]).with(8).starting_at(5.0);
    assert_eq!(scene.see_for(59, Rate, 300.0), [8; 59]);
    assert_eq!(scene.see(Rate, 300.0), 17, "06:00");
    assert_eq!(scene.see_for(54, Rate, 100.0), [17; 54]);
    assert_eq!(scene.see_for(6, Rate, 100.0), [7; 6], "from 06:55 on");
    assert_eq!(scene.see_for(59, Rate, 600.0), [7; 59]);
    assert_eq!(scene.see(Rate, 600.0), 20, "30, of which there are 20");
}

/// Whatever becomes of the pool within the hour: the next decision is that of the next.
#[test]
fn it_decides_once_an_hour_each_way() {
    let mut scene = Scene::new("revenue", &[]).with(4).starting_at(5.0);
    assert_eq!(scene.see_for(60, Rate, 300.0)[59], 11);
    scene.instances.truncate(6);
    assert_eq!(scene.see_for(54, Rate, 300.0), [6; 54]);
    scene.instances.resize(15, scene.instances[0]);
    assert_eq!(scene.see(Rate, 300.0), 11, "06:55");
    scene.instances.resize(15, scene.instances[0]);
    assert_eq!(scene.see_for(4, Rate, 300.0), [15; 4]);
}

#[test]
fn it_removes_by_the_hour_so_far_and_adds_by_all_of_it() {
    let mut scene = Scene::new("revenue", &[]).with(20).starting_at(5.0);
    assert_eq!(scene.see_for(54, Rate, 300.0), [20; 54]);
    assert_eq!(scene.see(Rate, 300.0), 11, "300/s until 05:55");
    assert_eq!(scene.see_for(5, Rate, 900.0), [11, 11, 11, 11, 13], "350/s until 06:00");
    // What comes after the full hour does not count for it, however late it is looked at.
    assert_eq!(after(&[], 4, &[(60, 300.0), (3, 2000.0)]), 11);
}

#[test]
fn the_hour_is_that_of_the_calendar_or_the_last_sixty_minutes() {
    let hours = [(60, 100.0), (55, 300.0)];
    assert_eq!(after(&[], 20, &hours), 11);
    assert_eq!(after(&[("hour", "sliding")], 20, &hours), 10, "283.3/s");
}

#[test]
fn the_rate_is_a_mean_or_weighs_the_latest_most() {
    let rise = [(30, 100.0), (25, 300.0)];
    assert_eq!(after(&[], 20, &rise), 7, "190.9/s");
    assert_eq!(after(&[("rate", "weighted:5m")], 20, &rise), 11, "298.7/s");
    assert_eq!(after(&[("trend", "true")], 20, &[(60, 100.0), (55, 300.0)]), 18, "500/s");
    assert_eq!(after(&[("trend", "true")], 20, &[(55, 300.0)]), 11, "no hour before");
    assert_eq!(after(&[("spare", "2")], 4, &[(60, 300.0)]), 13);
}

#[test]
fn one_server_of_the_formula_is_an_instance_or_a_core() {
    let cases: [(Given<'_>, u32, u32); 5] = [
        (&[], 11, 21),
        (&[ERLANG_B], 17, 30),
        (&[ERLANG_B, ("agent", "core")], 15, 28),
        // Where servers cost nothing: as many as lose nothing.
        (&[("price", "0")], 11, 21),
        // And where they cost more than they can earn: one.
        (&[("price", "200")], 1, 1),
    ];
    for (given, at_300, at_600) in cases {
        assert_eq!(after(given, 4, &[(60, 300.0)]), at_300, "{given:?}");
        assert_eq!(after(given, 4, &[(60, 600.0)]), at_600, "{given:?}");
    }
}

/// All rates that the reference lists.
#[test]
fn optima_are_the_references() {
    for row in vectors("optima_are_the_references", "thesis_optimal_n.csv") {
        let rate: f64 = row[0].parse().unwrap();
        let ways: [Given<'_>; 3] = [&[], &[ERLANG_B], &[ERLANG_B, ("agent", "core")]];
        for (given, best) in ways.into_iter().zip(&row[1..]) {
            let found = after(given, 1, &[(60, rate)]);
            assert_eq!(found, best.parse::<u32>().unwrap(), "{rate}/s {given:?}");
        }
    }
}

#[test]
fn revenues_are_the_references() {
    let facts = super::scene::facts();
    for row in vectors("revenues_are_the_references", "thesis_revenue_curve.csv") {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        let instances = row[1].parse().unwrap();
        for (is_erlang, wanted) in [(false, number(3)), (true, number(5))] {
            let revenue = plimsoll_elastic::policy::revenue_per_hour;
            let found = revenue(&facts, is_erlang, instances, number(0));
            assert!((found - wanted).abs() < 1e-8 * wanted.abs().max(1.0), "{row:?}: {found}");
        }
    }
}

/// The rows of a reference file after its header; none where it is absent.
fn vectors(test: &str, name: &str) -> Vec<Vec<String>> {
    let path = plimsoll_testing::shared(test, &format!("reference/vectors/{name}"));
    let Some(path) = path else { return Vec::new() };
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn nothing_is_decided_before_half_an_hour_was_seen() {
    let mut late = Scene::new("revenue", &[]).with(20).starting_at(5.0 + 40.0 / 60.0);
    // 05:55 has a quarter of an hour, 06:00 a third of one; 06:55 is the first with more.
    assert_eq!(late.see_for(74, Rate, 100.0), [20; 74]);
    assert_eq!(late.see(Rate, 100.0), 4);
    assert_eq!(after(&[], 20, &[(25, f64::NAN), (30, 300.0)]), 11);
    assert_eq!(after(&[], 20, &[(26, f64::NAN), (29, 300.0)]), 20);
    assert_eq!(after(&[("rate", "weighted:5m")], 20, &[(25, f64::NAN), (30, 300.0)]), 11);
}

#[test]
fn decisions_may_be_rare_and_metrics_late() {
    // At 50 minutes and at the full hour: then both ways.
    let mut rare = Scene::new("revenue", &[]).with(20).ticks_of(600.0);
    assert_eq!(rare.see_for(5, Rate, 300.0), [20; 5]);
    assert_eq!(rare.see(Rate, 300.0), 11);
    assert_eq!(rare.see_for(6, Rate, 600.0), [11, 11, 11, 11, 11, 20]);
    let mut none_early = Scene::new("revenue", &[("early", "0s")]).with(20);
    assert_eq!(none_early.see_for(59, Rate, 300.0), [20; 59]);
    assert_eq!(none_early.see(Rate, 300.0), 11);
    let mut late = Scene::new("revenue", &[]).with(20).late_by(120.0);
    assert_eq!(late.see_for(54, Rate, 300.0), [20; 54]);
    assert_eq!(late.see(Rate, 300.0), 11);
}

#[test]
fn measured_speeds_count() {
    let mut scene = Scene::new("revenue", &[]).with(4).between(1, 99);
    scene.instances.iter_mut().for_each(|of| of.speed = 2.0);
    pass(&mut scene, 60, 600.0);
    assert_eq!(scene.ask().desired, 11);
}
