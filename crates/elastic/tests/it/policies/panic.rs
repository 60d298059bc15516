//! Two windows: when it panics, for how long, and how far it goes at once.

use super::scene::Scene;
use plimsoll_elastic::observation::Metric::{Concurrency, Rate};

/// Seven requests an instance, windows of a minute and of six seconds, a tick of that.
fn scene(more: &[(&str, &str)]) -> Scene {
    Scene::new("panic", more).ticks_of(6.0)
}

#[test]
fn a_burst_is_followed_at_once_and_held_for_a_long_window() {
    let mut scene = scene(&[]).with(1);
    assert_eq!(scene.see(Concurrency, 5.0), 1);
    // Three are twice the one and more: it panics at 12 s.
    assert_eq!(scene.see(Concurrency, 21.0), 3);
    // Up to and with 72 s nothing is removed; at 78 s the burst is out of the long window as well.
    assert_eq!(scene.see_for(10, Concurrency, 5.0), [3; 10]);
    assert_eq!(scene.see(Concurrency, 5.0), 1);
}

#[test]
fn more_is_added_while_it_panics() {
    let mut scene = scene(&[]).with(1);
    assert_eq!(scene.see_all(Concurrency, &[5.0, 21.0, 25.0, 43.0, 20.0]), [1, 3, 4, 7, 7]);
}

#[test]
fn without_a_burst_the_long_window_decides() {
    let mut scene = scene(&[]).with(3);
    assert_eq!(scene.see_for(11, Concurrency, 15.0), [3; 11]);
    // 28 are for four, no reason to panic for three; the mean goes from 16.3 to 21.5.
    assert_eq!(scene.see_for(5, Concurrency, 28.0), [3, 3, 3, 3, 4]);
}

#[test]
fn one_that_begins_with_several_ready_is_in_panic() {
    let mut two = scene(&[]).with(2);
    // It began at 6 s: until 66 s nothing is removed.
    assert_eq!(two.see_for(11, Concurrency, 1.0), [2; 11]);
    assert_eq!(two.see(Concurrency, 1.0), 1);
    let mut one = scene(&[]).with(1).between(0, 20);
    assert_eq!(one.see(Concurrency, 0.0), 0);
}

#[test]
fn it_goes_down_by_a_factor_and_up_by_one() {
    let mut scene = self::scene(&[]).with(10);
    assert_eq!(scene.see_for(11, Concurrency, 1.0), [10; 11]);
    assert_eq!(scene.see_for(4, Concurrency, 1.0), [5, 2, 1, 1]);
    // Whether it panics is said by what it would need, twelve for four, and not by how far it may
    // go, to six.
    let mut slow = self::scene(&[("up", "1.5")]);
    assert_eq!(slow.see_for(11, Concurrency, 25.0), [4; 11]);
    let decision = slow.tick(&[(Concurrency, 84.0)]);
    assert_eq!(decision.desired, 6);
    assert!(decision.reason.starts_with("panics"), "{}", decision.reason);
}

#[test]
fn rates_have_a_target_of_their_own() {
    let rate = [("metric", "rate"), ("target", "20"), ("stable", "30s"), ("panic", "6s")];
    let mut scene = scene(&rate).with(1);
    assert_eq!(scene.see_all(Rate, &[20.0, 100.0, 100.0]), [1, 5, 5]);
}

#[test]
fn without_data_it_stays() {
    let mut scene = scene(&[]).with(3);
    assert_eq!(scene.see_for(12, Concurrency, f64::NAN), [3; 12]);
    assert_eq!(scene.see(Concurrency, 1.0), 1, "a long window has gone by since it began");
}
