//! Links between instances of a test-bed, and what is left of them; how long a round trip takes
//! over them is held in `tests/timed`. Needs root and TUN devices.

use crate::place::{Place, SOAK};
use crate::program::{Done, PLIMSOLL, wait_for};
use plimsoll_testing::{Weight, has_instances, has_tun, not_judged};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;

pub(crate) const PLAN: &str = "\
name = 'far away'
[testbed]
provider = 'namespace'
[role.near]
recipe = 'target'
vars = { service = 'const:1ms' }
[role.far]
recipe = 'target'
vars = { service = 'const:1ms' }
[link.wan]
role = 'far'
rtt = '20ms'
[target]
url = 'http://{{role.far.address}}:{{role.far.port}}/'
[load]
users = 2
for = '4s'
[measure]
slo = 'errors<1%'
";
/// What may be said of a host that is too busy for links: times are off. Losses and rates are not.
const OFF: [&str; 3] = ["the median of 20", "the mean of 2000", "the deviation of 2000"];

/// Whether this host can have links; where not, the test is skipped.
pub(crate) fn has_links(test: &str) -> bool {
    has_instances(test) && has_tun(test)
}

/// Whether this host was too busy for links, which is reported.
pub(crate) fn is_busy(test: &str, done: &Done) -> bool {
    let is_busy = done.code() == Some(4) && OFF.iter().any(|off| done.err.contains(off));
    if is_busy {
        not_judged(test, done.err.trim());
    }
    is_busy
}

pub(crate) const WILD: &str = "\
name = 'far away'
[testbed]
provider = 'namespace'
[role.wild]
recipe = 'target'
[role.thin]
recipe = 'nginx'
vars = { bytes = 20_000 }
[link.wild]
role = 'wild'
to = ['load']
rtt = '20ms'
jitter = '4ms'
loss = '5%'
[link.thin]
role = 'thin'
to = ['load']
rtt = '10ms'
rate = '160kbit'
[target]
url = 'http://{{role.thin.address}}:{{role.thin.port}}/'
[load]
users = 1
for = '1s'
";

/// The processes that carry links, of all beds of this place.
fn routers(place: &Place) -> Vec<i32> {
    let all = place.plimsoll(&["testbed", "status", "--json"]).ended_with(0).json();
    // Other tests have beds, too.
    let own = place.path("").canonicalize().unwrap();
    let is_its =
        |bed: &&Value| bed["experiment"].as_str().is_some_and(|of| Path::new(of).starts_with(&own));
    let beds = all["testbeds"].as_array().unwrap().iter().filter(is_its);
    let things = beds.flat_map(|bed| bed["things"].as_array().unwrap());
    let routers = things.filter(|thing| thing["what"] == "links");
    routers.map(|thing| i32::try_from(thing["pid"].as_i64().unwrap()).unwrap()).collect()
}

#[test]
fn a_cell_whose_links_have_ended_has_failed() {
    let test = "a_cell_whose_links_have_ended_has_failed";
    if !has_links(test) {
        return;
    }
    let place = Place::new();
    let ever = format!("for = 'ever'\nat_most = '{SOAK}'");
    place.write("plan.toml", PLAN.replace("for = '4s'", &ever));
    place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    let mut going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--json"]));
    let router = wait_for("the router", || {
        let router = routers(&place).first().copied();
        (router.is_some() || going.has_ended()).then_some(router)
    });
    let Some(router) = router else {
        assert!(is_busy(test, &going.wait()), "it had no router");
        return;
    };
    // By then its links were measured, and the load goes over them.
    let is_on = wait_for("the load", || {
        let is_on = place.loads_of(&going) > 0;
        (is_on || going.has_ended()).then_some(is_on)
    });
    if !is_on {
        assert!(is_busy(test, &going.wait()), "it had no load");
        return;
    }
    kill_process(Pid::from_raw(router).unwrap(), Signal::KILL).unwrap();
    let done = place.stopped(going);
    assert!(done.err.contains("the router of the links"), "{}", done.err);
    assert_eq!(routers(&place), Vec::<i32>::new());
}

#[test]
fn links_that_cannot_be_made_are_refused_in_their_places() {
    let place = Place::weighing(Weight::WAITS);
    let refused = |plan: &str, says: &[&str]| {
        place.write("plan.toml", plan);
        place.plimsoll(&["check", "plan.toml"]).ended_with(2).says(says);
    };
    let process = PLAN.replace("'namespace'", "'process'");
    refused(&process, &["plan.toml:10:2", "network of their own", "provider = \"namespace\""]);
    refused(&PLAN.replace("role = 'far'", "role = 'fra'"), &["expected a role", "`fra`"]);
    refused(&PLAN.replace("'20ms'", "'20us'"), &["a round trip from 1ms to 10s"]);
    refused(&PLAN.replace("rtt = '20ms'\n", ""), &["`rtt`"]);
    refused(&WILD.replace("'4ms'", "'11ms'"), &["at most half of `rtt`, 10ms, found 11ms"]);
    refused(&WILD.replace("'5%'", "'100%'"), &["a share below 100%"]);
    refused(&WILD.replace("'160kbit'", "'8Mbps'"), &["bits a second from 8kbit to 100Gbit"]);
    let both =
        PLAN.replace("[target]", "[link.lan]\nrole = 'near'\nto = ['far']\nrtt = '5ms'\n[target]");
    place.write("plan.toml", both);
    let told = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    // Who may make no namespaces learns that first.
    assert!(told.err.contains("link.wan is between") || told.err.contains("root"), "{}", told.err);
    let of = place.plimsoll(&["doctor", "--json"]);
    let of: Value = serde_json::from_str(&of.out).unwrap();
    assert_eq!(of["links"]["by"], "a router of this program on TUN devices");
}
