//! `examples/elastic/types.toml` and `examples/elastic/concurrency.toml`: what was published of
//! instance types, and of how many requests are at a server at once.

use plimsoll_testing::Weight;
use serde_json::Value;

use crate::place::Place;

fn example(name: &str) -> String {
    format!("{}/../../examples/elastic/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The types, the most requests that one of each serves, and the published price of a request.
const TYPES: [(&str, f64, f64); 3] =
    [("m1-small", 6.0, 3.935e-6), ("m1-large", 18.0, 5.247e-6), ("c1-medium", 28.0, 1.687e-6)];

#[test]
fn the_prices_of_a_request_are_the_published_ones() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = example("types.toml");
    let short = ["--set", "load.schedule=40/s for 30m"];
    let result = place.plimsoll(&[&["simulate", &plan, "--json"], &short[..]].concat());
    let result = result.ended_with(0).json();
    for (of, (label, capacity, price)) in result["types"].as_array().unwrap().iter().zip(TYPES) {
        assert_eq!(of["label"], label);
        assert!((number(&of["capacity_per_s"]) - capacity).abs() < 1e-9 * capacity, "{of}");
        assert!((number(&of["price_per_request"]) - price).abs() < 0.0005e-6, "{of}");
        // Its cheapest pool is one of its own, and what it costs is told there.
        let pool = &of["cheapest"];
        let policies = result["policies"].as_array().unwrap();
        let own = policies.iter().find(|one| one["label"] == pool["policy"]).unwrap();
        assert_eq!((&own["type"], &own["cost"]), (&of["label"], &pool["cost"]));
        assert_eq!(own["cost_per_request"], pool["cost_per_request"]);
        let cheaper = |one: &&Value| {
            let holds = one["slo"].as_array().unwrap().iter().all(|of| of["pass"] == true);
            holds && one["type"] == label && number(&one["cost"]) < number(&pool["cost"])
        };
        assert!(!policies.iter().any(|one| cheaper(&one)), "{of}");
    }
    // The same of `run`, and for a reader.
    let run = [&["run", &plan, "--simulated", "--json"], &short[..]].concat();
    assert_eq!(place.plimsoll(&run).ended_with(0).json()["types"], result["types"]);
    let text = place.plimsoll(&[&["simulate", &plan], &short[..]].concat()).ended_with(0).out;
    assert!(text.contains("cheapest per request at full load: c1-medium"), "{text}");
    assert!(
        text.contains("$1.687") && text.contains("$3.935") && text.contains("$5.247"),
        "{text}"
    );
    let page = place.path("types.html");
    let report = [&["simulate", &plan, "--report", page.to_str().unwrap()], &short[..]].concat();
    place.plimsoll(&report).ended_with(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("A fully loaded c1-medium serves requests for the least"), "the page");
}

/// Over the published day, under a policy that holds the SLO on each of them.
#[test]
fn the_cheapest_pool_of_the_day_is_of_the_cheapest_type() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = example("types.toml");
    let result = place.plimsoll(&["simulate", &plan, "--json", "--only", "target-50"]);
    let result = result.ended_with(0).json();
    let cost = |type_: &Value| number(&type_["cheapest"]["cost"]);
    let costs: Vec<f64> = result["types"].as_array().unwrap().iter().map(cost).collect();
    let [small, large, medium] = costs[..] else { panic!("{costs:?}") };
    assert!(medium < small && small < large, "{costs:?}");
}

#[test]
fn an_instance_of_a_type_serves_its_capacity_and_no_more() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = example("types.toml");
    let mut all: Vec<String> = ["simulate", &plan, "--json", "--policy", "one: fixed"]
        .into_iter()
        .chain(["--only", "one", "--set", "load.schedule=60/s for 20m", "--set", "pool.max=1"])
        .map(str::to_owned)
        .collect();
    for (label, ..) in TYPES {
        all.extend(["--set".to_owned(), format!("instance.{label}.start=1")]);
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    // With one instance most is lost: no SLO holds.
    let result = place.plimsoll(&all).ended_with(3).json();
    for (of, (label, capacity, _)) in result["policies"].as_array().unwrap().iter().zip(TYPES) {
        let served = number(&of["served"]) / 1200.0;
        assert!(of["type"] == label && (served / capacity - 1.0).abs() < 0.01, "{label}: {served}");
    }
}

/// Of five servers under 150 requests a second: the limit, what was served, and the mean response.
const PUBLISHED: [(&str, f64, f64); 2] = [("6", 139.0, 160_000.0), ("10", 147.0, 245_000.0)];

#[test]
fn limits_of_requests_at_a_server_come_to_what_was_published() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = example("concurrency.toml");
    let result = place.plimsoll(&["run", &plan, "--simulated", "--json"]).ended_with(0).json();
    let combinations = result["combinations"].as_array().unwrap();
    assert_eq!(combinations.len(), 16, "seven limits and none, on five and on ten");
    let of = |limit: &str, servers: &str| {
        let is_it = |one: &&Value| {
            one["factors"]["instance.limit"] == limit && one["factors"]["servers"] == servers
        };
        combinations.iter().find(is_it).unwrap_or_else(|| panic!("{limit} on {servers}"))
    };
    let mean = |one: &Value, figure: &str| number(&one["figures"][figure]["mean"]);
    for (limit, served, response_us) in PUBLISHED {
        let one = of(limit, "five");
        let found = mean(one, "served") / 1000.0;
        assert!((found / served - 1.0).abs() <= 0.05, "{limit}: {found} for {served}");
        let found = mean(one, "response_us.mean");
        assert!((found / response_us - 1.0).abs() <= 0.15, "{limit}: {found} for {response_us}");
    }
    // The more may be at a server, the longer it takes, and the more is served, until cores always
    // have work: from there on all that a greater limit adds is what is in flight at the end.
    for servers in ["five", "ten"] {
        for pair in ["2", "4", "6", "8", "10", "15", "30"].windows(2) {
            let [less, more] = [pair[0], pair[1]].map(|limit| of(limit, servers));
            let ratio = |figure: &str| mean(more, figure) / mean(less, figure);
            assert!(ratio("response_us.mean") > 1.0, "{pair:?} on {servers}");
            for figure in ["served", "cpu_mean"] {
                assert!(ratio(figure) > 0.998, "{figure} from {pair:?} on {servers}");
            }
        }
        let [few, enough] = ["2", "10"].map(|limit| mean(of(limit, servers), "served"));
        assert!(few < 0.9 * enough, "{few} and {enough} on {servers}");
    }
}
