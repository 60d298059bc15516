//! The hosts of a bed: what is done on them goes to this program's copy there, and what that makes
//! is written into the ledger here first.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::command::Words;
use crate::error::TestbedError;
use crate::folder;
use crate::op::Op;
use crate::ssh::client::{Client, Connection};
use crate::ssh::route::Route;
use crate::ssh::session::{Hears, Session};
use crate::ssh::wire::{Ask, Deed};
use crate::thing::{MARK, Thing};
use crate::time::Deadline;
use crate::work::Worker;
use plimsoll_units::hash::hex;

/// The name of this program's copy in the folder of a host.
pub(crate) const PROGRAM: &str = "plimsoll";
/// How long a short command on a host may take.
const SHORT: Duration = Duration::from_secs(20);

/// Makes the folder `$1`, which must not be there, with the mark of the bed `$2` in it.
const MAKE: &str = "umask 077 && mkdir -- \"$1\" && printf %s \"$2\" > \"$1/$3\"";
/// Tells the mark of the folder `$1`. One that is empty was about to get it.
const MARKED: &str = "rmdir -- \"$1\" 2>/dev/null; cat -- \"$1/$3\" 2>/dev/null";
/// Tells the digest of the file `$1`.
const DIGEST: &str = "sha256sum < \"$1\" 2>/dev/null";
/// Tells what kind of host it is.
const KIND: &str = "uname -s -m";
/// What stands before and behind what a script tells, so that what the shell of a host says beside
/// it is left out.
const TOLD: [&str; 2] = ["<plimsoll ", " plimsoll>"];
/// Removes the folder `$1` where it has the mark of the bed `$2`.
const REMOVE: &str = "[ \"$(cat -- \"$1/$3\" 2>/dev/null)\" = \"$2\" ] || exit 0; rm -rf -- \"$1\"";
/// Makes the program `$1` of what is read.
const COPY: &str =
    "umask 077 && cat > \"$1.new\" && chmod 700 \"$1.new\" && mv -- \"$1.new\" \"$1\"";

/// A script of the shell of a host, with its parameters as words of their own.
fn script(text: &str, parameters: &[&str]) -> Words {
    Words::of(&[&["sh", "-c", text, "sh"], parameters].concat())
}

/// What a script of a host tells; nothing where it fails.
fn told(connection: &Connection, text: &str, parameters: &[&str]) -> Result<String, TestbedError> {
    let [before, behind] = TOLD;
    let text = format!("printf '{before}%s{behind}\\n' \"$({text})\"");
    let said = connection.run(&script(&text, parameters), None, &Deadline::within(SHORT))?;
    let found = said.split_once(before).and_then(|(_, rest)| rest.split_once(behind));
    Ok(found.map(|(found, _)| found.trim().to_owned()).unwrap_or_default())
}

/// A host that is reached, with this program's copy at work there.
pub(crate) struct Reached {
    session: Session,
    connection: Connection,
}

/// A host of a bed, as it stands in the ledger.
#[derive(Clone, Copy)]
pub(crate) struct OfBed<'a> {
    pub(crate) bed: &'a str,
    pub(crate) route: &'a Route,
    pub(crate) folder: &'a Path,
}

impl OfBed<'_> {
    fn script(&self, text: &str) -> Words {
        script(text, &[&self.folder.display().to_string(), self.bed, MARK])
    }
}

impl Reached {
    /// Reaches a host, makes its folder where it is not there yet, and starts the copy.
    ///
    /// # Errors
    /// A host that is away, or of another kind; a folder that is somebody else's; a copy that
    /// arrived wrong.
    pub(crate) fn begin(
        client: &Client,
        sockets: &Path,
        of: OfBed<'_>,
        begin: &Ask,
        deadline: &Deadline,
    ) -> Result<Self, TestbedError> {
        let connection = client.connect(of.route, sockets)?;
        is_alike(&connection)?;
        let short = || Deadline::within(SHORT);
        let folder = of.folder.display().to_string();
        let is_there = told(&connection, MARKED, &[&folder, of.bed, MARK])? == of.bed;
        if !is_there {
            connection.run(&of.script(MAKE), None, &short())?;
        }
        let program = of.folder.join(PROGRAM).display().to_string();
        let wanted = digest(&client.program)?;
        if !is_there || digest_there(&connection, &program)? != wanted {
            let own = &client.program;
            let file = File::open(own).map_err(TestbedError::file("read", own))?;
            connection.run(&script(COPY, &[&program]), Some(file), deadline)?;
            let found = digest_there(&connection, &program)?;
            if found != wanted {
                return Err(TestbedError::Wrong(format!(
                    "copy this program to the host {}: expected the digest {wanted}, found {found}",
                    of.route
                )));
            }
        }
        let session = Session::begin(&connection, &program, begin)?;
        Ok(Self { session, connection })
    }

