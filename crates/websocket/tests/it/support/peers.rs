//! Programs that are not ours: found where `.ci/websocket-peers` puts them, or on the path.
#![expect(clippy::disallowed_methods, reason = "a peer is a process")]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use plimsoll_testing::{skip, websocket_peers};

/// The folder of peers, where it is not the one in the user's cache.
const FOLDER: &str = "PLIMSOLL_WEBSOCKET_PEERS";

/// Where Node looks for what its programs need.
pub(crate) const NODE_PATH: &str = "NODE_PATH";

/// What a program is asked, and how it says that it lacks something.
pub(crate) struct Probe {
    pub(crate) arguments: &'static [&'static str],
    /// What it may lack, and what it says then.
    pub(crate) lacks: Option<(&'static str, &'static str)>,
}

/// A program of the peers, told by its name; `None`, said by name, where there is none or none has
/// what is asked for. One that is there and fails otherwise fails the test.
pub(crate) fn find(test: &str, name: &str, probe: &Probe) -> Option<PathBuf> {
    let folder = websocket_peers();
    let own = Some(folder.join("bin").join(name)).filter(|program| program.is_file());
    let mut there = own.into_iter().chain(plimsoll_testing::program(name)).peekable();
    if there.peek().is_none() {
        skip(test, &format!("{name}: from .ci/websocket-peers, or {FOLDER}"));
        return None;
    }
    let mut missing = None;
    for program in there {
        let mut command = Command::new(&program);
        command.env(NODE_PATH, folder.join("node_modules"));
        let output = command.args(probe.arguments).stdin(Stdio::null()).output().unwrap();
        if output.status.success() {
            return Some(program);
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let lacks = probe.lacks.filter(|(_, says)| said.contains(says));
        assert!(lacks.is_some(), "{}: {}: {said}", program.display(), output.status);
        missing = lacks;
    }
    let (what, _) = missing?;
    skip(test, &format!("{what}: a module of {name}, from .ci/websocket-peers, or {FOLDER}"));
    None
}
