//! TLS with key-value stores: whose certificate is trusted, which one is shown, and what is told
//! where one side speaks TLS and the other does not.

use super::{PASSWORD, eight_hundred, writes_two_thousand};
use crate::client_certificates::certificates;
use crate::place::Place;
use crate::program::Done;
use crate::secrets::assert_nowhere;
use plimsoll_testing::servers::{Process, Redis};
use plimsoll_testing::{installed, skip};
use serde_json::{Value, json};
use std::process::Command;

/// A Redis that speaks TLS alone, and what else it is told.
fn redis(test: &str, place: &Place, more: &[&str]) -> Option<Process> {
    let program = installed(test, "redis-server")?;
    installed(test, "openssl")?;
    certificates(place);
    Some(Process::listening(|_, port| {
        let mut command = Command::new(&program);
        command.args(["--port", "0", "--tls-port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]);
        let files =
            [("cert-file", "server.pem"), ("key-file", "server.key"), ("ca-cert-file", "ca.pem")];
        for (option, name) in files {
            command.arg(format!("--tls-{option}")).arg(place.path(name));
        }
        command.args(more);
        command
    }))
}

fn memcached(test: &str, place: &Place) -> Option<Process> {
    let program = installed(test, "memcached")?;
    installed(test, "openssl")?;
    let help = Command::new(&program).arg("-h").output().unwrap();
    if !String::from_utf8_lossy(&help.stdout).contains("--enable-ssl") {
        skip(test, "memcached: it speaks no TLS");
        return None;
    }
    certificates(place);
    let [chain, key] = ["server.pem", "server.key"].map(|name| place.path(name));
    let files = format!("ssl_chain_cert={},ssl_key={}", chain.display(), key.display());
    Some(Process::listening(|_, port| {
        let mut command = Command::new(&program);
        command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-u", "root"]);
        command.args(["-m", "512", "-Z", "-o", &files]);
        command
    }))
}

/// How many handshakes of each kind a load has made, of which each belongs to a connection.
pub(crate) fn handshakes(summary: &Value) -> (u64, u64) {
    let connections = &summary["connections"];
    let [full, resumed] = ["full", "resumed"].map(|kind| connections["tls"][kind].as_u64());
    let (full, resumed) = (full.unwrap(), resumed.unwrap());
    assert_eq!(connections["opened"], full + resumed, "{summary}");
    assert_eq!(connections["failed"], 0, "{summary}");
    (full, resumed)
}

/// A short load, which need not go well.
fn short(place: &Place, url: &str, more: &[&str]) -> Done {
    let load = ["load", "--quiet", url, "--rate", "10/s", "--for", "1s"];
    place.plimsoll(&[&load[..], more].concat())
}

#[test]
fn redis_over_tls_counts_the_same() {
    let test = "redis_over_tls_counts_the_same";
    let place = Place::new();
    let secret = ["--tls-auth-clients", "no", "--requirepass", PASSWORD];
    let Some(server) = redis(test, &place, &secret) else { return };
    let Some(client) = installed(test, "redis-cli") else { return };
    let url = format!("rediss://:{PASSWORD}@127.0.0.1:{}/3", server.port());
    let data = ["--records", "2000", "--value-size", "uniform:1B..9KiB", "--ca", "ca.pem"];
    writes_two_thousand(&place, &url, &data);
    let port = server.port().to_string();
    let says = |command: &[&str]| {
        let own = ["--tls", "--cacert", "ca.pem", "-p", &port, "-n", "3", "--no-auth-warning"];
        let mut client = place.command(client.to_str().unwrap(), &[&own[..], command].concat());
        let said = client.env("REDISCLI_AUTH", PASSWORD).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    assert_eq!(says(&["DBSIZE"]).trim(), "2000");
    let workload = [&["--workload", "balanced", "--connections", "8"], &data[..]].concat();
    let summary = eight_hundred(&place, &url, &workload);
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let (full, resumed) = handshakes(&summary);
    assert_eq!(full + resumed, 8);
    let calls = says(&["INFO", "commandstats"]);
    let gets = calls.lines().find_map(|line| line.strip_prefix("cmdstat_get:calls=")).unwrap();
    let sets = calls.lines().find_map(|line| line.strip_prefix("cmdstat_set:calls=")).unwrap();
    let count = |text: &str| text.split(',').next().unwrap().parse::<u64>().unwrap();
    // Those of the data set, the sample of it, and the last record, asked for before each.
    assert_eq!(count(gets) + count(sets), 2000 + 100 + 2 + 800, "{calls}");
    // Several at once on a connection, and a new one each.
    let many = [&["--streams", "16", "--connections", "2"], &data[..]].concat();
    assert_eq!(eight_hundred(&place, &url, &many)["status"]["200"], 800);
    let each = [&["--connection", "per-request"], &data[..]].concat();
    assert_eq!(handshakes(&eight_hundred(&place, &url, &each)), (800, 0));
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    assert!(plan.contains(&format!("rediss://127.0.0.1:{}/3", server.port())), "{plan}");
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn memcached_over_tls_counts_the_same() {
    let test = "memcached_over_tls_counts_the_same";
    let place = Place::new();
    let Some(server) = memcached(test, &place) else { return };
    let url = format!("memcacheds://127.0.0.1:{}", server.port());
    let data = ["--records", "2k", "--value-size", "uniform:1B..40KiB", "--ca", "ca.pem"];
    writes_two_thousand(&place, &url, &data);
    let workload = [&["--workload", "balanced", "--connections", "4"], &data[..]].concat();
    let summary = eight_hundred(&place, &url, &workload);
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let (full, resumed) = handshakes(&summary);
    assert_eq!(full + resumed, 4);
    // It leaves what is behind a command lying.
    let many = [&["--streams", "4", "--timeout", "3s", "--json"], &data[..]].concat();
    let many = short(&place, &url, &many).json();
    assert!(many["warnings"].to_string().contains("`streams = 1`"), "{many}");
    short(&place, &url, &[]).ended_with(4).says(&["UnknownIssuer", "--ca FILE"]);
    let plain = url.replace("memcacheds", "memcached");
    short(&place, &plain, &[]).ended_with(4).says(&["write memcacheds://"]);
}

#[test]
fn what_keeps_a_store_and_us_from_tls_is_told() {
    let test = "what_keeps_a_store_and_us_from_tls_is_told";
    let place = Place::new();
    let Some(server) = redis(test, &place, &["--tls-auth-clients", "no"]) else { return };
    let at = format!("127.0.0.1:{}", server.port());
    let (plain, secure) = (format!("redis://{at}"), format!("rediss://{at}"));
    let stranger = short(&place, &secure, &[]).ended_with(4);
    stranger.says(&["agree on TLS with", "UnknownIssuer", "--ca FILE", "--insecure"]);
    let other = ["--ca", "ca.pem", "--sni", "elsewhere.example"];
    let other = short(&place, &secure, &other).ended_with(4);
    other.says(&["elsewhere.example", "--sni"]);
    short(&place, &secure, &["--insecure"]).ran();
    place.plimsoll(&["prepare", &secure, "--records", "20"]).ended_with(4).says(&["UnknownIssuer"]);
    place.plimsoll(&["prepare", &secure, "--records", "20", "-k"]).ended_with(0);
    // It speaks TLS, and we do not.
    short(&place, &plain, &[]).ended_with(4).says(&["write rediss://"]);
    // We speak TLS, and it does not.
    let Some(server) = Redis::shared(test) else { return };
    let at = server.address().to_string();
    let deaf =
        short(&place, &format!("rediss://{at}"), &["--insecure", "--timeout", "2s"]).ended_with(4);
    deaf.says(&["agree on TLS with", "write redis://"]);
    let useless = short(&place, &format!("redis://{at}"), &["--ca", "ca.pem"]).ended_with(2);
    useless.says(&["`ca` goes with TLS, not with redis://", "write rediss://"]);
}

#[test]
fn redis_lets_in_whoever_shows_a_certificate() {
    let test = "redis_lets_in_whoever_shows_a_certificate";
    let place = Place::new();
    let Some(server) = redis(test, &place, &["--tls-auth-clients", "yes"]) else { return };
    let url = format!("rediss://127.0.0.1:{}", server.port());
    let none = short(&place, &url, &["--ca", "ca.pem"]).ended_with(4);
    none.says(&["--cert FILE and --key FILE"]);
    let shown = ["--ca", "ca.pem", "--cert", "client.pem", "--key", "client.key"];
    let done = short(&place, &url, &[&shown[..], &["--json"]].concat()).ran();
    assert_eq!(done.json()["succeeded"], json!(10));
    let wrong = ["--ca", "ca.pem", "--cert", "client.pem", "--key", "other.key"];
    short(&place, &url, &wrong).ended_with(2).says(&["KeyMismatch"]);
}
