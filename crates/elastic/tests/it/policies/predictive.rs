//! Forecasts: each method against rates worked out by hand, and what it does with what is missing.

use super::scene::{Scene, facts};
use plimsoll_elastic::demand::Demand;
use plimsoll_elastic::observation::Metric::Rate;

const HOUR: usize = 12;
const DAY: usize = 24 * HOUR;

/// Without headroom, in ticks of five minutes, which are its steps.
fn scene(given: &[(&str, &str)]) -> Scene {
    Scene::new("predictive", &[&[("headroom", "0")][..], given].concat()).ticks_of(300.0)
}

fn pass(scene: &mut Scene, ticks: usize, rate: f64) {
    (0..ticks).for_each(|_| scene.pass(&[(Rate, rate)]));
}

/// What it says after these rates, a tick each.
fn said(mut scene: Scene, rates: &[f64]) -> String {
    rates.iter().for_each(|&rate| pass(&mut scene, 1, rate));
    scene.ask().reason
}

fn starts(said: &str, with: &str) {
    assert!(said.starts_with(with), "{said} for {with}");
}

#[test]
fn a_trend_is_a_straight_line_from_now_on() {
    let trend = || scene(&[("forecast", "trend"), ("ahead", "10m")]);
    starts(&said(trend(), &[100.0, 110.0, 120.0]), "145.0/s by trend");
    starts(&said(trend(), &[120.0, 110.0, 100.0]), "95.0/s by trend");
    starts(&said(trend(), &[100.0]), "100.0/s by trend");
    starts(&said(trend(), &[20.0, 10.0]), "5.0/s by trend");
    starts(&said(trend(), &[90.0, 40.0, 0.0]), "0.0/s by trend");
    starts(&said(trend(), &[100.0, f64::NAN, 120.0]), "145.0/s by trend");
    starts(&said(trend(), &[f64::NAN; 3]), "no rate yet");
    // The last one has not come yet: the line goes on for as long.
    starts(&said(trend().late_by(300.0), &[100.0, 110.0, 120.0, 130.0]), "155.0/s by trend");
    // Only so many steps: 100 is forgotten.
    let two = scene(&[("forecast", "trend"), ("ahead", "10m"), ("steps", "2")]);
    starts(&said(two, &[100.0, 300.0, 300.0]), "300.0/s by trend");
}

#[test]
fn the_day_before_is_scaled_by_the_hour_before() {
    let mut scene = scene(&[("ahead", "1h")]);
    pass(&mut scene, 5 * HOUR, 100.0);
    pass(&mut scene, HOUR, 400.0);
    pass(&mut scene, 18 * HOUR, 100.0);
    // At 04:30 of the next day, half as much again; until 05:30 there were 400/s.
    pass(&mut scene, 4 * HOUR + HOUR / 2, 150.0);
    starts(&scene.ask().reason, "600.0/s by season within 3600 s");
    // At 05:50: until 06:50 it goes on for ten minutes.
    pass(&mut scene, HOUR / 2, 150.0);
    pass(&mut scene, HOUR - 2, 600.0);
    starts(&scene.ask().reason, "600.0/s by season");
    pass(&mut scene, 2, 600.0);
    starts(&scene.ask().reason, "150.0/s by season");
}

#[test]
fn without_a_season_the_trend_stands_in() {
    let mut week = scene(&[("forecast", "last-week"), ("ahead", "0s")]);
    pass(&mut week, 3 * DAY, 100.0);
    starts(&week.ask().reason, "100.0/s by trend");
    pass(&mut week, 4 * DAY, 100.0);
    starts(&week.ask().reason, "100.0/s by trend");
    pass(&mut week, 1, 200.0);
    starts(&week.ask().reason, "200.0/s by season");
}

/// Steps of an hour: a day of 100/s with 200/s from five to six.
fn winters(more: &[(&str, &str)]) -> Scene {
    let given = [&[("forecast", "holt-winters"), ("step", "1h")][..], more].concat();
    let mut scene = scene(&given).ticks_of(3600.0);
    pass(&mut scene, 5, 100.0);
    pass(&mut scene, 1, 200.0);
    pass(&mut scene, 18, 100.0);
    scene
}

