//! What this host cannot give, and not the target's doing: descriptors and ports run out while the
//! server is well.

use crate::json::assert_sums;
use crate::place::Place;
use crate::program::{Done, PLIMSOLL, wait_for};
use plimsoll_runs::{ErrorKind, Phase, Run};
use plimsoll_testing::{installed, skip};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

/// Fails unless a run says that `cause` kept it from connecting, and holds nothing against the
/// target.
#[track_caller]
fn blames_this_host(done: Done, cause: &str, remedy: &str) {
    let summary = done.ended_with(5).json();
    assert_sums(&summary);
    let local = summary["errors"]["local"].as_u64().unwrap_or(0);
    assert!(local > 0, "{summary}");
    assert_eq!(summary["errors"]["connect"], Value::Null, "{summary}");
    assert_eq!(summary["blame"]["generator"].as_u64(), Some(local), "{summary}");
    assert_eq!(summary["blame"]["target"], 0, "{summary}");
    assert_eq!(summary["run"]["valid"], false, "{summary}");
    let why = summary["run"]["invalid_because"].to_string();
    assert!(why.contains(cause) && why.contains(remedy), "{why}");
    assert_eq!(summary["availability"]["down_s"], 0, "{summary}");
}

#[test]
fn descriptors_that_run_out_are_our_failure() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:100us"]);
    let url = target.url();
    let each = ["--connection", "per-request", "--connections", "1", "--slo", "errors<1%"];
    // Once it runs: the room that a run needs is looked for before it.
    let mut going =
        place.soak(&[&[&url, "--quiet", "--json", "--rate", "50/s"][..], &each].concat());
    let run = place.loads(&mut going);
    let limit = |current| {
        let limits = Rlimit { current: Some(current), maximum: Some(4096) };
        prlimit(Pid::from_raw(going.id()), Resource::Nofile, limits).unwrap();
    };
    limit(3);
    wait_for("requests that found no descriptor", || {
        let total = Run::open(&run).unwrap().total(Phase::Measured).unwrap();
        (total.errors_of(ErrorKind::Local) > 0).then_some(())
    });
    // The run's end needs some again.
    limit(4096);
    blames_this_host(place.stopped(going), "EMFILE", "LimitNOFILE=");
}

/// Answers each request and leaves closing to the client, whose port is held back then.
const SERVER: &str = r"
import socket
l = socket.socket()
l.bind(('127.0.0.1', 21206))
l.listen(64)
open('listening', 'w').close()
while True:
    s, _ = l.accept()
    s.recv(4096)
    s.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    s.recv(1)
    s.close()
";

#[test]
fn ports_that_run_out_are_our_failure() {
    let test = "ports_that_run_out_are_our_failure";
    if installed(test, "python3").is_none() {
        return;
    }
    let place = Place::new();
    // A network of its own, with 51 ports that are held back for a minute after use.
    let few = "ip link set lo up && echo '40000 40050' > /proc/sys/net/ipv4/ip_local_port_range \
               && echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse";
    let probe = place.start(place.command("unshare", &["-rn", "bash", "-c", few])).wait();
    if probe.code() != Some(0) {
        return skip(test, &format!("namespaces: no network for a user: {}", probe.err.trim()));
    }
    let serve = "python3 server.py & server=$!; \
                  until [ -e listening ]; do kill -0 $server || exit 77; sleep 0.1; done; \
                  \"$0\" load http://127.0.0.1:21206/ \"$@\"; code=$?; kill $server; exit $code";
    let load = ["--quiet", "--json", "--rate", "100/s", "--for", "2s", "--slo", "errors<1%"];
    let each = ["--connection", "per-request", "--connections", "1"];
    place.write("server.py", SERVER);
    let script = format!("{few} || exit 77; {serve}");
    let arguments = [&["-rn", "bash", "-c", &script, PLIMSOLL], &load[..], &each].concat();
    let done = place.start(place.command("unshare", &arguments)).wait();
    blames_this_host(done, "EADDRNOTAVAIL", "ip_local_port_range");
}
