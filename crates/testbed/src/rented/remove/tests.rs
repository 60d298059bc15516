//! When an instance is gone, by time that is moved by hand: what a cloud does not know may run all
//! the same, where it is another account's, or was ordered a moment ago.

use super::*;
use crate::cloud::by_hand::{SURROUNDINGS, Said, Scripted, instance, none, refused};
use crate::rented::purse::{Purse, Terms};
use crate::time::Clock as _;
use crate::time::hand::Hand;

const OURS: &str = "123456789012";

/// What the ledger and the list have of an instance.
#[derive(Clone, Copy)]
struct Known {
    /// Its account, and the one that asks.
    of: Option<&'static str>,
    here: Option<&'static str>,
    /// Whether its id was told, and whether it was shown then.
    id: bool,
    seen: bool,
    /// How long ago it was ordered, seconds.
    age_s: u64,
}

const YOUNG: Known = Known { of: Some(OURS), here: Some(OURS), id: true, seen: false, age_s: 1 };

fn account(of: Option<&str>) -> Account {
    of.map_or_else(|| Account::Key("none".to_owned()), |of| Account::Number(of.to_owned()))
}

fn now_ns() -> u64 {
    (SURROUNDINGS.now_ns)()
}

/// Ends an instance. Returns what came of it, whether the list has its end, and how long it took.
fn ended(
    known: Known,
    script: impl FnMut(usize, &str) -> Said + Send + 'static,
) -> (Result<bool, String>, bool, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let (list, ledgers) = (folder.path().join("list.jsonl"), folder.path().join("ledgers"));
    std::fs::create_dir_all(ledgers.join("bed")).unwrap();
    let terms = Terms { budget: 1.0, currency: "USD".to_owned(), most: 1, unit_s: 60 };
    let purse = Purse::open((&list, &ledgers), terms, now_ns).unwrap();
    let token = purse.begins("bed", "web-1", 0.1).unwrap();
    if known.id {
        purse.list().unwrap().has_id(&token, "i-1").unwrap();
    }
    if known.seen {
        purse.list().unwrap().is_seen(&token, "i-1").unwrap();
    }
    // As if it had been ordered earlier.
    let text = std::fs::read_to_string(&list).unwrap();
    let (now, then) = (now_ns() / 1_000_000_000, now_ns() / 1_000_000_000 - known.age_s);
    std::fs::write(&list, text.replace(&now.to_string(), &then.to_string())).unwrap();
    let hand = Hand::new();
    let cloud = Scripted::of_account(hand, known.here, script);
    let thing = Thing::Rented {
        instance: "web-1".to_owned(),
        token: token.clone(),
        cloud: cloud.at.clone(),
        list: list.clone(),
        account: Some(Box::new(account(known.of))),
    };
    let result = end("bed", &thing, &cloud.cloud(), now_ns);
    let is_over = List::open(&list).unwrap().get(&token).unwrap().is_over();
    (result.map_err(|error| told(&error)), is_over, hand.now())
}

fn unknown() -> Said {
    refused(400, "InvalidInstanceID.NotFound")
}

#[test]
fn one_that_is_not_visible_yet_is_asked_for_again_and_ended() {
    for visible_s in [0, 12, 90, 250] {
        let begun = std::sync::atomic::AtomicU32::new(0);
        let (result, is_over, took) = ended(YOUNG, move |_, action| {
            assert_eq!(action, "TerminateInstances");
            // About so many looks as there are pauses.
            let look = begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if u64::from(look) * 8 < visible_s { unknown() } else { instance("shutting-down") }
        });
        assert_eq!((result, is_over), (Ok(true), true), "{visible_s}");
        assert!(took < VISIBLE, "{took:?}");
    }
}

#[test]
fn one_that_was_never_visible_is_kept_and_said() {
    for (known, least) in
        [(YOUNG, VISIBLE - Duration::from_secs(2)), (Known { age_s: 900, ..YOUNG }, Duration::ZERO)]
    {
        let (result, is_over, took) = ended(known, |_, _| unknown());
        let told = result.unwrap_err();
        assert!(
            told.contains("end i-1: eu-central-1 at") && told.contains("stays in the ledger"),
            "{told}"
        );
        assert!(!is_over && took >= least && took < VISIBLE + PAUSES.1, "{took:?}");
    }
}

#[test]
fn one_that_was_seen_and_is_unknown_by_now_is_gone() {
    let known = Known { seen: true, ..YOUNG };
    let (result, is_over, took) = ended(known, |_, _| unknown());
    assert_eq!((result, is_over, took), (Ok(false), true, Duration::ZERO));
}

/// Whatever was seen, another account's answer says nothing of it.
#[test]
fn another_account_ends_nothing_and_forgets_nothing() {
    for seen in [false, true] {
        for id in [false, true] {
            let others = Known { here: Some("999999999999"), id, seen: seen && id, ..YOUNG };
            let (result, is_over, took) = ended(others, |_, _| panic!("it is asked for nothing"));
            let told = result.unwrap_err();
            assert!(told.contains(OURS) && told.contains("999999999999"), "{told}");
            assert!(told.contains("AWS_PROFILE") && !is_over && took.is_zero(), "{told}");
            // Where accounts are not told, or one is not, the keys decide.
            for (of, here) in [(None, Some(OURS)), (Some(OURS), None)] {
                let known = Known { of, here, id, seen: seen && id, ..YOUNG };
                let (result, is_over, took) =
                    ended(
                        known,
                        |_, action| if action == "TerminateInstances" { unknown() } else { none() },
                    );
                let told = result.unwrap_err();
                assert!(
                    told.contains("does not know it") && told.contains("AWS_PROFILE"),
                    "{told}"
                );
                assert!(!is_over && took.is_zero(), "{took:?}");
                // One that it knows is ended all the same.
                let (result, is_over, _) = ended(known, |_, _| instance("running"));
                assert!(result.is_ok() == id && is_over == id, "{result:?}");
            }
        }
    }
}

#[test]
fn one_of_which_no_id_was_told_is_looked_for_as_long_as_it_may_not_be_known() {
    let known = Known { id: false, ..YOUNG };
    // It was never started.
    let (result, is_over, took) = ended(known, |_, _| none());
    assert_eq!((result, is_over), (Ok(false), true));
    assert!(took >= VISIBLE - Duration::from_secs(2) && took < VISIBLE + PAUSES.1 * 2, "{took:?}");
    let (result, is_over, took) = ended(Known { age_s: 900, ..known }, |_, _| none());
    assert_eq!((result, is_over, took), (Ok(false), true, Duration::ZERO));
}
