//! How long rules are waited for that have to hold before a cell.

use crate::between::{before, plan};
use crate::place::Place;
use plimsoll_runs::Run;
use plimsoll_testing::Weight;

#[test]
fn rules_are_waited_for_and_a_cell_that_waits_in_vain_has_failed() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.target(&[]);
    let between = "between = ['host.processes > 0', 'host.load >= 0 for 1s']";
    place.write("plan.toml", plan(&target.url(), between, ""));
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    check.prints(&["before each", "wait until host.load>=0 for 1s, up to 1 m"]);
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ran();
    for cell in 1..=2 {
        let waited = before(&place, cell);
        let [waited] = &waited[..] else { panic!("{waited:?}") };
        assert!(waited.starts_with("waited 1."), "{waited}");
        let until = "until host.processes>0, host.load>=0 for 1s: host.processes ";
        assert!(waited.contains(until), "{waited}");
    }
    // It is no part of the load.
    let run = Run::open(&place.run().join("cells/0001")).unwrap();
    assert!((run.summary().unwrap().duration_s - 1.0).abs() < 1e-9);

    // Another rule is another cell.
    let never = "between = ['host.processes < 1']\nbetween_within = '500ms'";
    place.write("never.toml", plan(&target.url(), never, ""));
    let done = place.plimsoll(&["run", "never.toml"]).ended_with(4);
    let why = "host.processes<1 did not hold within 500 ms before it: it never held; at last host.";
    done.says(&["cell 1 failed", why, "tried once more"]);
    let of = place.plimsoll(&["analyse", "--json"]).ended_with(4).json();
    let all = of["cells"].as_array().unwrap().iter();
    assert!(all.clone().all(|of| of["state"] == "failed"), "{of}");
    assert!(all.clone().all(|of| of["reason"].as_str().unwrap().contains("never held")), "{of}");
}
