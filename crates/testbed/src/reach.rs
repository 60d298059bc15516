//! What can be done with an instance that stands, in its place: its files are written, commands
//! run as it does, and its process gets signals.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::command::{Deadline, run};
use crate::error::TestbedError;
use crate::folder::{self, Manner};
use crate::making::{BedContext, Making, program};
use crate::op::Op;
use crate::output;
use crate::provider::Provider;
use crate::rents::unreached;
use crate::role::{Instance, Role};
use crate::self_test::Score;
use crate::thing::Thing;
use crate::users::is_root;
use crate::work::Worker;

/// How long an instance may take to test itself: twice of what the test takes at most.
const TESTS: Duration = Duration::from_secs(20);

/// How long an address may take to be moved.
const MOVES: Duration = Duration::from_secs(5);
/// How long a connection to it may take.
const CONNECTS: Duration = Duration::from_secs(1);
/// The place in the bed whose address several instances share, beyond those of all instances.
const SHARED: usize = 252;

/// An instance that stands.
#[derive(Clone)]
pub struct Reach<'a> {
    pub(crate) of: BedContext<'a>,
    pub(crate) role: &'a Role,
    pub(crate) instance: Instance,
    pub(crate) worker: &'a Worker<'a>,
}

impl Reach<'_> {
    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.instance.folder
    }

    /// The host that it stands on; none where that is this one.
    fn host(&self) -> Option<&str> {
        self.instance.host.as_ref().map(|host| host.name.as_str())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.instance.name
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.instance.address
    }

    /// The address that several instances of the bed share.
    pub(crate) fn shared_address(&self) -> Result<String, TestbedError> {
        match self.of.provider.address(SHARED)? {
            (address, None) => Ok(address),
            (_, Some(_)) => Err(self.cannot_move()),
        }
    }

    /// Gives it an address, which is taken from another that had it.
    pub(crate) fn takes_address(
        &self,
        address: &str,
        from: Option<&Self>,
    ) -> Result<(), TestbedError> {
        let from = from.map(Self::name);
        let commands = self.of.provider.moves(self.of.id, address, from, self.name());
        let commands = commands.ok_or_else(|| self.cannot_move())?;
        let deadline = Deadline::within(MOVES);
        commands.iter().try_for_each(|words| run(words, Path::new("/"), &deadline).map(drop))
    }

    /// Whether it has an address that moves.
    pub(crate) fn has_address(&self, address: &str) -> Result<bool, TestbedError> {
        let command = self.of.provider.shows(self.of.id, address, self.name());
        let command = command.ok_or_else(|| self.cannot_move())?;
        let said = run(&command, Path::new("/"), &Deadline::within(MOVES))?;
        Ok(!said.trim().is_empty())
    }

    fn cannot_move(&self) -> TestbedError {
        cannot_move(self.of.provider)
    }

    /// Whether it takes connections.
    pub(crate) fn takes_connections(&self) -> bool {
        let Instance { address, port, .. } = &self.instance;
        let address = format!("{address}:{port}").parse();
        address.is_ok_and(|address| TcpStream::connect_timeout(&address, CONNECTS).is_ok())
    }

    /// Refuses what needs commands on an instance where none can be run.
    fn check_reached(&self, what: &str) -> Result<(), TestbedError> {
        match self.of.provider.is_reached(&self.role.name) {
            true => Ok(()),
            false => Err(unreached(&self.role.name, what)),
        }
    }

    /// Writes a file into its folder, in the place of one that is there.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), TestbedError> {
        self.check_reached("write the files")?;
        let user = is_root().then(|| self.role.user());
        folder::write(self.folder(), path, text, Manner { is_secret: false, user, replaces: true })
    }

    /// Runs a command as it does, to its end; `key` is what it is called. Returns the end of what
    /// it said.
    pub(crate) fn run(
        &self,
        key: &str,
        words: &[String],
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        self.check_reached("run commands")?;
        let stand = BTreeMap::new();
        let making = Making::new(self.of, self.role, &self.instance, &stand)?;
        let (folder, log) = (self.instance.folder.clone(), format!("{key}.log"));
        let of_before = Op::Remove { folder: folder.clone(), path: log.clone() };
        self.worker.act(self.host(), &of_before, deadline)?;
        let name = format!("{} {key}", self.instance.name);
        let order = making.order(key, words)?;
        self.worker.act(self.host(), &Op::Run { name, folder, log, order }, deadline)
    }

    /// Has it find out what it can do, in its place and within its limits. Takes some seconds.
    ///
    /// # Errors
    /// A test that failed, or was not understood.
    pub fn self_test(&self) -> Result<Score, TestbedError> {
        self.check_reached("test the instances")?;
        let deadline = Deadline::within(TESTS);
        let own = program(self.of.launcher, &self.instance);
        if own.starts_with(self.folder()) && !own.exists() {
            let copy = Op::Program { folder: self.instance.folder.clone() };
            self.worker.act(self.host(), &copy, &deadline)?;
        }
        let words = ["{{plimsoll}}", "testbed", "self-test", "--json"].map(str::to_owned);
        let said = self.run("self-test", &words, &deadline)?;
        serde_json::from_str(said.trim()).map_err(|error| {
            let name = &self.instance.name;
            TestbedError::Wrong(format!("read the self-test of {name}: {error}"))
        })
    }

    /// Sends a signal to its process: `HUP`, `USR1`, `USR2`.
    pub(crate) fn signal(&self, signal: &str, deadline: &Deadline) -> Result<(), TestbedError> {
        self.check_reached("signal the server")?;
        let Instance { name, folder, .. } = self.instance.clone();
        let signal = signal.to_owned();
        let op = Op::Signal { instance: name, folder, signal, replaces_workers: false };
        self.worker.act(self.host(), &op, deadline).map(drop)
    }

    /// The number of its process, while that lives.
    pub(crate) fn process(&self) -> Option<u32> {
        match self.worker.process_of(&self.instance.name)? {
            thing @ Thing::Process { pid, .. } if thing.lives() => Some(pid),
            _ => None,
        }
    }

    /// Why nothing can be done with it: its process has ended, or does not do as it is told.
    pub(crate) fn is_gone(&self) -> TestbedError {
        let output = output::end(self.folder());
        let (instance, how) = (self.instance.name.clone(), "an unknown exit code".to_owned());
        match self.process() {
            None => TestbedError::Ended { instance, how, output },
            Some(_) => TestbedError::Wrong(format!("have {instance} take its files anew")),
        }
    }
}

/// Why no address can be moved between instances.
pub(crate) fn cannot_move(provider: &dyn Provider) -> TestbedError {
    TestbedError::Wrong(format!(
        "move an address from one balancer to another by the provider `{}`, which cannot; say \
         provider = \"namespace\" in [testbed]",
        provider.name()
    ))
}
