//! How soon a second balancer is in the place of one that is killed.

use crate::balancers::{CHANGES, number, plan, run_of, texts, write_recipe};
use crate::place::Place;
use crate::pools::servers;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_testing::{Weight, has_instances};
use rustix::process::Signal;

#[test]
fn a_second_balancer_takes_the_address_of_one_that_is_killed() {
    let test = "a_second_balancer_takes_the_address_of_one_that_is_killed";
    if !has_instances(test) {
        return;
    }
    let place = Place::weighing(Weight::ALONE);
    write_recipe(&place);
    let changes = [
        ("'process'", "'namespace'"),
        ("[load]", "count = 2\n[load]"),
        ("100/s for 9m", "200/s for 10m"),
        ("kind = 'schedule'", "kind = 'fixed'\ninstances = 2\n#"),
        (&*format!("times = '{CHANGES}'\n"), ""),
    ];
    place.write("plan.toml", plan("built-in", &changes));
    place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    let run = ["run", "plan.toml", "--json"];
    let going = place.start(place.command(PLIMSOLL, &run));
    let of = |name: &str| servers(&place).get(name).copied();
    wait_for("a server", || of("web-2"));
    let pid = of("balancer-1").expect("it stands before the instances");
    std::thread::sleep(std::time::Duration::from_secs(5));
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    let document = going.wait().ran().json();
    let figures = &document["cells"][0]["figures"];
    let [offered, served, lost] = ["offered", "served", "lost"].map(|of| number(figures, of));
    assert!(lost <= 3.0 * 200.0 && served > 0.6 * offered, "{figures}");
    let texts = texts(&run_of(&place, &document));
    for text in ["balancer-1 does not answer any more", "balancer-2 has the address of balancer-1"]
    {
        assert!(texts.iter().any(|of| of == text), "{text}: {texts:?}");
    }
}
