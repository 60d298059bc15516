//! The market of `apps/market` under the users of its shipped scenario: alone, and on a test-bed
//! behind nginx.

use crate::place::{Place, events};
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_testing::servers::{MariaDb, Redis};
use plimsoll_testing::{Weight, has_instances, installed, skip};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

const SCENARIO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios/prediction-market.toml");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/market");
const ADMIN: &str = "admin-4Tz8wKq2vLx9";

/// The market's program; `None`, and reported, where it was not built beside this one.
fn market(test: &str) -> Option<PathBuf> {
    let path = Path::new(PLIMSOLL).with_file_name("market");
    if path.is_file() {
        return Some(path);
    }
    skip(test, "market: cargo build --package plimsoll-market");
    None
}

/// The users of the scenario, who think for a fiftieth of the time.
fn users() -> String {
    let text = std::fs::read_to_string(SCENARIO).unwrap();
    let (look, predict) = ("\"uniform:1s..15s\"", "\"uniform:1s..30s\"");
    assert!(text.contains(look) && text.contains(predict), "{text}");
    text.replace(look, "\"uniform:20ms..300ms\"").replace(predict, "\"uniform:20ms..600ms\"")
}

/// What the market's administrator is answered.
fn admin(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: market\r\nConnection: close\r\nAuthorization: Bearer \
         {ADMIN}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// A process of the market that plays matches of 12 s.
fn start(place: &Place, program: &Path, database: &str, redis: u16) -> (Going, SocketAddr) {
    place.write("admin", ADMIN);
    let redis = format!("redis://127.0.0.1:{redis}/");
    let arguments = ["--listen", "127.0.0.1:0", "--database", database, "--redis", &redis];
    let mut command = place.command(program.to_str().unwrap(), &arguments);
    command.args(["--admin-token", "admin", "--feed", "7", "--match-time", "12s"]);
    let mut going = place.start(command);
    let address = wait_for("the market to listen", || {
        let out = going.out();
        assert!(!going.has_ended(), "{}", going.err());
        out.trim().strip_prefix("listening at http://")?.parse().ok()
    });
    (going, address)
}

fn named<'d>(document: &'d Value, name: &str) -> &'d Value {
    let all = document["by_name"].as_array().unwrap();
    let found = all.iter().find(|figures| figures["name"] == name);
    found.unwrap_or_else(|| panic!("no figures of {name}: {document:#}"))
}

/// Whether nothing failed of what users did, and nobody ended by it.
fn assert_all_answered(document: &Value) {
    assert_eq!(document["errors"].as_object().map_or(0, serde_json::Map::len), 0, "{document:#}");
    assert_eq!(document["users"]["failed"], 0, "{document:#}");
    for figures in document["by_name"].as_array().unwrap() {
        assert_eq!(figures["errors"], 0, "{figures}");
    }
    assert_eq!(document["websocket"]["unmatched"], 0, "{document:#}");
}

#[test]
fn users_of_the_market_are_all_answered_and_hear_of_each_other() {
    let test = "users_of_the_market_are_all_answered_and_hear_of_each_other";
    let place = Place::weighing(Weight::DATABASE);
    let Some(program) = market(test) else { return };
    let Some(database) = MariaDb::shared(test).map(|server| server.schema("market")) else {
        return;
    };
    // What a market publishes reaches all that listen to a Redis.
    let Some(redis) = Redis::own(test, &[]) else { return };
    let (_market, address) = start(&place, &program, &database.url(), redis.port());
    place.write("users.toml", users());
    let url = format!("ws://{address}/");
    let mut load = place.command(PLIMSOLL, &["load", &url, "--scenario", "users.toml", "--json"]);
    // tidy: allow(waits, matches and broadcasts of the market go by its own clock)
    load.args(["--users", "40", "--connect-rate", "40/s", "--for", "15s"]);
    let going = place.start(load);
    let predictions = || {
        let text = admin(address, "GET", "/metrics", "");
        let name = "market_predictions_placed_total ";
        let count = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        count.parse::<u64>().unwrap()
    };
    wait_for("predictions", || (predictions() > 200).then_some(()));
    // All are moved once, to where they were.
    admin(address, "POST", "/admin/reconnect", &json!({"to": format!("{url}ws")}).to_string());
    let document = going.wait().ran().json();
    assert_all_answered(&document);
    let of = &document["websocket"];
    let arrived = document["users"]["arrived"].as_u64().unwrap();
    assert_eq!((arrived, &of["refused"]), (40, &0.into()), "nobody ends before: {document:#}");
    assert_eq!(of["connected"], 80, "{of}");
    assert_eq!(named(&document, "connect again")["count"], 40);
    assert!(named(&document, "predict")["count"].as_u64().unwrap() > 400, "{document:#}");
    assert!(named(&document, "resolved")["count"].as_u64().unwrap() > 40, "{document:#}");
    let broadcast = &of["broadcast"];
    assert!(broadcast["received"].as_u64().unwrap() > 80, "{broadcast}");
    for none in ["lost", "doubled", "disorder"] {
        assert_eq!(broadcast[none], 0, "{none}: {broadcast}");
    }
    let ledger: Value = serde_json::from_str(&admin(address, "GET", "/admin/ledger", "")).unwrap();
    assert_eq!(ledger["holds"], true, "{ledger}");
    assert_eq!(ledger["granted"], 40 * 100_000, "{ledger}");
}

