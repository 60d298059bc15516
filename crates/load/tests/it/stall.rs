//! A server that stalls: open-loop response times show it whole, service times only for those that
//! were on their way.

use crate::drive::{MS, drive, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Pacing;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const STALL_MS: u64 = 400;

#[test]
fn response_times_grow_linearly_backwards_from_the_end_of_a_stall() {
    for pacing in [Pacing::Precise, Pacing::Thrifty] {
        // One stall for all connections: it begins with the twentieth request and then answers all.
        let (asked, gate) = (Arc::new(AtomicU64::new(0)), Gate::new());
        let server = Server::tcp(move |mut peer| {
            while peer.request().is_some() {
                let n = asked.fetch_add(1, Ordering::SeqCst);
                if n == 20 {
                    Gate::new().wait_for(Duration::from_millis(STALL_MS));
                    gate.open();
                } else if n > 20 {
                    gate.wait();
                }
                peer.write(OK);
            }
        });
        let mut config = to(server.address());
        config.connections = (4, 4);
        config.pacing = pacing;
        let seen = drive(&config, &open(100.0, 1000));
        assert_eq!(seen.counts().succeeded, 100);
        let samples = seen.by_due();
        // The stall ends when the first of those it held is answered.
        let held = &samples[20..24];
        let end = held.iter().map(|one| one.done_ns).min().unwrap();
        for (n, one) in samples.iter().enumerate().skip(20) {
            assert_eq!(one.due_ns, n as u64 * 10 * MS);
            if one.due_ns < end {
                // Due while it lasted: over when it was over, or a moment later.
                assert!(one.done_ns >= end, "{n}: {one:?}");
                let response = one.done_ns - one.due_ns;
                assert!(response >= end - one.due_ns);
            }
        }
        // Only four were on their way; the others were sent when it was over.
        let slow = |one: &&plimsoll_runs::Sample| one.done_ns - one.sent_ns > STALL_MS * MS / 2;
        let served_slowly: Vec<u64> = samples.iter().filter(slow).map(|one| one.due_ns).collect();
        assert!(served_slowly.len() <= 4, "{served_slowly:?}");
        let answered_slowly =
            samples.iter().filter(|one| one.done_ns - one.due_ns > STALL_MS * MS / 2).count();
        assert!(answered_slowly >= 18, "{answered_slowly}");
    }
}
