//! Test-beds that stand from one experiment to the next: what a cell finds of the one before, what
//! a kill leaves, and what is not ours.

use crate::place::{Place, events};
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_testing::{has_instances, has_namespaces, installed};
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;

/// Redis, asked for keys of which there are none before the first cell.
const STORE: &str = "\
name = 'cold'
seed = 3
[experiment]
replications = 2
respond = ['rate']
[factor]
\"load.users\" = [1, 2]
[testbed]
provider = 'process'
[role.store]
recipe = 'redis'
[target]
url = 'redis://{{role.store.address}}:{{role.store.port}}'
[store]
records = 100
[load]
users = 1
for = '1s'
";

/// The id of the test-bed that a plan leaves standing.
fn up(place: &Place, plan: &str) -> String {
    let up = place.plimsoll(&["testbed", "up", plan, "--json"]).ended_with(0).json();
    up["id"].as_str().unwrap().to_owned()
}

#[test]
fn no_cell_profits_from_the_one_before() {
    if installed("no_cell_profits_from_the_one_before", "redis-server").is_none() {
        return;
    }
    let place = Place::new();
    place.write("plan.toml", STORE);
    let id = up(&place, "plan.toml");
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ran();
    for number in 1..=4 {
        let done = events(&place.run().join(format!("cells/{number:04}")), "testbed");
        assert_eq!(done[0], format!("uses the test-bed {id}, which stands"));
        assert!(done[1].starts_with("store-1: make it cold (service"), "{done:?}");
        assert!(done.iter().all(|text| !text.contains("start it")), "{done:?}");
    }
    place.plimsoll(&["testbed", "down", &id]).ended_with(0);
}

/// A command with ledgers of the place's own, as others of this suite have beds that stand: root's
/// ledgers are the machine's.
fn with_own_ledgers(place: &Place, words: &[&str]) -> Command {
    if !rustix::process::geteuid().is_root() {
        return place.command(PLIMSOLL, words);
    }
    let ledgers = place.path("ledgers");
    std::fs::create_dir_all(&ledgers).unwrap();
    let script = format!(
        "mkdir -p /run/plimsoll && mount --bind {} /run/plimsoll && exec \"$0\" \"$@\"",
        ledgers.display()
    );
    let mut command = place.command("unshare", &["--mount", "sh", "-c", &script, PLIMSOLL]);
    command.args(words);
    command
}

/// Who is second finds a bed that is about to be gone, or gone: that is what was wanted.
#[test]
fn a_bed_that_two_take_down_in_one_moment_is_done_for_both() {
    let is_root = rustix::process::geteuid().is_root();
    if is_root && !has_namespaces("a_bed_that_two_take_down_in_one_moment_is_done_for_both") {
        return;
    }
    let place = Place::new();
    let plan = "[testbed]\nprovider = 'process'\n[role.web]\nrecipe = 'target'\ncount = 4\n\
                [target]\nurl = 'http://{{role.web.address}}:{{role.web.port}}/'\n\
                [load]\nrate = '1/s'\nfor = '1s'\n";
    place.write("plan.toml", plan);
    for round in 0..6 {
        let up = with_own_ledgers(&place, &["testbed", "up", "plan.toml", "--json"]);
        let up = place.start(up).wait().ended_with(0).json();
        let id = up["id"].as_str().unwrap().to_owned();
        let words: [&str; 3] = ["testbed", "down", if round % 2 == 0 { "--all" } else { &id }];
        let both = [(), ()].map(|()| place.start(with_own_ledgers(&place, &words)));
        let both = both.map(crate::program::Going::wait);
        for done in &both {
            // By its id it may be gone before the other looks for it, which is told as such.
            let is_late = round % 2 == 1 && done.err.contains("no ledger has it");
            assert!(done.code() == Some(0) || is_late, "{:?}: {}", done.code(), done.err);
        }
        assert!(both.iter().any(|done| done.err.contains(&format!("{id}: undone"))));
        let status = with_own_ledgers(&place, &["testbed", "status"]);
        let status = place.start(status).wait().ended_with(0);
        assert!(!status.out.contains(&id), "{}", status.out);
    }
}

