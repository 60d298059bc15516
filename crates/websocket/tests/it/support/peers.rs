//! Programs that are not ours: found where `.ci/websocket-peers` puts them, or on the path.
#![expect(clippy::disallowed_methods, reason = "a peer is a process, found by the environment")]

use std::env;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

/// A program of the peers, told by its name; `None`, said by name, where it does not answer to
/// these arguments.
pub(crate) fn find(test: &str, name: &str, probe: &[&str]) -> Option<PathBuf> {
    let folder = folder();
    let own = folder.as_ref().map(|folder| folder.join("bin").join(name));
    for program in own.into_iter().chain([PathBuf::from(name)]) {
        let mut command = Command::new(&program);
        if let Some(folder) = &folder {
            command.env(NODE_PATH, folder.join("node_modules"));
        }
        command.args(probe).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().is_ok_and(|status| status.success()) {
            return Some(program);
        }
    }
    eprintln!("skipped: {test}: no {name} that knows {probe:?} (.ci/websocket-peers, or {FOLDER})");
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
