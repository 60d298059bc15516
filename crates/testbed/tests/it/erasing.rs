//! What is removed with a bed, and what is not: what is mounted below a folder of it, what its
//! links lead to, and what nothing says to be its.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testbed::TestbedError;
use plimsoll_testbed::down::Means;
use plimsoll_testbed::ledger::Ledger;
use plimsoll_testbed::thing::Thing;
use plimsoll_units::failure::Failure as _;

const BED: &str = "e1rased";

/// A bed of one folder, as a process that was killed has left it.
struct Left {
    place: tempfile::TempDir,
    folder: PathBuf,
    outside: PathBuf,
}

impl Left {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let (folder, outside) =
            (place.path().join(format!("plimsoll-{BED}-web-1")), place.path().join("outside"));
        fs::create_dir_all(folder.join("deep/er")).unwrap();
        fs::create_dir_all(outside.join("sub")).unwrap();
        for path in ["a", "sub/b"] {
            fs::write(outside.join(path), "precious").unwrap();
        }
        for path in ["own", "deep/own", "deep/er/own"] {
            fs::write(folder.join(path), "text").unwrap();
        }
        fs::write(folder.join(".plimsoll"), BED).unwrap();
        symlink(&outside, folder.join("link")).unwrap();
        Self { place, folder, outside }
    }

    fn ledgers(&self) -> PathBuf {
        self.place.path().join("ledgers")
    }

    /// Writes the ledger; it may have the number of the folder's file.
    fn ledger(&self, knows: bool) {
        let ledger = Ledger::create(&self.ledgers(), BED).unwrap();
        ledger.will_make(&Thing::Folder { path: self.folder.clone() }).unwrap();
        if knows {
            let (path, about) = (self.folder.clone(), fs::metadata(&self.folder).unwrap());
            let (device, number) = (about.dev(), about.ino());
            ledger.will_make(&Thing::Place { path, device, number }).unwrap();
        }
    }

    fn down(&self) -> Result<Vec<Thing>, TestbedError> {
        Ledger::take_down(&self.ledgers(), BED, false, &Means::default())
    }

    /// Whether it stands in a ledger still.
    fn is_known(&self) -> bool {
        !Ledger::all(&self.ledgers()).unwrap().is_empty()
    }

    /// What is outside is as it was.
    fn is_whole(&self) {
        for path in ["a", "sub/b"] {
            let found = fs::read_to_string(self.outside.join(path));
            assert_eq!(found.ok().as_deref(), Some("precious"), "{path}");
        }
    }
}

#[test]
fn what_links_lead_to_stays() {
    for knows in [false, true] {
        let left = Left::new();
        left.ledger(knows);
        left.down().unwrap();
        assert!(!left.folder.exists() && !left.is_known());
        left.is_whole();
    }
}

/// A server may empty its own folder: it is known by its number.
#[test]
fn a_folder_without_its_mark_is_known_by_its_number_or_kept() {
    let left = Left::new();
    left.ledger(true);
    fs::remove_file(left.folder.join(".plimsoll")).unwrap();
    left.down().unwrap();
    assert!(!left.folder.exists() && !left.is_known());
    // A ledger without the number, as of an earlier version.
    let left = Left::new();
    left.ledger(false);
    fs::remove_file(left.folder.join(".plimsoll")).unwrap();
    let told = left.down().unwrap_err();
    assert!(told.to_string().contains("nothing in it says that it is of this test-bed"), "{told}");
    assert!(told.hint().is_some_and(|hint| hint.contains("rm -r")), "{told}");
    assert!(left.folder.join("own").exists() && left.is_known());
    fs::remove_dir_all(&left.folder).unwrap();
    left.down().unwrap();
    assert!(!left.is_known());
}

