//! `plimsoll infer` of what is no search.

use crate::place::Place;

#[test]
fn what_is_no_search_does_not_calibrate() {
    let place = Place::new();
    let target = place.target(&[]);
    let url = target.url();
    place.load(&[&url, "--rate", "20/s", "--for", "500ms"]).ran();
    let run = place.run();
    let run = run.to_str().unwrap();
    let done = place.plimsoll(&["infer", run, "--probe", &url]).ended_with(2);
    done.says(&["the run of a finished search", "plimsoll capacity --calibrate"]);
    let nothing = place.path("nothing");
    let nothing = nothing.to_str().unwrap();
    place.plimsoll(&["infer", nothing, "--probe", &url]).ended_with(2);
}
