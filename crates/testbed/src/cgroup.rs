//! Control groups: the limits of an instance, and where its processes are counted. Version 1 and 2,
//! by what the host has.
//!
//! # Sources
//!
//! The kernel's `Documentation/admin-guide/cgroup-v1/` and `cgroup-v2.rst`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TestbedError;
use crate::op::Op;
use crate::role::Limits;
use crate::thing::Thing;

/// Where cgroups are mounted.
const MOUNT: &str = "sys/fs/cgroup";
/// The controllers of version 1 that are used.
const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "memory", "pids", "cpuset"];

/// The host's kind of cgroups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cgroups {
    /// Version 1: a hierarchy for each controller; and version 2 beside it, which counts.
    V1 {
        /// The folders of the controllers, each with its name.
        controllers: Vec<(&'static str, PathBuf)>,
        /// The folder of version 2, where it is mounted too.
        unified: Option<PathBuf>,
    },
    /// Version 2, with all controllers.
    V2 {
        /// Its folder.
        root: PathBuf,
    },
}

/// The name of the groups of an instance, which has the bed's id.
pub(crate) fn group_of(bed: &str, instance: &str) -> String {
    format!("plimsoll-{bed}-{instance}")
}

impl Cgroups {
    /// Looks for the kind below the root of the file system.
    ///
    /// # Errors
    /// Where there is none that can limit a processor share.
    pub(crate) fn probe(root: &Path) -> Result<Self, TestbedError> {
        let mount = root.join(MOUNT);
        let known = std::fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
        if known.split_whitespace().any(|name| name == "cpu") {
            return Ok(Self::V2 { root: mount });
        }
        let is_there = |name: &&str| mount.join(name).join("cgroup.procs").is_file();
        let controllers: Vec<(&str, PathBuf)> =
            CONTROLLERS.into_iter().filter(is_there).map(|name| (name, mount.join(name))).collect();
        if !controllers.iter().any(|(name, _)| *name == "cpu") {
            let text = format!(
                "limit an instance: {} has no controller `cpu`, of neither version",
                mount.display()
            );
            return Err(TestbedError::Wrong(text));
        }
        let unified =
            Some(mount.join("unified")).filter(|path| path.join("cgroup.procs").is_file());
        Ok(Self::V1 { controllers, unified })
    }

    /// The kind of this host, for instances that are watched by their groups.
    ///
    /// # Errors
    /// As for [`Cgroups::probe`].
    pub(crate) fn of_host() -> Result<Self, TestbedError> {
        Self::probe(Path::new("/")).map_err(|_| {
            TestbedError::Wrong(format!(
                "watch instances by their cgroups: /{MOUNT} has no controller `cpu`, of neither \
                 version; leave `cgroup` out of `from` in [collect]"
            ))
        })
    }

    /// The folders of a name, each with what is written into it.
    fn groups(&self, name: &str, limits: &Limits) -> Vec<(PathBuf, Settings)> {
        match self {
            Self::V2 { root } => vec![(root.join(name), v2(limits))],
            Self::V1 { controllers, unified } => {
                let of = |(controller, path): &(&'static str, PathBuf)| {
                    (path.join(name), v1(controller, path, limits))
                };
                let unified = unified.iter().map(|path| (path.join(name), Vec::new()));
                controllers.iter().map(of).chain(unified).collect()
            }
        }
    }

    /// What makes the groups of a name.
    pub(crate) fn of(&self, name: &str, limits: &Limits) -> Vec<Op> {
        let groups = self.groups(name, limits).into_iter();
        groups
            .map(|(path, settings)| Op::Cgroup { thing: Thing::Cgroup { path }, settings })
            .collect()
    }

    /// The files that a process is entered by.
    pub(crate) fn entries(&self, name: &str) -> Vec<PathBuf> {
        let groups = self.groups(name, &Limits::default()).into_iter();
        groups.map(|(path, _)| path.join("cgroup.procs")).collect()
    }
}

/// Values by the names of their files.
pub(crate) type Settings = Vec<(String, String)>;

fn setting(name: &str, value: impl std::fmt::Display) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// The least quota that the kernel takes, microseconds.
pub(crate) const LEAST_QUOTA_US: u64 = 1000;