/// A test-bed of all that a market is made of, and a load on it.
const PLAN: &str = "\
name = 'a market'
[testbed]
provider = 'namespace'
[role.db]
recipe = 'mariadb'
vars = { database = 'market', user = 'market', connections = 500, flush = 2, buffer_pool = '64M' }
[role.cache]
recipe = 'redis'
[role.market]
recipe = 'market'
count = 2
[role.market.vars]
program = 'PROGRAM'
db = '{{role.db.address}}:{{role.db.port}}'
redis = '{{role.cache.address}}:{{role.cache.port}}'
match_time = '12s'
admin = { env = 'MARKET_ADMIN' }
[role.front]
recipe = 'nginx'
vars = { upstream = '{{role.market.all}}', preset = 'default' }
[target]
url = 'ws://{{role.front.address}}:{{role.front.port}}/'
scenario = 'users.toml'
[load]
users = 40
connect_rate = '40/s'
for = '6s'
[collect]
from = ['nginx', 'redis', 'mariadb']
[measure]
slo = 'errors<1%'
";

#[test]
fn a_market_of_two_processes_behind_nginx_is_loaded_on_a_test_bed() {
    let test = "a_market_of_two_processes_behind_nginx_is_loaded_on_a_test_bed";
    let Some(program) = market(test) else { return };
    let needs = ["nginx", "openssl", "mariadbd", "mariadb-install-db", "redis-server"];
    if needs.iter().any(|program| installed(test, program).is_none()) || !has_instances(test) {
        return;
    }
    let place = Place::measuring();
    std::fs::create_dir(place.path("recipes")).unwrap();
    std::fs::copy(format!("{EXAMPLES}/recipes/market.toml"), place.path("recipes/market.toml"))
        .unwrap();
    place.write("users.toml", users());
    place.write("plan.toml", PLAN.replace("PROGRAM", program.to_str().unwrap()));
    let run = |arguments: &[&str]| {
        let mut command = place.command(PLIMSOLL, arguments);
        command.env("MARKET_ADMIN", ADMIN);
        place.start(command).wait()
    };
    let check = run(&["check", "plan.toml"]).ended_with(0);
    assert!(!check.out.contains("get no load"), "both are behind nginx: {}", check.out);
    // The published market had nginx end TLS.
    let by_tls = [
        "role.front.vars.preset=published",
        "role.front.vars.tls_port=8443",
        "target.url=wss://{{role.front.address}}:8443/",
        "target.insecure=true",
    ];
    for changes in [&["role.front.vars.preset=default"][..], &by_tls] {
        let mut words = vec!["run", "plan.toml", "--new", "--json"];
        words.extend(changes.iter().flat_map(|of| ["--set", *of]));
        let done = run(&words).ran();
        let cell = &done.json()["cells"][0];
        assert_eq!(cell["state"], "done", "{cell}");
        let runs = place.runs("runs");
        let folder = runs.last().unwrap().join(cell["run"].as_str().unwrap());
        let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_all_answered(&document);
        assert!(named(&document, "predict")["count"].as_u64().unwrap() > 100, "{document:#}");
        let broadcast = &document["websocket"]["broadcast"];
        assert!(broadcast["received"].as_u64().unwrap() >= 20, "{broadcast}");
        // Both took their share of the users.
        let told = events(&folder, "testbed");
        for instance in ["market-1", "market-2", "front-1"] {
            assert!(told.iter().any(|text| text.starts_with(&format!("{instance}: start it"))));
        }
    }
}
