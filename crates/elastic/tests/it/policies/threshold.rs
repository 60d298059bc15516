//! Alarms: how long until they sound, how often they act, and what they do.

use super::scene::Scene;
use plimsoll_elastic::observation::Metric::{Cpu, Queue, Response};

/// One datapoint is enough, and there is no cooldown: what is left is the action.
const AT_ONCE: [(&str, &str); 2] = [("datapoints", "1"), ("cooldown", "0s")];

fn at_once<'a>(more: &[(&'a str, &'a str)]) -> Scene {
    Scene::new("threshold", &[&AT_ONCE[..], more].concat())
}

#[test]
fn a_sticky_alarm_acts_after_fifteen_minutes_and_then_after_each_cooldown() {
    let mut scene = Scene::new("threshold", &[]);
    assert_eq!(scene.see_for(14, Cpu, 80.0), [4; 14]);
    assert_eq!(scene.see_for(6, Cpu, 80.0), [5, 5, 6, 6, 7, 7]);
    // The fourteen minutes before are not forgotten: one below ends the alarm, and it takes fifteen
    // more until the next.
    assert_eq!(scene.see(Cpu, 70.0), 7, "not above 70");
    assert_eq!(scene.see_for(14, Cpu, 71.0), [7; 14]);
    assert_eq!(scene.see(Cpu, 71.0), 8);
}

#[test]
fn an_alarm_that_is_not_sticky_acts_once_until_it_has_cleared() {
    let mut scene = Scene::new("threshold", &[("sticky", "false")]);
    assert_eq!(scene.see_for(14, Cpu, 80.0), [4; 14]);
    assert_eq!(scene.see_for(40, Cpu, 80.0), [5; 40]);
    // One minute at the bound clears it.
    assert_eq!(scene.see(Cpu, 70.0), 5);
    assert_eq!(scene.see_for(15, Cpu, 71.0), [&[5; 14][..], &[6]].concat());
    // What comes about during a cooldown acts after it, where it still lasts.
    let quick = [("sticky", "false"), ("datapoints", "1"), ("cooldown", "3m")];
    let mut scene = Scene::new("threshold", &quick);
    let seen = [80.0, 70.0, 80.0, 80.0, 80.0, 70.0, 80.0, 50.0, 80.0];
    assert_eq!(scene.see_all(Cpu, &seen), [5, 5, 5, 6, 6, 6, 7, 7, 7]);
}

#[test]
fn an_alarm_below_removes_down_to_the_least() {
    let mut scene = Scene::new("threshold", &[("datapoints", "3")]).with(3);
    assert_eq!(scene.see_for(9, Cpu, 59.9), [3, 3, 2, 2, 1, 1, 1, 1, 1]);
    // At the bound nothing was done, so nothing cools down.
    assert_eq!(scene.see_for(3, Cpu, 90.0), [1, 1, 2]);
    let mut other = Scene::new("threshold", &[("datapoints", "1")]);
    assert_eq!(other.see(Cpu, 60.0), 4, "not below 60");
}

#[test]
fn the_cooldown_ends_when_it_is_over() {
    let of_90_s = [("datapoints", "1"), ("cooldown", "90s")];
    let mut scene = Scene::new("threshold", &of_90_s);
    assert_eq!(scene.see_for(6, Cpu, 80.0), [5, 5, 6, 6, 7, 7]);
    let mut exactly = Scene::new("threshold", &[("datapoints", "1"), ("cooldown", "3m")]);
    assert_eq!(exactly.see_for(4, Cpu, 80.0), [5, 5, 5, 6]);
    // It holds in both directions.
    let mut both = Scene::new("threshold", &[("datapoints", "1"), ("cooldown", "2m")]);
    assert_eq!(both.see_all(Cpu, &[80.0, 10.0, 10.0]), [5, 5, 4]);
}

#[test]
fn so_many_of_the_last_datapoints_are_enough() {
    let mut scene =
        Scene::new("threshold", &[("datapoints", "5"), ("of", "3"), ("cooldown", "0s")]);
    assert_eq!(scene.see_all(Cpu, &[80.0, 65.0, 80.0, 65.0]), [4; 4], "fewer than five");
    assert_eq!(scene.see(Cpu, 80.0), 5);
    assert_eq!(scene.see(Cpu, 65.0), 5, "two of 65 80 65 80 65");
    assert_eq!(scene.see(Cpu, 80.0), 6, "three of 80 65 80 65 80");
}

