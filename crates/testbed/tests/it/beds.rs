//! Beds that stand: what they serve, what they may use, and what is left of them.

use crate::host::{Place, get, left_of, nginx, role};
use plimsoll_testbed::bed::{Hears, with_bed};
use plimsoll_testbed::flow::Action;
use plimsoll_testbed::ledger::Ledger;
use plimsoll_testbed::recipe::{Content, Scalar};
use plimsoll_testbed::role::{Instance, Role};
use plimsoll_testbed::{Bed, TestbedError};
use plimsoll_testing::installed;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

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

#[test]
fn nginx_serves_in_a_namespace_with_its_limits() {
    let test = "nginx_serves_in_a_namespace_with_its_limits";
    let place = Place::new();
    let Some(mut web) = nginx(test) else { return };
    web.count = 2;
    web.limits.cpu = Some(0.2);
    web.limits.memory = Some(128 << 20);
    web.sysctl.insert("net.core.somaxconn".to_owned(), "128".to_owned());
    web.vars.insert("bytes".to_owned(), Scalar::Number(100));
    let Some(bed) = place.namespaces(test, vec![web]) else { return };
    let actions = stand(&place, &bed, |instances| {
        assert_eq!(instances.len(), 2);
        assert_ne!(instances[0].address, instances[1].address);
        for instance in instances {
            assert_eq!(get(instance, "/"), (200, vec![b'x'; 100]));
            let (_, status) = get(instance, "/status");
            assert!(String::from_utf8_lossy(&status).starts_with("Active connections"));
            assert!(instance.collect["nginx"].ends_with(":8080/status"));
            // Who has an address has its hardware address, too: who has it next is known already.
            let octets = instance.address.parse::<std::net::Ipv4Addr>().unwrap().octets();
            let hardware = octets.map(|octet| format!("{octet:02x}")).join(":");
            let known = std::fs::read_to_string("/proc/net/arp").unwrap();
            let row = known.lines().find(|row| row.starts_with(&format!("{} ", instance.address)));
            assert!(row.unwrap().contains(&format!("02:50:{hardware}")), "{known}");
        }
        Ok(())
    })
    .unwrap();
    let of = |name: &str| actions.iter().filter(|action| action.name == name).count();
    assert_eq!((of("make the network"), of("start it"), of("stop it")), (1, 2, 2));
    assert!(actions.iter().all(|action| !action.is_failed), "{actions:?}");
}

#[test]
fn the_built_in_stores_need_no_rights() {
    let place = Place::new();
    let stores = [("redis", "redis-server"), ("memcached", "memcached")];
    let test = "the_built_in_stores_need_no_rights";
    let there = stores.into_iter().filter(|(_, program)| installed(test, program).is_some());
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
    let test = "a_role_knows_those_before_it";
    let place = Place::new();
    let Some(web) = nginx(test) else { return };
    let mut after = role("after", "nginx");
    let text = "{{role.web.address}}:{{role.web.port}}";
    after.recipe.recipe.write[1].text = Content::Template(text.to_owned());
    let Some(bed) = place.namespaces(test, vec![web, after]) else {
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
    let test = "what_fails_while_it_stands_leaves_nothing";
    let place = Place::new();
    let Some(web) = nginx(test) else { return };
    let Some(bed) = place.namespaces(test, vec![web]) else { return };
    let failed = stand(&place, &bed, |_| Err(TestbedError::Interrupted)).unwrap_err();
    assert!(matches!(failed, TestbedError::Interrupted));
}

/// A server may start what makes a session of its own and does not end when it is asked to: it goes
/// with the server, whether that ends in time, has to be killed, or was killed by somebody else.
#[test]
fn what_a_server_has_started_ends_with_it() {
    let place = Place::new();
    if installed("what_a_server_has_started_ends_with_it", "memcached").is_none() {
        return;
    }
    let open = place.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let child = open.join("child").display().to_string();
    for (ends, is_killed) in
        [("trap 'kill $!; exit 0' TERM", false), ("trap '' TERM", false), ("trap '' TERM", true)]
    {
        let script = format!(
            "setsid sh -c 'trap \"\" TERM; echo $$ > {child}; while :; do sleep 1; done' & {ends}; \
             until test -s {child}; do sleep 0.01; done; \
             memcached -u nobody -l {{{{address}}}} -p {{{{port}}}} & wait; wait"
        );
        let mut store = role("store", "memcached");
        store.recipe.recipe.start = ["sh", "-c", &script].map(str::to_owned).to_vec();
        store.recipe.recipe.stop.within_s = 1;
        let runs = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        let mut pid = String::new();
        let _ = std::fs::remove_file(&child);
        let done = stand(&place, &place.processes(vec![store]), |_| {
            pid = std::fs::read_to_string(&child).unwrap().trim().to_owned();
            assert!(runs(&pid), "{pid}");
            if is_killed {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
                let parent = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap();
                let parent = Pid::from_raw(parent.parse().unwrap()).unwrap();
                kill_process(parent, Signal::KILL).unwrap();
            }
            Ok(())
        });
        done.unwrap();
        assert!(!runs(&pid), "{ends} {is_killed}");
    }
}

/// Commands that fill an instance run as its user, in its place, before it counts as standing; one
/// that fails or hangs is told, and undone.
#[test]
fn what_warms_an_instance_runs_in_its_place() {
    let test = "what_warms_an_instance_runs_in_its_place";
    let place = Place::new();
    let Some(mut web) = nginx(test) else { return };
    let commands = |words: &[&[&str]]| -> Vec<Vec<String>> {
        words.iter().map(|of| of.iter().map(|&word| word.to_owned()).collect()).collect()
    };
    web.recipe.recipe.warm.run =
        commands(&[&["sh", "-c", "id -un; ls {{folder}}/pages"], &["ip", "-o", "address"]]);
    let Some(bed) = place.namespaces(test, vec![web.clone()]) else {
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
        let bed = place.namespaces(test, vec![web.clone()]).unwrap();
        let failed = stand(&place, &bed, |_| Ok(())).unwrap_err().to_string();
        assert!(failed.contains(why) && failed.contains(words[0]), "{failed}");
    }
}
