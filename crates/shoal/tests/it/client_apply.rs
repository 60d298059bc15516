//! Files of settings: what is changed in them and what is not.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use plimsoll_shoal::client::Use;
use plimsoll_shoal::client::apply::{difference, may_stand, read, replace, value_of, with_value};
use plimsoll_shoal::client::choose::Candidate;
use plimsoll_shoal::client::memory::Memory;
use plimsoll_shoal::client::output::is_as_good;
use plimsoll_shoal::client::settings::Settings;
use plimsoll_shoal::client::shell::values;
use plimsoll_testing::skip;
use proptest::prelude::*;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;

#[test]
fn a_value_is_what_a_shell_reads() {
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
        ("#CVMFS_HTTP_PROXY=a\nCVMFS_HTTP_PROXY_X=b\n", None),
        ("CVMFS_HTTP_PROXY=\"a;\\\nb\"\nQ=1\n", Some("a;b")),
        ("H=h\nCVMFS_HTTP_PROXY=\"http://$H:1;${D:-DIRECT}\"\n", Some("http://h:1;DIRECT")),
        ("[ -n \"$A\" ] && CVMFS_HTTP_PROXY=a\n", None),
        ("if [ -z \"$A\" ]; then CVMFS_HTTP_PROXY=b; else CVMFS_HTTP_PROXY=c; fi\n", Some("b")),
    ];
    for (text, value) in cases {
        assert_eq!(value_of(text).unwrap().as_deref(), value, "{text:?}");
    }
}

#[test]
fn exactly_the_assignment_is_replaced() {
    let cases = [
        ("", "CVMFS_HTTP_PROXY=\"v\"\n"),
        ("A=1\nB=2", "A=1\nB=2\nCVMFS_HTTP_PROXY=\"v\"\n"),
        ("A=1\r\n\nCVMFS_HTTP_PROXY=x\n# end", "A=1\r\n\nCVMFS_HTTP_PROXY=\"v\"\n# end"),
        ("CVMFS_HTTP_PROXY=x\nCVMFS_HTTP_PROXY=y", "CVMFS_HTTP_PROXY=x\nCVMFS_HTTP_PROXY=\"v\""),
        ("  export CVMFS_HTTP_PROXY='x'\nA=1\n", "  export CVMFS_HTTP_PROXY=\"v\"\nA=1\n"),
        // Over two lines, beside another setting, before a comment.
        ("CVMFS_HTTP_PROXY=\"x;\\\ny\"\nQ=2\n", "CVMFS_HTTP_PROXY=\"v\"\nQ=2\n"),
        ("CVMFS_HTTP_PROXY=x\\\ny\nQ=2\n", "CVMFS_HTTP_PROXY=\"v\"\nQ=2\n"),
        ("CVMFS_HTTP_PROXY='x\ny'; Q=2\n", "CVMFS_HTTP_PROXY=\"v\"; Q=2\n"),
        ("CVMFS_HTTP_PROXY=\"x\"; Q=2\n", "CVMFS_HTTP_PROXY=\"v\"; Q=2\n"),
        ("A=1 CVMFS_HTTP_PROXY=x B=2\n", "A=1 CVMFS_HTTP_PROXY=\"v\" B=2\n"),
        ("CVMFS_HTTP_PROXY='x'  # ours\n", "CVMFS_HTTP_PROXY=\"v\"  # ours\n"),
        ("CVMFS_HTTP_PROXY=\n", "CVMFS_HTTP_PROXY=\"v\"\n"),
        // Text that only looks like an assignment.
        ("A='\nCVMFS_HTTP_PROXY=x\n'\n", "A='\nCVMFS_HTTP_PROXY=x\n'\nCVMFS_HTTP_PROXY=\"v\"\n"),
        (
            "A=\"#\" # CVMFS_HTTP_PROXY=x\n",
            "A=\"#\" # CVMFS_HTTP_PROXY=x\nCVMFS_HTTP_PROXY=\"v\"\n",
        ),
        // The last one does not count here.
        (
            "CVMFS_HTTP_PROXY=x\n[ -n \"$A\" ] && CVMFS_HTTP_PROXY=y\n:\n",
            "CVMFS_HTTP_PROXY=\"v\"\n[ -n \"$A\" ] && CVMFS_HTTP_PROXY=y\n:\n",
        ),
        // Another variable hangs from it, and keeps its value.
        (
            "CVMFS_HTTP_PROXY=x\nB=$CVMFS_HTTP_PROXY\n",
            "CVMFS_HTTP_PROXY=x\nB=$CVMFS_HTTP_PROXY\nCVMFS_HTTP_PROXY=\"v\"\n",
        ),
    ];
    for (before, after) in cases {
        assert_eq!(with_value(before, "v").unwrap(), after, "{before:?}");
    }
}

