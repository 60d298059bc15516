//! Whose folders are used, and whose are not.

use super::*;
use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

/// A user that runs nothing of ours.
const OTHER: u32 = 23_502;

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// What is said of a folder that is not used.
fn refused(path: &Path) -> String {
    let made = OwnFolder::make(path).unwrap_err();
    let opened = OwnFolder::open(path).map(drop).err();
    // What is not there is not opened, whatever is above it.
    if std::fs::symlink_metadata(path).is_ok() {
        assert_eq!(opened.map(|error| error.to_string()), Some(made.to_string()));
    }
    assert!(matches!(made, OwnError::NotOurs { .. }), "{made}");
    assert!(made.hint().is_some_and(|hint| hint.contains("XDG_RUNTIME_DIR=")), "{made}");
    made.to_string()
}

#[test]
fn a_folder_is_made_with_those_above_it_and_is_ours_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("state/plimsoll");
    assert!(OwnFolder::open(&path).unwrap().is_none());
    let folder = OwnFolder::make(&path).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    folder.file("a".as_ref(), new).unwrap().write_all(b"text").unwrap();
    assert_eq!(mode(&path.join("a")), 0o600);
    assert!(folder.file("a".as_ref(), new).is_err(), "it is there");
    assert!(folder.file("b".as_ref(), OFlags::RDONLY).unwrap_err().is_absent());
    let bed = folder.make_inner("bed".as_ref()).unwrap();
    assert_eq!((bed.path(), mode(bed.path())), (&*path.join("bed"), 0o700));
    assert!(folder.make_inner("bed".as_ref()).is_err() && OwnFolder::make_new(&path).is_err());
    // What is opened stays what it is, whatever takes its place.
    std::fs::rename(&path, place.path().join("moved")).unwrap();
    std::fs::create_dir(&path).unwrap();
    let mut text = String::new();
    folder.file("a".as_ref(), OFlags::RDONLY).unwrap().read_to_string(&mut text).unwrap();
    let mut names = folder.names().unwrap();
    names.sort();
    assert_eq!((text.as_str(), names), ("text", vec!["a".into(), "bed".into()]));
    folder.remove_file("a".as_ref()).unwrap();
    folder.remove_folder("bed".as_ref()).unwrap();
    assert!(folder.names().unwrap().is_empty());
}

#[test]
fn one_that_others_may_write_in_is_not_used_and_one_that_they_read_is_closed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("own");
    std::fs::create_dir(&path).unwrap();
    for open in [0o777, 0o702] {
        chmod(&path, open);
        let told = refused(&path);
        assert!(told.contains(&format!("others may write in it: its mode is {open:o}")), "{told}");
        assert_eq!(mode(&path), open, "it is left alone");
    }
    // Where others could only put their own, that is told by whose it is.
    for closed in [0o755, 0o711, 0o700, 0o1777] {
        chmod(&path, closed);
        OwnFolder::open(&path).unwrap().unwrap();
        assert_eq!(mode(&path), 0o700);
    }
}

#[test]
fn one_that_others_could_exchange_is_not_used() {
    let place = tempfile::tempdir().unwrap();
    let shared = place.path().join("shared");
    std::fs::create_dir_all(shared.join("deep")).unwrap();
    for (open, is_kept) in [(0o777, false), (0o722, false), (0o1777, true), (0o755, true)] {
        chmod(&shared, open);
        for path in [shared.join("own"), shared.join("deep/own"), shared.join("deep/../own")] {
            if is_kept {
                OwnFolder::make(&path).unwrap();
                continue;
            }
            let told = refused(&path);
            let why = format!("others may write in {}", shared.display());
            assert!(told.contains(&why) && told.contains(&*path.to_string_lossy()), "{told}");
            assert!(!path.exists(), "nothing is made there");
        }
    }
    // Whoever is alone there may: in a container, whose folders are open to all.
    chmod(&shared, 0o2777);
    let own = shared.join("alone");
    let inner = OwnFolder::make_new_alone(&own).unwrap().make_inner("inner".as_ref()).unwrap();
    assert_eq!((mode(&own) & 0o777, mode(inner.path()) & 0o777), (0o700, 0o700));
    assert!(OwnFolder::make_new_alone(&own).is_err(), "it is there");
    symlink(&own, shared.join("link")).unwrap();
    assert!(OwnFolder::make_new_alone(&shared.join("link")).is_err());
}

