//! `plimsoll shoal import`, and the registry that lists what it made.

use std::process::Stdio;

use plimsoll_testing::Weight;

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use crate::shoal::{caches, get, registry};

const SITES: &str = r#"{
  "SITE-A": {"ips": ["127.0.0.0/8"], "proxies": [
    {"default": ["203.0.113.1:3128", "10.0.0.1:3128"]}]},
  "SITE-B": {"proxies": [{"frontier": ["203.0.113.2:3129"], "atlas": ["203.0.113.3:1"]}]}
}"#;

#[test]
fn a_site_list_is_shown_written_and_served() {
    let place = Place::weighing(Weight::WAITS);
    let sites = place.write("sites.json", SITES);
    let shown = place.plimsoll(&["shoal", "import", "sites.json"]).ended_with(0);
    let rows: Vec<Vec<&str>> =
        shown.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows,
        [
            ["SITE", "HOST", "PORT", "ADDRESS", "FOR", "NETWORKS"],
            ["SITE-A", "203.0.113.1", "3128", "203.0.113.1", "both", "1"],
            ["SITE-B", "203.0.113.2", "3129", "203.0.113.2", "frontier", "all"],
        ]
    );
    shown
        .says(&["10.0.0.1:3128 of SITE-A (default): its address is private", "(atlas): it is for"]);

    // The same by standard input, into a file.
    let mut command = place.command(PLIMSOLL, &["shoal", "import", "-", "--out", "static.json"]);
    command.stdin(std::fs::File::open(&sites).unwrap()).stderr(Stdio::piped());
    let written = command.output().unwrap();
    let said = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success() && said.contains("2 caches written"), "{said}");
    let json = place.plimsoll(&["shoal", "import", "sites.json", "--json"]).ended_with(0);
    let file = place.path("static.json");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), json.out);

    let (_going, address) = registry(&place, &["--static", file.to_str().unwrap(), "--ttl", "1s"]);
    let hosts = || -> Vec<String> {
        let list = caches(&address);
        list.iter().map(|cache| cache["host"].as_str().unwrap().to_owned()).collect()
    };
    wait_for("both", || (hosts() == ["203.0.113.1", "203.0.113.2"]).then_some(()));
    // This client's own site first, though nothing tells where anybody is.
    let told: serde_json::Value =
        serde_json::from_str(&get(&address, "/v1/nearest?n=1&type=squid")).unwrap();
    assert_eq!(told["caches"][0]["host"], "203.0.113.1");
    assert_eq!(told["caches"][0]["local"], true);
    let less = SITES.replace("{\"proxies\"", "{\"disabled\": true, \"proxies\"");
    place.write("sites.json", less);
    place.plimsoll(&["shoal", "import", "sites.json", "-o", "static.json"]).ended_with(0);
    wait_for("the other to go", || (hosts() == ["203.0.113.1"]).then_some(()));
}

#[test]
fn an_odd_entry_does_not_refuse_the_list() {
    let place = Place::weighing(Weight::WAITS);
    place.write(
        "odd.json",
        r#"{"SITE-A": {"proxies": [{"default": ["203.0.113.1:3128", "DIRECT", "203.0.113.2"]}]}}"#,
    );
    let done = place.plimsoll(&["shoal", "import", "odd.json", "--out", "out.json"]).ended_with(0);
    done.says(&[
        "left out: entry \"SITE-A\" at line 1, column 2: `default` holds \"DIRECT\"",
        "`default` holds \"203.0.113.2\"",
        "1 caches written to out.json",
    ]);
}

#[test]
fn one_error_says_what_is_wrong_and_where() {
    let place = Place::weighing(Weight::WAITS);
    place.write("broken.json", "{\n \"A\": }");
    place.write("port.json", "{\n\n  \"A\": {\"proxies\": [{\"default\": [\"h:0\"]}]}}");
    place.write("none.json", "{}");
    let cases: [(&str, &[&str]); 4] = [
        ("broken.json", &["broken.json: ", "line 2 column 7"]),
        // Nothing is left of it.
        (
            "port.json",
            &[
                "left out: entry \"A\" at line 3, column 3: `default` holds \"h:0\"",
                "port.json: none of its caches can be listed",
            ],
        ),
        ("none.json", &["none of its caches can be listed"]),
        ("absent.json", &["absent.json: "]),
    ];
    for (file, parts) in cases {
        let done = place.plimsoll(&["shoal", "import", file, "--out", "out.json"]).ended_with(2);
        done.says(parts);
        assert!(done.err.lines().count() <= 3, "{}", done.err);
        assert!(!place.path("out.json").exists());
    }
    let done =
        place.plimsoll(&["shoal", "server", "--listen", "127.0.0.1:0", "--static", "port.json"]);
    done.says(&["port.json"]);
    assert!(done.code() != Some(0));
}