/// What has taken the place of a folder is not it, whatever it leads to.
#[test]
fn what_has_taken_the_place_of_a_folder_stays() {
    for knows in [false, true] {
        for other in ["link", "folder", "file"] {
            let left = Left::new();
            left.ledger(knows);
            fs::rename(&left.folder, left.place.path().join("moved")).unwrap();
            match other {
                "link" => symlink(&left.outside, &left.folder).unwrap(),
                "folder" => {
                    fs::create_dir(&left.folder).unwrap();
                    fs::write(left.folder.join("a"), "precious").unwrap();
                }
                _ => fs::write(&left.folder, "precious").unwrap(),
            }
            let told = left.down().unwrap_err();
            assert!(
                fs::symlink_metadata(&left.folder).is_ok() && left.is_known(),
                "{other}: {told}"
            );
            left.is_whole();
        }
    }
}

/// Runs a test of this binary in a mount namespace of its own.
fn in_own_mounts(test: &str, inner: &str) {
    if !plimsoll_testing::has_namespaces(test) {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let words = ["--mount", "--propagation", "private", own.to_str().unwrap(), "--exact", inner];
    let mut unshare = Command::new("unshare");
    let ran = unshare.args(words).args(["--ignored", "--nocapture"]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

fn mount(words: &[&str], to: &Path) {
    let mounted = Command::new("mount").args(words).arg(to).output().unwrap();
    assert!(mounted.status.success(), "{}", String::from_utf8_lossy(&mounted.stderr));
}

fn umount(at: &Path) {
    assert!(Command::new("umount").arg(at).status().unwrap().success());
}

#[test]
fn what_is_mounted_in_a_folder_is_not_entered() {
    in_own_mounts("what_is_mounted_in_a_folder_is_not_entered", "erasing::mounted");
}

#[test]
#[ignore = "needs a mount namespace to itself: see above"]
fn mounted() {
    let bind = |left: &Left, from: &str, to: &Path| {
        mount(&["--bind", left.outside.join(from).to_str().unwrap()], to);
    };
    // At any depth; over a file; another file system; a folder of the host in one of these.
    let left = Left::new();
    left.ledger(true);
    let at = |path: &str| left.folder.join(path);
    for path in ["data", "deep/er/data", "memory"] {
        fs::create_dir(at(path)).unwrap();
    }
    fs::write(at("deep/file"), "").unwrap();
    bind(&left, "", &at("data"));
    bind(&left, "sub", &at("deep/er/data"));
    bind(&left, "a", &at("deep/file"));
    mount(&["-t", "tmpfs", "none"], &at("memory"));
    fs::create_dir(at("memory/inner")).unwrap();
    fs::write(at("memory/own"), "text").unwrap();
    bind(&left, "", &at("memory/inner"));
    for _ in 0..2 {
        let told = left.down().unwrap_err();
        left.is_whole();
        assert!(at("memory/own").exists() && left.is_known());
        let (text, hint) = (told.to_string(), told.hint().unwrap());
        for path in ["data", "deep/er/data", "deep/file", "memory"] {
            let path = at(path).display().to_string();
            assert!(text.contains(&path) && hint.contains(&path), "{path}: {text}; {hint}");
        }
        assert!(hint.contains("umount") && hint.contains("testbed down"), "{hint}");
        // What is the bed's own is gone.
        assert!(!at("own").exists() && !at("deep/own").exists() && !at("deep/er/own").exists());
    }
    for path in ["memory/inner", "memory", "deep/file", "deep/er/data", "data"] {
        umount(&at(path));
    }
    left.down().unwrap();
    assert!(!left.folder.exists() && !left.is_known());
    left.is_whole();
    // Over the folder itself, with its mark in it or not.
    for is_marked in [false, true] {
        let left = Left::new();
        left.ledger(true);
        if is_marked {
            fs::write(left.outside.join(".plimsoll"), BED).unwrap();
        }
        bind(&left, "", &left.folder);
        let told = left.down().unwrap_err().to_string();
        assert!(told.contains("mounted there"), "{told}");
        left.is_whole();
        assert!(left.is_known());
        umount(&left.folder);
        left.down().unwrap();
        assert!(!left.folder.exists() && !left.is_known());
    }
}
