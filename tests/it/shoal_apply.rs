//! `plimsoll shoal client --apply`: a file of settings before and after, and what is refused.

use crate::place::Place;
use crate::program::Done;
use plimsoll_testing::Weight;

/// Sets a list in a file; no registry answers, so the list is what is set.
fn apply(place: &Place, file: &str, more: &[&str]) -> Done {
    let list = ["--fallback", "http://site.example:3128;DIRECT"];
    let asked = ["shoal", "client", "--server", "http://127.0.0.1:1", "--object", "none"];
    place.plimsoll(&[&asked[..], &list, &["--apply", "--file", file], more].concat())
}

#[test]
fn only_the_value_changes_and_a_rehearsal_shows_how() {
    let place = Place::weighing(Weight::WAITS);
    let text = "Q=2; CVMFS_HTTP_PROXY='http://a:1;\nhttp://b:2' # ours\nC=3\n";
    place.write("local.conf", text);
    let done = apply(&place, "local.conf", &["--dry-run"]).ended_with(0);
    done.says(&[
        "@@ -1,2 +1 @@",
        "+Q=2; CVMFS_HTTP_PROXY=\"http://site.example:3128;DIRECT\" # ours",
    ]);
    assert_eq!(std::fs::read_to_string(place.path("local.conf")).unwrap(), text);
    apply(&place, "local.conf", &[]).ended_with(0).says(&["local.conf was written"]);
    let new = "Q=2; CVMFS_HTTP_PROXY=\"http://site.example:3128;DIRECT\" # ours\nC=3\n";
    assert_eq!(std::fs::read_to_string(place.path("local.conf")).unwrap(), new);
    let again = apply(&place, "local.conf", &["--json"]).ended_with(0);
    let outcome: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&outcome["changed"], &outcome["difference"]), (&false.into(), &"".into()));
}

#[test]
fn a_file_that_does_more_is_refused_and_left_as_it_was() {
    let place = Place::weighing(Weight::WAITS);
    let text = "A=$(touch mark)\nCVMFS_HTTP_PROXY=x\n";
    place.write("local.conf", text);
    apply(&place, "local.conf", &[]).ended_with(2).says(&[
        "failed to set CVMFS_HTTP_PROXY in local.conf: line 1 holds a command substitution",
        "hint: set CVMFS_HTTP_PROXY in line 2 by hand",
    ]);
    assert_eq!(std::fs::read_to_string(place.path("local.conf")).unwrap(), text);
    assert!(!place.path("mark").exists() && !place.path("local.conf.shoal").exists());
}

#[test]
fn no_cache_and_no_list_end_with_4() {
    let place = Place::weighing(Weight::WAITS);
    let asked = ["shoal", "client", "--server", "http://127.0.0.1:1", "--object", "none"];
    let done = place.plimsoll(&[&asked[..], &["--file", "none.conf"]].concat()).ended_with(4);
    done.says(&["failed to find a cache that delivers: http://127.0.0.1:1/", "hint: --fallback"]);
}

/// A program in the place of `cvmfs_talk`, which is not installed here: it notes what it is told.
fn talker(place: &Place) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let told = place.path("told");
    let script = format!("#!/bin/sh\nprintf '%s|' \"$@\" >>'{}'\n", told.display());
    let program = place.write("cvmfs_talk", script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.to_str().unwrap().to_owned()
}

#[test]
fn file_systems_that_are_mounted_are_told_of_what_is_new() {
    let place = Place::weighing(Weight::WAITS);
    let program = talker(&place);
    let told = || std::fs::read_to_string(place.path("told")).unwrap_or_default();
    let more = ["--talk", "--talk-by", &program];
    apply(&place, "local.conf", &more).ended_with(0).says(&["mounted file systems were told"]);
    let once = "proxy|set|http://site.example:3128;DIRECT|";
    assert_eq!(told(), once);
    apply(&place, "local.conf", &more).ended_with(0);
    assert_eq!(told(), once, "nothing was new");
    let nobody = ["--talk", "--talk-by", "/nonexistent/cvmfs_talk"];
    let done = apply(&place, "other.conf", &nobody).ended_with(0);
    done.says(&["/nonexistent/cvmfs_talk did not tell mounted file systems"]);
    place.plimsoll(&["shoal", "client", "--server", "http://127.0.0.1:1", "--talk"]).ended_with(2);
}

#[test]
fn a_service_asks_again_and_puts_back_what_was_changed() {
    use crate::program::{PLIMSOLL, wait_for};
    let place = Place::weighing(Weight::WAITS);
    let program = talker(&place);
    let list = "http://site.example:3128;DIRECT";
    let asked = [
        "shoal",
        "client",
        "--server",
        "http://127.0.0.1:1",
        "--object",
        "none",
        "--fallback",
        list,
        "--apply",
        "--file",
        "local.conf",
        "--talk",
        "--talk-by",
        &program,
        "--every",
        "300ms",
        "--jitter",
    ];
    let mut service = place.start(place.command(PLIMSOLL, &asked));
    let file = place.path("local.conf");
    let is_set = || std::fs::read_to_string(&file).is_ok_and(|text| text.contains(list));
    wait_for("the list", || is_set().then_some(()));
    place.write("local.conf", "CVMFS_HTTP_PROXY=DIRECT\n");
    wait_for("the list again", || is_set().then_some(()));
    assert!(!service.has_ended());
    service.signal(rustix::process::Signal::TERM);
    let done = service.wait().ended_with(0);
    assert_eq!(done.out.lines().count(), 1, "what is as before is not printed again: {}", done.out);
    let told = std::fs::read_to_string(place.path("told")).unwrap();
    assert_eq!(told.matches("proxy|set|").count(), 2, "{told}");
    let wrong = ["shoal", "client", "--server", "http://127.0.0.1:1", "--every", "0s"];
    place.plimsoll(&wrong).ended_with(2).says(&["above zero"]);
}
