//! A request that waits to be sent again holds no connection: what becomes of the entry that its
//! former one had is no business of its own, nor the other way round.
//!
//! TLS is what makes one connection slow to open while others are quick.

use crate::drive::{MS, Output, drive};
use crate::server::{Gate, OK, Server};
use crate::tls::Identity;
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
use plimsoll_runs::ErrorKind;
use plimsoll_workload::request::{Order, Request, Requests, Url};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Which targets the server was asked for, in order.
type AskedTargets = Arc<Mutex<Vec<String>>>;

/// How the server behaves.
struct Play {
    /// The time-out.
    timeout_ms: u64,
    /// How many requests there are: `/0`, `/1`, … every 100 ms from 100 ms on.
    requests: u64,
    /// Which connection, opened for the second sending of `/1`, is open only when the gate is.
    gated: usize,
    /// Which one does as told; all others answer.
    told: usize,
}

/// Drives such a server, whose second connection closes when it is open.
fn drive_it(
    play: &Play,
    gate: &Arc<Gate>,
    act: impl Fn(&str) -> Act + Send + Sync + 'static,
) -> (Output, Vec<String>) {
    let asked: AskedTargets = Arc::default();
    let identity = Arc::new(Identity::new());
    let (gate, log, own) = (gate.clone(), asked.clone(), identity.clone());
    let Play { gated, told, .. } = *play;
    let server = Server::tcp(move |peer| {
        let index = peer.index;
        if index == gated {
            gate.wait();
        }
        let mut peer = own.accept(peer);
        if index == 1 {
            let _ = peer.write(b"");
            return;
        }
        while let Some(request) = peer.request() {
            let text = String::from_utf8(request).unwrap();
            let target = text.split(' ').nth(1).unwrap().to_owned();
            log.lock().unwrap().push(target.clone());
            if index == 0 && target != "/0" {
                return;
            }
            match if index == told { act(&target) } else { Act::Answer } {
                Act::Answer => {}
                Act::Close => return,
                Act::After(ms) => drop(Gate::new().wait_for(Duration::from_millis(ms))),
            }
            peer.write(OK);
        }
    });
    let mut config = identity.config(server.address(), "localhost");
    config.timeout_ns = play.timeout_ms * MS;
    let url = |n| Url::parse(&format!("http://localhost/{n}")).unwrap();
    let list = (0..play.requests).map(|n| Request::new(url(n))).collect();
    config.requests = Arc::new(Requests { list, order: Order::InOrder });
    let times: Vec<u64> = (1..=play.requests).map(|n| n * 100 * MS).collect();
    let parts = vec![Times::Listed(times.into())];
    let seen = drive(&config, &Offer::Open { parts, limit: Some(play.requests) });
    let asked = asked.lock().unwrap().clone();
    (seen, asked)
}

enum Act {
    Answer,
    Close,
    After(u64),
}

#[test]
fn a_retry_in_waiting_survives_the_end_of_another_connection() {
    let gate = Gate::new();
    let opens = gate.clone();
    // The third connection takes the place of the first, answers `/2` and closes on `/3`.
    let play = Play { timeout_ms: 20_000, requests: 6, gated: 2, told: 3 };
    let (seen, asked) = drive_it(&play, &gate, move |target| match target {
        "/2" => Act::Answer,
        _ => {
            opens.open();
            Act::Close
        }
    });
    assert_eq!(seen.counts().succeeded, 6, "{:?}", seen.samples);
    assert_eq!(seen.sum(|interval| interval.stale), 2);
    let times = |target: &str| asked.iter().filter(|asked| *asked == target).count();
    assert_eq!(["/0", "/1", "/2", "/3", "/4", "/5"].map(times), [1, 2, 1, 2, 1, 1], "{asked:?}");
}

#[test]
fn a_retry_that_runs_out_of_time_takes_no_other_request_along() {
    let gate = Gate::new();
    // `/1` runs out of time while `/10` is on its way, on the entry that `/1` had before.
    let play = Play { timeout_ms: 1000, requests: 11, gated: 2, told: 3 };
    let (seen, asked) = drive_it(&play, &gate, |target| match target {
        "/10" => Act::After(400),
        _ => Act::Answer,
    });
    gate.open();
    assert_eq!(seen.errors(ErrorKind::Timeout), 1, "{:?}", seen.samples);
    assert_eq!(seen.counts().succeeded, 10, "{:?}", seen.samples);
    assert_eq!(asked.iter().filter(|target| *target == "/10").count(), 1, "{asked:?}");
}
