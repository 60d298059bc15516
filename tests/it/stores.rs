//! Key-value stores: Debian's Redis and memcached, and what they count themselves.

pub(crate) mod encrypted;

use crate::json::assert_sums;
use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use crate::secrets::assert_nowhere;
use plimsoll_plan::Written;
use plimsoll_testing::servers::{Memcached, Process, Redis};
use plimsoll_workload::store::{Kind, Operation, Operations, Wanted};
use rustix::process::Signal;
use serde_json::Value;

const PASSWORD: &str = "pa55-Rd7KvQx3";

/// How often a Redis was given a command, and how often that failed (`INFO commandstats`).
fn calls(redis: &Redis, login: &[&str], command: &str) -> (u64, u64) {
    let said = redis.says(&[login, &["INFO commandstats"]].concat());
    let text = String::from_utf8(said).unwrap();
    let line = text.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:")));
    let figure = |name: &str| {
        let rest = line?.split(&format!("{name}=")).nth(1)?;
        rest.split(',').next()?.parse().ok()
    };
    (figure("calls").unwrap_or(0), figure("failed_calls").unwrap_or(0))
}

/// The operations of the plan that a place's run keeps.
pub(crate) fn operations(place: &Place, wanted: Wanted) -> Operations {
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    let plan = plimsoll_experiment::plans::read(&Written::text(&plan, "plan.toml", &[])).unwrap();
    Operations::new(&plan.store.unwrap().workload(), plan.seed, wanted)
}

pub(crate) fn count(operations: &Operations, requests: u64, kind: Kind) -> u64 {
    (0..requests).filter(|n| operations.at(*n).kind == kind).count() as u64
}

/// A load of 800 requests; one attempt, so that it can be compared with the server's own count.
pub(crate) fn eight_hundred(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let load = ["load", "--quiet", "--json", url, "--rate", "400/s", "--for", "2s"];
    let summary = place.plimsoll(&[&load[..], arguments].concat()).ran().json();
    assert_sums(&summary);
    assert_eq!(summary["offered"], 800, "{summary}");
    assert_eq!(summary["completed"], 800, "{summary}");
    summary
}

/// Writes a data set of 2,000 records.
pub(crate) fn writes_two_thousand(place: &Place, url: &str, data: &[&str]) {
    let prepare = [&["prepare", url, "--json"], data].concat();
    let filled = place.plimsoll(&prepare).ended_with(0).json();
    assert_eq!((&filled["written"], &filled["status"]["200"]), (&2000.into(), &2000.into()));
}

