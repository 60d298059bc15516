//! Autobahn's cases, played by kosoku (`.ci/websocket-peers`) against the market's WebSocket.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use plimsoll_testing::{installed, websocket_peers};
use serde_json::Value;

use crate::stores::Stores;

/// Frames, pings, reserved bits, opcodes, fragments, UTF-8, closing, and fragments sent by us.
const CASES: &[&str] = &["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"];

/// A text of one frame, of which the last piece comes late and is no UTF-8 before: it has to be
/// refused, and that at once is wished for. The library judges a frame when it is whole.
const LATE: [&str; 2] = ["6.4.3", "6.4.4"];

/// How many cases these are in the version that is pinned.
const COUNT: usize = 247;

/// The suite, where it is installed.
fn kosoku(test: &str) -> Option<PathBuf> {
    let program = websocket_peers().join("bin/kosoku");
    let program = Some(program).filter(|program| program.is_file());
    program.or_else(|| installed(test, "kosoku"))
}

#[test]
fn the_market_passes_every_case_without_compression() {
    let test = "the_market_passes_every_case_without_compression";
    let (Some(suite), Some(stores)) = (kosoku(test), Stores::start(test)) else { return };
    let market = stores.market(&["--echo"]);
    let folder = stores.folder().join("cases");
    let mut suite = Command::new(suite);
    suite.args(CASES.iter().flat_map(|cases| ["-i", *cases]));
    suite.args(["-m", "fuzzingclient", "-p", "4", "-o"]).arg(&folder);
    suite.arg(format!("ws://{}/echo", market.http.address)).stdout(Stdio::null());
    assert!(suite.status().unwrap().success());
    let text = std::fs::read_to_string(folder.join("index.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let results = report.as_object().unwrap().values().next().unwrap().as_object().unwrap();
    let has_passed = |verdict: &Value| matches!(verdict.as_str(), Some("OK" | "INFORMATIONAL"));
    let is_as_expected = |name: &str, verdict: &Value| {
        if LATE.contains(&name) { verdict == "NON-STRICT" } else { has_passed(verdict) }
    };
    let failed: Vec<_> = results
        .iter()
        .filter(|(name, case)| {
            !is_as_expected(name, &case["behavior"]) || !has_passed(&case["behaviorClose"])
        })
        .map(|(name, case)| format!("{name}: {} {}", case["behavior"], case["behaviorClose"]))
        .collect();
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), results.len());
    assert_eq!(results.len(), COUNT);
}
