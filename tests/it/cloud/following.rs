//! Pools that follow the instances of a cloud: those of an Auto Scaling group, or those with a tag.
//! Whoever follows asks, and changes nothing.

use super::proxy::{Cloud, Fault, Kind, moto};
use super::{begin, files};
use crate::place::{Place, events};
use crate::pools::for_ever;
use crate::program::{Done, Going, wait_for};
use plimsoll_runs::{DecisionRow, Run};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use std::path::PathBuf;
use std::time::Duration;

/// The period of the pool.
pub(crate) const PERIOD: Duration = Duration::from_secs(4);

/// A pool of two instances at least, whom `follow` tells.
pub(crate) fn plan(endpoint: &str, follow: &str) -> String {
    format!(
        "seed = 3
[testbed]
provider = 'process'
endpoint = '{endpoint}'
[role.web]
recipe = 'server'
[pool]
role = 'web'
follow = '{follow}'
min = 2
max = 6
decide_every = '{}s'
[instance]
service = 'const:2ms'
cores = 4
[balancer]
choose = 'round-robin'
[load]
{}
[policy.one]
kind = 'fixed'
instances = 3
[measure]
slo = 'errors<90%'
",
        PERIOD.as_secs(),
        for_ever("40/s")
    )
}

/// Has the cloud make a group of so many instances.
pub(crate) fn make_group(cloud: &Cloud<'_>, name: &str, count: u32) {
    let made = cloud.ask(&format!(
        "Action=CreateLaunchConfiguration&Version=2011-01-01&LaunchConfigurationName={name}\
         &ImageId=ami-12c6146b&InstanceType=t2.micro"
    ));
    assert!(!made.contains("<Error>"), "{made}");
    let made = cloud.ask(&format!(
        "Action=CreateAutoScalingGroup&Version=2011-01-01&AutoScalingGroupName={name}\
         &LaunchConfigurationName={name}&MinSize=0&MaxSize=6&DesiredCapacity={count}\
         &AvailabilityZones.member.1=us-east-1a"
    ));
    assert!(!made.contains("<Error>"), "{made}");
}

pub(crate) fn set(cloud: &Cloud<'_>, name: &str, count: u32) {
    let done = cloud.ask(&format!(
        "Action=SetDesiredCapacity&Version=2011-01-01&AutoScalingGroupName={name}\
         &DesiredCapacity={count}"
    ));
    assert!(!done.contains("<Error>"), "{done}");
}

/// The run of the only cell, where it has begun.
pub(crate) fn cell(place: &Place) -> Option<PathBuf> {
    let cells = place.runs("runs").pop()?.join("cells");
    let cell = std::fs::read_dir(cells).ok()?.flatten().next()?.path();
    Run::open(&cell).ok()?;
    Some(cell)
}

/// How many events of instances say this.
pub(crate) fn count(place: &Place, text: &str) -> usize {
    let all = cell(place).map(|of| events(&of, "instance")).unwrap_or_default();
    all.iter().filter(|of| of.contains(text)).count()
}

/// Waits for so many of such events, while there are servers behind new instances.
pub(crate) fn until(
    place: &Place,
    (cloud, going): (&Cloud<'_>, &mut Going),
    text: &str,
    wanted: usize,
) {
    wait_for(text, || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        // Servers of instances that are gone serve on, so that only the cloud says that they are.
        cloud.serves_new();
        (count(place, text) >= wanted).then_some(())
    });
}

pub(crate) fn decisions(place: &Place) -> Vec<DecisionRow> {
    Run::open(&cell(place).unwrap()).unwrap().decisions().unwrap()
}

/// Nothing was asked for that changes anything.
pub(crate) fn only_looks(cloud: &Cloud<'_>) {
    let books = cloud.books();
    assert!(books.asked.len() > 3);
    let looks = ["DescribeAutoScalingGroups", "DescribeInstances"];
    assert!(books.asked.iter().all(|(action, _)| looks.contains(&&**action)), "{:?}", books.asked);
}

pub(crate) fn lost(done: &Done) -> f64 {
    let of = done.json()["cells"][0].clone();
    of["figures"]["lost"].as_f64().unwrap_or_else(|| panic!("{of}"))
}

