//! Beds that stand: what they serve, what they may use, and what is left of them.

use crate::host::{Place, left_of, role};
use plimsoll_net::http::client::{Ask, Limits as Within, Plain};
use plimsoll_net::url::Url;
use plimsoll_testbed::bed::{Hears, with_bed};
use plimsoll_testbed::command::is_there;
use plimsoll_testbed::flow::Action;
use plimsoll_testbed::ledger::Ledger;
use plimsoll_testbed::recipe::{Content, Scalar};
use plimsoll_testbed::role::{Instance, Role};
use plimsoll_testbed::standing::leave_up;
use plimsoll_testbed::thing::Thing;
use plimsoll_testbed::{Bed, TestbedError};
use std::sync::Mutex;
use std::time::Duration;

fn get(instance: &Instance, path: &str) -> (u16, Vec<u8>) {
    let url = Url::parse(&format!("http://{}:{}{path}", instance.address, instance.port)).unwrap();
    let answer = Ask::get(&url).send(&Plain, Within::within(Duration::from_secs(5))).unwrap();
    (answer.status, answer.body)
}

/// Makes it stand, and checks that nothing is left of it.
fn stand(
    place: &Place,
    bed: &Bed,
    with: impl FnOnce(&[Instance]) -> Result<(), TestbedError>,
) -> Result<Vec<Action>, TestbedError> {
    let actions = Mutex::new(Vec::new());
    let told = |action: &Action| actions.lock().unwrap().push(action.clone());
    let result = with_bed(bed, &place.ledgers(), Hears { told: &told, ..Hears::NOTHING }, with);
    assert_eq!(left_of(&bed.id), Vec::<String>::new());
    assert_eq!(Ledger::all(&place.ledgers()).unwrap(), []);
    result.map(|()| actions.into_inner().unwrap())
}

fn nginx() -> Option<Role> {
    if !is_there("nginx") {
        println!("skipped: nginx is not installed");
        return None;
    }
    Some(role("web", "nginx"))
}

#[test]
fn nginx_serves_in_a_namespace_with_its_limits() {
    let place = Place::new();
    let Some(mut web) = nginx() else { return };
    web.count = 2;
    web.limits.cpu = Some(0.2);
    web.limits.memory = Some(128 << 20);
    web.sysctl.insert("net.core.somaxconn".to_owned(), "128".to_owned());
    web.vars.insert("bytes".to_owned(), Scalar::Number(100));
    let Some(bed) = place.namespaces("nginx in a namespace", vec![web]) else { return };
    let actions = stand(&place, &bed, |instances| {
        assert_eq!(instances.len(), 2);
        assert_ne!(instances[0].address, instances[1].address);
        for instance in instances {
            assert_eq!(get(instance, "/"), (200, vec![b'x'; 100]));
            let (_, status) = get(instance, "/status");
            assert!(String::from_utf8_lossy(&status).starts_with("Active connections"));
            assert!(instance.collect["nginx"].ends_with(":8080/status"));
        }
        Ok(())
    })
    .unwrap();
    let of = |name: &str| actions.iter().filter(|action| action.name == name).count();
    assert_eq!((of("make the network"), of("start it"), of("undo: start it")), (1, 2, 2));
    assert!(actions.iter().all(|action| !action.is_failed), "{actions:?}");
}

#[test]
fn the_built_in_stores_need_no_rights() {
    let place = Place::new();
    let stores = [("redis", "redis-server"), ("memcached", "memcached")];
    let there = stores.into_iter().filter(|(_, program)| is_there(program));
    let roles: Vec<Role> = there.map(|(recipe, _)| role(recipe, recipe)).collect();
    let bed = place.processes(roles);
    let done = stand(&place, &bed, |instances| {
        assert!(instances.iter().all(|instance| instance.address == "127.0.0.1"));
        Ok(())
    });
    done.unwrap();
}

#[test]
fn a_role_knows_those_before_it() {
    let place = Place::new();
    let Some(web) = nginx() else { return };
    let mut after = role("after", "nginx");
    let text = "{{role.web.address}}:{{role.web.port}}";
    after.recipe.recipe.write[1].text = Content::Template(text.to_owned());
    let Some(bed) = place.namespaces("roles that know each other", vec![web, after]) else {
        return;
    };
    let done = stand(&place, &bed, |instances| {
        let (_, page) = get(&instances[1], "/");
        let first = &instances[0];
        assert_eq!(String::from_utf8_lossy(&page), format!("{}:{}", first.address, first.port));
        Ok(())
    });
    done.unwrap();
}

