//! The times of users who go through a scenario.

use crate::place::{Place, test_name};
use crate::users::{load, named, shop};
use plimsoll_testing::{Weight, not_judged};

#[test]
fn users_arrive_by_the_clock_and_go_through_all_steps_once() {
    let place = Place::weighing(Weight::ALONE);
    shop(&place);
    let target = place.target(&["--sessions", "--workers", "100", "--path", "/buy=const:10ms"]);
    let done = load(&place, &target.url(), &["--rate", "20/s", "--for", "3s"]);
    let summary = done.json();
    let users = &summary["users"];
    assert_eq!((&users["arrived"], &users["failed"]), (&60.into(), &0.into()), "{summary}");
    let (finished, cut) = (users["finished"].as_u64().unwrap(), users["cut"].as_u64().unwrap());
    assert_eq!(finished + cut, 60, "{users}");
    assert!(finished >= 55 && users["active_peak"].as_u64().unwrap() >= 1, "{users}");
    assert_eq!(summary["errors"]["total"].as_u64().unwrap_or(0), 0, "{summary}");
    let login = named(&summary, "log in");
    assert_eq!((&login["count"], &login["kind"]), (&60.into(), &"step".into()));
    let buy = named(&summary, "buy");
    assert!(buy["service_us"]["p50"].as_f64().unwrap() >= 10_000.0, "{buy}");
    let group = named(&summary, "checkout");
    assert_eq!((&group["count"], &group["kind"]), (&finished.into(), &"group".into()), "{group}");
    let (sum, whole) = (&group["response_us"]["p50"], &group["duration_us"]["p50"]);
    let think = whole.as_f64().unwrap() - sum.as_f64().unwrap();
    assert!((19_000.0..40_000.0).contains(&think), "the think time is in: {group}");
    // What the server counted is what we counted.
    let counted = target.end();
    counted.says(&["/login:", "/buy:"]);
}

#[test]
fn a_stall_is_charged_to_every_user_who_arrives_meanwhile() {
    let place = Place::weighing(Weight::ALONE);
    place.write("checkout.toml", "[[step]]\nname = \"one\"\nget = \"/\"\n");
    let stall = ["--service-time", "const:2ms", "--workers", "100", "--stall", "3s:1s"];
    let target = place.target(&stall);
    let done = load(&place, &target.url(), &["--rate", "100/s", "--for", "6s"]);
    let summary = done.json();
    let one = named(&summary, "one");
    assert_eq!(one["count"], 600, "{summary}");
    if done.code() == Some(5) {
        return not_judged(&test_name(), "the machine was too busy to compare");
    }
    // One or two stalls of a second meet 100 users each, who wait for what is left of it.
    let max = one["response_us"]["max"].as_f64().unwrap();
    assert!((900_000.0..1_200_000.0).contains(&max), "{one}");
    let mean = one["response_us"]["mean"].as_f64().unwrap();
    let stalls = (mean - 2_000.0) * 600.0 / (100.0 * 500_000.0);
    assert!((0.8..2.2).contains(&stalls), "{stalls} stalls: {one}");
}
