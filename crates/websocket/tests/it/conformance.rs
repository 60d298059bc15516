//! Autobahn's cases, played by kosoku against our echo server and our client: strict, so that a
//! verdict of `NON-STRICT` fails.
#![expect(clippy::disallowed_methods, reason = "the suite is a process")]

use crate::support::ends::{End, serve};
use crate::support::peers::{Probe, find};
use plimsoll_testing::{Running, free_address};
use plimsoll_websocket::extension::{Deflate, Side};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Frames, pings, reserved bits, opcodes, fragments, UTF-8, closing, and fragments sent by us.
const FEW: &[&str] = &["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"];

/// How many cases these are in the version that is pinned.
const FEW_CASES: usize = 247;

/// Sizes and times, compression, and its parameters.
const MANY: &[&str] = &["9.*", "12.*", "13.*"];
const MANY_CASES: usize = 270;

/// Those of the long cases in which the suite's server wants a client without a context: played
/// only to a client that offers to be one.
const ALONE: &[&str] = &["13.2.*", "13.5.*", "13.6.*"];
const ALONE_CASES: usize = 54;

fn kosoku(test: &str) -> Option<Command> {
    let probe = Probe { arguments: &["--help"], lacks: None };
    find(test, "kosoku", &probe).map(Command::new)
}

fn include(command: &mut Command, cases: &[&str]) {
    command.args(cases.iter().flat_map(|case| ["-i", case]));
}

/// Every case has passed, by the suite's own report: its exit code passes `NON-STRICT`.
fn judge(folder: &Path, cases: usize) {
    let text = fs::read_to_string(folder.join("index.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let agents: Vec<_> = report.as_object().unwrap().values().collect();
    assert_eq!(agents.len(), 1, "{text}");
    let results = agents[0].as_object().unwrap();
    let has_passed =
        |verdict: &serde_json::Value| matches!(verdict.as_str(), Some("OK" | "INFORMATIONAL"));
    let failed: Vec<_> = results
        .iter()
        .filter(|(_, case)| !has_passed(&case["behavior"]) || !has_passed(&case["behaviorClose"]))
        .map(|(name, case)| format!("{name}: {} {}", case["behavior"], case["behaviorClose"]))
        .collect();
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), results.len());
    assert_eq!(results.len(), cases);
}

/// The suite plays a client, and our server echoes.
fn server(test: &str, cases: &[&str], count: usize) {
    let Some(mut suite) = kosoku(test) else { return };
    let (address, folder) = (serve(Some(Deflate::KEPT)), tempfile::tempdir().unwrap());
    include(&mut suite, cases);
    suite.args(["-m", "fuzzingclient", "-p", "4", "-o"]).arg(folder.path());
    suite.arg(format!("ws://{address}")).stdout(Stdio::null());
    let status = suite.status().unwrap();
    judge(folder.path(), count);
    assert!(status.success());
}

/// The suite plays a server, and our client, which offers this, echoes one case after another.
fn client(test: &str, offer: Deflate, cases: &[&str], not: &[&str], count: usize) {
    let Some(mut suite) = kosoku(test) else { return };
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    include(&mut suite, cases);
    suite.args(not.iter().flat_map(|case| ["-x", case]));
    suite.args(["-m", "fuzzingserver", "-o"]).arg(folder.path());
    suite.arg(address.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut suite = Running::start(&mut suite);
    suite.serves(address);
    for case in 1..=count_of(address) {
        let target = format!("/runCase?case={case}&agent=plimsoll");
        End::open(address, &target, Some(offer)).echo();
    }
    End::open(address, "/updateReports?agent=plimsoll", None).echo();
    suite.ended();
    judge(folder.path(), count);
}

/// How many cases the suite has chosen.
fn count_of(address: SocketAddr) -> usize {
    let mut asked = End::open(address, "/getCaseCount", None);
    let answer = asked.next();
    asked.echo();
    match answer {
        Some(crate::support::Owned::Text(text)) => text.parse().unwrap(),
        other => panic!("the suite has no count: {other:?}"),
    }
}

#[test]
fn the_server_passes_every_case_without_compression() {
    server("the_server_passes_every_case_without_compression", FEW, FEW_CASES);
}

#[test]
fn the_client_passes_every_case_without_compression() {
    let test = "the_client_passes_every_case_without_compression";
    client(test, Deflate::KEPT, FEW, &[], FEW_CASES);
}

#[test]
#[ignore = "long: make conformance"]
fn the_server_passes_the_long_cases() {
    server("the_server_passes_the_long_cases", MANY, MANY_CASES);
}

#[test]
#[ignore = "long: make conformance"]
fn the_client_passes_the_long_cases() {
    let test = "the_client_passes_the_long_cases";
    client(test, Deflate::KEPT, MANY, ALONE, MANY_CASES - ALONE_CASES);
}

#[test]
#[ignore = "long: make conformance"]
fn the_client_passes_the_long_cases_of_a_client_without_a_context() {
    let offer = Deflate { client: Side::ALONE, server: Side::KEPT };
    let test = "the_client_passes_the_long_cases_of_a_client_without_a_context";
    client(test, offer, ALONE, &[], ALONE_CASES);
}
