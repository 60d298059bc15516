//! What a test looks for on its host: programs, recorded data, what its kernel gives.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::{SHARED, skip, variable};

/// Where system programs lie that are not on everybody's `PATH`.
const ALSO: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The path of a program, where it is installed.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(ALSO.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The path of a program; where it is not installed, the test is skipped by the program's name.
pub fn installed(test: &str, name: &str) -> Option<PathBuf> {
    let found = program(name);
    if found.is_none() {
        skip(test, name);
    }
    found
}

/// The folder of peers in Python that `.ci/python-peers` fills, for programs and their modules.
pub fn python_peers() -> PathBuf {
    peers("PLIMSOLL_PYTHON_PEERS", "python").join("bin")
}

/// The folder of peers for WebSockets that `.ci/websocket-peers` fills: programs in `bin`, modules
/// of Node in `node_modules`.
pub fn websocket_peers() -> PathBuf {
    peers("PLIMSOLL_WEBSOCKET_PEERS", "websocket")
}

/// The folder of peers that a variable names, or the one in the user's cache.
fn peers(named: &str, kind: &str) -> PathBuf {
    let cache = || {
        let home = || Path::new(&variable("HOME").unwrap_or_default()).join(".cache");
        variable("XDG_CACHE_HOME").map_or_else(home, PathBuf::from)
    };
    variable(named).map_or_else(|| cache().join("plimsoll/peers").join(kind), PathBuf::from)
}

/// A file or folder of the recorded data beside the project; where there is none, the test is
/// skipped. The path is below the folder that [`SHARED`] names, or `shared` beside the project.
pub fn shared(test: &str, path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let found = variable(SHARED).map_or_else(beside, PathBuf::from).join(path);
    if found.exists() {
        return Some(found);
    }
    skip(test, &format!("../shared: {path}"));
    None
}

/// Whether this user may make network and mount namespaces; where not, the test is skipped. This
/// asks the kernel, not the program under test, whose own refusal would be a fault.
pub fn has_namespaces(test: &str) -> bool {
    static FOUND: LazyLock<Result<(), String>> = LazyLock::new(make_namespaces);
    if let Err(why) = &*FOUND {
        skip(test, &format!("namespaces: {why}"));
    }
    FOUND.is_ok()
}

#[expect(clippy::disallowed_methods, reason = "`unshare` is asked what the kernel gives")]
fn make_namespaces() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("they are made by root".to_owned());
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "--mount", "ip", "link", "set", "lo", "up"]).stdin(Stdio::null());
    match unshare.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("unshare: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_on_the_path_and_beside_it() {
        assert!(program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(program("no-such-program"), None);
    }
}
