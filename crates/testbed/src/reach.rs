//! What can be done with an instance that stands, in its place: its files are written, commands
//! run as it does, and its process gets signals.

use std::collections::BTreeMap;
use std::path::Path;

use crate::command::Deadline;
use crate::error::TestbedError;
use crate::folder::{self, Manner};
use crate::making::{Making, Of};
use crate::op::Op;
use crate::output;
use crate::role::{Instance, Role};
use crate::thing::Thing;
use crate::users::is_root;
use crate::work::Worker;

/// An instance that stands.
pub struct Reach<'a> {
    pub(crate) of: Of<'a>,
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

    /// Writes a file into its folder, in the place of one that is there.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), TestbedError> {
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
        let stand = BTreeMap::new();
        let making = Making::new(self.of, self.role, &self.instance, &stand)?;
        let (folder, log) = (self.instance.folder.clone(), format!("{key}.log"));
        let of_before = Op::Remove { folder: folder.clone(), path: log.clone() };
        self.worker.act(&of_before, deadline)?;
        let name = format!("{} {key}", self.instance.name);
        let order = making.order(key, words)?;
        self.worker.act(&Op::Run { name, folder, log, order }, deadline)
    }

    /// Sends a signal to its process: `HUP`, `USR1`, `USR2`.
    pub(crate) fn signal(&self, signal: &str, deadline: &Deadline) -> Result<(), TestbedError> {
        let Instance { name, folder, .. } = self.instance.clone();
        let signal = signal.to_owned();
        let op = Op::Signal { instance: name, folder, signal, replaces_workers: false };
        self.worker.act(&op, deadline).map(drop)
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