#[test]
fn a_cloud_that_does_not_tell_leaves_the_pool_as_it_is() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    make_group(&cloud, "web", 2);
    files(&place, &plan(&cloud.endpoint(), "asg:web"));
    // At the beginning it is asked again.
    cloud.will("DescribeAutoScalingGroups", &[Fault::Refused("RequestLimitExceeded"); 2]);
    let mut going = begin(&place, &["run", "plan.toml", "--new", "--json"]);
    until(&place, (&cloud, &mut going), "ready: i-", 2);
    place.loads(&mut going);
    let says = |going: &mut Going, code: &str| {
        wait_for(code, || {
            assert!(!going.has_ended(), "{}{}", going.out(), going.err());
            going.err().contains(code).then_some(())
        });
    };
    for (action, code) in [
        ("DescribeAutoScalingGroups", "RequestLimitExceeded: said by the test"),
        ("DescribeInstances", "ExpiredToken"),
    ] {
        let word = code.split(':').next().unwrap();
        cloud.will(action, &[Fault::Refused(word)]);
        says(&mut going, code);
    }
    let told = || cell(&place).map(|of| events(&of, "follow")).unwrap_or_default();
    wait_for("a cloud that tells again", || {
        told().iter().any(|text| text.contains("are told again")).then_some(())
    });
    // A group that goes with its instances is small before it is gone: nobody sees it then.
    cloud.will("DescribeAutoScalingGroups", &[Fault::Refused("Throttling"); 1000]);
    says(&mut going, "Throttling");
    let gone = "Action=DeleteAutoScalingGroup&Version=2011-01-01&AutoScalingGroupName=web\
                &ForceDelete=true";
    cloud.ask(gone);
    cloud.books().faults.clear();
    says(&mut going, "follow the Auto Scaling group `web`: there is none in us-east-1");
    wait_for("a decision that knows it", || {
        let last = decisions(&place).pop()?;
        last.reason.contains("there is none in us-east-1").then_some(())
    });
    let done = place.stopped(going).ran();
    done.says(&["the pool stays as it is"]);
    assert_eq!(count(&place, "draining: i-"), 0, "nobody is taken out");
    let decisions = decisions(&place);
    assert!(decisions.iter().all(|of| of.done == 0), "{decisions:?}");
    let last = decisions.last().unwrap();
    assert!(last.reason.contains("there is none in us-east-1"), "{last:?}");
    let told = told();
    assert!(told.iter().any(|text| text.contains("ExpiredToken")), "{told:?}");
    only_looks(&cloud);
}

#[test]
fn a_pool_that_follows_a_group_is_adopted_after_a_kill() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    make_group(&cloud, "web", 2);
    files(&place, &plan(&cloud.endpoint(), "asg:web"));
    let words = ["run", "plan.toml", "--json"];
    let mut going = begin(&place, &words);
    until(&place, (&cloud, &mut going), "ready: i-", 2);
    place.loads(&mut going);
    going.signal(Signal::KILL);
    going.wait();
    let again = place.stopped(begin(&place, &words)).ran();
    again.says(&["going on with"]);
    let adopted = again.json()["cells"][0]["figures"]["adopted"].as_f64();
    assert_eq!(adopted, Some(2.0), "{}", again.err);
    assert!(lost(&again) < 0.5, "{}", again.err);
    only_looks(&cloud);
}

#[test]
fn running_instances_with_a_tag_are_followed() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    let ids: Vec<String> = (0..4).map(|number| cloud.order(&format!("tagged-{number}"))).collect();
    let tag = |id: &str, value: &str| {
        let done = cloud.ask(&format!(
            "Action=CreateTags&Version=2016-11-15&ResourceId.1={id}&Tag.1.Key=role\
             &Tag.1.Value={value}"
        ));
        assert!(!done.contains("<Error>"), "{done}");
    };
    ids[..2].iter().for_each(|id| tag(id, "web"));
    tag(&ids[3], "db");
    files(&place, &plan(&cloud.endpoint(), "tag:role=web"));
    let mut going = begin(&place, &["run", "plan.toml", "--new", "--json"]);
    until(&place, (&cloud, &mut going), "ready: i-", 2);
    place.loads(&mut going);
    tag(&ids[2], "web");
    until(&place, (&cloud, &mut going), &format!("ready: {}", ids[2]), 1);
    // It still serves, and runs no more.
    cloud.terminate(&ids[0]);
    until(&place, (&cloud, &mut going), &format!("draining: {}", ids[0]), 1);
    let done = place.stopped(going).ran();
    assert!(lost(&done) < 0.5, "{}", done.err);
    assert_eq!(count(&place, &format!("ready: {}", ids[3])), 0);
    only_looks(&cloud);
}

