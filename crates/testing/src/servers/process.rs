//! The process of a server: started on ports that are free, ended by its id.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};

use super::Folder;
use crate::{free_port, wait_for};

/// So often another port is tried.
const TRIES: usize = 10;

type IsUp = dyn Fn(&Process) -> bool + Send + Sync;

/// A process that serves on ports of 127.0.0.1 and keeps everything in a folder, which it works in.
/// It ends when this is dropped.
pub struct Process {
    child: Child,
    ports: Vec<u16>,
    command: Command,
    is_up: Box<IsUp>,
    ends_by: Signal,
    folder: Arc<Folder>,
}

impl Process {
    /// Starts a server that listens on one port, and waits until it does.
    #[must_use]
    pub fn listening(command: impl Fn(&Path, u16) -> Command) -> Self {
        let command = |folder: &Path, ports: &[u16]| command(folder, ports[0]);
        Self::start(Folder::new(), 1, command, |own| own.listens_on(own.port()))
    }

    /// Starts a server in a folder, on so many ports, and waits until it is up. A port that is free
    /// now may be taken a moment later: where it ends before it is up, other ports are tried.
    #[must_use]
    pub fn start(
        folder: impl Into<Arc<Folder>>,
        ports: usize,
        command: impl Fn(&Path, &[u16]) -> Command,
        is_up: impl Fn(&Self) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (folder, is_up) = (folder.into(), Box::new(is_up));
        let begin = || {
            let ports: Vec<u16> = (0..ports).map(|_| free_port()).collect();
            let mut command = command(folder.path(), &ports);
            (spawn(&mut command, folder.path()), ports, command)
        };
        let (child, ports, command) = begin();
        let (ends_by, folder) = (Signal::KILL, folder.clone());
        let mut own = Self { child, ports, command, is_up, ends_by, folder };
        for _ in 1..TRIES {
            if own.is_up() {
                return own;
            }
            (own.child, own.ports, own.command) = begin();
        }
        assert!(own.is_up(), "a server does not start: {}", own.log());
        own
    }

    /// Has it end by another signal than KILL.
    pub(super) fn ending_by(mut self, signal: Signal) -> Self {
        self.ends_by = signal;
        self
    }

    /// Waits until it is up; false where it has ended.
    fn is_up(&mut self) -> bool {
        wait_for("a server to be up", || {
            let has_ended = self.has_ended();
            (has_ended || (self.is_up)(self)).then_some(!has_ended)
        })
    }

    /// The first of its ports.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// All of its ports.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where it keeps everything.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has said since it was started, on its output and its errors.
    #[must_use]
    pub fn log(&self) -> String {
        let log = std::fs::read(self.folder().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> ExitStatus {
        wait_for("a server to end", || self.child.try_wait().unwrap())
    }

    /// Whether it listens on a port itself: that somebody answers there may be chance, and a server
    /// counts who connects to find out.
    #[must_use]
    pub fn listens_on(&self, port: u16) -> bool {
        listens(self.child.id(), port)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // It may just have ended by itself.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Asks it to end, whether it goes on or was stopped, and waits until it has.
    pub fn end(&mut self) {
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        self.wait();
    }

    /// Starts it again where it was, and waits until it is up.
    pub fn again(&mut self) {
        assert!(self.has_ended(), "it goes on");
        self.child = spawn(&mut self.command, self.folder.path());
        assert!(self.is_up(), "a server does not start again: {}", self.log());
    }
}

impl AsMut<Self> for Process {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.signal(self.ends_by);
            self.wait();
        }
    }
}

/// Whether a process listens on a port.
#[must_use]
pub fn listens(process: u32, port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let local = format!(":{port:04X}");
    let listener = table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (address, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
        (address.ends_with(&local) && *state == "0A").then_some(*inode)
    });
    let Some(inode) = listener else { return false };
    let socket = PathBuf::from(format!("socket:[{inode}]"));
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    files.map(|file| file.path()).any(|file| std::fs::read_link(file).is_ok_and(|to| to == socket))
}

fn spawn(command: &mut Command, folder: &Path) -> Child {
    let log = File::create(folder.join("log")).unwrap();
    command.current_dir(folder).env("TMPDIR", folder).stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::Mutex;

    use super::*;
    use crate::installed;

    /// A server of one line, which ends where its port is taken.
    fn server(port: u16) -> Command {
        let mut command = Command::new("python3");
        let text = "import http.server as h, sys\n\
                    h.HTTPServer(('127.0.0.1', int(sys.argv[1])), h.SimpleHTTPRequestHandler)\
                    .serve_forever()";
        command.args(["-c", text, &port.to_string()]);
        command
    }

    #[test]
    fn another_port_is_tried_where_one_was_taken() {
        if installed("another_port_is_tried_where_one_was_taken", "python3").is_none() {
            return;
        }
        let taken = Mutex::new(None);
        let server = Process::listening(move |_, port| {
            // Somebody is quicker, once.
            let mut taken = taken.lock().unwrap();
            if taken.is_none() {
                *taken = Some((TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap(), port));
            }
            server(port)
        });
        assert!(server.listens_on(server.port()));
        assert!(!listens(std::process::id(), server.port()), "and nobody else does");
    }

    #[test]
    fn a_server_is_stopped_ended_and_started_again_where_it_was() {
        let test = "a_server_is_stopped_ended_and_started_again_where_it_was";
        if installed(test, "python3").is_none() {
            return;
        }
        let mut process = Process::listening(|_, port| server(port));
        let port = process.port();
        process.signal(Signal::STOP);
        process.end();
        assert!(!process.listens_on(port));
        process.again();
        assert!(process.port() == port && process.listens_on(port));
        let folder = process.folder().to_owned();
        drop(process);
        assert!(!folder.exists());
    }

    #[test]
    #[should_panic(expected = "no such word")]
    fn a_server_that_does_not_start_is_told_with_its_words() {
        let _ = Process::listening(|_, _| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo no such word >&2; exit 3"]);
            command
        });
    }
}
