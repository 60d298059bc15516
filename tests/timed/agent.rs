//! How soon an agent cuts off who says nothing, and how near to their times its samples stand.

use crate::agent::{WATCHED, ask, get, host, start};
use crate::place::Place;
use plimsoll_runs::Run;
use plimsoll_testing::Weight;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

#[test]
fn a_line_and_a_request_are_bounded() {
    let place = Place::weighing(Weight::ALONE);
    let (_agent, address) = start(&place, &[]);
    let long = [&b"STATS"[..], &[b'x'; 400], b"\n"].concat();
    assert_eq!(ask(&address, &long), "", "longer than 256 bytes");
    assert_eq!(ask(&address, b"STATSX\n"), "");
    // A second line is not answered.
    let once = ask(&address, b"STATS\nSTATS\n");
    assert!(once.matches("plimsoll_collect_seconds").count() <= 1, "{once}");
    let began = Instant::now();
    assert_eq!(ask(&address, b"STATS"), "", "it never ends");
    let silent = ask(&address, b"GET / HTT");
    assert!(!silent.contains("200 OK"), "{silent}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let head = format!("Host: 127.0.0.1\r\nX: {}\r\n", "y".repeat(20_000));
    let answer = ask(&address, format!("GET / HTTP/1.1\r\n{head}\r\n").as_bytes());
    assert!(!answer.contains("200 OK"), "{answer}");
    // And it answers all the same.
    assert_eq!(get(&address, "GET /json", &host(&address)).0, 200);
}

#[test]
fn a_plan_watches_another_host_on_its_own_time_axis() {
    let place = Place::weighing(Weight::ALONE);
    let token = place.write("token", "a long random word");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    let target = place.calm();
    let (_agent, address) = start(&place, &["--token-file", token.to_str().unwrap()]);
    let plan = WATCHED.replace("URL", &target.url()).replace("AGENT", &address);
    place.write("plan.toml", &plan);
    place.plimsoll(&["run", "plan.toml"]).ran();
    let run = Run::open(&place.run()).unwrap();
    let verdicts = run.summary().unwrap().slo;
    assert!(verdicts.iter().all(|of| of.pass == Some(true)), "{verdicts:?}");

    // Both clocks are the same: what was found lies within what it may be off.
    let fact = |name: &str| -> i64 {
        let found = run.meta().host.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{name}")).1.parse().unwrap()
    };
    let (ahead, within) = (fact("clock_of_web7_ahead_ns"), fact("clock_of_web7_within_ns"));
    assert!(ahead.abs() <= within, "{ahead} ±{within}");

    // A sample stands where the agent took it, and not where it was asked for it.
    let headers = format!("{}Authorization: Bearer a long random word\r\n", host(&address));
    let (_, course) = get(&address, "GET /json/node_context_switches_total", &headers);
    let course: Value = serde_json::from_str(&course).unwrap();
    let (times, values) = (&course["at_unix_ns"], &course["series"][0]["values"]);
    let taken = |value: f64| {
        let place = values.as_array().unwrap().iter().position(|of| of.as_f64() == Some(value))?;
        times[place].as_u64()
    };
    let samples = run.series("node_context_switches_total").unwrap();
    assert!(samples.len() > 5, "{samples:?}");
    assert!(samples.iter().all(|of| of.labels["instance"] == "web7"), "{samples:?}");
    let mut apart: Vec<i64> = samples
        .iter()
        .map(|of| taken(of.value.unwrap()).unwrap() as i64 - of.at_ns as i64)
        .collect();
    apart.sort_unstable();
    let (low, high) = (apart[apart.len() / 4], apart[apart.len() * 3 / 4]);
    assert!(high - low < 50_000_000, "the agent samples each 100 ms: {apart:?}");

    // One that is away is told, and its token stands nowhere.
    let events = run.events().unwrap();
    assert!(events.iter().any(|of| of.text.contains("agent of gone could not be read")));
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    assert!(!plan.contains("long random"), "{plan}");
}
