//! Whose ledgers, locks and sockets are believed: those of this user alone.

use crate::place::Place;
use crate::program::{Going, PLIMSOLL};
use plimsoll_testbed::thing::started_at;
use rustix::process::geteuid;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user without rights that root is for this test, and another one.
const USER: u32 = 23_501;
const OTHER: u32 = 23_502;

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A user without rights, who has a folder of the place's for what stands while programs run.
struct User {
    place: Place,
    program: PathBuf,
    runtime: PathBuf,
}

impl User {
    fn new() -> Self {
        let place = Place::new();
        chmod(&place.path(""), 0o755);
        let (program, runtime) = (place.path("program"), place.path("runtime"));
        // The folder in which it was built may be closed to others.
        if std::fs::hard_link(PLIMSOLL, &program).is_err() {
            std::fs::copy(PLIMSOLL, &program).unwrap();
        }
        std::fs::create_dir(&runtime).unwrap();
        let user = Self { place, program, runtime };
        user.own(&user.runtime, 0o700);
        user
    }

    /// Makes a file or folder the user's.
    fn own(&self, path: &Path, mode: u32) {
        chmod(path, mode);
        if geteuid().is_root() {
            chown(path, Some(USER), Some(USER)).unwrap();
        }
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let program = program.to_str().unwrap();
        let mut command = if geteuid().is_root() {
            let user = USER.to_string();
            let words = ["--reuid", &user, "--regid", &user, "--clear-groups", program];
            self.place.command("setpriv", &[&words, arguments].concat())
        } else {
            self.place.command(program, arguments)
        };
        command.env("XDG_RUNTIME_DIR", &self.runtime).env("HOME", "/nonexistent");
        command.env_remove("XDG_STATE_HOME");
        command
    }

    fn start(&self, program: &str, arguments: &[&str]) -> Going {
        self.place.start(self.command(Path::new(program), arguments))
    }

    /// Writes a ledger that has a process of the user's.
    fn ledger(&self, folder: &Path, process: &Going) -> PathBuf {
        let bed = folder.join("k3x9a1b");
        std::fs::create_dir_all(&bed).unwrap();
        let (pid, ledger) = (process.id().cast_unsigned(), bed.join("ledger.jsonl"));
        let started = started_at(pid).unwrap();
        let line = format!(
            "{{\"id\":1,\"made\":{{\"what\":\"process\",\"instance\":\"web-1\",\"pid\":{pid},\
             \"started\":{started}}}}}\n"
        );
        std::fs::write(&ledger, line).unwrap();
        for path in [folder, &bed] {
            self.own(path, 0o700);
        }
        self.own(&ledger, 0o600);
        ledger
    }
}

/// What is done to a folder or a ledger.
type Spoils<'a> = Box<dyn Fn() + 'a>;

/// A ledger that somebody else could have written would have us end our own processes.
#[test]
fn a_ledger_that_others_could_have_written_is_not_believed() {
    let user = User::new();
    let mut process = user.start("sleep", &["600"]);
    let folder = user.runtime.join("plimsoll");
    let ledger = user.ledger(&folder, &process);
    let bed = ledger.parent().unwrap().to_owned();
    let mut all: Vec<(&str, Spoils<'_>)> = vec![
        ("a folder of everybody's above it", Box::new(|| chmod(&user.runtime, 0o777))),
        ("a folder of everybody's", Box::new(|| chmod(&folder, 0o777))),
        ("a bed of everybody's", Box::new(|| chmod(&bed, 0o777))),
        ("a ledger of everybody's", Box::new(|| chmod(&ledger, 0o666))),
        (
            "a link in the place of the folder",
            Box::new(|| {
                std::fs::rename(&folder, user.runtime.join("real")).unwrap();
                symlink("real", &folder).unwrap();
            }),
        ),
    ];
    if geteuid().is_root() {
        let give = |path: &Path| chown(path, Some(OTHER), Some(OTHER)).unwrap();
        let (above, own, bed, ledger) = (&user.runtime, &folder, bed.clone(), ledger.clone());
        all.push(("a folder of another user's above it", Box::new(move || give(above))));
        all.push(("a folder of another user's", Box::new(move || give(own))));
        let theirs = bed.clone();
        all.push(("a bed of another user's", Box::new(move || give(&bed))));
        all.push((
            "a bed of another user's where all could put one",
            Box::new(move || {
                chmod(own, 0o1777);
                give(&theirs);
            }),
        ));
        all.push(("a ledger of another user's", Box::new(move || give(&ledger))));
    }
    for (what, spoils) in &all {
        user.own(&user.runtime, 0o700);
        let _ = std::fs::remove_dir_all(user.runtime.join("real"));
        let _ = std::fs::remove_file(&folder);
        user.ledger(&folder, &process);
        spoils();
        if geteuid().is_root() {
            // The user may enter what another one has closed.
            for path in [&user.runtime, &folder, &bed] {
                let mode = path.metadata().unwrap().permissions().mode();
                chmod(path, mode | 0o055);
            }
            chmod(&ledger, ledger.metadata().unwrap().permissions().mode() | 0o044);
        }
        let done = user.place.start(user.command(&user.program, &["testbed", "down", "--all"]));
        let done = done.wait().ended_with(4);
        assert!(!process.has_ended(), "{what}: {}", done.err);
        assert!(done.err.contains("use /") && done.err.contains("hint:"), "{what}: {}", done.err);
    }
    // The same ledger, where it is the user's alone.
    user.own(&user.runtime, 0o700);
    let _ = std::fs::remove_dir_all(user.runtime.join("real"));
    let _ = std::fs::remove_file(&folder);
    user.ledger(&folder, &process);
    let done = user.place.start(user.command(&user.program, &["testbed", "down", "--all"]));
    done.wait().ended_with(0).says(&["k3x9a1b: undone"]);
    assert!(process.wait().code().is_none(), "it was ended");
}

/// Nothing is made in a folder that others could exchange, and what is there stays.
#[test]
fn no_test_bed_is_made_beside_what_others_could_exchange() {
    let user = User::new();
    let plan = "[testbed]\nprovider = 'process'\n[role.web]\nrecipe = 'target'\n\
                [target]\nurl = 'http://{{role.web.address}}:{{role.web.port}}/'\n\
                [load]\nrate = '1/s'\nfor = '1s'\n";
    user.place.write("plan.toml", plan);
    let up = |folders: &Path| {
        let mut command = user.command(&user.program, &["testbed", "up", "plan.toml"]);
        command.env("TMPDIR", folders);
        user.place.start(command).wait()
    };
    let (servers, folder) = (user.place.path("servers"), user.runtime.join("plimsoll"));
    std::fs::create_dir(&servers).unwrap();
    user.own(&servers, 0o777);
    let done = up(&servers).ended_with(4);
    assert!(
        done.err.contains(&format!("others may write in {}", servers.display())),
        "{}",
        done.err
    );
    assert_eq!(std::fs::read_dir(&servers).unwrap().count(), 0);
    user.own(&servers, 0o1777);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    user.own(&folder, 0o777);
    let done = up(&servers).ended_with(4);
    assert!(done.err.contains("others may write in it"), "{}", done.err);
    for path in [&servers, &folder] {
        assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "{}", path.display());
    }
}
