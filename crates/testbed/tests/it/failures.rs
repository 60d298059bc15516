//! Every step of nginx in a namespace, made to fail once and to hang once: it is told which and
//! why, and the host is as it was before. And what a killed process leaves is found and undone.

use crate::host::{Place, host_of, left_of, nginx, role};
use plimsoll_testbed::bed::{Hears, with_bed, with_steps};
use plimsoll_testbed::command::Words;
use plimsoll_testbed::down::Means;
use plimsoll_testbed::flow::Action;
use plimsoll_testbed::launch::Order;
use plimsoll_testbed::ledger::Ledger;
use plimsoll_testbed::outline::Outline;
use plimsoll_testbed::recipe::Content;
use plimsoll_testbed::role::Role;
use plimsoll_testbed::thing::{Thing, started_at};
use plimsoll_testbed::{Bed, Op, TestbedError};
use plimsoll_testing::{installed, wait_until};
use std::sync::Mutex;
use std::time::Duration;

/// Why it failed, and the actions that did.
fn fails(what: &str, change: impl FnOnce(&mut Role)) -> Option<(TestbedError, Vec<Action>)> {
    installed(what, "nginx")?;
    let place = Place::new();
    let mut web = role("web", "nginx");
    web.recipe.recipe.check.within_s = 1;
    change(&mut web);
    let bed = place.namespaces(what, vec![web])?;
    let actions = Mutex::new(Vec::new());
    let told = |action: &Action| actions.lock().unwrap().push(action.clone());
    let result = with_bed(&bed, &place.ledgers(), Hears { told: &told, ..Hears::NOTHING }, |_| {
        Ok::<(), TestbedError>(())
    });
    assert_eq!(left_of(&bed.id), Vec::<String>::new(), "{what}");
    assert_eq!(Ledger::all(&place.ledgers()).unwrap(), [], "{what}");
    let failed = actions.into_inner().unwrap().into_iter().filter(|action| action.is_failed);
    Some((result.unwrap_err(), failed.collect()))
}

/// Every step of nginx, in a namespace with limits, is made to fail and to hang: before it has done
/// anything, between any two things that it does, and after all. It is told which step it was and
/// why, nothing else is begun, and the host is as it was before.
#[test]
fn each_step_that_fails_or_hangs_is_told_and_undone() {
    let test = "each_step_that_fails_or_hangs_is_told_and_undone";
    let place = Place::new();
    let Some(mut web) = nginx(test) else { return };
    web.limits.cpu = Some(0.5);
    web.limits.memory = Some(128 << 20);
    let Some(bed) = place.namespaces(test, vec![web]) else { return };
    let whole = bed.outline().unwrap();
    let names: Vec<&str> = whole.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["make the network", "make its place", "start it", "wait for it"]);
    let before = host_of(&bed.id);
    for (step, planned) in whole.steps.iter().enumerate() {
        for at in 0..=planned.ops.len() {
            for words in [&["false"][..], &["sleep", "1000"]] {
                let is_hung = words.len() > 1;
                if is_hung && at != 0 && at != planned.ops.len() {
                    continue;
                }
                let mut outline = whole.clone();
                let thing = Thing::Folder { path: place.path().join("nothing") };
                let fault = Op::Make { thing, by: vec![Words::of(words)] };
                outline.steps[step].ops.insert(at, fault);
                if is_hung {
                    outline.steps[step].limit = Duration::from_secs(1);
                }
                fails_at(&place, &bed, &outline, &format!("{} at {at}: {words:?}", planned.name));
                assert_eq!(host_of(&bed.id), before, "{} at {at}: {words:?}", planned.name);
            }
        }
    }
}

/// Makes a bed of which a step fails.
fn fails_at(place: &Place, bed: &Bed, outline: &Outline, what: &str) {
    let actions = Mutex::new(Vec::new());
    let told = |action: &Action| actions.lock().unwrap().push(action.clone());
    let hears = Hears { told: &told, ..Hears::NOTHING };
    let stood = with_steps(bed, outline, &place.ledgers(), hears, |_| Ok::<(), TestbedError>(()));
    let error = stood.expect_err(what);
    assert_eq!(left_of(&bed.id), Vec::<String>::new(), "{what}");
    assert_eq!(Ledger::all(&place.ledgers()).unwrap(), [], "{what}");
    let actions = actions.into_inner().unwrap();
    let failed: Vec<&Action> = actions.iter().filter(|action| action.is_failed).collect();
    let [failed] = failed[..] else { panic!("{what}: {actions:?}") };
    let step = what.split(" at ").next().unwrap();
    assert_eq!(failed.name, step, "{what}");
    let why = if what.contains("sleep") { "had not ended after 1" } else { "exit code 1" };
    assert!(failed.output.contains(why) && error.to_string().contains(why), "{what}: {error}");
    // Nothing was begun that stands on it.
    let undoes =
        |of: &str| ["undo: ", "stop it", "remove "].iter().any(|word| of.starts_with(word));
    let begun = actions.iter().rev().find(|action| !undoes(&action.name));
    assert_eq!(begun.map(|action| action.name.as_str()), Some(step), "{what}");
}

