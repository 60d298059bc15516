//! Images that a cloud makes of rented instances: begun when they stand in the list here, waited
//! for, started from, found by their names after a failure, and removed.

use super::proxy::{Cloud, Fault, Kind, moto};
use super::{SECRET, beds, begin, ended, files, is_in, plan};
use crate::place::Place;
use crate::program::{Done, wait_for};
use rustix::process::Signal;
use serde_json::Value;

fn bake(place: &Place, cloud: &Cloud<'_>) -> Done {
    ended(begin(place, &["testbed", "bake", "web", "plan.toml", "--json"]), cloud)
}

fn images(place: &Place) -> Vec<Value> {
    let listed = begin(place, &["testbed", "images", "--json"]).wait().ended_with(0).json();
    listed["images"].as_array().unwrap().clone()
}

fn remove(place: &Place) -> Done {
    begin(place, &["testbed", "images", "--remove", "web"]).wait()
}

/// How often something was asked for.
fn asked(cloud: &Cloud<'_>, action: &str) -> usize {
    cloud.books().asked.iter().filter(|(of, _)| of == action).count()
}

#[test]
fn an_image_is_made_by_the_cloud_started_from_and_removed() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    files(&place, &plan(&cloud.endpoint(), ""));
    cloud.will("CreateImage", &[Fault::Refused("RequestLimitExceeded")]);
    cloud.books().pending_images = 2;
    let baked = bake(&place, &cloud).ran().json();
    let own = &baked["image"]["cloud"];
    let id = own["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("ami-") && own["region"] == "us-east-1", "{baked}");
    assert!(baked["ready_ms"]["with"].as_u64().is_some(), "{baked}");
    assert_eq!((cloud.living(), cloud.states().len(), beds(&place).len()), (0, 2, 0));
    {
        let books = cloud.books();
        assert!(books.faults.is_empty() && books.pending_images == 0, "{:?}", books.asked);
        let made = books.asked.iter().find(|(action, _)| action == "CreateImage").unwrap();
        let values: Vec<&str> = made.1.values().map(String::as_str).collect();
        assert!(values.contains(&"plimsoll:bed") && values.contains(&"image"), "{values:?}");
        let last = books.asked.iter().rfind(|(action, _)| action == "RunInstances").unwrap();
        assert_eq!(last.1["ImageId"], id, "the second one starts from it");
    }
    begin(&place, &["testbed", "images"]).wait().ended_with(0).prints(&["role.web", &id]);
    // Another of that name would be forgotten.
    bake(&place, &cloud).ended_with(2).says(&["make the image `web`: there is one", "--remove"]);
    let whole = plan(&cloud.endpoint(), "").replace("count = 2", "count = 1\nimage = 'web'");
    files(&place, &whole);
    ended(begin(&place, &["run", "plan.toml", "--new"]), &cloud).ran();
    let last = {
        let books = cloud.books();
        let last = books.asked.iter().rfind(|(action, _)| action == "RunInstances");
        last.unwrap().1["ImageId"].clone()
    };
    assert_eq!(last, id);
    files(&place, &whole.replace("image = 'web'", "image = 'web'\nregion = 'eu-west-1'"));
    let elsewhere = begin(&place, &["check", "plan.toml"]).wait().ended_with(2);
    elsewhere.says(&["start from the image `web` in eu-west-1: it is in us-east-1"]);
    // A cloud that refuses leaves it in the list.
    cloud.will("DeregisterImage", &[Fault::Refused("UnauthorizedOperation")]);
    remove(&place).ended_with(4).says(&["UnauthorizedOperation"]);
    assert_eq!(images(&place).len(), 1);
    remove(&place).ended_with(0).prints(&["no image"]);
    assert!(asked(&cloud, "DeleteSnapshot") > 0, "what it lies on goes too");
    assert!(!is_in(&place.path("home"), SECRET));
}

#[test]
fn an_image_of_which_the_answer_is_lost_is_found_by_its_name() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    files(&place, &plan(&cloud.endpoint(), ""));
    cloud.will("CreateImage", &[Fault::Unanswered]);
    let baked = bake(&place, &cloud).ran().json();
    assert!(baked["image"]["cloud"]["id"].as_str().unwrap().starts_with("ami-"), "{baked}");
    assert_eq!(asked(&cloud, "CreateImage"), 1, "it is not begun twice");
    remove(&place).ended_with(0);
    // What a cloud refuses was never begun, so nothing is kept of it.
    cloud.will("CreateImage", &[Fault::Refused("UnauthorizedOperation")]);
    bake(&place, &cloud).ended_with(4).says(&["CreateImage", "docs/ec2.md"]);
    assert_eq!((images(&place).len(), cloud.living(), beds(&place).len()), (0, 0, 0));
}

#[test]
fn an_image_that_a_kill_cuts_short_is_in_the_list_and_removed() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    files(&place, &plan(&cloud.endpoint(), ""));
    cloud.books().pending_images = 1000;
    let going = begin(&place, &["testbed", "bake", "web", "plan.toml"]);
    wait_for("the image", || {
        cloud.serves();
        (asked(&cloud, "DescribeImages") > 1).then_some(())
    });
    going.signal(Signal::KILL);
    going.wait();
    cloud.books().pending_images = 0;
    assert_eq!((images(&place).len(), beds(&place).len()), (1, 1));
    let bed = beds(&place).remove(0);
    begin(&place, &["testbed", "down", &bed]).wait().ended_with(0);
    assert_eq!((cloud.living(), images(&place).len()), (0, 1), "an image is no test-bed");
    remove(&place).ended_with(0).prints(&["no image"]);
    assert_eq!(asked(&cloud, "DeregisterImage"), 1);
}
