//! Target tracking: the ratio, its tolerance, and the two windows.

use super::scene::Scene;
use plimsoll_elastic::observation::Metric::{Concurrency, Cpu, Rate, Response};

/// Without windows: what is recommended is done.
const AT_ONCE: [(&str, &str); 1] = [("down_window", "0s")];

#[test]
fn the_ratio_of_metric_and_target_is_that_of_instances() {
    for (cpu, instances) in [
        (70.0, 4),
        (77.0, 4),
        (77.1, 5), // 4.41
        (63.0, 4),
        (62.9, 4), // 3.59
        (52.5, 3),
        (52.6, 4), // 3.01
        (100.0, 6),
        (0.0, 1),
    ] {
        assert_eq!(Scene::new("target", &AT_ONCE).see(Cpu, cpu), instances, "{cpu}");
    }
    // 30 × 77.7 / 70 is 33.3, 30 × 84 / 70 is 36 but for the last bit.
    let many = || Scene::new("target", &AT_ONCE).with(30).between(1, 99);
    assert_eq!((many().see(Cpu, 77.7), many().see(Cpu, 84.0)), (34, 36));
}

#[test]
fn what_is_not_ready_counts_as_idle_on_the_way_up() {
    let mut scene = Scene::new("target", &AT_ONCE).booting_for(600.0);
    assert_eq!(scene.see(Cpu, 80.0), 5);
    // 80% of four are 64% of five, within the tolerance; 98% are 78.4%, beyond.
    assert_eq!(scene.see(Cpu, 80.0), 5);
    assert_eq!(scene.see(Cpu, 98.0), 6, "98 × 4 / 70 = 5.6");
    assert_eq!(scene.see(Cpu, 98.0), 6);
    // On the way down only those count that are ready.
    assert_eq!(scene.see(Cpu, 50.0), 3);
}

#[test]
fn a_sum_is_divided_among_all() {
    let rate = [("metric", "rate"), ("target", "25"), ("down_window", "0s")];
    for (rate_per_s, instances) in
        [(100.0, 4), (110.0, 4), (111.0, 5), (90.0, 4), (75.0, 3), (200.0, 8)]
    {
        assert_eq!(Scene::new("target", &rate).see(Rate, rate_per_s), instances, "{rate_per_s}");
    }
    let mut booting = Scene::new("target", &rate).booting_for(600.0);
    assert_eq!(booting.see_for(3, Rate, 200.0), [8, 8, 8]);
    let each = [("metric", "concurrency"), ("target", "7"), ("down_window", "0s")];
    assert_eq!(Scene::new("target", &each).see(Concurrency, 42.0), 6);
    let slow = [("metric", "response"), ("target", "0.1")];
    assert_eq!(Scene::new("target", &slow).see(Response, 0.15), 6);
}

#[test]
fn removal_waits_until_all_of_the_window_agrees() {
    let mut scene = Scene::new("target", &[]);
    assert_eq!(scene.see_all(Cpu, &[100.0, 70.0]), [6, 6]);
    // Three are recommended from minute 3 on; the six of minute 2 are five minutes old in minute 7.
    assert_eq!(scene.see_for(5, Cpu, 35.0), [6, 6, 6, 6, 3]);
    // One minute of more within the window holds it up there.
    let mut held = Scene::new("target", &[]).with(6);
    assert_eq!(
        held.see_all(Cpu, &[35.0, 35.0, 58.0, 35.0, 35.0, 35.0, 35.0, 35.0]),
        [6, 6, 6, 6, 6, 5, 5, 3]
    );
}

/// The pool's own number is the first recommendation: a controller that begins removes nothing
/// until a window has gone by.
#[test]
fn the_window_begins_with_what_is_there() {
    let mut scene = Scene::new("target", &[]);
    assert_eq!(scene.see_for(6, Cpu, 10.0), [4, 4, 4, 4, 4, 1]);
}

#[test]
fn addition_waits_for_its_own_window() {
    let up = [("up_window", "3m"), ("down_window", "0s")];
    let mut scene = Scene::new("target", &up);
    assert_eq!(scene.see_for(4, Cpu, 100.0), [4, 4, 4, 6]);
    // The lowest of the window goes: 6, 9 and 7, and then 9, 7 and 9.
    assert_eq!(scene.see_all(Cpu, &[100.0, 80.0, 100.0, 70.0]), [6, 6, 7, 7]);
    // With both windows a metric to and fro changes nothing.
    let both = [("up_window", "3m"), ("down_window", "3m")];
    let mut to_and_fro = Scene::new("target", &both);
    assert_eq!(to_and_fro.see_all(Cpu, &[100.0, 30.0, 100.0, 30.0, 100.0, 30.0]), [4; 6]);
}

#[test]
fn without_a_metric_it_stays() {
    let mut scene = Scene::new("target", &AT_ONCE);
    assert_eq!(scene.see_all(Cpu, &[f64::NAN, 35.0, f64::NAN]), [4, 2, 2]);
    let mut long = Scene::new("target", &[("period", "3m"), ("down_window", "0s")]);
    assert_eq!(long.see_all(Cpu, &[100.0, 100.0, 40.0]), [4, 4, 5], "80% over three minutes");
}

/// Kubernetes' own figures: the greater of four and as many again in 15 s.
#[test]
fn kubernetes_defaults_bound_how_fast_it_grows() {
    let rate = [("metric", "rate"), ("target", "10")];
    let scene = |kind: &str, given: &[(&str, &str)]| {
        Scene::new(kind, given).with(1).between(1, 50).ticks_of(15.0)
    };
    let short = [rate[0], rate[1], ("period", "15s")];
    assert_eq!(scene("hpa", &rate).see_for(5, Rate, 350.0), [5, 10, 20, 35, 35]);
    assert_eq!(scene("target", &short).see_for(2, Rate, 350.0), [35, 35]);
    let slow = [short[0], short[1], short[2], ("up", "1/30s")];
    assert_eq!(scene("target", &slow).see_for(6, Rate, 350.0), [2, 2, 3, 3, 4, 4]);
    let never = [short[0], short[1], short[2], ("up_select", "off")];
    assert_eq!(scene("hpa", &never).see_for(2, Rate, 350.0), [1, 1]);
    let least = [rate[0], rate[1], ("up_select", "min")];
    assert_eq!(scene("hpa", &least).see_for(3, Rate, 350.0), [2, 4, 8]);
}

#[test]
fn removal_has_its_own_limits_and_tolerance() {
    let down = [("down_window", "0s"), ("down", "10%/1m,1/1m"), ("down_select", "max")];
    assert_eq!(Scene::new("target", &down).with(20).see_for(3, Cpu, 10.0), [18, 16, 14]);
    let wide = [("down_window", "0s"), ("up_tolerance", "0.5"), ("down_tolerance", "0")];
    let mut scene = Scene::new("target", &wide);
    // 100 of 70 is 1.43, within; 69 of 70 is beyond, and rounds to four.
    assert_eq!(scene.see_all(Cpu, &[100.0, 106.0, 52.0]), [4, 7, 6]);
}