    /// Has something removed that the ledger has of this host.
    ///
    /// # Errors
    /// What could not be removed.
    pub(crate) fn remove(&self, thing: &Thing, hears: &dyn Hears) -> Result<bool, TestbedError> {
        let deed = Deed::Remove { thing: thing.clone() };
        Ok(self.session.ask(deed, None, hears, &Deadline::within(SHORT))? == "true")
    }

    /// Whether a process of the host lives.
    ///
    /// # Errors
    /// A host that is gone.
    pub(crate) fn lives(&self, thing: &Thing, hears: &dyn Hears) -> Result<bool, TestbedError> {
        let deed = Deed::Lives { thing: thing.clone() };
        Ok(self.session.ask(deed, None, hears, &Deadline::within(SHORT))? == "true")
    }

    /// Ends the copy, and removes its folder.
    ///
    /// # Errors
    /// A folder that cannot be removed; a host that is gone.
    pub(crate) fn clear(&self, of: OfBed<'_>) -> Result<(), TestbedError> {
        self.session.end();
        let away = |error: TestbedError| match error {
            // `ssh` ends with 255 where the fault is its own.
            TestbedError::Failed { how, output, .. } if how == "exit code 255" => {
                let why = output.lines().last().unwrap_or_default().trim().to_owned();
                TestbedError::Away { host: of.route.to_string(), why }
            }
            other => other,
        };
        let done = self.connection.run(&of.script(REMOVE), None, &Deadline::within(SHORT));
        done.map(drop).map_err(away)
    }
}

/// Refuses a host on which this program cannot run.
fn is_alike(connection: &Connection) -> Result<(), TestbedError> {
    let there = told(connection, KIND, &[])?;
    let own = rustix::system::uname();
    let here = format!("{} {}", own.sysname().to_string_lossy(), own.machine().to_string_lossy());
    if there == here {
        return Ok(());
    }
    Err(TestbedError::Wrong(format!(
        "use the host {}: it is {}, and this program is for {here}",
        connection.route(),
        there
    )))
}

/// The digest of a file of a host; nothing where it is not there.
fn digest_there(connection: &Connection, path: &str) -> Result<String, TestbedError> {
    let said = told(connection, DIGEST, &[path])?;
    Ok(said.split_whitespace().next().unwrap_or_default().to_owned())
}

fn digest(path: &Path) -> Result<String, TestbedError> {
    let mut digest = Sha256::new();
    crate::making::digest(path, &mut digest).map_err(TestbedError::file("read", path))?;
    Ok(hex(&digest.finalize()))
}

/// The hosts that a worker has reached, by name.
pub(crate) struct Hosts {
    client: Client,
    sockets: PathBuf,
    reached: Mutex<BTreeMap<String, Arc<Reached>>>,
}

impl Hosts {
    pub(crate) fn new(client: &Client, sockets: &Path) -> Self {
        Self { client: client.clone(), sockets: sockets.to_owned(), reached: Mutex::default() }
    }

