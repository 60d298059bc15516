//! A warm-up that asks for each URL of a list once, before the load.

use crate::place::{Place, events};
use plimsoll_runs::Run;

/// Each URL of the list once, and no other request beside those of the load, in no figure of it.
#[test]
fn a_list_is_filled_before_the_load_and_counts_in_none_of_its_figures() {
    let place = Place::new();
    let target = place.target(&["--log", "target.csv", "--errors", "40%"]);
    let list: String = (0..31).map(|n| format!("/page/{n}\n")).collect();
    place.write("urls.txt", list);
    let fill = "urls = 'urls.txt'\n[load]\nrate = '20/s'\nfor = '1s'\nwarm_up = 'fill'\n\
                fill_rate = '50/s'\n";
    place.write("plan.toml", format!("[target]\nurl = '{}'\n{fill}", target.url()));
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ran();
    let run = Run::open(&place.run()).unwrap();
    let filled = events(&place.run(), "warm-up").remove(0);
    let said = filled.strip_prefix("asked for each of 31 URLs once, up to 50/s, in ").unwrap();
    let (seconds, failed) = said.split_once(" s: ").unwrap();
    // Bounded by the rate, whatever the machine does.
    assert!(seconds.parse::<f64>().unwrap() >= 0.6, "{filled}");
    let (count, _) = failed.split_once(' ').unwrap();
    assert_eq!(failed, format!("{count} failed (status: {count})"));
    assert!((1..31).contains(&count.parse::<u32>().unwrap()), "{filled}");
    let summary = run.summary().unwrap();
    assert_eq!(summary.offered, 20);
    assert!(summary.warmup_s.abs() < 1e-9 && (summary.duration_s - 1.0).abs() < 1e-9);
    assert!(summary.warm_up.is_none());
    // The server has seen those of the list, and those of the load.
    target.end();
    let log = std::fs::read_to_string(place.path("target.csv")).unwrap();
    assert_eq!(log.lines().count(), 1 + 31 + 20, "{log}");

    for (target, says) in [
        ("url = 'http://127.0.0.1:9/'", "`fill` asks for each URL of a list once"),
        ("url = 'http://127.0.0.1:9/'\nreplay = 'a.log'", "`fill` asks for each URL of a list"),
    ] {
        let load = "[load]\nrate = '20/s'\nfor = '1s'\nwarm_up = 'fill'\n";
        place.write("plan.toml", format!("[target]\n{target}\n{load}"));
        place.plimsoll(&["check", "plan.toml"]).ended_with(2).says(&[says, "--urls"]);
    }
    let gone =
        format!("[target]\nurl = 'http://127.0.0.1:9/'\n{fill}[instance]\nservice='exp:1ms'\n");
    place.write("gone.toml", gone);
    place.plimsoll(&["run", "gone.toml"]).ended_with(4);
    let simulated = place.plimsoll(&["run", "gone.toml", "--simulated"]).ended_with(2);
    simulated.says(&["a warm-up by `fill`", "load.warm_up=0s"]);
}