#[test]
fn redis_counts_the_same() {
    let place = Place::new();
    let secret = ["--requirepass", PASSWORD];
    let Some(server) = Redis::own("redis_counts_the_same", &secret) else { return };
    let url = format!("redis://:{PASSWORD}@127.0.0.1:{}/3", server.port());
    let data = ["--records", "2000", "--value-size", "uniform:1B..2KiB"];
    writes_two_thousand(&place, &url, &data);
    let login = [format!("AUTH {PASSWORD}"), "SELECT 3".to_owned()];
    let login: Vec<&str> = login.iter().map(String::as_str).collect();
    assert_eq!(server.says(&[&login[..], &["DBSIZE"]].concat()), b":2000");
    assert_eq!(calls(&server, &login, "set"), (2000, 0));
    server.says(&[&login[..], &["CONFIG RESETSTAT"]].concat());

    let workload = [&["--workload", "read-heavy", "--samples"], &data[..]].concat();
    let summary = eight_hundred(&place, &url, &workload);
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let asked = operations(&place, Wanted::Mixed);
    let reads = count(&asked, 800, Kind::Read);
    // And the last record, asked for before the load.
    assert_eq!(calls(&server, &login, "get"), (reads + 1, 0), "{summary}");
    assert_eq!(calls(&server, &login, "set"), (800 - reads, 0), "{summary}");
    let told = &summary["workload"];
    assert_eq!((&told["name"], &told["records"]), (&"read-heavy".into(), &2000.into()));
    assert_eq!(told["value_size"], "uniform:1B..2048B", "{told}");

    // A value that no update has changed is the data set's own, byte for byte.
    let data = operations(&place, Wanted::DataSet);
    let updated: Vec<Operation> =
        (0..800).map(|n| asked.at(n)).filter(|one| one.kind == Kind::Update).collect();
    let kept = (0..2000).rev().find(|n| updated.iter().all(|one| one.record != *n)).unwrap();
    let one = data.at(kept);
    let get = format!("GET {}", String::from_utf8(one.key().to_vec()).unwrap());
    assert!(!data.value(&one).is_empty());
    assert_eq!(server.says(&[&login[..], &[&get]].concat()), data.value(&one));

    let run = place.run();
    let shown = place.plimsoll(&["runs", "show", run.to_str().unwrap()]).ended_with(0);
    let line =
        "read-heavy: read:95%,update:5% of 2,000 records, keys zipf, values uniform:1B..2048B";
    assert!(shown.out.contains(line), "{}", shown.out);
    place.plimsoll(&["report", run.to_str().unwrap()]).ended_with(0);
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn memcached_counts_the_same() {
    let place = Place::new();
    let Some(server) = Memcached::own("memcached_counts_the_same", &[]) else { return };
    let url = format!("memcached://127.0.0.1:{}", server.port());
    let data = ["--records", "2k", "--value-size", "3KiB"];
    let done = place.plimsoll(&[&["prepare", &url], &data[..]].concat()).ended_with(0);
    assert!(done.out.starts_with("2,000 of 2,000 records written to memcached://"), "{}", done.out);
    assert_eq!(server.stat("curr_items"), 2000);
    assert_eq!(server.stat("cmd_set"), 2000);

    let workload = [&["--workload", "balanced", "--keys", "hotset:20%,80%"], &data[..]].concat();
    let summary = eight_hundred(&place, &url, &workload);
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let reads = count(&operations(&place, Wanted::Mixed), 800, Kind::Read);
    // And the last record, asked for before the load, and in vain before there was any.
    // And a sample of the data set, when it was written.
    assert_eq!(server.stat("get_hits"), reads + 101, "{summary}");
    assert_eq!(server.stat("get_misses"), 1, "{summary}");
    assert_eq!(server.stat("cmd_set"), 2000 + 800 - reads, "{summary}");
    assert_eq!(server.stat("curr_items"), 2000);
    let bytes_in = summary["bytes"]["in"].as_u64().unwrap();
    assert!(bytes_in > reads * 3072, "{summary}");
}

#[test]
fn what_is_not_there_is_a_miss() {
    let place = Place::new();
    let shared = Redis::shared("what_is_not_there_is_a_miss");
    let Some(keys) = shared.map(Redis::keys) else { return };
    let url = keys.url();
    let summary = eight_hundred(&place, &url, &["--workload", "read-only"]);
    assert_eq!(summary["status"]["204"], 800, "{summary}");
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("load the data set by `plimsoll prepare`"), "{warnings}");
    let summary = eight_hundred(&place, &url, &["--workload", "read-only", "--ok", "200"]);
    assert_eq!(summary["errors"]["status"], 800, "{summary}");
    // Several at once on a connection, and what is new is found.
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let latest = ["--workload", "read-latest", "--streams", "8", "--connections", "2"];
    let summary = eight_hundred(&place, &url, &latest);
    assert_eq!(summary["status"]["200"], 800, "{summary}");
    assert_eq!(summary["connections"]["opened"], 2, "{summary}");
    assert_eq!(keys.says("DBSIZE"), b":1040", "40 were inserted");
}

#[test]
fn an_error_of_the_store_is_a_failure() {
    let place = Place::new();
    let test = "an_error_of_the_store_is_a_failure";
    let full = ["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"];
    if let Some(server) = Redis::own(test, &full) {
        let url = format!("redis://127.0.0.1:{}", server.port());
        let large = ["prepare", &url, "--records", "5000", "--value-size", "1KiB"];
        let done = place.plimsoll(&[&large[..], &["--json"]].concat()).ended_with(4);
        let filled = done.json();
        let refused = filled["status"]["507"].as_u64().unwrap();
        assert_eq!(filled["written"], 5000 - refused, "{filled}");
        assert_eq!(calls(&server, &[], "set").0, 5000 - refused, "{filled}");
        let done = place.plimsoll(&large).ended_with(4);
        assert!(done.out.contains("not whole: status ×"), "{}", done.out);
    }
    let small = ["-I", "16k", "-o", "slab_chunk_max=8"];
    if let Some(server) = Memcached::own(test, &small) {
        let url = format!("memcached://127.0.0.1:{}", server.port());
        let large = ["--workload", "write-only", "--value-size", "20KiB"];
        let summary = eight_hundred(&place, &url, &large);
        assert_eq!(summary["status"]["413"], 800, "{summary}");
        assert_eq!(summary["errors"]["status"], 800, "{summary}");
    }
}