#[test]
fn no_link_is_taken_for_a_folder_and_links_of_ours_lead_to_one() {
    let place = tempfile::tempdir().unwrap();
    let (real, link) = (place.path().join("real"), place.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    symlink("real", &link).unwrap();
    let told = refused(&link);
    assert!(told.contains("it is a link, or no folder"), "{told}");
    OwnFolder::make(&link.join("own")).unwrap();
    assert!(real.join("own").is_dir());
    // A link that leads into a place of everybody's leads nowhere.
    let open = place.path().join("open");
    std::fs::create_dir(&open).unwrap();
    chmod(&open, 0o777);
    symlink(&open, place.path().join("there")).unwrap();
    refused(&place.path().join("there/own"));
    symlink("round", place.path().join("round")).unwrap();
    assert!(OwnFolder::make(&place.path().join("round/own")).is_err());
    std::fs::write(place.path().join("file"), "").unwrap();
    refused(&place.path().join("file"));
}

#[test]
fn no_file_is_opened_that_is_a_link_a_pipe_or_anybodys() {
    let place = tempfile::tempdir().unwrap();
    let folder = OwnFolder::make(&place.path().join("own")).unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(place.path().join("real"), "").unwrap();
    symlink(place.path().join("real"), at("link")).unwrap();
    rustix::fs::mknodat(&folder, "pipe", FileType::Fifo, Mode::RWXU, 0).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    std::fs::write(at("open"), "").unwrap();
    chmod(&at("open"), 0o666);
    for name in ["link", "pipe", "folder", "open"] {
        let told = folder.file(name.as_ref(), OFlags::RDONLY).unwrap_err();
        assert!(matches!(told, OwnError::NotOurs { .. }), "{name}: {told}");
    }
}

/// What belongs to somebody else: for root, what it gives away; for others, what is root's.
#[test]
fn what_is_somebody_elses_is_named_and_left_alone() {
    if !geteuid().is_root() {
        let told = OwnFolder::open(Path::new("/etc")).unwrap_err().to_string();
        assert!(told.contains("it belongs to the user root (0)"), "{told}");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = place.path().join(name);
        std::fs::create_dir(&path).unwrap();
        chown(&path, Some(OTHER), Some(OTHER)).unwrap();
        path
    };
    let theirs = make("theirs");
    let told = refused(&theirs);
    let expected = format!("use {}: it belongs to the user {OTHER}", theirs.display());
    assert_eq!(told, expected);
    let told = refused(&theirs.join("own"));
    assert!(told.contains(&format!("in which it is, belongs to the user {OTHER}")), "{told}");
    // The sticky bit does not keep an owner from anything.
    chmod(&theirs, 0o1777);
    refused(&theirs.join("own"));
    // A link of theirs, to a folder of ours.
    let real = place.path().join("real");
    std::fs::create_dir(&real).unwrap();
    let link = place.path().join("link");
    symlink(&real, &link).unwrap();
    lchown(&link, Some(OTHER), Some(OTHER)).unwrap();
    let told = refused(&link.join("own"));
    assert!(told.contains(&format!("is a link of the user {OTHER}")), "{told}");
    // A group of others may write; one of the owner's own number may.
    let shared = place.path().join("group");
    std::fs::create_dir(&shared).unwrap();
    chmod(&shared, 0o770);
    OwnFolder::make(&shared.join("own")).unwrap();
    chown(&shared, None, Some(OTHER)).unwrap();
    refused(&shared.join("own"));
    // What they have put into a folder of ours while that was open to all, and a file of theirs.
    let folder = OwnFolder::make(&place.path().join("own")).unwrap();
    chmod(folder.path(), 0o1777);
    let bed = folder.path().join("bed");
    std::fs::create_dir(&bed).unwrap();
    chown(&bed, Some(OTHER), Some(OTHER)).unwrap();
    let folder = OwnFolder::open(folder.path()).unwrap().unwrap();
    let told = folder.inner("bed".as_ref()).unwrap_err().to_string();
    assert!(told.contains(&format!("it belongs to the user {OTHER}")), "{told}");
    std::fs::write(folder.path().join("a"), "").unwrap();
    chown(folder.path().join("a"), Some(OTHER), None).unwrap();
    let told = folder.file("a".as_ref(), OFlags::RDONLY).unwrap_err().to_string();
    assert!(told.contains(&format!("it belongs to the user {OTHER}")), "{told}");
}
