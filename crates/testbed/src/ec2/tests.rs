//! How long an instance is waited for that was ordered, by time that is moved by hand.

use super::*;
use crate::cloud::by_hand::{SURROUNDINGS, Scripted, instance, none};
use crate::time::Clock;
use crate::time::hand::Hand;
use std::path::PathBuf;

/// Orders an instance of a scripted cloud whose bed is begun. Returns what came of it, and what was
/// spent on it by the list.
fn ordered(cloud: &Scripted) -> Result<String, TestbedError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bed")).unwrap();
    let wants = Wants {
        region: cloud.at.region.clone(),
        image: "ami-1".to_owned(),
        kind: "small".to_owned(),
        key_pair: None,
        security_group: None,
        zone: None,
        user_data: None,
        tags: Vec::new(),
        price: 0.1,
    };
    let terms = Terms { budget: 1.0, currency: "USD".to_owned(), most: 1, unit_s: 60 };
    let wants = [("web".to_owned(), wants)].into();
    let ec2 = Ec2::new(&cloud.at, wants, terms, SURROUNDINGS).unwrap();
    let ec2 = ec2.timed(cloud.hand.time());
    let list: PathBuf = folder.path().join("list.jsonl");
    ec2.begin("bed", (&list, folder.path()), &[]).unwrap();
    let thing = ec2.intends("web", "web-1").unwrap();
    ec2.rent("web", &thing, &|| false)
}

#[test]
fn an_instance_is_waited_for_until_it_runs() {
    for runs_s in [0, 3, 200, 599, 600] {
        let hand = Hand::new();
        let at = Duration::from_secs(runs_s);
        let cloud = Scripted::begin(hand, move |_, _| {
            instance(if hand.now() < at { "pending" } else { "running" })
        });
        assert_eq!(ordered(&cloud).unwrap(), "i-1, at 10.0.0.1,  within its cloud");
        // It is looked at every four seconds at the latest.
        let late = hand.now().checked_sub(at).unwrap();
        assert!(late <= LOOK * 2, "{late:?} after {at:?}");
    }
}

#[test]
fn one_that_does_not_run_is_given_up_after_ten_minutes() {
    for state in ["pending", ""] {
        let hand = Hand::new();
        let cloud = Scripted::begin(hand, move |number, _| match (number, state) {
            (0, _) => instance("pending"),
            (_, "") => none(),
            _ => instance(state),
        });
        let given_up = ordered(&cloud).unwrap_err().to_string();
        assert!(given_up.contains("it had not ended after 600 s"), "{given_up}");
        let last = cloud.asked().last().unwrap().1;
        assert!(last >= RENT && last <= RENT + LOOK * 2, "{last:?}");
    }
}

#[test]
fn one_that_has_ended_is_not_waited_for() {
    for state in ["terminated", "shutting-down", "stopping", "stopped"] {
        let cloud = Scripted::begin(Hand::new(), move |number, _| {
            instance(if number == 0 { "pending" } else { state })
        });
        let gone = ordered(&cloud).unwrap_err().to_string();
        assert!(gone.contains(&format!("it is {state}")), "{gone}");
        assert_eq!((cloud.asked().len(), cloud.hand.now()), (2, Duration::ZERO));
    }
}

/// This host stands still while the cloud tells that the instance does not run yet.
#[test]
fn one_that_runs_by_now_is_not_given_up_because_this_host_stood_still() {
    let hand = Hand::new();
    let cloud = Scripted::begin(hand, move |number, _| {
        if number == 1 {
            hand.passes(RENT * 2);
        }
        instance(if number < 2 { "pending" } else { "running" })
    });
    ordered(&cloud).unwrap();
    assert_eq!(cloud.asked().len(), 3);
}
