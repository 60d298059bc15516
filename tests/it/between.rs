//! What comes before each cell: rules that the host has to hold, a page cache that is dropped, a
//! service that is restarted; and how long all of it takes.

use crate::place::{Place, events, test_name};
use plimsoll_testing::{Weight, may_drop_caches};
use serde_json::Value;

/// A load on a target that is there, with what comes before each cell.
pub(crate) fn plan(url: &str, experiment: &str, load: &str) -> String {
    format!(
        "seed = 5\n[experiment]\nrespond = ['rate']\n{experiment}\n\
         [factor]\n\"load.timeout\" = ['1s', '2s']\n\
         [target]\nurl = '{url}'\n[load]\nusers = 1\nfor = '1s'\n{load}\n"
    )
}

/// What came before the load of a cell.
pub(crate) fn before(place: &Place, cell: u32) -> Vec<String> {
    events(&place.run().join(format!("cells/{cell:04}")), "between")
}

#[test]
fn what_cannot_come_before_a_cell_is_refused_by_name() {
    let place = Place::weighing(Weight::WAITS);
    let refuses = |between: &str, said: &[&str]| {
        place.write("plan.toml", plan("http://127.0.0.1:9/", between, ""));
        place.plimsoll(&["check", "plan.toml"]).ended_with(2).says(said);
    };
    refuses("between = ['page cache dropped']", &["`page_cache dropped`", "plan.toml:4:13"]);
    refuses("between = ['host.tcp.timewait < 5']", &["host.tcp.time_wait"]);
    refuses("between = ['redis.keys < 5']", &["a figure of the host", "redis.keys"]);
    refuses("between = ['p99 < 5ms']", &["a figure of the host"]);
    refuses("between = ['service restarted']", &["needs to know how", "[testbed]"]);
    let at_once = "at_once = 2\nbetween = ['page_cache dropped']";
    refuses(at_once, &["goes with one cell at a time"]);
}

#[test]
fn the_page_cache_is_dropped_and_a_service_restarted_before_each_cell() {
    let place = Place::new();
    let target = place.target(&[]);
    let restart = format!("restart = 'echo restarted >> {}'", place.path("restarts").display());
    let text = plan(
        &target.url(),
        "between = ['service restarted', 'page_cache dropped']",
        "warm_up = '0s'",
    );
    place.write("plan.toml", text.replace("[load]", &format!("{restart}\n[load]")));
    let check = place.plimsoll(&["check", "plan.toml"]);
    if !may_drop_caches(&test_name()) {
        return check.ended_with(2).says(&["drop the page cache", "without rights"]);
    }
    let check = check.ended_with(0);
    check.prints(&["restart the service by: echo restarted", "/proc/sys/vm/drop_caches"]);
    assert!(!place.path("restarts").exists(), "a check does nothing");
    let ran = place.plimsoll(&["run", "plan.toml", "--quiet", "--json"]).ran().json();
    for cell in 1..=2 {
        let done = before(&place, cell);
        assert_eq!(done.len(), 2, "{done:?}");
        assert_eq!(done[0], "the service was restarted");
        assert!(done[1].starts_with("the page cache was dropped, in "), "{done:?}");
    }
    // A cell that a busy host has made invalid is executed once more.
    let restarts = std::fs::read_to_string(place.path("restarts")).unwrap();
    let failures = |of: &Value| of["failures"].as_array().map_or(0, Vec::len);
    let again: usize = ran["cells"].as_array().unwrap().iter().map(failures).sum();
    assert_eq!(restarts, "restarted\n".repeat(2 + again), "{ran}");
}

/// Of cells of fixed length on servers of the program it is one length, which is that of the loads
/// and some more; of what the plan leaves open a range, or what it takes at least.
#[test]
fn a_check_tells_how_long_a_plan_takes() {
    let place = Place::weighing(Weight::WAITS);
    let takes = |text: &str| {
        place.write("plan.toml", text);
        let check = place.plimsoll(&["check", "plan.toml", "--json"]).ended_with(0).json();
        let [least, most] = [0, 1].map(|end| check["takes_s"][end].as_f64());
        (check["duration_s"].as_f64().unwrap(), least.unwrap(), most)
    };
    let fixed = "[experiment]\nrespond = ['rate']\nreplications = 2\n[factor]\n\
                 \"load.users\" = [1, 2]\n[testbed]\nprovider = 'process'\n[role.web]\n\
                 recipe = 'target'\n[target]\nurl = 'http://{{role.web.address}}:\
                 {{role.web.port}}/'\n[load]\nusers = 1\nfor = '3s'\n";
    let (loads, least, most) = takes(fixed);
    assert_eq!((loads, Some(least)), (12.0, most));
    assert!(least > 12.0 && least < 15.0, "{least}");
    let told = place.plimsoll(&["check", "plan.toml"]).ended_with(0).out;
    let row = told.lines().find(|line| line.starts_with("takes")).unwrap();
    assert!(row.starts_with("takes       13.") && !row.contains("to"), "{told}");
    let of_fixed = least;
    let until = fixed.replace("replications = 2", "until = 'rate within 5%'\nat_most = 10");
    let (_, least, most) = takes(&until);
    assert!(most.unwrap() > 1.9 * least && least > of_fixed, "{least} {most:?}");
    std::fs::create_dir(place.path("recipes")).unwrap();
    let own = "about = 'own'\nport = 80\nstart = ['sleep', '9']\ncheck = { within_s = 30 }\n";
    place.write("recipes/own.toml", own);
    let (_, least, most) = takes(&fixed.replace("'target'", "'own'"));
    assert!(least < of_fixed && most.unwrap() > 4.0 * 30.0, "{least} {most:?}");
    place.write("urls.txt", "/a\n".repeat(50));
    let fill = "url = 'http://127.0.0.1:9/'\nurls = 'urls.txt'\n[load]\nwarm_up = 'fill'\n\
                fill_rate = '10/s'\nusers = 1\nfor = '3s'\n";
    let (_, least, most) = takes(&format!("[target]\n{fill}"));
    assert!(least > 8.0 && most.is_none(), "{least} {most:?}");
    let told = place.plimsoll(&["check", "plan.toml"]).ended_with(0).out;
    assert!(told.contains("takes       at least 8."), "{told}");
}
