//! `--otlp`: figures that are pushed while a run goes on. The receiver judges them by the published
//! schema (`otlp/receiver.py`).

use crate::place::{Place, test_name};
use crate::program::{Done, Going, PLIMSOLL, wait_for};
use plimsoll_runs::{Phase, Run};
use plimsoll_testing::{free_port, installed, python_peers, skip};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const SECRET: &str = "w4terline-7731";

struct Receiver {
    port: String,
    _server: Going,
}

/// Starts a receiver that answers with a status; `None` where Python has no schema to judge by.
fn receiver(place: &Place, status: &str, pair: &[&str]) -> Option<Receiver> {
    let python = python_peers().join("python3");
    if !python.exists() {
        skip(&test_name(), "opentelemetry-proto");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/it/otlp/receiver.py");
    let folder = place.path("");
    let words = [script.to_str().unwrap(), folder.to_str().unwrap(), status];
    let words = [&words[..], pair].concat();
    let mut server = place.start(place.command(python.to_str().unwrap(), &words));
    let port = wait_for("the receiver's port", || {
        assert!(!server.has_ended(), "{}", server.err());
        let out = server.out();
        out.contains('\n').then(|| out.trim().to_owned())
    });
    Some(Receiver { port, _server: server })
}

/// What a receiver was sent.
fn got(place: &Place) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path("got")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A load of three seconds whose figures are pushed.
fn load(place: &Place, url: &str, more: &[&str]) -> Done {
    let target = place.target(&["--service-time", "const:1ms"]);
    let asked = target.url();
    // tidy: allow(waits, three seconds of figures, however late they come)
    let load = ["load", &asked, "--rate", "40/s", "--for", "3s", "--quiet", "--otlp", url];
    let mut command = place.command(PLIMSOLL, &[&load[..], more].concat());
    command.env("RECEIVER_KEY", SECRET);
    place.start(command).wait()
}

/// Whether a secret stands in any file below a folder.
fn is_kept(folder: &Path) -> bool {
    let mut grep = Command::new("grep");
    let found = grep.args(["--recursive", "--text", "--quiet", SECRET]).arg(folder).status();
    found.unwrap().success()
}

#[test]
fn each_second_is_pushed_as_the_published_schema_has_it() {
    let place = Place::new();
    let Some(receiver) = receiver(&place, "200", &[]) else { return };
    let url = format!("http://127.0.0.1:{}/otlp", receiver.port);
    let more = ["--otlp-header-env", "X-Api-Key=RECEIVER_KEY", "--slo", "p99<1m"];
    let done = load(&place, &url, &more).ran();
    assert!(!done.err.contains("--otlp"), "{}", done.err);
    let run = Run::open(&place.run()).unwrap();
    let offered = run.total(Phase::Measured).unwrap().offered;
    let got = got(&place);
    assert!(got.len() >= 3, "a second each: {got:?}");
    let mut before = 0;
    for body in &got {
        assert_eq!(body["wrong"], Value::Array(Vec::new()), "{body}");
        assert_eq!(body["path"], "/otlp/v1/metrics");
        assert_eq!(body["headers"]["content-type"], "application/json");
        assert_eq!(body["headers"]["x-api-key"], SECRET);
        assert_eq!(body["resource"]["service.name"], "plimsoll");
        let now = body["sums"]["plimsoll_offered_total"].as_u64().unwrap();
        assert!(now >= before, "{got:?}");
        before = now;
    }
    assert_eq!(before, offered, "the last second is there");
    let last = &got.last().unwrap()["sums"];
    assert_eq!(last["plimsoll_otlp_dropped_total"], 0, "{last}");
    assert_eq!(last["plimsoll_within_slo_total"], last["plimsoll_succeeded_total"], "{last}");
    assert!(!is_kept(&place.path("runs")), "no run holds the key");
    assert!(!(done.out + &done.err).contains(SECRET));
}

#[test]
fn what_is_not_taken_is_counted_and_a_redirect_is_not_followed() {
    for (status, said) in [
        ("307", "it answers 307, which is not followed"),
        ("500", "it answers 500"),
        ("401", "it answers 401"),
    ] {
        let place = Place::new();
        let Some(receiver) = receiver(&place, status, &[]) else { return };
        let url = format!("http://127.0.0.1:{}", receiver.port);
        let done = load(&place, &url, &["--otlp-header-env", "X-Api-Key=RECEIVER_KEY"]);
        let done = done.ran();
        let got = got(&place);
        assert!(got.iter().all(|body| body["path"] == "/v1/metrics"), "{got:?}");
        let all = got.len();
        done.says(&[&format!("note: --otlp: 0 of {all} seconds were delivered"), said]);
    }
}

#[test]
fn a_receiver_that_is_away_costs_nothing_but_the_figures() {
    let place = Place::new();
    let done = load(&place, &format!("http://127.0.0.1:{}", free_port()), &[]).ran();
    done.says(&["note: --otlp: 0 of ", "Connection refused"]);
    let run = Run::open(&place.run()).unwrap();
    assert_eq!(run.total(Phase::Measured).unwrap().succeeded, 120);
}

#[test]
fn an_encrypted_receiver_is_trusted_by_its_authority() {
    let place = Place::new();
    let Some(_) = installed(&test_name(), "openssl") else { return };
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out \
                cert.pem -days 30 -subj /CN=receiver.example -addext subjectAltName=IP:127.0.0.1";
    let make: Vec<&str> = make.split(' ').collect();
    assert!(place.command("openssl", &make).output().unwrap().status.success());
    let pair = [place.path("cert.pem"), place.path("key.pem")];
    let pair: Vec<&str> = pair.iter().map(|path| path.to_str().unwrap()).collect();
    let Some(receiver) = receiver(&place, "200", &pair) else { return };
    let url = format!("https://127.0.0.1:{}", receiver.port);
    load(&place, &url, &[]).ran().says(&["note: --otlp: 0 of "]);
    assert_eq!(got(&place).len(), 0, "nobody vouches for it");
    load(&place, &url, &["--otlp-ca", "cert.pem"]).ran();
    assert!(got(&place).len() >= 3);
}

#[test]
fn what_cannot_be_pushed_to_is_refused_before_anything_is_sent() {
    let place = Place::new();
    for (words, said) in [
        (&["--otlp", "ftp://h/"][..], "--otlp"),
        (&["--otlp", "http://user:pw@h/"], "give it by --otlp-header-env"),
        (&["--otlp", "http://h", "--otlp-header-env", "X-Key"], "expected NAME=VARIABLE"),
        (&["--otlp", "http://h", "--otlp-header-env", "X-Key=NOWHERE_7731"], "NOWHERE_7731"),
        (&["--otlp", "http://h", "--otlp-ca", "none.pem"], "--otlp-ca says nothing without https"),
        (&["--otlp-header-env", "X-Key=PATH"], "--otlp <URL>"),
    ] {
        let load = ["load", "http://127.0.0.1:1/", "--rate", "1/s", "--for", "1s"];
        let done = place.plimsoll(&[&load[..], words].concat()).ended_with(2);
        done.says(&[said]);
        assert!(!done.err.contains("pw@"), "{}", done.err);
    }
}