#[test]
fn who_is_not_let_in_learns_why() {
    let place = Place::new();
    let secret = ["--requirepass", PASSWORD];
    let Some(server) = Redis::own("who_is_not_let_in_learns_why", &secret) else {
        return;
    };
    let at = format!("127.0.0.1:{}", server.port());
    let load = |url: &str, more: &[&str]| {
        let load = [&["load", "--quiet", url, "--rate", "10/s", "--for", "1s"], more].concat();
        place.plimsoll(&load)
    };
    let none = load(&format!("redis://{at}"), &[]).ended_with(4);
    none.says(&["it answers `-NOAUTH", "hint: check the password"]);
    let wrong = load(&format!("redis://:guess@{at}"), &[]).ended_with(4);
    wrong.says(&["it answers `-WRONGPASS"]);
    let beyond = load(&format!("redis://:{PASSWORD}@{at}/99"), &[]).ended_with(4);
    beyond.says(&["-ERR DB index is out of range"]);
    let stranger = place.plimsoll(&["prepare", &format!("memcached://{at}")]).ended_with(4);
    stranger.says(&["it does not speak memcached's text protocol"]);
    let page = place.plimsoll(&["prepare", &format!("http://{at}/")]).ended_with(2);
    page.says(&["the target is no store", "redis://"]);
    let path = load(&format!("redis://{at}/catalogue"), &[]).ended_with(2);
    path.says(&["the number of a database as the path"]);
    let name = load(&format!("redis://{at}"), &["--workload", "read-havy"]).ended_with(2);
    name.says(&["--workload: expected a workload", "did you mean `read-heavy`?"]);
    let both = load(&format!("redis://{at}"), &["--method", "POST"]).ended_with(2);
    both.says(&["`method` goes with HTTP"]);
    let http = load(&format!("http://{at}/"), &["--records", "5"]).ended_with(2);
    http.says(&["`records` goes with a store"]);
    prepares_by_variable(&place, &format!("redis://{at}"), &format!("default:{PASSWORD}"));
}

/// A variable keeps the password off the command line.
pub(crate) fn prepares_by_variable(place: &Place, url: &str, pair: &str) {
    let prepare = ["prepare", url, "--basic-env", "PLIMSOLL_TEST_PAIR"];
    let mut command = place.command(PLIMSOLL, &prepare);
    command.env("PLIMSOLL_TEST_PAIR", pair);
    place.start(command).wait().ended_with(0);
}

#[test]
fn a_store_on_a_unix_socket() {
    let place = Place::new();
    let shared = Redis::shared("a_store_on_a_unix_socket");
    let Some(keys) = shared.map(Redis::keys) else { return };
    let url = keys.url_by_socket();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let summary = eight_hundred(&place, &url, &["--connection", "per-request"]);
    assert_eq!(summary["status"]["200"], 800, "{summary}");
    assert_eq!(summary["connections"]["opened"], 800, "{summary}");
}

/// Ends a server by a signal while a load goes on, once it `has_begun`, and then the load; what the
/// server did not answer is its failure. Returns the load's summary.
pub(crate) fn dies<S: AsMut<Process>>(
    place: &Place,
    url: &str,
    mut server: S,
    has_begun: impl Fn(&S) -> bool,
    signal: Signal,
) -> Value {
    let loading = place.soak(&["--quiet", "--json", url, "--rate", "200/s"]);
    wait_for("the load to begin", || has_begun(&server).then_some(()));
    let ending = server.as_mut();
    ending.signal(signal);
    ending.wait();
    let summary = place.stopped(loading).ran().json();
    assert_sums(&summary);
    let [succeeded, offered] = ["succeeded", "offered"].map(|of| summary[of].as_u64().unwrap());
    assert!((1..offered).contains(&succeeded), "{summary}");
    assert_eq!(summary["blame"]["target"], offered - succeeded, "{summary}");
    summary
}