#[test]
fn a_setting_of_the_kernel_that_it_refuses() {
    let set = |web: &mut Role| {
        web.sysctl.insert("net.core.no_such".to_owned(), "1".to_owned());
    };
    let Some((error, failed)) = fails("a_setting_of_the_kernel_that_it_refuses", set) else {
        return;
    };
    assert!(error.to_string().contains("net.core.no_such=1"), "{error}");
    assert_eq!(failed[0].name, "make its place");
    assert_eq!(failed[0].instance, "web-1");
}

#[test]
fn a_limit_that_the_kernel_refuses() {
    let set = |web: &mut Role| web.limits.cpuset = Some("4711".to_owned());
    let Some((error, failed)) = fails("a_limit_that_the_kernel_refuses", set) else { return };
    assert!(error.to_string().contains("cpuset.cpus"), "{error}");
    assert_eq!(failed[0].name, "make its place");
}

#[test]
fn a_server_that_ends_at_once() {
    let set = |web: &mut Role| {
        web.recipe.recipe.write[0].text = Content::Template("nonsense;".to_owned());
    };
    let Some((error, failed)) = fails("a_server_that_ends_at_once", set) else { return };
    let text = error.to_string();
    assert!(text.starts_with("start web-1: it ended with exit code 1: "), "{text}");
    assert!(text.contains("nonsense"), "{text}");
    assert_eq!(failed[0].name, "wait for it");
}

#[test]
fn a_server_that_never_listens() {
    let hang = ["sleep", "1000"].map(str::to_owned).to_vec();
    let set = |web: &mut Role| web.recipe.recipe.start = hang;
    let Some((error, failed)) = fails("a_server_that_never_listens", set) else { return };
    assert!(matches!(error, TestbedError::TooLong { .. }), "{error}");
    assert_eq!((failed.len(), failed[0].name.as_str()), (1, "wait for it"));
}

#[test]
fn a_server_that_does_not_end_is_killed() {
    let stubborn = ["sh", "-c", "trap '' TERM QUIT; while :; do sleep 1; done"];
    let set = |web: &mut Role| {
        web.recipe.recipe.start = stubborn.map(str::to_owned).to_vec();
        web.recipe.recipe.stop.within_s = 1;
    };
    let Some((error, _)) = fails("a_server_that_does_not_end_is_killed", set) else { return };
    assert!(matches!(error, TestbedError::TooLong { .. }), "{error}");
}

#[test]
fn an_answer_that_is_an_error_is_not_ready() {
    let set = |web: &mut Role| web.recipe.recipe.check.http = Some("/none".to_owned());
    let Some((error, _)) = fails("an_answer_that_is_an_error_is_not_ready", set) else { return };
    assert!(matches!(error, TestbedError::TooLong { .. }), "{error}");
}

#[test]
fn a_program_that_is_not_there_is_told_with_its_package() {
    let place = Place::new();
    let mut web = role("web", "nginx");
    web.recipe.recipe.start[0] = "nginy".to_owned();
    let bed = place.processes(vec![web]);
    let result = with_bed(&bed, &place.ledgers(), Hears::NOTHING, |_| Ok::<(), TestbedError>(()));
    let error = result.unwrap_err();
    let hint = plimsoll_units::failure::Failure::hint(&error);
    assert_eq!(hint.as_deref(), Some("apt-get install nginx-light"), "{error}");
    assert!(!place.ledgers().exists());
}

#[test]
fn what_a_process_cannot_limit_is_refused_by_name() {
    let place = Place::new();
    let mut web = role("web", "nginx");
    web.limits.memory = Some(1);
    let error = place.processes(vec![web]).outline().unwrap_err();
    assert!(error.to_string().contains("role.web.memory"), "{error}");
    let mut web = role("web", "nginx");
    web.sysctl.insert("vm.swappiness".to_owned(), "1".to_owned());
    if let Some(bed) = place.namespaces("what_a_process_cannot_limit_is_refused_by_name", vec![web])
    {
        let error = bed.outline().unwrap_err();
        assert!(error.to_string().contains("whole host's"), "{error}");
    }
}

/// A process that waits is in the ledger before it is anything; killed in between, nothing of it is
/// left, and one that was started is found by the ledger alone.
#[test]
fn between_ledger_and_start_nothing_can_be_lost() {
    let place = Place::new();
    let bed = place.processes(Vec::new());
    let output = std::fs::File::create(place.path().join("output")).unwrap();
    let waiting = bed.launcher.begin(place.path(), &output).unwrap();
    let pid = waiting.pid();
    drop(waiting);
    let is_over = || started_at(pid).is_none() || is_zombie(pid);
    wait_until("it has ended by itself", is_over);

    let ledger = Ledger::create(&place.ledgers(), &bed.id).unwrap();
    let waiting = bed.launcher.begin(place.path(), &output).unwrap();
    let (pid, started) = (waiting.pid(), started_at(waiting.pid()).unwrap());
    let thing = Thing::Process { instance: "a-1".to_owned(), pid, started };
    ledger.will_make(&thing).unwrap();
    let words = ["sleep", "1000"].map(str::to_owned).to_vec();
    let order = Order { words, ..Order::default() };
    let mut child = waiting.go(&order).unwrap();
    // The number and the time of its start are what they were.
    assert_eq!(started_at(pid), Some(started));
    drop(ledger);
    assert_eq!(
        Ledger::take_down(&place.ledgers(), &bed.id, false, &Means::default()).unwrap(),
        [thing]
    );
    assert!(!child.wait().unwrap().success());
}

fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") Z ")
}
