//! The host as a test sees it: what a bed may leave behind, and where it is made.

use plimsoll_net::http::client::{Ask, Limits as Within, Plain};
use plimsoll_net::url::Url;
use plimsoll_testbed::launch::Launcher;
use plimsoll_testbed::provider::{Namespace, Process, Provider};
use plimsoll_testbed::recipe::find;
use plimsoll_testbed::role::{Limits, Role, Secrets};
use plimsoll_testbed::ssh::Client;
use plimsoll_testbed::{Bed, Instance};
use plimsoll_testing::{has_namespaces, installed, skip};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

static BEDS: AtomicU32 = AtomicU32::new(0);

/// A folder of a test, and its ledgers below it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        // Servers run as users without rights, and have to come to their own folders.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(folder.path(), open).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn ledgers(&self) -> PathBuf {
        self.path().join("ledgers")
    }

    /// A bed of this provider, with an id that no other test has.
    pub(crate) fn bed(&self, provider: Box<dyn Provider>, roles: Vec<Role>) -> Bed {
        let number = BEDS.fetch_add(1, Ordering::Relaxed);
        let id = format!("t{:x}{number:x}", std::process::id() % 0xf_ffff);
        let (of, left, folders) = (None, Vec::new(), self.path().to_owned());
        Bed {
            id,
            of,
            left,
            provider,
            roles,
            links: Vec::new(),
            followed: None,
            folders,
            launcher: launcher(),
            client: Client::default(),
        }
    }

    pub(crate) fn processes(&self, roles: Vec<Role>) -> Bed {
        self.bed(Box::new(Process), roles)
    }

    /// `None`, said by name, where the kernel gives no namespaces or no control groups.
    pub(crate) fn namespaces(&self, test: &str, roles: Vec<Role>) -> Option<Bed> {
        if !has_namespaces(test) {
            return None;
        }
        let groups = Path::new("/sys/fs/cgroup");
        if !groups.join("cgroup.controllers").exists() && !groups.join("cpu").exists() {
            skip(test, "namespaces: no control groups");
            return None;
        }
        let provider = Namespace::probe(Path::new("/"), Path::new("/run/plimsoll-tests"));
        Some(self.bed(Box::new(provider.unwrap()), roles))
    }
}

/// The waiting process is an example of this crate, built beside its tests.
fn launcher() -> Launcher {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(Path::parent).unwrap();
    Launcher { program: built.join("examples/wait_and_become"), arguments: Vec::new() }
}

/// A role of a recipe of the program.
pub(crate) fn role(name: &str, recipe: &str) -> Role {
    Role {
        name: name.to_owned(),
        recipe: find(recipe, Path::new("/nowhere")).unwrap(),
        count: 1,
        limits: Limits::default(),
        sysctl: BTreeMap::new(),
        vars: BTreeMap::new(),
        environment: BTreeMap::new(),
        user: None,
        image: None,
        secrets: Secrets::default(),
        files: Vec::new(),
    }
}

/// What an instance answers to a request for a path.
pub(crate) fn get(instance: &Instance, path: &str) -> (u16, Vec<u8>) {
    let url = Url::parse(&format!("http://{}:{}{path}", instance.address, instance.port)).unwrap();
    let answer = Ask::get(&url).send(&Plain, Within::within(Duration::from_secs(5))).unwrap();
    (answer.status, answer.body)
}

/// A role of nginx; `None`, said by name, where that is not installed.
pub(crate) fn nginx(test: &str) -> Option<Role> {
    installed(test, "nginx").map(|_| role("web", "nginx"))
}

/// All that this host has of a bed: namespaces, links, cgroups, folders, processes.
pub(crate) fn left_of(id: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |folder: &str| {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.contains(id) {
                found.push(format!("{folder}/{name}"));
            }
        }
    };
    look("/run/netns");
    look("/sys/class/net");
    let groups = ["", "cpu", "cpuacct", "memory", "pids", "cpuset", "unified"];
    groups.iter().for_each(|group| look(&format!("/sys/fs/cgroup/{group}")));
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&format!("plimsoll-{id}-")) {
            found.push(format!("{}: {line}", entry.path().display()));
        }
    }
    found
}

/// What this host has that a bed may have changed: its mounts, and the names of its namespaces,
/// links and cgroups that no other test makes.
pub(crate) fn host_of(id: &str) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let ours = mounts.lines().filter(|line| line.contains(id)).map(str::to_owned);
    ours.chain(left_of(id)).collect()
}
