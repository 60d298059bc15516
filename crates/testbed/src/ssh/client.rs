//! The system's `ssh`: one connection a host, which all commands there share.
//!
//! The first process of `ssh` holds the connection. It runs `cat` on the host, on a pipe of ours:
//! it ends when we do, however that is, so that no connection outlives its program.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_units::own::OwnFolder;

use crate::command::{ENVIRONMENT, Words, run_command, wait};
use crate::error::TestbedError;
use crate::route::{Route, quoted};
use crate::time::{Deadline, Time};

/// How long a connection may take until it can be used.
const CONNECTS: Duration = Duration::from_secs(20);
/// How long `ssh` may take until it has ended.
const ENDS: Duration = Duration::from_secs(5);
/// What is said on the host when the connection can be used.
const READY: &str = "plimsoll: ready";
/// The most of what a host says before that, bytes: a message of the day.
const MOST_BEFORE: u64 = 64 << 10;
/// Options of every connection. A host that is silent for 15 s is gone.
const OPTIONS: [&str; 10] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ControlPersist=no",
    "ClearAllForwardings=yes",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
];

/// What of this host the client of SSH needs.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// This program's own file, which is copied to hosts.
    pub program: PathBuf,
    /// Variables of the environment that `ssh` gets beside that of every command: where the user's
    /// agent listens, and who the user is.
    pub environment: Vec<(String, String)>,
    /// Nobody is asked anything, not even `ssh` what it makes of a name: its configuration may hold
    /// commands (`Match exec`), and a plan may bring a configuration of its own.
    pub only_looks: bool,
    /// The hosts whose connections broke.
    pub lost: Lost,
}

/// How long a host is left alone whose connection broke, where it may be reached again.
const RESTS: Duration = Duration::from_secs(30);

/// The hosts whose connections broke, as all who use a client see them: by their names, with their
/// addresses and how long each is left alone.
#[derive(Debug, Clone, Default)]
pub struct Lost {
    all: Arc<Mutex<BTreeMap<String, (String, Deadline)>>>,
    time: Time,
}

impl Lost {
    /// None, whose rest is counted by a clock that is given.
    #[must_use]
    pub fn timed(time: Time) -> Self {
        Self { time, ..Self::default() }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, (String, Deadline)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the connection to a host broke, or that it could not be reached again.
    pub(crate) fn note(&self, host: &Route) {
        let rests = self.time.within(RESTS);
        self.all().insert(host.name.clone(), (host.to_string(), rests));
    }

    /// Notes that a host was reached again.
    pub(crate) fn found(&self, name: &str) {
        self.all().remove(name);
    }

    /// Whether a host was lost, and is to be left alone still.
    pub(crate) fn rests(&self, name: &str) -> bool {
        self.all().get(name).is_some_and(|(_, rests)| !rests.is_over())
    }
}

/// The variables of the environment that `ssh` needs of the user's.
pub const VARIABLES: [&str; 7] =
    ["PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "KRB5CCNAME", "XDG_RUNTIME_DIR"];

impl Client {
    /// Why what stands on some hosts cannot go on, where the connection to one of them broke.
    #[must_use]
    pub fn lost(&self, is_of_them: impl Fn(&str) -> bool) -> Option<TestbedError> {
        let why = "the connection to it broke".to_owned();
        let all = self.lost.all();
        let (_, (host, _)) = all.iter().find(|(name, _)| is_of_them(name))?;
        Some(TestbedError::Away { host: host.clone(), why })
    }

    /// A process of `ssh`, in a group of its own.
    #[expect(clippy::disallowed_methods, reason = "hosts are reached by the system's ssh")]
    fn command(&self, route: &Route, own: &[String], words: &[String]) -> Command {
        let mut command = Command::new("ssh");
        command.args(route.configuration()).args(own).args(words);
        command.env_clear().envs(ENVIRONMENT).envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).current_dir("/").process_group(0);
        command
    }

    /// What `ssh` makes of a host's address: the name or address that it would connect to. Nothing
    /// is connected to.
    ///
    /// # Errors
    /// A configuration that `ssh` does not understand.
    pub(crate) fn real_address(&self, route: &Route) -> Result<String, TestbedError> {
        route.check()?;
        let words = [vec!["-G".to_owned()], route.words()].concat();
        let command = self.command(route, &[], &words);
        let shown = format!("ssh -G {}", route.address);
        let said = run_command(command, &shown, &Deadline::within(ENDS))?;
        let address = said.lines().find_map(|line| line.strip_prefix("hostname "));
        Ok(address.unwrap_or(&route.address).trim().to_owned())
    }

    /// Connects to a host. Sockets of connections are made in `folder`, which is made for this
    /// user alone where it is not there.
    ///
    /// # Errors
    /// A host that cannot be reached, with what `ssh` says.
    pub(crate) fn connect(&self, route: &Route, folder: &Path) -> Result<Connection, TestbedError> {
        route.check()?;
        let socket = free_name(OwnFolder::make(folder)?.path());
        let own = options(&socket, true);
        let ready = format!("echo {}; exec cat > /dev/null", quoted(&Words::of(&[READY])));
        let words = [route.words(), vec![quoted(&Words::of(&["sh", "-c", &ready]))]].concat();
        let mut command = self.command(route, &own, &words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started =
            |source| TestbedError::Start { command: format!("ssh {}", route.address), source };
        let mut child = command.spawn().map_err(started)?;
        let input = child.stdin.take();
        let said = child.stdout.take().map(until_ready);
        let errors = child.stderr.take().map(last_line);
        let deadline = Deadline::within(CONNECTS);
        let is_ready = said.is_some_and(|said| said.recv_timeout(deadline.left()).is_ok());
        let (client, host) = (self.clone(), route.to_string());
        let connection = Connection { client, route: route.clone(), socket, child, input };
        if is_ready {
            return Ok(connection);
        }
        drop(connection);
        let told = errors.and_then(|errors| errors.recv_timeout(ENDS).ok());
        let why = told.filter(|text| !text.is_empty());
        Err(TestbedError::Away { host, why: why.unwrap_or_else(|| "it did not answer".to_owned()) })
    }
}

/// A name for a socket that no other of the folder has. It is short: the path of a socket has at
/// most 107 bytes, of which `ssh` takes 17 for itself.
fn free_name(folder: &Path) -> PathBuf {
    let number = (0_u32..).find(|number| !folder.join(format!("s{number}")).exists());
    let path = folder.join(format!("s{}", number.unwrap_or(0)));
    // The name is taken at once: `ssh` replaces no file, so it is a folder of this connection.
    let taken = DirBuilder::new().mode(0o700).create(&path);
    if taken.is_err() {
        return free_name(folder);
    }
    path.join("c")
}

fn options(socket: &Path, is_first: bool) -> Vec<String> {
    let master = if is_first { "ControlMaster=yes" } else { "ControlMaster=no" };
    with_options([master.to_owned(), format!("ControlPath={}", socket.display())])
}

/// The options of a connection that nobody shares.
pub(crate) fn options_of_one() -> Vec<String> {
    with_options(["ControlMaster=no", "ControlPath=none"].map(str::to_owned))
}

fn with_options(own: [String; 2]) -> Vec<String> {
    let all = OPTIONS.iter().map(|of| (*of).to_owned()).chain(own);
    ["-T".to_owned()].into_iter().chain(all.flat_map(|of| ["-o".to_owned(), of])).collect()
}

/// Tells when the host has said that it can be used. What a host says before is its own affair.
fn until_ready(output: impl Read + Send + 'static) -> Receiver<()> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output.take(MOST_BEFORE)).lines();
        if lines.by_ref().any(|line| line.is_ok_and(|line| line.trim() == READY)) {
            let _ = send.send(());
        }
    });
    receive
}

