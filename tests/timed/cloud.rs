//! How soon a pool follows a group of a cloud.

use crate::cloud::following::{
    PERIOD, cell, count, decisions, lost, make_group, only_looks, plan, set, until,
};
use crate::cloud::proxy::{Cloud, Kind, moto};
use crate::cloud::{SECRET, begin, files, is_in};
use crate::place::{Place, events};
use crate::program::wait_for;
use plimsoll_testing::Weight;
use std::time::Instant;

#[test]
fn a_group_that_grows_and_shrinks_is_followed_within_a_period() {
    let Some(moto) = moto() else { return };
    let place = Place::weighing(Weight::ALONE);
    let cloud = Cloud::start(&place, &moto, Kind::New);
    // Groups are told one on a page, and this one first.
    make_group(&cloud, "another", 1);
    make_group(&cloud, "web", 2);
    files(&place, &plan(&cloud.endpoint(), "asg:web"));
    let mut going = begin(&place, &["run", "plan.toml", "--new", "--json"]);
    until(&place, (&cloud, &mut going), "ready: i-", 2);
    place.loads(&mut going);
    let began = Instant::now();
    set(&cloud, "web", 4);
    until(&place, (&cloud, &mut going), "ready: i-", 4);
    let came = began.elapsed();
    let began = Instant::now();
    set(&cloud, "web", 1);
    until(&place, (&cloud, &mut going), "draining: i-", 3);
    let went = began.elapsed();
    assert!(came < PERIOD && went < PERIOD, "in after {came:?}, out after {went:?}");
    wait_for("a decision on one", || decisions(&place).last()?.before.eq(&1).then_some(()));
    let done = place.stopped(going).ran();
    assert!(
        lost(&done) < 0.5,
        "each served on when it was taken out: {}{:#}",
        done.err,
        done.json()["cells"][0]
    );
    let told = events(&cell(&place).unwrap(), "instance");
    assert_eq!(
        count(&place, "ready: i-"),
        4,
        "the instance of another group is left alone: {told:#?}"
    );
    let decisions = decisions(&place);
    assert!(decisions.iter().all(|of| of.desired == 3 && of.done == 0), "{decisions:?}");
    assert_eq!(decisions.last().unwrap().before, 1, "{decisions:?}");
    only_looks(&cloud);
    let books = cloud.books();
    let pages = books.asked.iter().filter(|(action, with)| {
        action == "DescribeAutoScalingGroups" && with.contains_key("NextToken")
    });
    assert!(pages.count() > 0, "{:?}", books.asked);
    assert!(!is_in(&place.path("runs"), SECRET));
    let kept = std::fs::read_to_string(cell(&place).unwrap().join("plan.toml")).unwrap();
    assert!(kept.contains(&format!("endpoint = \"{}\"", cloud.endpoint())), "{kept}");
}