/// Killed while an instance is made cold, and while it is changed: all that was started is found,
/// the next who uses the bed begins with what the plan says, and nothing is left in the end.
#[test]
fn a_kill_in_the_midst_of_a_change_leaves_a_bed_that_is_mended_or_taken_down() {
    let place = Place::new();
    std::fs::create_dir(place.path("recipes")).unwrap();
    // Commands that go on until a file is there that is not made by it.
    let recipe = |cold: &str, reload: &str| {
        format!(
            "about = 'a page'\nport = 8080\ncheck = {{ http = '/' }}\n\
             start = ['python3', '-m', 'http.server', '--bind', '{{{{address}}}}', '{{{{port}}}}', \
             '--directory', '{{{{folder}}}}/pages']\n\
             cold = {{ run = [['sh', '-c', '{cold}']] }}\n\
             reload = {{ run = [['sh', '-c', '{reload}']] }}\n\
             [vars]\ntitle = 'one'\n[[write]]\npath = 'pages/index.html'\n\
             text = '{{{{vars.title}}}}'\n"
        )
    };
    let plan = "[experiment]\nrespond = ['rate']\n[testbed]\nprovider = 'process'\n[role.web]\n\
                recipe = 'page'\n[target]\nurl = 'http://{{role.web.address}}:{{role.web.port}}/'\n\
                [load]\nusers = 1\nfor = '1s'\n";
    if installed("a_kill_in_the_midst_of_a_change", "python3").is_none() {
        return;
    }
    place.write("plan.toml", plan);
    // The recipe stands in the frame of a bed, so that it is the same for all that follows: whether
    // its commands go on is said by a file beside it.
    let wait =
        |name: &str| format!("while [ -e {} ]; do sleep 0.05; done", place.path(name).display());
    place.write("recipes/page.toml", recipe(&wait("cold"), &wait("reload")));
    // The commands run as a user without rights, who has to see those files.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(place.path("."), open).unwrap();
    let id = up(&place, "plan.toml");
    let run = |more: &[&str]| {
        let arguments = [&["run", "plan.toml", "--new", "--quiet"], more].concat();
        place.start(place.command(PLIMSOLL, &arguments))
    };
    let status = || place.plimsoll(&["testbed", "status"]).ended_with(0).out;
    let two = ["--set", "role.web.vars.title=two"];
    for (held, what, more) in [("cold", "cold-1", &[][..]), ("reload", "reload-1", &two)] {
        place.write(held, "");
        let going = run(more);
        let is_there = || status().contains(&format!("of web-1 {what}")).then_some(());
        wait_for(&format!("{what}, which goes on"), is_there);
        going.signal(Signal::KILL);
        going.wait();
        assert!(status().contains(&format!("of web-1 {what}")), "{}", status());
        std::fs::remove_file(place.path(held)).unwrap();
        // By another who wants the same, or by one who wants what was.
        run(&[]).wait().ran();
        let done = events(&place.run(), "testbed");
        assert_eq!(done[0], format!("uses the test-bed {id}, which stands"));
        let mended = done.iter().any(|text| text.contains("a change of it was cut short"));
        assert_eq!(mended, held == "reload", "{done:?}");
        // Beds of other tests stand in the same list.
        assert!(!status().contains(&format!("of web-1 {what}")), "{}", status());
    }
    // Killed in the midst, it is taken down as a whole.
    place.write("reload", "");
    let going = run(&two);
    wait_for("a reload that goes on", || status().contains("reload-1").then_some(()));
    going.signal(Signal::KILL);
    going.wait();
    let down = place.plimsoll(&["testbed", "down", &id]).ended_with(0);
    assert!(
        down.out.contains("of web-1 reload-1") && down.out.contains("of web-1\n"),
        "{}",
        down.out
    );
    assert!(!status().contains(&id), "{}", status());
}

/// Runs a command as the host's administrator would.
fn by_hand(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).status().is_ok_and(|status| status.success())
}

/// What has a name as ours have, and stands in no ledger, is told and left alone: nothing proves it
/// ours.
#[test]
fn what_has_our_name_and_no_ledger_is_listed_and_left_alone() {
    if !has_instances("what_has_our_name_and_no_ledger_is_listed_and_left_alone") {
        return;
    }
    let place = Place::new();
    let namespace = "pl-zz9test-web-1";
    let link = "plzz9test";
    let ours = ["ip", "link", "add", link, "type", "bridge"];
    let is_made = by_hand(&["ip", "netns", "add", namespace]) && by_hand(&ours);
    if !is_made {
        by_hand(&["ip", "netns", "delete", namespace]);
    }
    assert!(is_made, "this host can have namespaces and bridges");
    by_hand(&["ip", "link", "set", link, "alias", "plimsoll zz9test"]);
    // One that begins alike and does not say that it is ours is anybody's.
    by_hand(&["ip", "link", "add", "plzz9other", "type", "bridge"]);
    let cgroup = Path::new("/sys/fs/cgroup/cpu/plimsoll-zz9test-web-1");
    let has_cgroup = std::fs::create_dir(cgroup).is_ok();
    let listed = || {
        let status = place.plimsoll(&["testbed", "status", "--json"]).ended_with(0).json();
        let all = status["without_ledger"].as_array().unwrap().clone();
        let is_its = |of: &&serde_json::Value| of.as_str().unwrap().contains("zz9");
        let mut its: Vec<String> =
            all.iter().filter(is_its).map(|of| of.as_str().unwrap().to_owned()).collect();
        its.sort();
        its
    };
    // With ledgers of its own, so that other users' beds of this host are left alone.
    let down_all = || {
        let script = "mkdir -p /run/plimsoll && mount -t tmpfs none /run/plimsoll && \
                      exec \"$0\" testbed down --all";
        place.start(place.command("unshare", &["--mount", "sh", "-c", script, PLIMSOLL])).wait()
    };
    let mut expected =
        vec![format!("network interface {link}"), format!("network namespace {namespace}")];
    if has_cgroup {
        expected.insert(0, "cgroup plimsoll-zz9test-web-1".to_owned());
    }
    let before = listed();
    let text = place.plimsoll(&["testbed", "status"]).ended_with(0).out;
    let down = down_all();
    let force = place.plimsoll(&["testbed", "down", "zz9test", "--force"]);
    let after = listed();
    // Taken away before anything is asserted, so that a failure leaves nothing either.
    by_hand(&["ip", "netns", "delete", namespace]);
    by_hand(&["ip", "link", "delete", link]);
    by_hand(&["ip", "link", "delete", "plzz9other"]);
    if has_cgroup {
        std::fs::remove_dir(cgroup).unwrap();
    }
    assert_eq!(before, expected);
    assert!(text.contains("in no ledger, and left alone"), "{text}");
    let down = down.ended_with(0);
    assert_eq!((down.out.as_str(), after), ("", expected), "{}", down.err);
    force.ended_with(2).says(&["no ledger has it"]);
}
