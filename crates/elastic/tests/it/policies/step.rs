//! Steps: which one is taken, and from how many.

use super::scene::Scene;
use plimsoll_elastic::observation::Metric::{Cpu, Rate};

/// The worked example of AWS: one more, while it warms up not one more again, but two more are one
/// more than that.
#[test]
fn what_warms_up_is_not_added_again() {
    let mut scene = Scene::new("step", &[]).booting_for(60.0);
    assert_eq!(scene.see_all(Cpu, &[75.0, 75.0, 85.0, 85.0]), [5, 5, 6, 6]);
    // Launched at 1 min, ready at 2, warm at 5.
    assert_eq!(scene.see(Cpu, 95.0), 9, "four more than the five warm");
}

#[test]
fn nothing_is_removed_while_something_warms_up() {
    let mut scene = Scene::new("step", &[("warm_up", "2m")]).booting_for(60.0);
    assert_eq!(scene.see(Cpu, 75.0), 5);
    // Launched at 1 min, ready at 2, warm at 4.
    assert_eq!(scene.see_for(4, Cpu, 30.0), [5, 5, 4, 3]);
    // Those of the start are warm.
    assert_eq!(Scene::new("step", &[]).see(Cpu, 30.0), 3);
}

#[test]
fn a_step_is_that_of_the_furthest_bound_reached() {
    for (cpu, instances) in
        [(69.9, 4), (70.0, 5), (79.9, 5), (80.0, 6), (90.0, 8), (100.0, 8), (40.0, 3), (40.1, 4)]
    {
        assert_eq!(Scene::new("step", &[]).see(Cpu, cpu), instances, "{cpu}");
    }
    let down = [("down", "40:1,20:3")];
    assert_eq!(Scene::new("step", &down).with(9).see_all(Cpu, &[30.0, 20.0]), [8, 5]);
}

#[test]
fn all_of_the_last_datapoints_reach_the_bound() {
    let three = [("datapoints", "3")];
    let mut scene = Scene::new("step", &three);
    assert_eq!(scene.see_all(Cpu, &[95.0, 95.0, 75.0]), [4, 4, 5], "75 is all that all reach");
    let mut missing = Scene::new("step", &three);
    assert_eq!(missing.see_all(Cpu, &[95.0, f64::NAN, 95.0, 95.0, 95.0]), [4, 4, 4, 4, 8]);
}

#[test]
fn a_step_can_be_to_a_number() {
    let to = [("up", "70:1,90:=15"), ("down", "40:=2")];
    assert_eq!(Scene::new("step", &to).see_all(Cpu, &[70.0, 95.0]), [5, 15]);
    assert_eq!(Scene::new("step", &to).see(Cpu, 10.0), 2);
    assert_eq!(Scene::new("step", &[("up", "70:=99")]).see(Cpu, 90.0), 20);
}

#[test]
fn bounds_of_another_metric_are_given() {
    let rate = [("metric", "rate"), ("up", "100:1,200:5"), ("down", "50:1"), ("warm_up", "0s")];
    assert_eq!(Scene::new("step", &rate).see_all(Rate, &[99.0, 150.0, 50.0]), [4, 5, 4]);
}