/// Whether a load has met that its connections were cut, or that there were none to be had.
pub(crate) fn assert_cut(summary: &Value) {
    let errors = &summary["errors"];
    let cut = errors["connect"].as_u64().unwrap_or(0) + errors["reset"].as_u64().unwrap_or(0);
    assert!(cut > 0, "{summary}");
}

#[test]
fn a_store_that_dies_fails_what_it_did_not_answer() {
    let place = Place::new();
    let test = "a_store_that_dies_fails_what_it_did_not_answer";
    let Some(server) = Redis::own(test, &[]) else { return };
    let url = format!("redis://127.0.0.1:{}", server.port());
    place.plimsoll(&["prepare", &url]).ended_with(0);
    // The data set was read back by a sample.
    let before = calls(&server, &[], "get").0;
    let has_begun = |server: &Redis| calls(server, &[], "get").0 > before + 100;
    assert_cut(&dies(&place, &url, server, has_begun, Signal::KILL));
}

#[test]
fn an_interrupted_data_set_says_how_much_of_it_is_there() {
    let place = Place::new();
    let test = "an_interrupted_data_set_says_how_much_of_it_is_there";
    let Some(server) = Redis::own(test, &[]) else { return };
    let url = format!("redis://127.0.0.1:{}", server.port());
    let all = ["prepare", &url, "--records", "100M", "--value-size", "1", "--json"];
    let going = place.start(place.command(PLIMSOLL, &all));
    let written = || server.says(&["DBSIZE"]);
    wait_for("some records", || (written().len() > ":1000".len()).then_some(()));
    going.signal(Signal::INT);
    let filled = going.wait().ended_with(4).json();
    assert_eq!(filled["stopped"], true, "{filled}");
    let counted = format!(":{}", filled["written"]);
    assert_eq!(written(), counted.as_bytes(), "{filled}");
    // The next of each user was due and is not sent any more; nothing else went wrong.
    let errors = filled["errors"].as_object().unwrap();
    assert!(errors.keys().all(|kind| kind == "cut"), "{filled}");
}

