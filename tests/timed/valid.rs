//! Where nobody else takes the processor, what is measured is valid, and the exit code says so: the
//! tests of everything else go on where a busy machine makes it 5.

use crate::place::Place;
use crate::pools::one_policy;
use plimsoll_testing::Weight;

#[test]
fn loads_experiments_and_pools_end_with_0_on_a_calm_machine() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.calm();
    let url = target.url();
    place.load(&[&url, "--rate", "50/s", "--for", "2s"]).ended_with(0);
    place.load(&[&url, "--users", "4", "--for", "2s"]).ended_with(0);
    place.write("users.toml", "[[step]]\nget = '/'\n[[step]]\nthink = 'const:50ms'\n");
    let users = ["--scenario", "users.toml", "--users", "4", "--for", "2s"];
    place.load(&[&[&*url][..], &users].concat()).ended_with(0);
    let plan = format!(
        "[factor]\n\"load.rate\" = ['20/s', '40/s']\n[target]\nurl = '{url}'\n\
         [load]\nrate = '20/s'\nfor = '2s'\n"
    );
    place.write("plan.toml", plan);
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ended_with(0);
    place.write("plan.toml", one_policy("start = 2", "kind = 'fixed'\ninstances = 2"));
    place.stopped(place.run_for_ever(&[])).ended_with(0);
}

#[test]
fn every_clause_of_an_slo_that_holds_is_told() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.calm();
    let slo = "p50<30s, p90<30s, errors<1%, lost<1, rate>=10/s, availability>=50%";
    let done = place.load(&[&target.url(), "--rate", "20/s", "--for", "2s", "--slo", slo]);
    let done = done.ended_with(0);
    assert_eq!(done.out.matches("held  ").count(), 6, "{}", done.out);
    assert!(done.out.contains("valid"), "{}", done.out);
    let said = target.end().ended_with(0).err;
    assert!(said.starts_with("40 requests"), "{said}");
}
