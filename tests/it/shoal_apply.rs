//! `plimsoll shoal client --apply`: a file of settings before and after, and what is refused.

use crate::place::Place;
use crate::program::Done;

/// Sets a list in a file; no registry answers, so the list is what is set.
fn apply(place: &Place, file: &str, more: &[&str]) -> Done {
    let list = ["--fallback", "http://site.example:3128;DIRECT"];
    let asked = ["shoal", "client", "--server", "http://127.0.0.1:1", "--object", "none"];
    place.plimsoll(&[&asked[..], &list, &["--apply", "--file", file], more].concat())
}

#[test]
fn only_the_value_changes_and_a_rehearsal_shows_how() {
    let place = Place::new();
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
    let place = Place::new();
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
    let place = Place::new();
    let asked = ["shoal", "client", "--server", "http://127.0.0.1:1", "--object", "none"];
    let done = place.plimsoll(&[&asked[..], &["--file", "none.conf"]].concat()).ended_with(4);
    done.says(&["failed to find a cache that delivers: http://127.0.0.1:1/", "hint: --fallback"]);
}
