//! What tests need of the kernel of this host. The host is asked, not the program under test: where
//! that refuses without need, its tests have to fail.
#![expect(clippy::disallowed_methods, reason = "the kernel is asked by its own tools")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{has_namespaces, skip};

/// Where control groups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Skips a test by what the kernel does not give; whether it gives it.
fn is_given(test: &str, found: &Result<(), String>) -> bool {
    if let Err(why) = found {
        skip(test, &format!("namespaces: {why}"));
    }
    found.is_ok()
}

/// Runs `ip` or `tc` in a network that is gone with it.
fn in_a_network(what: &str, words: &[&str]) -> Result<(), String> {
    succeeds(what, Command::new("unshare").arg("--net").args(words))
}

fn succeeds(what: &str, command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(format!("no {what}: {}", String::from_utf8_lossy(&done.stderr).trim())),
        Err(error) => Err(format!("no {what}: {error}")),
    }
}

/// Whether instances can have namespaces here: networks of their own, which are joined by a bridge,
/// and control groups. Where not, the test is skipped.
pub fn has_instances(test: &str) -> bool {
    let bridge = ["ip", "link", "add", "probe0", "type", "bridge"];
    let pair = ["ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"];
    has_namespaces(test)
        && is_given(test, &in_a_network("bridges", &bridge))
        && is_given(test, &in_a_network("pairs of network devices", &pair))
        && has_cgroups(test)
}

/// Whether this user, root or not, may have a network of his own; where not, the test is skipped.
pub fn has_own_network(test: &str) -> bool {
    let mut unshare = Command::new("unshare");
    unshare.arg("--net");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--map-current-user", "--keep-caps"]);
    }
    is_given(test, &succeeds("network of a user's own", unshare.arg("true")))
}

/// Whether there are TUN devices here, which carry links. Where not, the test is skipped.
pub fn has_tun(test: &str) -> bool {
    let device = ["ip", "tuntap", "add", "dev", "probe0", "mode", "tun"];
    has_namespaces(test) && is_given(test, &in_a_network("TUN devices", &device))
}

/// Whether a network device can be held to a rate here. Where not, the test is skipped.
pub fn has_rates(test: &str) -> bool {
    let filter = "tc qdisc add dev lo root tbf rate 1mbit burst 32kb latency 100ms";
    let words: Vec<&str> = filter.split(' ').collect();
    has_namespaces(test) && is_given(test, &in_a_network("limits of network devices", &words))
}

/// Whether this user may make control groups that limit a processor and memory. Where not, the test
/// is skipped.
pub fn has_cgroups(test: &str) -> bool {
    is_given(test, &cgroups())
}

/// Makes control groups, of version 1 or 2, and takes them away.
///
/// # Errors
///
/// Why they cannot be made, in words.
pub fn cgroups() -> Result<(), String> {
    let known = std::fs::read_to_string(format!("{CGROUPS}/cgroup.controllers"));
    if known.is_ok_and(|known| known.split_whitespace().any(|name| name == "cpu")) {
        return cgroup(Path::new(CGROUPS), "memory.max").or_else(|_| {
            let switch = format!("{CGROUPS}/cgroup.subtree_control");
            std::fs::write(switch, "+cpu +memory").map_err(|error| told(&error))?;
            cgroup(Path::new(CGROUPS), "memory.max")
        });
    }
    cgroup(&Path::new(CGROUPS).join("cpu"), "cpu.cfs_quota_us")?;
    cgroup(&Path::new(CGROUPS).join("memory"), "memory.limit_in_bytes")
}

fn told(error: &std::io::Error) -> String {
    format!("no control groups that may be made: {error}")
}

/// Makes a group below this one, which has to have this file.
fn cgroup(above: &Path, file: &str) -> Result<(), String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let group: PathBuf = above.join(format!("probe-of-tests-{}-{number}", std::process::id()));
    std::fs::create_dir(&group).map_err(|error| told(&error))?;
    let has_file = group.join(file).is_file();
    std::fs::remove_dir(&group).map_err(|error| told(&error))?;
    if has_file { Ok(()) } else { Err(format!("control groups have no {file}")) }
}

/// Whether this user may empty the page cache; where not, the test is skipped.
pub fn may_drop_caches(test: &str) -> bool {
    let opened = std::fs::OpenOptions::new().write(true).open("/proc/sys/vm/drop_caches");
    if let Err(error) = &opened {
        skip(test, &format!("root: the page cache may not be emptied: {error}"));
    }
    opened.is_ok()
}

/// Whether this host has the loopback address of IPv6; where not, the test is skipped.
pub fn has_ipv6(test: &str) -> bool {
    let bound = std::net::TcpListener::bind("[::1]:0").map(drop);
    is_given(test, &bound.map_err(|error| format!("no address ::1: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_does_not_give_is_told_with_its_tools_words() {
        let told = succeeds("device", Command::new("sh").args(["-c", "echo no such >&2; exit 2"]));
        assert_eq!(told, Err("no device: no such".to_owned()));
        assert_eq!(succeeds("device", &mut Command::new("true")), Ok(()));
        let missing = succeeds("device", &mut Command::new("no-such-program"));
        assert!(missing.is_err_and(|why| why.starts_with("no device: ")));
    }
}
