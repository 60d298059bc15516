//! Beds that were left standing: found, used by one at a time, made cold, reloaded and made anew in
//! their places.

use crate::host::{Place, get, left_of, nginx, role};
use plimsoll_testbed::bed::Hears;
use plimsoll_testbed::down::Means;
use plimsoll_testbed::ledger::Ledger;
use plimsoll_testbed::recipe::Scalar;
use plimsoll_testbed::role::{CopiedFile, Instance, Role};
use plimsoll_testbed::standing::{Borrowed, leave_up};
use plimsoll_testbed::thing::Thing;
use plimsoll_testbed::{Bed, TestbedError};
use plimsoll_testing::{installed, wait_until};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Takes a bed down, and checks that nothing is left of it.
fn nothing_is_left(place: &Place, bed: &Bed) {
    Ledger::take_down(&place.ledgers(), &bed.id, false, &Means::default()).unwrap();
    assert_eq!(left_of(&bed.id), Vec::<String>::new());
    assert_eq!(Ledger::all(&place.ledgers()).unwrap(), []);
}

/// The bed that stands, borrowed for roles as these.
fn borrow(place: &Place, bed: &mut Bed, roles: &[Role]) -> Borrowed {
    bed.roles = roles.to_vec();
    bed.borrow(&place.ledgers(), "frame").unwrap().expect("a bed that stands")
}

/// The processes that the ledger has, by the names of their instances.
fn processes(place: &Place) -> Vec<(String, u32)> {
    let things = Ledger::all(&place.ledgers()).unwrap().remove(0).things;
    let process = |thing: Thing| match thing {
        Thing::Process { instance, pid, .. } => Some((instance, pid)),
        _ => None,
    };
    things.into_iter().filter_map(process).collect()
}

