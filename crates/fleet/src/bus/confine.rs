//! What keeps a process that serves strangers from this host: the kernel.
//!
//! By Landlock (Linux 5.13; TCP ports from 6.7) it can read a few files that are no secrets, write
//! below one folder, execute nothing and connect to a few ports, whatever it is told to do. None of
//! that can be taken back.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
};
use plimsoll_units::failure::{Failure, Kind};

/// What every process may read: how names are looked up, and the libraries by which that is done;
/// whom TLS trusts; its own figures.
const READABLE: [&str; 15] = [
    "/etc/gai.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/localtime",
    "/etc/ssl/certs",
    "/etc/pki/tls",
    "/etc/pki/ca-trust/extracted",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/proc/self",
];
/// The port by which names are looked up whose answers are long.
const DNS: u16 = 53;

/// Why a process is not kept from its host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfineError {
    /// The kernel cannot.
    #[error("keep strangers from this host's files: the kernel has no Landlock")]
    Absent(#[source] RulesetError),
    /// A folder that it is to write in cannot be opened.
    #[error("keep strangers from this host's files")]
    Folder(#[source] landlock::PathFdError),
}

impl Failure for ConfineError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let text = "it needs Linux 5.13 with `landlock` in /sys/kernel/security/lsm; a worker that \
                    is started by ssh (--on) needs none";
        matches!(self, Self::Absent(_)).then(|| text.to_owned())
    }
}

/// Keeps this thread, and those that it starts from now on, to what may be read by every process,
/// to a folder, and to connections to these ports; to any where `ports` is `None`.
///
/// # Errors
/// [`ConfineError`]: nothing is kept then.
pub fn confine(folder: &Path, ports: Option<&[u16]>) -> Result<(), ConfineError> {
    // Files from the first version on, or nothing at all; ports where the kernel can.
    let all = AccessFs::from_all(ABI::V1);
    let absent = ConfineError::Absent;
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let rules = rules.handle_access(all).map_err(absent)?;
    let rules = rules.set_compatibility(CompatLevel::BestEffort);
    let rules = rules.handle_access(AccessFs::from_all(ABI::V5)).map_err(absent)?;
    let rules = match ports {
        Some(_) => rules.handle_access(AccessNet::ConnectTcp).map_err(absent)?,
        None => rules,
    };
    let mut rules = rules.create().map_err(absent)?;
    let write = AccessFs::from_all(ABI::V5) & !AccessFs::Execute;
    let folder = PathFd::new(folder).map_err(ConfineError::Folder)?;
    rules = rules.add_rule(PathBeneath::new(folder, write)).map_err(absent)?;
    // What is not there cannot be read anyway.
    for path in READABLE.into_iter().filter_map(|path| PathFd::new(path).ok()) {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        rules = rules.add_rule(PathBeneath::new(path, read)).map_err(absent)?;
    }
    // Where any port may be connected to, none has a rule of its own.
    for &port in ports.into_iter().flat_map(|ports| ports.iter().chain(&[DNS])) {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(absent)?;
    }
    rules.restrict_self().map_err(absent)?;
    Ok(())
}