#[test]
fn the_season_of_winters_comes_again() {
    let mut scene = winters(&[("ahead", "2h")]);
    starts(&scene.ask().reason, "100.0/s by Holt-Winters");
    pass(&mut scene, 4, 100.0);
    starts(&scene.ask().reason, "200.0/s by Holt-Winters");
    pass(&mut scene, 1, 100.0);
    pass(&mut scene, 1, 200.0);
    starts(&scene.ask().reason, "100.0/s by Holt-Winters");
    let mut first = Scene::new("predictive", &[("forecast", "holt-winters"), ("step", "1h")]);
    starts(&first.tick(&[(Rate, 50.0)]).reason, "50.0/s by trend");
}

/// The level is 104.17 and the factor of the first hour 0.96. 192/s then say a level of 200: half
/// of the way is 152.08, half of that change a trend of 23.96; 0.96 times both is 169.
#[test]
fn level_and_trend_follow_by_their_shares() {
    let half = [("alpha", "0.5"), ("beta", "0.5"), ("gamma", "0.5"), ("ahead", "1h")];
    let mut scene = winters(&half);
    pass(&mut scene, 1, 192.0);
    starts(&scene.ask().reason, "169.0/s by Holt-Winters");
}

#[test]
fn what_is_missing_changes_nothing() {
    let mut scene = winters(&[("ahead", "1h")]);
    pass(&mut scene, 3, f64::NAN);
    starts(&scene.ask().reason, "100.0/s by Holt-Winters");
    pass(&mut scene, 2, 100.0);
    starts(&scene.ask().reason, "200.0/s by Holt-Winters");
    // An hour of the first day that was not seen has no season of its own.
    let mut gap = self::scene(&[("forecast", "holt-winters"), ("step", "1h"), ("ahead", "1h")])
        .ticks_of(3600.0);
    pass(&mut gap, 1, f64::NAN);
    pass(&mut gap, 23, 100.0);
    starts(&gap.ask().reason, "100.0/s by Holt-Winters");
    // Late by two hours: the next hour is the third from the last seen.
    let mut late = self::scene(&[("forecast", "holt-winters"), ("step", "1h"), ("ahead", "1h")])
        .ticks_of(3600.0)
        .late_by(7200.0);
    pass(&mut late, 5, 100.0);
    pass(&mut late, 1, 200.0);
    pass(&mut late, 18 + 5, 100.0);
    starts(&late.ask().reason, "200.0/s by Holt-Winters");
}

/// Nobody came from five to six; five hundred the next day say nothing about the level.
#[test]
fn an_hour_of_nobody_does_not_carry_the_level_away() {
    let mut scene =
        scene(&[("forecast", "holt-winters"), ("step", "1h"), ("ahead", "1h")]).ticks_of(3600.0);
    pass(&mut scene, 5, 100.0);
    pass(&mut scene, 1, 0.0);
    pass(&mut scene, 18 + 5, 100.0);
    pass(&mut scene, 1, 500.0);
    starts(&scene.ask().reason, "100.0/s by Holt-Winters");
}

#[test]
fn as_many_are_wanted_as_the_model_says() {
    let demand = Demand::new(&facts());
    let trend = [("forecast", "trend"), ("down_window", "10m")];
    let mut scene = Scene::new("predictive", &trend).ticks_of(300.0);
    let busy = demand.instances(300.0 * 1.1, 1.0).unwrap();
    let calm = demand.instances(100.0 * 1.1, 1.0).unwrap();
    assert_eq!(scene.see(Rate, 300.0), busy);
    let mut other = Scene::new("predictive", &trend).with(15).ticks_of(300.0);
    // The fifteen that were there are ten minutes old in the third.
    assert_eq!(other.see_for(3, Rate, 100.0), [15, 15, calm]);
}
