//! What an operator decides by `PUT /v1/caches/{id}/state`, and the folder that keeps it.

use std::fs;
use std::path::Path;

use plimsoll_shoal::registry::Kept;
use plimsoll_shoal::server::{Folder, FolderError, Options};
use serde_json::json;

use crate::support::live::{Ask, Live, options, reason, said, text, until, with};

/// A server that keeps what it is told in a folder.
fn kept_in(path: &Path) -> Live {
    let (folder, secret, kept) = Folder::open(path).unwrap();
    Live::start(Options { folder: Some(folder), secret, kept, ..options() })
}

#[test]
fn a_decision_holds_at_once_and_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let live = kept_in(folder.path());
    for (uuid, host, port) in [("a", "one.example", 3128), ("b", "two.example", 3129)] {
        let beat = said(uuid, host, "192.0.2.10");
        assert_eq!(live.announce(&with(beat, &json!({"cache_port": port}))).status, 204);
    }
    live.lists(2);
    let id = |live: &Live, host: &str| live.listed(host)["id"].as_str().unwrap().to_owned();
    let (one, two) = (id(&live, "one.example"), id(&live, "two.example"));
    assert_eq!(live.put_state(&one, "drained").status, 204);
    assert_eq!(live.put_state(&two, "banned").status, 204);
    // Listed, and not served.
    assert_eq!(live.listed("one.example")["state"], "drained");
    assert_eq!(live.listed("two.example")["state"], "banned");
    assert_eq!(text(&live.get("/nearest")), "null");
    assert!(live.nearest("203.0.113.1", "").is_empty());
    assert_eq!(live.put_state(&two, "unverified").status, 204);
    assert_eq!(live.nearest("203.0.113.1", ""), ["two.example"]);

    // A second server would write over what the first keeps.
    assert!(matches!(Folder::open(folder.path()), Err(FolderError::Locked(_))));
    // Not stopped in order: whatever is on the disk now is what a killed server would leave. The
    // agent has a new uuid, the cache is the same.
    let left = tempfile::tempdir().unwrap();
    for name in ["names.key", "decisions.json"] {
        fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
    }
    let again = kept_in(left.path());
    let beat = said("new", "one.example", "192.0.2.10");
    assert_eq!(again.announce(&beat).status, 204);
    let beat = with(said("b", "two.example", "192.0.2.10"), &json!({"cache_port": 3129}));
    assert_eq!(again.announce(&beat).status, 204);
    again.lists(2);
    assert_eq!(again.listed("one.example")["state"], "drained");
    assert_eq!(again.nearest("203.0.113.1", ""), ["two.example"]);
    // Public names are the same, too, as the key is.
    assert_eq!(id(&again, "two.example"), two);
    live.stop();
    let id = id(&again, "one.example");
    assert_eq!(again.put_state(&id, "unverified").status, 204);
    again.stop();
    assert_eq!(Folder::open(left.path()).unwrap().2, Kept::default());
}

#[test]
fn decisions_that_come_at_once_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let live = kept_in(folder.path());
    for n in 0..24_u16 {
        let beat = said(&format!("secret-{n}"), &format!("c{n}.example"), "192.0.2.10");
        live.announce(&with(beat, &json!({"cache_port": 3000 + n})));
    }
    live.lists(24);
    let list = live.json("/v1/caches");
    let ids: Vec<&str> =
        list["caches"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    std::thread::scope(|scope| {
        for ids in ids.chunks(6) {
            let live = &live;
            scope.spawn(move || {
                for id in ids {
                    assert_eq!(live.put_state(id, "banned").status, 204);
                }
            });
        }
    });
    live.stop();
    assert_eq!(Folder::open(folder.path()).unwrap().2.iter().count(), 24);
}

