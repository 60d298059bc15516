//! A timetable through the day, over midnight, and early.

use super::scene::Scene;
use plimsoll_elastic::observation::Metric::Cpu;

#[test]
fn each_time_holds_until_the_next_and_the_last_over_night() {
    let times = [("times", "18:30=2,08:00=5")];
    let mut scene = Scene::new("schedule", &times).starting_at(7.0).ticks_of(1800.0);
    assert_eq!(scene.see(Cpu, 0.0), 2, "07:30");
    assert_eq!(scene.see_for(21, Cpu, 0.0), [5; 21], "08:00 to 18:00");
    assert_eq!(scene.see_for(27, Cpu, 99.0), [2; 27], "18:30 to 07:30");
    assert_eq!(scene.see(Cpu, 99.0), 5, "08:00");
}

#[test]
fn early_reaches_over_midnight() {
    let early = [("times", "00:05=3,12:00=9"), ("early", "10m")];
    let mut scene = Scene::new("schedule", &early).starting_at(23.0 + 50.0 / 60.0);
    assert_eq!(scene.see_for(6, Cpu, 0.0), [9, 9, 9, 9, 3, 3]);
}

#[test]
fn the_pool_has_its_bounds() {
    assert_eq!(Scene::new("schedule", &[("times", "00:00=50")]).see(Cpu, 0.0), 20);
    let none = Scene::new("schedule", &[("times", "00:00=0")]).between(2, 20).see(Cpu, 0.0);
    assert_eq!(none, 2);
}
