//! What is waited for, by time that is moved by hand.

use std::fs::File;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::error::TestbedError;
use crate::ledger::is_free_by;
use crate::output;
use crate::route::Route;
use crate::ssh::Lost;
use crate::time::Clock;
use crate::time::hand::Hand;

fn ms(of: u64) -> Duration {
    Duration::from_millis(of)
}

/// A ledger whose holder lets go of it after so long, and how long it is waited for.
#[test]
fn a_ledger_is_free_where_its_holder_lets_go_in_time() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ledger");
    for (freed_ms, taken_ms) in [
        (0, Some(0)),
        (1, Some(10)),
        (250, Some(250)),
        (999, Some(1000)),
        (1000, Some(1000)),
        (1001, None),
    ] {
        let (hand, held) = (Hand::new(), File::create(&path).unwrap());
        flock(&held, FlockOperation::LockExclusive).unwrap();
        hand.at(ms(freed_ms), move || drop(held));
        hand.passes(Duration::ZERO);
        let file = File::open(&path).unwrap();
        let deadline = hand.time().within(ms(1000));
        assert_eq!(is_free_by(&file, &deadline), taken_ms.is_some(), "{freed_ms}");
        assert_eq!(hand.now(), ms(taken_ms.unwrap_or(1000)), "{freed_ms}");
    }
}

/// An agent that says after so long where it listens; a host that stands still meanwhile.
#[test]
fn an_agent_is_heard_where_it_speaks_in_time() {
    for (says_ms, is_heard) in [(0, true), (1234, true), (5000, true), (5001, false)] {
        let (hand, place) = (Hand::new(), tempfile::tempdir().unwrap());
        let file = place.path().join(output::FILE);
        std::fs::write(&file, "it starts\n").unwrap();
        let says = move || std::fs::write(&file, "listening on 127.0.0.1:4321\n").unwrap();
        hand.at(ms(says_ms), says);
        hand.passes(Duration::ZERO);
        let port = output::port(place.path(), &hand.time().within(ms(5000)));
        match port {
            Ok(port) => assert_eq!((port.as_str(), is_heard), ("4321", true), "{says_ms}"),
            Err(TestbedError::TooLong { limit, output, .. }) => {
                assert!(!is_heard, "{says_ms}");
                assert_eq!(
                    (limit, hand.now(), output.as_str()),
                    (ms(5000), ms(5000), "it starts\n")
                );
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A host whose connection broke is left alone for half a minute after the last time that it did,
/// and not when it was reached again.
#[test]
fn a_lost_host_rests_for_half_a_minute_after_it_was_lost_last() {
    let hand = Hand::new();
    let lost = Lost::timed(hand.time());
    let (name, address) = ("a".to_owned(), "10.0.0.1".to_owned());
    let host = Route { name, address, user: None, port: None, config: None };
    assert!(!lost.rests("a"));
    lost.note(&host);
    hand.passes(ms(29_999));
    assert!(lost.rests("a") && !lost.rests("b"));
    hand.passes(ms(1));
    assert!(!lost.rests("a"));
    // It was tried again, in vain.
    lost.note(&host);
    hand.passes(ms(20_000));
    lost.note(&host);
    hand.passes(ms(29_999));
    assert!(lost.rests("a"));
    lost.found("a");
    assert!(!lost.rests("a"));
    // All who share it see the same.
    lost.clone().note(&host);
    assert!(lost.rests("a"));
    hand.passes(ms(3_600_000));
    assert!(!lost.rests("a"));
}