#[test]
fn a_file_that_does_more_is_refused_with_the_line_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let touch = format!("touch {}", mark.display());
    let cases = [
        (format!("A=1\n{touch}\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a command, `touch`"),
        (format!("A=1\nB=$({touch})\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a command substitution"),
        (format!("A=1\nB=`{touch}`\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a command substitution"),
        (format!("A=1\nB=${{C:-`{touch}`}}\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a command sub"),
        (
            format!("A=1\n: > {}\nCVMFS_HTTP_PROXY=x\n", mark.display()),
            "line 2 holds a redirection",
        ),
        (format!("A=1\n: | {touch}\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a pipe"),
        (format!("A=1\n: & {touch}\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a command in the back"),
        (format!("A=1\nf() {{ {touch}; }}\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds `(`"),
        (format!("A=1\nB=2 {touch}\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a command, `touch`"),
        (
            "A=1\nexport # all\nCVMFS_HTTP_PROXY=x\n".to_owned(),
            "line 2 holds a command that prints",
        ),
        (format!("A=1\nif {touch}; then :; fi\nCVMFS_HTTP_PROXY=x\n"), "line 2 holds a command"),
        (format!("A=1\n. {}\nCVMFS_HTTP_PROXY=x\n", mark.display()), "line 2 holds a command, `.`"),
        (
            format!("A=1\ntrap '{touch}' EXIT\nCVMFS_HTTP_PROXY=x\n"),
            "line 2 holds a command, `trap`",
        ),
        ("A=1\nB='x\nCVMFS_HTTP_PROXY=x\n".to_owned(), "line 2 holds a quote that does not end"),
    ];
    for (text, cause) in &cases {
        let error = with_value(text, "v").unwrap_err();
        assert!(error.to_string().starts_with(cause), "{text:?}: {error}");
        assert_eq!(error.by_hand, "set CVMFS_HTTP_PROXY in line 3 by hand", "{text:?}");
        assert!(value_of(text).is_err());
    }
    assert!(!mark.exists(), "nothing of it was run");
    // What a shell alone can tell: a test without an end, a variable that may not be set.
    let error = with_value("if [ -n x ]; then CVMFS_HTTP_PROXY=x\n", "v").unwrap_err();
    assert_eq!(error.by_hand, "set CVMFS_HTTP_PROXY in line 1 by hand");
    assert!(with_value("readonly CVMFS_HTTP_PROXY=\"$A\"x\nB=$CVMFS_HTTP_PROXY\n", "v").is_err());
}

#[test]
fn a_difference_is_the_lines_that_change() {
    let path = std::path::Path::new("f");
    let of = |old: &str, new: &str| difference(path, old, new);
    assert_eq!(of("a\nb\nc\n", "a\nx\nc\n"), "--- f\n+++ f\n@@ -2 +2 @@\n-b\n+x\n");
    assert_eq!(of("a\nb\nc\nd\n", "a\nx\nd\n"), "--- f\n+++ f\n@@ -2,2 +2 @@\n-b\n-c\n+x\n");
    assert_eq!(of("a\n", "a\nb\n"), "--- f\n+++ f\n@@ -1,0 +2 @@\n+b\n");
    assert_eq!(of("", "b\n"), "--- f\n+++ f\n@@ -0,0 +1 @@\n+b\n");
    assert_eq!(of("a\n", "a\n"), "");
}

#[test]
fn a_list_serves_as_well_whatever_the_order_within_its_groups() {
    assert!(is_as_good("http://a:1|http://b:1;DIRECT", "http://b:1|http://a:1; DIRECT"));
    assert!(!is_as_good("http://a:1;http://b:1", "http://b:1;http://a:1"));
    assert!(!is_as_good("http://a:1", "http://a:1;DIRECT"));
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
fn a_replaced_file_keeps_its_label_and_its_access_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("default.local");
    replace(&path, "one\n").unwrap();
    // Version 2: the owner reads and writes, user 7 reads, the group and others nothing.
    let list: Vec<u8> = [2_u32.to_le_bytes().to_vec()]
        .into_iter()
        .chain(
            [
                (1_u16, 6_u16, u32::MAX),
                (2, 4, 7),
                (4, 0, u32::MAX),
                (16, 4, u32::MAX),
                (32, 0, u32::MAX),
            ]
            .map(|(tag, rights, id)| {
                [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
            }),
        )
        .flatten()
        .collect();
    let label = b"system_u:object_r:etc_t:s0\0".to_vec();
    let attributes = [("system.posix_acl_access", list), ("security.selinux", label)];
    let is_set = |(name, value): &&(&str, Vec<u8>)| {
        let Err(error) = setxattr(&path, *name, value, XattrFlags::empty()) else { return true };
        let needs = match error {
            Errno::PERM | Errno::ACCESS => "root",
            Errno::NOTSUP => "namespaces: the file system",
            _ => panic!("{name}: {error}"),
        };
        let test = "a_replaced_file_keeps_its_label_and_its_access_list";
        skip(test, &format!("{needs}: {name} cannot be set: {error}"));
        false
    };
    let set: Vec<_> = attributes.iter().filter(is_set).collect();
    replace(&path, "two\n").unwrap();
    for (name, value) in set {
        let mut kept = vec![0; 1000];
        let length = getxattr(&path, *name, &mut kept[..]).unwrap();
        assert_eq!(&kept[..length], &value[..], "{name}");
    }
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
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a file of settings looks like: either it is refused, or a shell reads the new value
    /// and every other variable as before, and only bytes of one assignment differ.
    #[test]
    fn a_shell_reads_the_new_value_and_the_rest_as_before(
        parts in prop::collection::vec(part(), 0..7),
        value in "[a-z0-9:/.|;]{0,20}",
    ) {
        let text = parts.concat();
        let Ok(new) = with_value(&text, &value) else { return Ok(()) };
        prop_assert_eq!(value_of(&new).unwrap(), Some(value.clone()));
        prop_assert_eq!(with_value(&new, &value).unwrap(), new.clone(), "again changes nothing");
        let names = Settings::parse(&text).unwrap().names;
        let (before, after) = (values(&text, &names).unwrap(), values(&new, &names).unwrap());
        for name in names.iter().filter(|name| *name != "CVMFS_HTTP_PROXY") {
            prop_assert_eq!(&before[name], &after[name], "{} in {:?} and {:?}", name, text, new);
        }
        let same = text.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
        let tail = text.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
        let gone = &text[same..text.len().saturating_sub(tail).max(same)];
        let shown = Settings::parse(&text).unwrap();
        let is_within = shown.of("CVMFS_HTTP_PROXY").any(|one| {
            one.value.start <= same && same + gone.len() <= one.value.end
        });
        prop_assert!(gone.is_empty() || is_within, "{gone:?} of {text:?}");
    }

    /// Bytes of any kind are refused or read; nothing panics.
    #[test]
    fn any_text_is_settings_or_refused(text in "[ -~\n\t\\\\\"'$`{}=;|&#A]{0,60}") {
        if let Ok(settings) = Settings::parse(&text) {
            for one in &settings.assignments {
                let head = text[..one.value.start].strip_suffix('=').unwrap();
                prop_assert!(head.ends_with(&one.name), "{head:?}");
                prop_assert!((1..=text.lines().count()).contains(&one.line));
            }
        }
    }
}

/// A piece of a file of settings, most of them sound.
fn part() -> impl Strategy<Value = String> {
    let name = prop_oneof![Just("CVMFS_HTTP_PROXY"), Just("A"), Just("B")];
    let word = prop_oneof![
        "[a-z0-9:/.]{0,8}",
        "\"[a-z;|# ]{0,8}\"",
        "'[a-z;|#$ ]{0,8}'",
        Just("\"x;\\\ny\"".to_owned()),
        Just("a\\;b".to_owned()),
        Just("\"$A\"".to_owned()),
        Just("${B:-b}".to_owned()),
    ];
    let end = prop_oneof![Just("\n"), Just("; "), Just(" # c\n"), Just("\\\n\n"), Just(" && ")];
    let set = (name, word, end).prop_map(|(name, word, end)| format!("{name}={word}{end}"));
    prop_oneof![
        6 => set,
        1 => Just("[ -n \"$A\" ] && ".to_owned()),
        1 => Just("export ".to_owned()),
        1 => Just("# CVMFS_HTTP_PROXY=no\n".to_owned()),
        1 => Just("if [ -z \"$B\" ]; then A=1; fi\n".to_owned()),
        1 => "[ -~]{0,6}\n",
    ]
}
