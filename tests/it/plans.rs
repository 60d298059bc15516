//! Plans: what a command line means can be printed, kept, and run again.

use crate::place::Place;
use crate::recording::Recording;
use plimsoll_testing::Weight;

const EVERYTHING: &[&str] = &[
    "--schedule",
    "10/s..20/s step 5/s every 1s, 20/s..5/s in 1500ms",
    "--arrivals",
    "poisson",
    "--warm-up",
    "500ms",
    "--drain",
    "3s",
    "--stop-when",
    "errors>50% for 5s",
    "--repeat",
    "2",
    "--seed",
    "42",
    "-X",
    "POST",
    "-H",
    "X-Number: {{counter}}",
    "-H",
    "Accept: */*",
    "--body",
    "{\"id\": \"{{uuid}}\"}",
    "--host",
    "shop.example",
    "--ok",
    "200,304",
    "--connections",
    "4..20",
    "--timeout",
    "5s",
    "--max-waiting",
    "1000",
    "--threads",
    "2",
    "--pacing",
    "thrifty",
    "--slo",
    "p99<200ms, errors<0.1%",
    "--patience",
    "2s",
    "--samples",
    "--name",
    "all of it",
];

#[test]
fn a_printed_plan_reads_back_to_itself() {
    let place = Place::weighing(Weight::WAITS);
    let server = Recording::start();
    let url = server.url();
    let trace = "time_s,rate\n0,5\n60,20\n120,5\n";
    place.write("day.csv", trace);
    place.write("urls.txt", "/a\t3\n/b\t1\n");
    let cases: [&[&str]; 6] = [
        &["--rate", "5/s", "--for", "1s"],
        EVERYTHING,
        &["--users", "3", "--for", "2s", "--think", "exp:100ms", "--connection", "per-request"],
        &["--trace", "day.csv", "--scale", "1/s..9/s", "--speed", "60", "--interpolate"],
        &["--profile", "clarknet-day", "--speed", "600", "--fill-drops", "25%"],
        &["--urls", "urls.txt", "--order", "weighted", "--rate", "5/s", "--for", "1s"],
    ];
    for arguments in cases {
        let with_url = [&[url.as_str(), "--print-plan"], arguments].concat();
        let printed = place.load(&with_url).ended_with(0).out;
        place.write("printed.toml", &printed);
        let again = place.load(&["printed.toml", "--print-plan"]).ended_with(0).out;
        assert_eq!(again, printed);
    }
    assert!(server.asked().is_empty(), "printing a plan sends nothing");
    assert!(place.runs("runs").is_empty(), "printing a plan leaves no run");
}

#[test]
fn flags_and_settings_override_a_plan() {
    let place = Place::weighing(Weight::WAITS);
    let server = Recording::start();
    let url = server.url();
    let plan = format!(
        "name = \"file\"\nseed = 5\n[target]\nurl = \"{url}\"\n\
         [load]\nrate = \"1/s\"\nfor = \"60s\"\n"
    );
    place.write("plan.toml", plan);
    let arguments = ["plan.toml", "--rate", "20/s", "--set", "load.for=1s", "--set", "name=flag"];
    let summary = place.load(&[&arguments[..], &["--json"]].concat()).ran().json();
    assert_eq!(summary["offered"], 20, "{summary}");
    assert_eq!((&summary["run"]["name"], &summary["run"]["seed"]), (&"flag".into(), &5.into()));
    let kept = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    for line in ["name = \"flag\"", "rate = \"20/s\"", "for = \"1s\"", "seed = 5"] {
        assert!(kept.contains(line), "`{line}` is not in:\n{kept}");
    }
    // The plan in the folder is a plan: the run can be repeated from it.
    let kept = place.run().join("plan.toml");
    let again = place.load(&[kept.to_str().unwrap(), "--json"]).ran().json();
    assert_eq!(again["offered"], 20);
    assert_eq!(again["run"]["plan_sha256"], summary["run"]["plan_sha256"]);
    // Another shape replaces the file's.
    let printed = place.load(&["plan.toml", "--users", "2", "--print-plan"]).ended_with(0).out;
    assert!(printed.contains("users = 2") && !printed.contains("rate ="), "{printed}");
}

#[test]
fn equal_seeds_ask_for_the_same() {
    let place = Place::weighing(Weight::WAITS);
    let mut asked = Vec::new();
    for seed in ["7", "7", "8"] {
        let server = Recording::start();
        // One attempt: each would be recorded.
        place
            .plimsoll(&[
                "load",
                &server.url(),
                "--quiet",
                "--rate",
                "20/s",
                "--for",
                "1s",
                "--seed",
                seed,
                "--body",
                "{{uuid}} {{random:1..1000000}} {{counter}}",
                "-X",
                "PUT",
                "--connections",
                "1",
            ])
            .ran();
        let mut bodies: Vec<String> = server.asked().into_iter().map(|one| one.body).collect();
        bodies.sort();
        assert_eq!(bodies.len(), 20);
        bodies.dedup();
        assert_eq!(bodies.len(), 20, "each is its own: {bodies:?}");
        asked.push(bodies);
    }
    assert_eq!(asked[0], asked[1]);
    assert_ne!(asked[0], asked[2]);
}

#[test]
fn a_schema_of_plans_is_printed_with_the_words_of_all_parts() {
    let place = Place::weighing(Weight::WAITS);
    let schema = place.plimsoll(&["plan", "schema"]).ended_with(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let of = |section: &str, key: &str| &schema["properties"][section]["properties"][key];
    assert_eq!(of("load", "timeout")["default"], "10s");
    assert_eq!(of("search", "method")["enum"], serde_json::json!(["adaptive", "ladder"]));
    let figures = of("tune", "minimise")["enum"].as_array().unwrap();
    assert!(figures.contains(&"cost".into()), "{figures:?}");
    let kinds = &schema["properties"]["policy"]["additionalProperties"]["anyOf"];
    let kind = |kind: &serde_json::Value| kind["properties"]["kind"]["const"].clone();
    let kinds: Vec<_> = kinds.as_array().unwrap().iter().map(kind).collect();
    let listed = place.plimsoll(&["simulate", "--list-policies", "--json"]).ended_with(0).json();
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|of| of["kind"].clone()).collect();
    assert_eq!(kinds, listed);
}
