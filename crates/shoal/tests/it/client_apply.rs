//! Files of settings: what is changed in them and what is not.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use plimsoll_shoal::client::Use;
use plimsoll_shoal::client::apply::{may_stand, read, replace, value_of, with_value};
use plimsoll_shoal::client::choose::Candidate;
use plimsoll_shoal::client::memory::Memory;
use proptest::prelude::*;

#[test]
fn the_last_line_that_says_it_counts() {
    let cases = [
        ("", None),
        ("CVMFS_HTTP_PROXY=DIRECT", Some("DIRECT")),
        (
            "CVMFS_HTTP_PROXY=\"http://a:1|http://b:2;DIRECT\" # ours\n",
            Some("http://a:1|http://b:2;DIRECT"),
        ),
        ("CVMFS_HTTP_PROXY='http://a:1'\n", Some("http://a:1")),
        ("  export CVMFS_HTTP_PROXY=http://a:1 # c\n", Some("http://a:1")),
        ("CVMFS_HTTP_PROXY=old\nCVMFS_HTTP_PROXY=new\n", Some("new")),
        ("#CVMFS_HTTP_PROXY=a\nCVMFS_HTTP_PROXY_X=b\nexportCVMFS_HTTP_PROXY=c\n", None),
    ];
    for (text, value) in cases {
        assert_eq!(value_of(text).as_deref(), value, "{text:?}");
    }
}

#[test]
fn only_that_line_is_replaced() {
    let cases = [
        ("", "CVMFS_HTTP_PROXY=\"v\"\n"),
        ("A=1\nB=2", "A=1\nB=2\nCVMFS_HTTP_PROXY=\"v\"\n"),
        ("A=1\r\n\nCVMFS_HTTP_PROXY=x\n# end", "A=1\r\n\nCVMFS_HTTP_PROXY=\"v\"\n# end"),
        ("CVMFS_HTTP_PROXY=x\nCVMFS_HTTP_PROXY=y", "CVMFS_HTTP_PROXY=x\nCVMFS_HTTP_PROXY=\"v\""),
        ("  export CVMFS_HTTP_PROXY='x'\nA=1\n", "  export CVMFS_HTTP_PROXY=\"v\"\nA=1\n"),
    ];
    for (before, after) in cases {
        assert_eq!(with_value(before, "v"), after, "{before:?}");
    }
}

#[test]
fn what_a_shell_would_read_otherwise_may_not_stand_between_quotes() {
    assert!(may_stand("http://a:1|http://[2001:db8::1]:2;DIRECT"));
    for wrong in ["a\"b", "$(x)", "`x`", "a\\b", "a\nb", "ü"] {
        assert!(!may_stand(wrong), "{wrong:?}");
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("default.local");
    assert_eq!(read(&path).unwrap(), "");
    replace(&path, "one\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o644);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let open = fs::File::open(&path).unwrap();
    replace(&path, "two\n").unwrap();
    assert_eq!(read(&path).unwrap(), "two\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    // Who had it open still has the old one, whole.
    assert_eq!(std::io::read_to_string(open).unwrap(), "one\n");
    let link = folder.path().join("link");
    symlink("default.local", &link).unwrap();
    replace(&link, "three\n").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&path).unwrap(), "three\n");
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is left beside it: {names:?}");
}

#[test]
fn a_failed_write_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    assert!(replace(&folder.path().join("no/such/file"), "x").is_err());
    // A name that is a folder: written beside it, and not renamed.
    let path = folder.path().join("taken");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("x"), "").unwrap();
    assert!(replace(&path, "x").is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(read(&path).is_err());
    let long = folder.path().join("long");
    fs::File::create(&long).unwrap().set_len((1 << 20) + 1).unwrap();
    assert!(read(&long).is_err());
}

#[test]
fn a_memory_tells_its_own_values_from_the_sites() {
    let mut memory = Memory::default();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(memory.fixed(some("site")), some("site"));
    memory.keep_written("ours 1", Some("site"));
    assert_eq!(memory.fixed(some("ours 1")), some("site"));
    memory.keep_written("ours 2", Some("site"));
    assert_eq!(memory.fixed(some("ours 1")), some("site"), "killed before the file was written");
    assert_eq!(memory.fixed(some("ours 2")), some("site"));
    assert_eq!(memory.fixed(None), some("site"), "the line was taken out");
    assert_eq!(memory.fixed(some("new site")), some("new site"), "an operator changed it");
    let caches = [Candidate { host: "a.b".to_owned(), port: 3128, band: Some(2) }];
    memory.keep_found(Use::Cvmfs, &caches, 5.0);
    let read = Memory::parse(&memory.text());
    assert_eq!(read, memory);
    assert_eq!(read.found(Use::Cvmfs), (caches.to_vec(), 5.0));
    assert_eq!(read.found(Use::Frontier), (Vec::new(), 0.0));
    assert_eq!(Memory::parse("{damaged"), Memory::default());
    let bent = "{\"found\": {\"nearestcvmfs\": {\"caches\": [{\"host\": \"$(x)\", \"port\": 1}]}}}";
    assert_eq!(Memory::parse(bent).found(Use::Cvmfs).0, [], "believed no more than an answer");
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_the_rest_is_kept(
        lines in prop::collection::vec("[A-Z_]{0,3}(CVMFS_HTTP_PROXY=)?[ -~]{0,20}", 0..8),
        value in "[a-z0-9:/.|;]{0,40}",
        ended in any::<bool>(),
    ) {
        let text = lines.join("\n") + if ended { "\n" } else { "" };
        let new = with_value(&text, &value);
        prop_assert_eq!(value_of(&new), Some(value.clone()));
        prop_assert_eq!(with_value(&new, &value), new.clone(), "again changes nothing");
        let before: Vec<&str> = text.lines().collect();
        let after: Vec<&str> = new.lines().collect();
        let changed = after.iter().zip(&before).filter(|(new, old)| new != old).count();
        prop_assert!(after.len() <= before.len() + 1 && changed <= 1, "{text:?} {new:?}");
    }
}
