//! Programs that are not ours: found where `.ci/websocket-peers` puts them, or on the path.
#![expect(clippy::disallowed_methods, reason = "a peer is a process, found by the environment")]

use std::env;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_testing::skip;

/// The folder of peers, where it is not the one in the user's cache.
const FOLDER: &str = "PLIMSOLL_WEBSOCKET_PEERS";

/// Where Node looks for what its programs need.
pub(crate) const NODE_PATH: &str = "NODE_PATH";

/// The folder of peers, where the environment tells of one.
pub(crate) fn folder() -> Option<PathBuf> {
    let cache = env::var("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|_| env::var("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let folder = env::var(FOLDER).map(PathBuf::from);
    folder.or_else(|_| cache.map(|cache| cache.join("plimsoll/peers/websocket"))).ok()
}

/// What a program is asked, and how it says that it lacks something.
pub(crate) struct Probe {
    pub(crate) arguments: &'static [&'static str],
    /// What it may lack, and what it says then.
    pub(crate) lacks: Option<(&'static str, &'static str)>,
}

/// A program of the peers, told by its name; `None`, said by name, where there is none or none has
/// what is asked for. One that is there and fails otherwise fails the test.
pub(crate) fn find(test: &str, name: &str, probe: &Probe) -> Option<PathBuf> {
    let folder = folder();
    let own = folder.as_ref().map(|folder| folder.join("bin").join(name));
    let own = own.filter(|program| program.is_file());
    let mut there = own.into_iter().chain(plimsoll_testing::program(name)).peekable();
    if there.peek().is_none() {
        skip(test, &format!("{name}: from .ci/websocket-peers, or {FOLDER}"));
        return None;
    }
    let mut missing = None;
    for program in there {
        let mut command = Command::new(&program);
        if let Some(folder) = &folder {
            command.env(NODE_PATH, folder.join("node_modules"));
        }
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

/// A running program, ended with its test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts one.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// Until it takes connections.
    pub(crate) fn wait_for(&mut self, address: SocketAddr) {
        for _ in 0..600 {
            if TcpStream::connect(address).is_ok() {
                return;
            }
            if let Some(status) = self.0.try_wait().unwrap() {
                panic!("the peer has ended: {status}");
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
        panic!("the peer takes no connections");
    }
}

/// An address that nothing listens at.
pub(crate) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
