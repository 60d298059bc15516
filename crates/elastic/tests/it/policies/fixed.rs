//! As many as were asked for, within the bounds of the pool.

use super::scene::Scene;
use plimsoll_elastic::observation::Metric::Cpu;

#[test]
fn the_number_does_not_depend_on_what_is_seen() {
    assert_eq!(Scene::new("fixed", &[]).see_all(Cpu, &[0.0, 100.0, f64::NAN]), [20, 20, 20]);
    let mut three = Scene::new("fixed", &[("instances", "3")]);
    assert_eq!(three.see_all(Cpu, &[0.0, 100.0]), [3, 3]);
    let mut many = Scene::new("fixed", &[("instances", "30")]).between(2, 10);
    assert_eq!(many.see(Cpu, 50.0), 10);
    let mut few = Scene::new("fixed", &[("instances", "1")]).between(2, 10);
    assert_eq!(few.see(Cpu, 50.0), 2);
}