/// What a store says to a line: up to its first line.
fn said(instance: &Instance, line: &str) -> String {
    let stream = TcpStream::connect((instance.address.as_str(), instance.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (&stream).write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer.trim_end().to_owned()
}

/// A bed that was left stands without who made it, is used by one at a time, and goes as a whole.
#[test]
fn a_bed_that_is_left_is_found_and_used_by_one() {
    let test = "a_bed_that_is_left_is_found_and_used_by_one";
    let place = Place::new();
    let Some(web) = nginx(test) else { return };
    let Some(bed) = place.namespaces(test, vec![web]) else { return };
    let left = leave_up(&bed, &place.ledgers(), Hears::NOTHING, "frame").unwrap();
    let found = Ledger::all(&place.ledgers()).unwrap();
    assert!(!found[0].is_held && found[0].stood.is_some(), "{found:?}");
    assert!(bed.borrow(&place.ledgers(), "another").unwrap().is_none());
    let borrowed = bed.borrow(&place.ledgers(), "frame").unwrap().unwrap();
    assert_eq!((&borrowed.id, &borrowed.instances), (&bed.id, &left));
    assert_eq!(borrowed.changes(), Vec::<String>::new());
    assert_eq!(get(&borrowed.instances[0], "/").0, 200);
    assert!(bed.borrow(&place.ledgers(), "frame").unwrap().is_none(), "it is in use");
    let held = Ledger::take_down(&place.ledgers(), &bed.id, false, &Means::default()).unwrap_err();
    assert!(held.to_string().contains("goes on"), "{held}");
    drop(borrowed);
    // A server that has ended is made anew.
    let process = found[0].things.iter().find_map(|thing| match thing {
        Thing::Process { pid, .. } => Some(*pid),
        _ => None,
    });
    let pid = rustix::process::Pid::from_raw(process.unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_until("its end", || !found[0].things.iter().all(Thing::lives));
    let mut bed = bed;
    let roles = bed.roles.clone();
    let mut borrowed = borrow(&place, &mut bed, &roles);
    assert_eq!(borrowed.changes(), ["web-1 is made anew: it does not run"]);
    borrowed.renew(&bed, Hears::NOTHING).unwrap();
    assert_eq!(get(&borrowed.instances[0], "/").0, 200);
    drop(borrowed);
    nothing_is_left(&place, &bed);
}

/// nginx serves on by the same process, with the pages and settings of its new files, and without
/// those that it has no more. One that refuses its files is told with its words, and passes for
/// nothing until it is made anew.
#[test]
fn nginx_takes_its_files_anew_while_it_runs() {
    let test = "nginx_takes_its_files_anew_while_it_runs";
    let place = Place::new();
    let Some(mut web) = nginx(test) else { return };
    web.vars.insert("bytes".to_owned(), Scalar::Number(100));
    let from = place.path().join("motd");
    std::fs::write(&from, "hello").unwrap();
    let motd =
        |path: &str| CopiedFile { path: path.to_owned(), from: from.clone(), is_secret: false };
    web.files = vec![motd("pages/one")];
    for provider in ["process", "namespace"] {
        let bed = match provider {
            "process" => Some(place.processes(vec![web.clone()])),
            _ => place.namespaces(test, vec![web.clone()]),
        };
        let Some(mut bed) = bed else { continue };
        let left = leave_up(&bed, &place.ledgers(), Hears::NOTHING, "frame").unwrap().remove(0);
        let before = processes(&place);
        assert_eq!(get(&left, "/one"), (200, b"hello".to_vec()));

        let mut other = web.clone();
        other.vars.insert("bytes".to_owned(), Scalar::Number(200));
        other.vars.insert("workers".to_owned(), Scalar::Number(2));
        other.files = vec![motd("pages/two")];
        let others = [other.clone()];
        let mut borrowed = borrow(&place, &mut bed, &others);
        assert_eq!(borrowed.changes(), ["web-1 is reloaded: its files differ"], "{provider}");
        borrowed.renew(&bed, Hears::NOTHING).unwrap();
        assert_eq!(get(&left, "/"), (200, vec![b'x'; 200]), "{provider}");
        assert_eq!((get(&left, "/two").0, get(&left, "/one").0), (200, 404), "{provider}");
        assert_eq!(processes(&place), before, "it is the same process");
        drop(borrowed);
        // It is that now, also for who comes next; what a file holds counts, not its name.
        assert_eq!(borrow(&place, &mut bed, &others).changes(), Vec::<String>::new());
        std::fs::write(&from, "good day").unwrap();
        let mut borrowed = borrow(&place, &mut bed, &others);
        borrowed.renew(&bed, Hears::NOTHING).unwrap();
        drop(borrowed);
        assert_eq!(get(&left, "/two").1, b"good day");
        std::fs::write(&from, "hello").unwrap();

        let mut wrong = web.clone();
        wrong.vars.insert("workers".to_owned(), Scalar::Number(-1));
        let mut borrowed = borrow(&place, &mut bed, &[wrong]);
        let refused = borrowed.renew(&bed, Hears::NOTHING).unwrap_err();
        assert!(matches!(refused, TestbedError::Failed { .. }), "{refused}");
        let told = format!("{refused:?}");
        assert!(told.contains("nginx -t") && told.contains("worker_processes"), "{told}");
        drop(borrowed);
        let mut borrowed = borrow(&place, &mut bed, std::slice::from_ref(&web));
        assert_eq!(borrowed.changes(), ["web-1 is made anew: a change of it was cut short"]);
        borrowed.renew(&bed, Hears::NOTHING).unwrap();
        drop(borrowed);
        assert_eq!(get(&left, "/"), (200, vec![b'x'; 100]), "{provider}");
        assert_eq!((get(&left, "/two").0, get(&left, "/one").0), (404, 200), "{provider}");
        assert_ne!(processes(&place), before, "it is another process");
        nothing_is_left(&place, &bed);
    }
}

/// A server that keeps its workers has not taken its files, whatever it was sent.
#[test]
fn a_reload_that_is_not_done_is_told() {
    let place = Place::new();
    let Some(mut web) = nginx("a_reload_that_is_not_done_is_told") else { return };
    let reload = web.recipe.recipe.reload.as_mut().unwrap();
    (reload.run, reload.within_s) = (Vec::new(), 1);
    let mut bed = place.processes(vec![web.clone()]);
    let left = leave_up(&bed, &place.ledgers(), Hears::NOTHING, "frame").unwrap().remove(0);
    // Nobody looked at the files before nginx did, which goes on with the old ones.
    let mut wrong = web;
    wrong.vars.insert("workers".to_owned(), Scalar::Number(-1));
    let mut borrowed = borrow(&place, &mut bed, &[wrong]);
    let late = borrowed.renew(&bed, Hears::NOTHING).unwrap_err();
    assert!(late.to_string().contains("wait for the end of its processes of before"), "{late}");
    assert_eq!(get(&left, "/").0, 200);
    drop(borrowed);
    nothing_is_left(&place, &bed);
}

/// Stores forget what they hold and stay the processes that they are; with another command, or
/// other files and no way to take them, they are others at the same place.
#[test]
fn stores_are_made_cold_and_made_anew_in_their_places() {
    let place = Place::new();
    let stores = [
        ("redis", "redis-server", "set k v", "get k", "$-1", "memory"),
        ("memcached", "memcached", "set k 0 0 1\r\nv", "get k", "END", "memory_mb"),
    ];
    for (recipe, program, set, get, gone, var) in stores {
        let test = "stores_are_made_cold_and_made_anew_in_their_places";
        if installed(test, program).is_none() {
            continue;
        }
        let store = role("store", recipe);
        let mut bed = place.processes(vec![store.clone()]);
        let left = leave_up(&bed, &place.ledgers(), Hears::NOTHING, "frame").unwrap().remove(0);
        let before = processes(&place);
        for _ in 0..2 {
            said(&left, set);
            assert_ne!(said(&left, get), gone, "{recipe}");
            let mut borrowed = borrow(&place, &mut bed, std::slice::from_ref(&store));
            borrowed.renew(&bed, Hears::NOTHING).unwrap();
            assert_ne!(said(&left, get), gone, "{recipe}: nothing was to be changed");
            borrowed.chill(&bed, Hears::NOTHING).unwrap();
            assert_eq!(said(&left, get), gone, "{recipe}");
            assert_eq!(processes(&place), before, "{recipe}");
        }
        said(&left, set);
        let mut other = store.clone();
        let value =
            if recipe == "redis" { Scalar::Text("32mb".to_owned()) } else { Scalar::Number(32) };
        other.vars.insert(var.to_owned(), value);
        let mut borrowed = borrow(&place, &mut bed, &[other]);
        let changes = borrowed.changes();
        let why = if recipe == "redis" { "has no `reload`" } else { "its command differs" };
        assert!(
            changes[0].contains("store-1 is made anew") && changes[0].contains(why),
            "{changes:?}"
        );
        borrowed.renew(&bed, Hears::NOTHING).unwrap();
        let after = processes(&place);
        assert_eq!((after.len(), said(&left, get).as_str()), (1, gone), "{recipe}");
        assert_ne!(after, before, "{recipe}");
        // What was made anew is made cold and anew by the same hand.
        said(&left, set);
        borrowed.chill(&bed, Hears::NOTHING).unwrap();
        assert_eq!(said(&left, get), gone, "{recipe}");
        said(&left, set);
        borrowed.restart(&bed, Hears::NOTHING).unwrap();
        assert_eq!(said(&left, get), gone, "{recipe}");
        assert_ne!(processes(&place), after, "{recipe}");
        drop(borrowed);
        nothing_is_left(&place, &bed);
    }
}

/// What a killed user of a bed has left of a command is ended and forgotten by the next.
#[test]
fn what_a_killed_user_has_left_is_cleared_away() {
    let place = Place::new();
    let Some(web) = nginx("what_a_killed_user_has_left_is_cleared_away") else { return };
    let mut bed = place.processes(vec![web.clone()]);
    let left = leave_up(&bed, &place.ledgers(), Hears::NOTHING, "frame").unwrap().remove(0);
    let ledger = Ledger::hold(&place.ledgers(), &bed.id).unwrap().unwrap().ledger;
    let mut command = std::process::Command::new("sleep");
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.arg("1000").spawn().unwrap();
    let started = plimsoll_testbed::thing::started_at(child.id()).unwrap();
    let instance = "web-1 cold-1".to_owned();
    ledger.will_make(&Thing::Process { instance, pid: child.id(), started }).unwrap();
    let gone = Thing::Process { instance: "web-1 cold-2".to_owned(), pid: child.id(), started: 1 };
    ledger.will_make(&gone).unwrap();
    drop(ledger);
    drop(borrow(&place, &mut bed, std::slice::from_ref(&web)));
    assert!(!child.wait().unwrap().success(), "it was ended");
    let names: Vec<String> = processes(&place).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["web-1"]);
    assert_eq!(get(&left, "/").0, 200);
    nothing_is_left(&place, &bed);
}