#[test]
fn what_a_cloud_does_not_tell_at_the_beginning_is_refused() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    let refused = |follow: &str, code: i32, parts: &[&str]| {
        files(&place, &plan(&cloud.endpoint(), follow));
        let done = begin(&place, &["run", "plan.toml", "--new"]).wait().ended_with(code);
        done.says(parts);
        assert!(!done.err.contains("balancer-1"), "nothing is started: {}", done.err);
    };
    let parts = ["follow the Auto Scaling group `web`: there is none in us-east-1", "`region`"];
    refused("asg:web", 2, &parts);
    make_group(&cloud, "blue", 0);
    make_group(&cloud, "green", 0);
    refused("asg:web", 2, &["the groups there are blue, green"]);
    // A cell that fails is tried once more.
    for (code, part) in
        [("AuthFailure", "look at the credentials"), ("AccessDenied", "docs/ec2.md")]
    {
        cloud.will("DescribeAutoScalingGroups", &[Fault::Refused(code); 2]);
        refused("asg:blue", 4, &[code, part]);
    }
    cloud.will("DescribeInstances", &[Fault::Refused("ExpiredToken"); 2]);
    refused("tag:role=web", 4, &["ExpiredToken", "renew the credentials"]);
    only_looks(&cloud);
    let asked = cloud.books().asked.len();
    let mut command = place.command(crate::program::PLIMSOLL, &["run", "plan.toml", "--new"]);
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    command.env("AWS_EC2_METADATA_DISABLED", "true").env("HOME", place.path("home"));
    command.env_remove("AWS_PROFILE");
    place.start(command).wait().ended_with(2).says(&["AWS_ACCESS_KEY_ID is not set"]);
    assert_eq!(cloud.books().asked.len(), asked);
}

#[test]
fn a_cloud_is_named_where_one_is_followed() {
    let place = Place::weighing(Weight::WAITS);
    let endpoint = "http://127.0.0.1:9/";
    let check = |text: &str| {
        files(&place, text);
        begin(&place, &["check", "plan.toml"]).wait()
    };
    let whole = plan(endpoint, "asg:web");
    let done = check(&whole).ended_with(0);
    assert!(!done.out.contains("start web-1"), "{}", done.out);
    let region = "endpoint = 'https://cloud.example/'\nregion = 'eu-west-1'\n\
                  scaling_endpoint = 'https://cloud.example/scaling'";
    let elsewhere = whole.replace(&format!("endpoint = '{endpoint}'"), region);
    check(&elsewhere).ended_with(0);
    // Where others are rented, those that are followed cost nothing and need no image.
    let rents = whole.replace("'process'", "'ec2'\nmax = 2\nbudget = '1 USD'");
    check(&rents).ended_with(0).prints(&["for up to 0 instances"]);
    let agents = whole.replace("asg:web", "agents");
    check(&agents).ended_with(2).says(&["`endpoint` goes with the provider `ec2`", "follows"]);
    let open = whole.replace(endpoint, "http://cloud.example/");
    check(&open).ended_with(2).says(&["plain http is taken only on loopback"]);
    let open =
        whole.replace("[role.web]", "scaling_endpoint = 'http://cloud.example/'\n[role.web]");
    check(&open).ended_with(2).says(&["plain http is taken only on loopback"]);
    let old = plan(endpoint, "tag:role=web");
    let old = old.replace("[role.web]", "api_version = '2009-11-30'\n[role.web]");
    check(&old).ended_with(2).says(&["2009-11-30 of the API has no tags"]);
    let alone =
        whole.replace("follow = 'asg:web'\n", "").replace("endpoint = 'http://127.0.0.1:9/'\n", "");
    check(&alone).ended_with(2).says(&["has no `start`"]);
}