#[test]
fn what_fails_while_it_stands_leaves_nothing() {
    let place = Place::new();
    let Some(web) = nginx() else { return };
    let Some(bed) = place.namespaces("a failure while it stands", vec![web]) else { return };
    let failed = stand(&place, &bed, |_| Err(TestbedError::Interrupted)).unwrap_err();
    assert!(matches!(failed, TestbedError::Interrupted));
}

/// A bed that was left stands without who made it, is used by one at a time, and goes as a whole.
#[test]
fn a_bed_that_is_left_is_found_and_used_by_one() {
    let place = Place::new();
    let Some(web) = nginx() else { return };
    let Some(bed) = place.namespaces("a bed that is left", vec![web.clone()]) else { return };
    let left = leave_up(&bed, &place.ledgers(), Hears::NOTHING, "digest").unwrap();
    let found = Ledger::all(&place.ledgers()).unwrap();
    assert!(!found[0].is_held && found[0].stood.is_some(), "{found:?}");
    let other = place.processes(vec![web]);
    assert!(other.borrow(&place.ledgers(), "another").unwrap().is_none());
    let borrowed = other.borrow(&place.ledgers(), "digest").unwrap().unwrap();
    assert_eq!((&borrowed.id, &borrowed.instances), (&bed.id, &left));
    assert_eq!(get(&borrowed.instances[0], "/").0, 200);
    assert!(other.borrow(&place.ledgers(), "digest").unwrap().is_none(), "it is in use");
    let held = Ledger::take_down(&place.ledgers(), &bed.id, false).unwrap_err();
    assert!(held.to_string().contains("goes on"), "{held}");
    drop(borrowed);
    // One whose server is dead is none.
    let process = found[0].things.iter().find_map(|thing| match thing {
        Thing::Process { pid, .. } => Some(*pid),
        _ => None,
    });
    let pid = rustix::process::Pid::from_raw(process.unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    while found[0].things.iter().all(Thing::lives) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(other.borrow(&place.ledgers(), "digest").unwrap().is_none());
    Ledger::take_down(&place.ledgers(), &bed.id, false).unwrap();
    assert_eq!(left_of(&bed.id), Vec::<String>::new());
    assert_eq!(Ledger::all(&place.ledgers()).unwrap(), []);
}

/// Commands that fill an instance run as its user, in its place, before it counts as standing; one
/// that fails or hangs is told, and undone.
#[test]
fn what_warms_an_instance_runs_in_its_place() {
    let place = Place::new();
    let Some(mut web) = nginx() else { return };
    let commands = |words: &[&[&str]]| -> Vec<Vec<String>> {
        words.iter().map(|of| of.iter().map(|&word| word.to_owned()).collect()).collect()
    };
    web.recipe.recipe.warm.run =
        commands(&[&["sh", "-c", "id -un; ls {{folder}}/pages"], &["ip", "-o", "address"]]);
    let Some(bed) = place.namespaces("an instance that is warmed", vec![web.clone()]) else {
        return;
    };
    let actions = stand(&place, &bed, |_| Ok(())).unwrap();
    let warmed = actions.iter().find(|action| action.name == "warm it").unwrap();
    let said = &warmed.output;
    assert!(said.contains("nobody") && said.contains("index.html"), "{said}");
    let address = &bed.outline().unwrap().instances[0].address;
    assert!(said.contains(address.as_str()), "{said}");

    for (words, why) in [(&["sh", "-c", "echo bad; exit 3"][..], "bad"), (&["sleep", "1000"], "1")]
    {
        web.recipe.recipe.warm.run = commands(&[words]);
        web.recipe.recipe.warm.within_s = 1;
        let bed = place.namespaces("an instance that cannot be warmed", vec![web.clone()]).unwrap();
        let failed = stand(&place, &bed, |_| Ok(())).unwrap_err().to_string();
        assert!(failed.contains(why) && failed.contains(words[0]), "{failed}");
    }
}