#[test]
fn a_minute_without_data_is_beyond_no_bound() {
    let mut scene = Scene::new("threshold", &[("datapoints", "3"), ("cooldown", "0s")]);
    assert_eq!(scene.see_all(Cpu, &[80.0, f64::NAN, 80.0, 80.0, 80.0]), [4, 4, 4, 4, 5]);
    let mut two = Scene::new("threshold", &[("datapoints", "3"), ("of", "2"), ("cooldown", "0s")]);
    assert_eq!(two.see_all(Cpu, &[80.0, f64::NAN, 80.0]), [4, 4, 5]);
}

#[test]
fn actions_add_remove_and_set() {
    assert_eq!(at_once(&[("add", "3")]).see_for(2, Cpu, 90.0), [7, 10]);
    assert_eq!(at_once(&[("remove", "3")]).see_for(2, Cpu, 10.0), [1, 1]);
    assert_eq!(at_once(&[("set_above", "12")]).see_for(2, Cpu, 90.0), [12, 12]);
    assert_eq!(at_once(&[("set_above", "30")]).see(Cpu, 90.0), 20);
    assert_eq!(at_once(&[("set_below", "2")]).see_for(2, Cpu, 10.0), [2, 2]);
    assert_eq!(at_once(&[("add", "0")]).see(Cpu, 90.0), 4);
}

#[test]
fn any_series_can_be_looked_at() {
    let slow = [("metric", "response"), ("upper", "0.4"), ("lower", "0.1")];
    assert_eq!(at_once(&slow).see_all(Response, &[0.5, 0.3, 0.05]), [5, 5, 4]);
    assert_eq!(at_once(&slow).see(Cpu, 99.0), 4, "nothing was seen of response times");
}

/// Azure's example: 60% over 3 would be 90% over 2; 50% over 3 are 75% over 2.
#[test]
fn the_check_for_flapping_keeps_what_would_be_missed() {
    let azure = [("upper", "80"), ("lower", "61"), ("flap_check", "true")];
    let mut three = at_once(&azure).with(3);
    assert_eq!(three.see_all(Cpu, &[60.0, 50.0]), [3, 2]);
    let check = [("flap_check", "true"), ("remove", "3")];
    // 40% of 10 are 57% of 7; 40% of 5 are 100% of 2 and 66.7% of 3.
    assert_eq!(at_once(&check).with(10).see(Cpu, 40.0), 7);
    assert_eq!(at_once(&check).with(5).see(Cpu, 40.0), 3);
    assert_eq!(at_once(&check).with(1).see(Cpu, 1.0), 1);
    // A sum is the same for fewer.
    let queue = [("metric", "queue"), ("upper", "9"), ("lower", "5"), ("flap_check", "true")];
    assert_eq!(at_once(&queue).with(2).see(Queue, 4.0), 1);
    let set = [("flap_check", "true"), ("set_below", "2")];
    assert_eq!(at_once(&set).with(8).see(Cpu, 30.0), 4, "240% over 4 are 60%, over 3 are 80%");
}

#[test]
fn periods_and_ticks_need_not_agree() {
    // Three datapoints of five minutes, in ticks of one: the mean counts, not each.
    let five = [("period", "5m"), ("datapoints", "2"), ("cooldown", "0s")];
    let mut scene = Scene::new("threshold", &five);
    let minutes = [90.0, 90.0, 90.0, 90.0, 0.0, 90.0, 90.0, 90.0, 90.0, 0.0];
    assert_eq!(scene.see_all(Cpu, &minutes), [4, 4, 4, 4, 4, 4, 4, 4, 4, 5], "72% twice");
    // Fifteen datapoints of a minute, in ticks of five: each stands for all of its minutes.
    let mut rare = Scene::new("threshold", &[]).ticks_of(300.0);
    assert_eq!(rare.see_for(4, Cpu, 80.0), [4, 4, 5, 6]);
    // Datapoints of a minute in ticks of 45 s: the second is a third of one tick and all of the
    // next.
    let mut odd = Scene::new("threshold", &[("datapoints", "1")]).ticks_of(45.0);
    assert_eq!(odd.see_all(Cpu, &[0.0, 100.0, 100.0]), [4, 5, 5], "75% over the last minute");
}

#[test]
fn late_metrics_are_late_alarms() {
    let mut scene =
        Scene::new("threshold", &[("datapoints", "2"), ("cooldown", "0s")]).late_by(120.0);
    assert_eq!(scene.see_all(Cpu, &[80.0, 80.0, 0.0, 0.0, 0.0]), [4, 4, 4, 5, 5]);
}