    fn reached(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Reached>>> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the copy on a host has written into the ledger here.
struct Written<'w, 'a> {
    worker: &'w Worker<'a>,
    host: &'w str,
}

impl Hears for Written<'_, '_> {
    fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError> {
        let thing = Box::new(thing.clone());
        self.worker.will_make(&Thing::On { host: self.host.to_owned(), thing })
    }

    fn is_gone(&self, row: u64) -> Result<(), TestbedError> {
        self.worker.is_gone(row)
    }

    fn output(&self, instance: &str, text: &str) {
        self.worker.output(instance, text);
    }
}

impl Worker<'_> {
    fn hosts(&self) -> Result<&Hosts, TestbedError> {
        let text = "reach a host from a host";
        self.hosts.as_ref().ok_or_else(|| TestbedError::Wrong(text.to_owned()))
    }

    /// The rows of the ledger that are of a host, as that knows them.
    fn rows_of(&self, name: &str) -> Vec<(Thing, u64)> {
        let of_it = |(thing, row): (Thing, u64)| match thing {
            Thing::On { host, thing } if host == name => Some((*thing, row)),
            _ => None,
        };
        self.rows().into_iter().filter_map(of_it).collect()
    }

    /// A host that is reached; one of a bed that stands is reached anew.
    fn host(&self, name: &str, deadline: &Deadline) -> Result<Arc<Reached>, TestbedError> {
        if let Some(found) = self.hosts()?.reached().get(name) {
            return Ok(Arc::clone(found));
        }
        let is_it =
            |thing: &Thing| matches!(thing, Thing::Host { route, .. } if route.name == name);
        match self.rows().into_iter().map(|(thing, _)| thing).find(is_it) {
            Some(Thing::Host { route, folder }) => self.reach(&route, &folder, deadline),
            _ => Err(TestbedError::Away {
                host: name.to_owned(),
                why: "no connection to it was made".to_owned(),
            }),
        }
    }

    fn reach(
        &self,
        route: &Route,
        folder: &Path,
        deadline: &Deadline,
    ) -> Result<Arc<Reached>, TestbedError> {
        let hosts = self.hosts()?;
        let of = OfBed { bed: self.ledger.bed(), route, folder };
        let (bed, rows) = (of.bed.to_owned(), self.rows_of(&route.name));
        let (most_output, replaces) = (self.most_output, self.replaces);
        let begin = Ask::Begin { bed, rows, most_output, replaces };
        let reached = Reached::begin(&hosts.client, &hosts.sockets, of, &begin, deadline)?;
        let reached = Arc::new(reached);
        hosts.reached().insert(route.name.clone(), Arc::clone(&reached));
        Ok(reached)
    }

    /// Does one thing on a host. Returns what was said.
    pub(crate) fn act_on(
        &self,
        name: &str,
        op: &Op,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        if let Op::Host { route, folder } = op {
            let thing = Thing::Host { route: route.clone(), folder: folder.clone() };
            self.will_make(&thing)?;
            return self.reach(route, folder, deadline).map(|_| String::new());
        }
        let host = self.host(name, deadline)?;
        let hears = Written { worker: self, host: name };
        if let Op::Copy { from, is_secret, .. } = op {
            let mut source = folder::source(from, *is_secret)?;
            let bytes = source.bytes();
            let (length, mode) = (bytes.length, bytes.mode);
            let deed = Deed::Put { op: op.clone(), length, mode };
            return host.session.ask(deed, Some(bytes), &hears, deadline);
        }
        let deed = Deed::Act { op: op.clone() };
        let said = host.session.ask(deed, None, &hears, deadline)?;
        if let Op::Forward { here, .. } = op {
            let port = |text: &str| text.rsplit(':').next().and_then(|port| port.parse().ok());
            let (Some(here), Some(there)) = (port(here), port(&said)) else {
                return Err(TestbedError::Wrong(format!("reach the agent of {name} at `{said}`")));
            };
            host.connection.forward(here, there)?;
        }
        Ok(said)
    }

    /// Undoes one thing on a host, whole or half done.
    pub(crate) fn undo_on(
        &self,
        name: &str,
        op: &Op,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        if let Op::Host { route, folder } = op {
            return self.remove(&Thing::Host { route: route.clone(), folder: folder.clone() });
        }
        // Nothing was made on a host that was never reached.
        let was_reached = self.hosts()?.reached().contains_key(name);
        if !was_reached && self.rows_of(name).is_empty() {
            return Ok(String::new());
        }
        let host = self.host(name, deadline)?;
        let hears = Written { worker: self, host: name };
        host.session.ask(Deed::Undo { op: op.clone() }, None, &hears, deadline)
    }

    /// Removes what the ledger has of a host.
    pub(crate) fn remove_on(&self, name: &str, thing: &Thing) -> Result<(), TestbedError> {
        let host = self.host(name, &Deadline::within(SHORT))?;
        host.remove(thing, &Written { worker: self, host: name }).map(drop)
    }

    /// Removes all that is left on a host, and this program's copy. Where the connection is broken
    /// another one is tried, once.
    pub(crate) fn remove_host(&self, route: &Route, folder: &Path) -> Result<(), TestbedError> {
        let deadline = Deadline::within(SHORT);
        let name = &route.name;
        let of = OfBed { bed: self.ledger.bed(), route, folder };
        let reached = self.hosts()?.reached().remove(name);
        let reached = match reached.filter(|host| host.session.stands()) {
            Some(host) => host,
            None => self.reach(route, folder, &deadline)?,
        };
        let hears = Written { worker: self, host: name };
        for (thing, row) in self.rows_of(name).into_iter().rev() {
            reached.remove(&thing, &hears)?;
            self.is_gone(row)?;
        }
        reached.clear(of)?;
        self.hosts()?.reached().remove(name);
        Ok(())
    }
}