#[test]
fn a_decision_that_is_none_changes_nothing() {
    let live = Live::start(options());
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    let id = live.listed("one.example")["id"].as_str().unwrap().to_owned();
    let put = |body: &str| {
        let target = format!("/v1/caches/{id}/state");
        live.order(Ask { method: "PUT", target: &target, headers: &[], body: body.as_bytes() })
    };
    for state in ["verified", "failing", "Drained", ""] {
        assert_eq!(reason(&live.put_state(&id, state), 400), "range", "{state}");
    }
    let long = format!("{{\"state\":\"{}\"}}", "x".repeat(300));
    for body in ["", "{", "[]", "{}", "{\"state\":1}", "{\"state\":\"banned\",\"x\":1}", &long] {
        assert_eq!(reason(&put(body), 400), "malformed", "{body}");
    }
    assert_eq!(reason(&live.put_state("0123456789abcdef", "banned"), 404), "not_found");
    assert_eq!(live.listed("one.example")["state"], "unverified");
    // Without a folder a decision holds while the server runs.
    assert_eq!(put("{\"state\": \"drained\"}").status, 204);
    assert_eq!(live.listed("one.example")["state"], "drained");
}

#[test]
fn a_decision_that_cannot_be_written_down_says_so_and_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let live = kept_in(&path);
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    let id = live.listed("one.example")["id"].as_str().unwrap().to_owned();
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(reason(&live.put_state(&id, "drained"), 500), "not_kept");
    assert_eq!(live.listed("one.example")["state"], "drained");
    until("a folder again", || {
        fs::create_dir_all(&path).unwrap();
        (live.put_state(&id, "banned").status == 204).then_some(())
    });
}

#[test]
fn a_folder_that_is_damaged_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (_, secret, kept) = Folder::open(path).unwrap();
    assert_eq!(kept, Kept::default());
    let said = || Folder::open(path).unwrap_err().to_string();
    let key = fs::read(path.join("names.key")).unwrap();
    assert_eq!(key.len(), 65);
    let shown = path.display();
    for damaged in [
        &b""[..],
        b"\n",
        &key[..40],
        &[b'z'; 64],
        &b"+1".repeat(32),
        &[0xff; 64],
        "é".repeat(32).as_bytes(),
    ] {
        fs::write(path.join("names.key"), damaged).unwrap();
        let error = said();
        let expected =
            format!("{shown}/names.key does not hold the 64 hexadecimal digits of a key");
        assert_eq!(error, expected, "{damaged:?}");
    }
    fs::write(path.join("names.key"), &key).unwrap();
    let good = br#"[{"address": "192.0.2.1", "private_ip": null, "port": 80, "state": "banned"}]"#;
    for damaged in [
        &b""[..],
        b"null",
        &good[..good.len() / 2],
        b"[{\"address\": \"x\", \"private_ip\": null, \"port\": 80, \"state\": \"banned\"}]",
        b"[{\"address\": null, \"private_ip\": null, \"port\": 80, \"state\": \"verified\"}]",
        b"[{\"address\": null, \"private_ip\": null, \"port\":80, \"state\": \"banned\", \"x\":1}]",
        &[0xff, 0xfe, 0x00],
    ] {
        fs::write(path.join("decisions.json"), damaged).unwrap();
        assert_eq!(said(), format!("{shown}/decisions.json is not a list of decisions"));
        // Looking at it does not mend it: what an operator decided is not to be lost in silence.
        assert_eq!(fs::read(path.join("decisions.json")).unwrap(), damaged);
    }
    fs::write(path.join("decisions.json"), good).unwrap();
    // What a server that was killed while it wrote left beside is not looked at.
    fs::write(path.join("decisions.json.new"), &good[..10]).unwrap();
    fs::write(path.join("names.key.new"), b"").unwrap();
    let (folder, again, kept) = Folder::open(path).unwrap();
    assert_eq!(again, secret);
    assert_eq!(kept.iter().count(), 1);
    folder.keep(|| kept.clone()).unwrap();
    drop(folder);
    assert_eq!(Folder::open(path).unwrap().2, kept);
}

#[test]
fn what_is_kept_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (kept_in, _, kept) = Folder::open(folder.path()).unwrap();
    kept_in.keep(|| kept).unwrap();
    for name in ["names.key", "decisions.json"] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // A folder that is a file, or cannot be made, is an error.
    let file = folder.path().join("names.key");
    let error = Folder::open(&file).unwrap_err().to_string();
    assert!(error.starts_with("use "), "{error}");
}