/// A quota of processor time in a period, microseconds both.
pub(crate) fn quota(share: f64, period_us: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by plan")]
    let quota = (share * period_us as f64).round() as u64;
    quota
}

fn v1(controller: &str, path: &Path, limits: &Limits) -> Settings {
    let period_us = limits.cpu_period_us;
    match controller {
        "cpu" => limits.cpu.map_or(Vec::new(), |share| {
            vec![
                setting("cpu.cfs_period_us", period_us),
                setting("cpu.cfs_quota_us", quota(share, period_us)),
            ]
        }),
        "memory" => {
            limits.memory.map_or(Vec::new(), |bytes| vec![setting("memory.limit_in_bytes", bytes)])
        }
        "pids" => limits.processes.map_or(Vec::new(), |most| vec![setting("pids.max", most)]),
        "cpuset" => {
            // A new group has neither, and takes no process before.
            let of_all = |name: &str| {
                std::fs::read_to_string(path.join(name)).unwrap_or_default().trim().to_owned()
            };
            let cpus = limits.cpuset.clone().unwrap_or_else(|| of_all("cpuset.cpus"));
            vec![setting("cpuset.cpus", cpus), setting("cpuset.mems", of_all("cpuset.mems"))]
        }
        _ => Vec::new(),
    }
}

fn v2(limits: &Limits) -> Settings {
    let mut settings = Vec::new();
    if let Some(share) = limits.cpu {
        let period_us = limits.cpu_period_us;
        settings.push(setting("cpu.max", format!("{} {period_us}", quota(share, period_us))));
    }
    settings.extend(limits.memory.map(|bytes| setting("memory.max", bytes)));
    settings.extend(limits.processes.map(|most| setting("pids.max", most)));
    settings.extend(limits.cpuset.as_ref().map(|cpus| setting("cpuset.cpus", cpus)));
    settings
}

/// Makes the cgroup of a row of the ledger, with these settings.
///
/// # Errors
/// What cannot be made or written.
pub(crate) fn make_cgroup(
    thing: &Thing,
    settings: &[(String, String)],
) -> Result<(), TestbedError> {
    let Thing::Cgroup { path } = thing else { return Ok(()) };
    fs::create_dir(path).map_err(TestbedError::file("make the cgroup", path))?;
    for (name, value) in settings {
        let file = path.join(name);
        fs::write(&file, value).map_err(TestbedError::file("write", file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn limits() -> Limits {
        Limits {
            cpu: Some(0.2),
            memory: Some(1 << 20),
            processes: Some(50),
            cpuset: Some("1".to_owned()),
            ..Limits::default()
        }
    }

    #[test]
    fn each_version_is_told_by_what_the_host_has() {
        let place = tempfile::tempdir().unwrap();
        let mount = place.path().join(MOUNT);
        assert!(Cgroups::probe(place.path()).is_err());
        for name in ["cpu", "memory", "cpuset", "unified"] {
            fs::create_dir_all(mount.join(name)).unwrap();
            fs::write(mount.join(name).join("cgroup.procs"), "").unwrap();
        }
        fs::write(mount.join("cpuset/cpuset.mems"), "0\n").unwrap();
        let v1 = Cgroups::probe(place.path()).unwrap();
        let groups = v1.groups(&group_of("e1", "web-1"), &limits());
        let of = |name: &str| {
            let path = mount.join(name).join("plimsoll-e1-web-1");
            groups.iter().find(|(group, _)| *group == path).unwrap().1.clone()
        };
        let cpu = [setting("cpu.cfs_period_us", 10_000), setting("cpu.cfs_quota_us", 2000)];
        assert_eq!(of("cpu"), cpu);
        assert_eq!(of("cpuset"), [setting("cpuset.cpus", 1), setting("cpuset.mems", 0)]);
        assert_eq!(of("unified"), []);
        assert_eq!(groups.len(), 4);

        fs::write(mount.join("cgroup.controllers"), "cpuset cpu io memory pids\n").unwrap();
        let v2 = Cgroups::probe(place.path()).unwrap();
        let groups = v2.groups(&group_of("e1", "web-1"), &limits());
        assert_eq!(groups[0].1[0], setting("cpu.max", "2000 10000"));
        assert_eq!(groups[0].1.len(), 4);
    }
}
