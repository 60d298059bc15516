//! `examples/shoal/run.sh`: a registry, RabbitMQ, three of Debian's Squids with their agents and a
//! client, and what becomes of clients when caches die.

use std::process::Command;

use plimsoll_testing::servers::RabbitMq;
use plimsoll_testing::{Weight, has_own_network, installed};

use crate::place::Place;
use crate::program::PLIMSOLL;

/// Registered for so long, by the script's own setting.
const TTL_S: f64 = 10.0;
/// Two probes five seconds apart, each of which may take two seconds.
const PROBES_S: f64 = 14.0;

/// About 40 s, of which a busy machine makes more.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(150);

/// The seconds of a line that begins so.
fn seconds(said: &str, how: &str) -> f64 {
    let line = said.lines().find(|line| line.starts_with(how)).unwrap_or_else(|| panic!("{said}"));
    let number = line.rsplit_once(" after ").unwrap().1.strip_suffix(" s").unwrap();
    number.parse().unwrap()
}

#[test]
fn no_client_is_sent_to_a_squid_that_died() {
    let test = "no_client_is_sent_to_a_squid_that_died";
    let needs = ["squid", "epmd", "curl", "ip", "unshare"];
    let has_all = needs.iter().all(|program| installed(test, program).is_some());
    if !has_all || !RabbitMq::is_installed(test) || !has_own_network(test) {
        return;
    }
    let place = Place::weighing(Weight::ALONE);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shoal/run.sh");
    let mut command = Command::new("bash");
    command.arg(script).env("PLIMSOLL", PLIMSOLL).env("TTL", format!("{TTL_S}s"));
    command.env("TMPDIR", place.path(""));
    let mut going = place.start(command);
    let patience = std::time::Instant::now();
    while !going.has_ended() && patience.elapsed() < LONGEST {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // One that still runs is told to end, and then ends what it started.
    going.signal(rustix::process::Signal::TERM);
    let done = going.wait().ended_with(0);
    print!("{}", done.out);
    // Pages came: the client was told the nearest, then another, then the last.
    let fetched: Vec<&str> =
        done.out.lines().filter(|line| line.contains("fetched 1024 bytes")).collect();
    assert_eq!(fetched.len(), 3, "{}", done.out);
    assert!(fetched[0].contains("http://192.0.2.2:3122"), "{}", done.out);
    assert!(fetched[1] != fetched[0] && fetched[2] != fetched[1], "{}", done.out);
    // What the script itself takes to look, it says in thousandths; a busy machine takes longer.
    let alone = seconds(&done.out, "Squid killed:");
    let together = seconds(&done.out, "Squid and agent killed:");
    println!("dead beside its agent: {alone} s; dead with it: {together} s");
    // Gone by its last heartbeat + ttl + 1 s; and not before, which was at most some seconds ago.
    let lag_s = 10.0;
    assert!(alone < PROBES_S + lag_s, "{}", done.out);
    assert!(together < TTL_S + 1.0 + lag_s && together > 0.5 * TTL_S, "{}", done.out);
}
