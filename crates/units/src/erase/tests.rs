//! What is removed, and what is left. What is mounted is tried where namespaces are had, by
//! `plimsoll-testbed`.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut all: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    all.sort();
    all
}

#[test]
fn a_tree_goes_and_what_its_links_lead_to_stays() {
    let place = tempfile::tempdir().unwrap();
    let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
    std::fs::create_dir_all(tree.join("deep/er")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    for path in [tree.join("deep/er/a"), tree.join("b"), outside.join("kept")] {
        std::fs::write(path, "text").unwrap();
    }
    symlink(&outside, tree.join("folder")).unwrap();
    symlink(outside.join("kept"), tree.join("deep/file")).unwrap();
    symlink("nowhere", tree.join("dangling")).unwrap();
    rustix::fs::mknodat(CWD, tree.join("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    drop(std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap());
    std::fs::write(tree.join(OsStr::from_bytes(b"no \xff text\n")), "").unwrap();
    assert!(super::tree(&tree).unwrap());
    assert!(!super::tree(&tree).unwrap(), "it is gone");
    assert_eq!(names(place.path()), ["outside"]);
    assert_eq!(names(&outside), ["kept"]);
}

#[test]
fn no_link_is_taken_for_a_tree() {
    let place = tempfile::tempdir().unwrap();
    let (outside, link) = (place.path().join("outside"), place.path().join("link"));
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept"), "text").unwrap();
    symlink(&outside, &link).unwrap();
    super::tree(&link).unwrap_err();
    super::tree(&outside.join("kept")).unwrap_err();
    assert_eq!(names(&outside), ["kept"]);
    assert!(link.is_symlink());
}

#[test]
fn a_file_may_be_kept_until_all_else_is_gone() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("a/mark")).unwrap();
    std::fs::write(place.path().join("mark"), "").unwrap();
    let folder = std::fs::File::open(place.path()).unwrap();
    all_in(&folder, place.path(), Some(OsStr::new("mark"))).unwrap();
    assert_eq!(names(place.path()), ["mark"]);
}

#[test]
fn deep_trees_and_wide_ones_go() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    let mut at = tree.clone();
    for _ in 0..200 {
        at.push("d");
    }
    std::fs::create_dir_all(&at).unwrap();
    for number in 0..2000 {
        std::fs::write(tree.join(number.to_string()), "").unwrap();
    }
    assert!(super::tree(&tree).unwrap());
    assert!(!tree.exists());
}

/// What cannot be removed is told by its own name, and the rest is gone.
#[test]
fn what_cannot_be_removed_is_named() {
    if rustix::process::geteuid().is_root() {
        // Root may remove anything.
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    std::fs::create_dir_all(tree.join("closed")).unwrap();
    for path in [tree.join("closed/a"), tree.join("b")] {
        std::fs::write(path, "text").unwrap();
    }
    std::fs::set_permissions(tree.join("closed"), Permissions::from_mode(0o500)).unwrap();
    let told = super::tree(&tree).unwrap_err().to_string();
    assert!(told.contains("closed/a"), "{told}");
    assert_eq!(names(&tree), ["closed"]);
    std::fs::set_permissions(tree.join("closed"), Permissions::from_mode(0o700)).unwrap();
}

/// By the numbers of mounts it is the same.
#[test]
fn without_openat2_mounts_are_told_by_their_numbers() {
    let root = std::fs::File::open("/").unwrap();
    assert_eq!(below_by_mount(&root, OsStr::new("proc")).unwrap_err(), Errno::XDEV);
    assert_eq!(below(&root, OsStr::new("proc")).unwrap_err(), Errno::XDEV);
    below_by_mount(&root, OsStr::new("etc")).unwrap();
    below(&root, OsStr::new("etc")).unwrap();
    assert_ne!(mount_of(&root).unwrap(), mount_of(&std::fs::File::open("/proc").unwrap()).unwrap());
}