#[test]
fn fewer_connections_than_were_asked_for_are_told_in_the_stores_words() {
    let test = "fewer_connections_than_were_asked_for_are_told_in_the_stores_words";
    let place = Place::new();
    let few = ["--requirepass", PASSWORD, "--maxclients", "10"];
    let redis = Redis::own(test, &few);
    let memcached = Memcached::own(test, &["-t", "1", "-c", "24"]);
    let urls = [
        redis.as_ref().map(|own| format!("redis://:{PASSWORD}@{}", own.address())),
        memcached.as_ref().map(|own| format!("memcached://{}", own.address())),
    ];
    let words = ["max number of clients reached", "Too many open connections"];
    for (url, words) in urls.into_iter().zip(words) {
        let Some(url) = url else { continue };
        place.plimsoll(&["prepare", &url, "--records", "500"]).ended_with(0);
        let load = ["load", "--quiet", "--json", &url, "--records", "500", "--timeout", "3s"];
        let shapes: [&[&str]; 2] = [
            &["--rate", "100/s", "--for", "2s"],
            &["--users", "32", "--think", "const:50ms", "--for", "2s"],
        ];
        for shape in shapes {
            let summary = place.plimsoll(&[&load[..], shape].concat()).ran().json();
            assert_sums(&summary);
            assert!(summary["errors"].as_object().unwrap().is_empty(), "{summary}");
            let connections = &summary["connections"];
            let figure = |name: &str| connections[name].as_u64().unwrap();
            assert!(figure("peak") <= 24 && figure("failed") >= 40, "{connections}");
            let warnings = summary["warnings"].to_string();
            assert!(warnings.contains("attempts to connect failed"), "{warnings}");
            assert!(warnings.contains(words), "{warnings}");
        }
    }
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn a_data_set_that_is_not_written_is_told_in_the_stores_words() {
    let test = "a_data_set_that_is_not_written_is_told_in_the_stores_words";
    let place = Place::new();
    let Some(server) = Redis::own(test, &[]) else { return };
    let user = format!("ACL SETUSER ann on >{PASSWORD} ~* +get +auth +select");
    assert_eq!(server.says(&[&user]), b"+OK");
    let url = format!("redis://ann:{PASSWORD}@127.0.0.1:{}", server.port());
    let done = place.plimsoll(&["prepare", &url, "--records", "50"]).ended_with(4);
    assert!(done.out.contains("403 × 50") && done.out.contains("50 × -NOPERM"), "{}", done.out);
    let filled = place.plimsoll(&["prepare", &url, "--records", "50", "--json"]).ended_with(4);
    let reasons = &filled.json()["reasons"];
    assert_eq!((&reasons[0]["kind"], &reasons[0]["count"]), (&"status".into(), &50.into()));
    assert!(reasons[1].is_null(), "{reasons}");
    // And a load tells it in its summary, in its table and on its page.
    let load = ["load", "--quiet", &url, "--records", "50", "--workload", "write-only"];
    let shape = ["--rate", "50/s", "--for", "1s"];
    let summary = place.plimsoll(&[&load[..], &shape, &["--json"]].concat()).json();
    assert!(summary["reasons"][0]["text"].as_str().unwrap().starts_with("-NOPERM"), "{summary}");
    assert_eq!(summary["reasons"][0]["count"], summary["errors"]["status"], "{summary}");
    let table = place.plimsoll(&[&load[..], &shape].concat());
    assert!(table.out.contains("× -NOPERM"), "{}", table.out);
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn a_word_without_a_colon_is_the_password_of_redis() {
    let place = Place::new();
    let test = "a_word_without_a_colon_is_the_password_of_redis";
    let Some(server) = Redis::own(test, &["--requirepass", PASSWORD]) else { return };
    let at = format!("127.0.0.1:{}", server.port());
    let url = format!("redis://{PASSWORD}@{at}");
    place.plimsoll(&["prepare", &url, "--records", "10"]).ended_with(0);
    prepares_by_variable(&place, &format!("redis://{at}"), PASSWORD);
    let load = ["load", "--quiet", &url, "--records", "10", "--rate", "20/s", "--for", "1s"];
    place.plimsoll(&load).ran();
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn what_a_store_has_evicted_is_missing_from_the_data_set() {
    let place = Place::new();
    let test = "what_a_store_has_evicted_is_missing_from_the_data_set";
    let small = ["--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random"];
    let Some(server) = Redis::own(test, &small) else { return };
    let url = format!("redis://127.0.0.1:{}", server.port());
    let prepare = ["prepare", &url, "--records", "5000", "--value-size", "1KiB"];
    let filled = place.plimsoll(&[&prepare[..], &["--json"]].concat()).ended_with(4).json();
    assert_eq!(filled["written"], 5000, "{filled}");
    let missing = filled["read_back"]["missing"].as_u64().unwrap();
    assert!(missing > 10 && filled["read_back"]["read"] == 100, "{filled}");
    let done = place.plimsoll(&prepare).ended_with(4);
    assert!(done.out.contains("not as written") && done.out.contains("is not there"));
}

#[test]
fn a_data_set_is_given_up_when_its_store_is_gone() {
    let place = Place::new();
    let test = "a_data_set_is_given_up_when_its_store_is_gone";
    let Some(mut server) = Redis::own(test, &[]) else { return };
    let url = format!("redis://127.0.0.1:{}", server.port());
    let records = ["--records", "50M", "--timeout", "1s", "--json"];
    let going = place.start(place.command(PLIMSOLL, &[&["prepare", &url], &records[..]].concat()));
    wait_for("records to be written", || (server.says(&["DBSIZE"]) != b":0").then_some(()));
    server.as_mut().signal(Signal::KILL);
    let filled = going.wait().ended_with(4).json();
    assert!(filled["gave_up"].as_str().unwrap().contains("nothing was written for"), "{filled}");
    assert_eq!(filled["stopped"], false);
    // One attempt at a time, up to ten times a second, beside those that were there at first.
    let attempts = filled["connections"]["failed"].as_u64().unwrap();
    assert!(attempts < 400, "{filled}");
    assert!(filled["connections"]["reasons"].to_string().contains("ECONNREFUSED"), "{filled}");
}