/// Takes what is said until its end; the last line of it is told.
pub(crate) fn last_line(output: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut output = output;
        let mut kept = Vec::new();
        let _ = (&mut output).take(MOST_BEFORE).read_to_end(&mut kept);
        let text = String::from_utf8_lossy(&kept).into_owned();
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let _ = send.send(last.unwrap_or_default().to_owned());
        let _ = std::io::copy(&mut output, &mut std::io::sink());
    });
    receive
}

/// A connection to a host. It ends when it is dropped.
pub(crate) struct Connection {
    client: Client,
    route: Route,
    socket: PathBuf,
    child: Child,
    input: Option<ChildStdin>,
}

impl Connection {
    /// Who made it.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The host.
    pub(crate) fn route(&self) -> &Route {
        &self.route
    }

    /// A command on the host, over this connection.
    fn over(&self, words: &Words) -> Command {
        let own = options(&self.socket, false);
        let words = [self.route.words(), vec![quoted(words)]].concat();
        self.client.command(&self.route, &own, &words)
    }

    /// Runs a command on the host to its end; it reads `input`, where there is one. Returns what it
    /// said.
    ///
    /// # Errors
    /// A command that fails, or takes too long.
    pub(crate) fn run(
        &self,
        words: &Words,
        input: Option<File>,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        let mut command = self.over(words);
        if let Some(input) = input {
            command.stdin(input);
        }
        let shown = format!("{words}, on the host {}", self.route);
        run_command(command, &shown, deadline)
    }

    /// Starts a command on the host, on three pipes of ours.
    ///
    /// # Errors
    /// Where `ssh` cannot be started.
    pub(crate) fn start(&self, words: &Words) -> Result<Child, TestbedError> {
        let mut command = self.over(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown = || format!("{words}, on the host {}", self.route);
        command.spawn().map_err(|source| TestbedError::Start { command: shown(), source })
    }

    /// Has a port of this host's loopback lead to one of the host's.
    ///
    /// # Errors
    /// A port that is taken; a server that forbids it.
    pub(crate) fn forward(&self, here: u16, there: u16) -> Result<(), TestbedError> {
        let path = format!("ControlPath={}", self.socket.display());
        let lead = format!("127.0.0.1:{here}:127.0.0.1:{there}");
        let own = ["-o", &path, "-O", "forward", "-L", &lead].map(str::to_owned);
        let command = self.client.command(&self.route, &own, &self.route.words());
        let shown = format!("ssh -O forward -L {lead}, to the host {}", self.route);
        run_command(command, &shown, &Deadline::within(ENDS)).map(drop)
    }

    fn end(&mut self) {
        drop(self.input.take());
        // It sees that at once where the host answers.
        if wait(&mut self.child, &Deadline::within(Duration::from_secs(1))).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = std::fs::remove_file(&self.socket);
        self.socket.parent().map(std::fs::remove_dir);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}
