//! The ledger: what was started, written before it is started, with what proves it ours.
//!
//! A file of JSON lines, only ever appended to: `{"id": 3, "made": {…}}` before a thing is made,
//! `{"id": 3, "gone": true}` after it was removed. Who writes it holds a lock on it, so whether
//! the experiment lives is no guess: [`Ledger::all`] tells those whose holder is gone, and
//! [`Ledger::take_down`] removes what is left of one, as far as it is [proved ours](crate::thing).

mod lines;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_units::own::OwnFolder;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use crate::command::Deadline;
use crate::error::TestbedError;
use crate::role::Instance;
use crate::thing::Thing;
pub(crate) use lines::{Contents, falls, read};
use lines::{Line, append};

/// The file's name in its folder.
pub(crate) const FILE: &str = "ledger.jsonl";
/// The folder beside it of the sockets of connections to other hosts.
pub(crate) const SOCKETS: &str = "ssh";

/// That a bed was left standing, and where its instances are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stood {
    /// What a bed of a plan must have in common with it to be made of it.
    pub frame: String,
    /// Its instances.
    pub instances: Vec<At>,
}

/// Where an instance is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// The host that it stands on; none where that is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its folder.
    pub folder: PathBuf,
    /// Its cgroups.
    pub cgroups: Vec<PathBuf>,
    /// What it is made of.
    pub made: Made,
}

/// What an instance is made of, within the frame of its bed. Of what is secret it has names alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The digest of its command; empty while that is being changed.
    pub start: String,
    /// The digest of its files; empty while they are being changed.
    pub files: String,
    /// The paths of its files.
    pub paths: Vec<String>,
}

/// The experiment that a bed is of, and the cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The folder of the experiment.
    pub experiment: PathBuf,
    /// The number of the cell.
    pub cell: u32,
}

/// An instance that was ready, where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serves {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// Its place in the bed.
    pub place: usize,
    /// The host that it stands on; none where that is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Stood {
    /// Instances that stand, each with what it is made of.
    #[must_use]
    pub fn of(frame: &str, instances: &[Instance], made: Vec<Made>) -> Self {
        let at = |(of, made): (&Instance, Made)| At {
            name: of.name.clone(),
            address: of.address.clone(),
            port: of.port,
            host: of.host.as_ref().map(|host| host.name.clone()),
            folder: of.folder.clone(),
            cgroups: of.cgroups.clone(),
            made,
        };
        Self { frame: frame.to_owned(), instances: instances.iter().zip(made).map(at).collect() }
    }
}

/// How long a lock may outlive a holder that was killed.
pub(crate) const LAST: Duration = Duration::from_secs(1);
/// How long another process may take to see whether a ledger is held.
const MOMENT: Duration = Duration::from_millis(250);

/// Takes the lock of a ledger. What a holder that was killed was about to start has the lock for a
/// moment more, until it becomes another program.
pub(crate) fn is_free(file: &File, patience: Duration) -> bool {
    is_free_by(file, &Deadline::within(patience))
}

pub(crate) fn is_free_by(file: &File, deadline: &Deadline) -> bool {
    let look = || flock(file, FlockOperation::NonBlockingLockExclusive).ok();
    deadline.until_there(look).is_some()
}

/// The ledger of one bed, held by this process.
#[derive(Debug)]
pub struct Ledger {
    bed: String,
    root: OwnFolder,
    folder: OwnFolder,
    file: Mutex<(File, u64)>,
}

/// A ledger that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLedger {
    /// The bed's id.
    pub bed: String,
    /// The cell that it is of, where it is of one.
    pub of: Option<Owner>,
    /// The instances that were ready, and whose processes live.
    pub serving: Vec<Serves>,
    /// Whether a process holds it.
    pub is_held: bool,
    /// Whether it is being taken down, by who holds it.
    pub falls: bool,
    /// Where its instances are, where it was left standing.
    pub stood: Option<Stood>,
    /// What is there, as far as the ledger says; the last made first.
    pub things: Vec<Thing>,
    /// The numbers of lines that were cut, as by a disk that was full: what they would have told of
    /// was not made.
    pub cut: Vec<usize>,
}

/// The ledger of a bed that is there already, held by this process.
#[derive(Debug)]
pub struct Held {
    /// The ledger.
    pub ledger: Ledger,
    /// Where its instances are, where it was left standing.
    pub stood: Option<Stood>,
    /// What is there, with the numbers by which the ledger knows it, in the order in which it was
    /// made.
    pub things: Vec<(Thing, u64)>,
}

impl Ledger {
    /// A new ledger below `root` (`/run/plimsoll`), held until it is dropped.
    ///
    /// # Errors
    /// One of that bed that is there; a folder that is not ours alone, or cannot be written.
    pub fn create(root: &Path, bed: &str) -> Result<Self, TestbedError> {
        let root = OwnFolder::make(root)?;
        let folder = root.make_inner(OsStr::new(bed))?;
        let new = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        let file = folder.file(OsStr::new(FILE), new)?;
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let failed = TestbedError::file("lock", folder.path().join(FILE));
        locked.map_err(|error| failed(error.into()))?;
        Ok(Self { bed: bed.to_owned(), root, folder, file: Mutex::new((file, 0)) })
    }

    /// The bed's id.
    #[must_use]
    pub fn bed(&self) -> &str {
        &self.bed
    }

    /// The folder of the ledger.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes that a thing is about to be made. Returns its number.
    ///
    /// # Errors
    /// Where it cannot be written: then nothing is to be made.
    pub fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.1 += 1;
        let id = file.1;
        self.append(&mut file.0, &Line { id, made: Some(thing.clone()), ..Line::default() })?;
        if let Thing::Rented { .. } = thing {
            // It outlives this host's running: so must what is known of it.
            let folder = || rustix::fs::fsync(&self.folder).map_err(std::io::Error::from);
            let synced = file.0.sync_all().and_then(|()| folder());
            synced.map_err(TestbedError::file("write", self.folder().join(FILE)))?;
        }
        Ok(id)
    }

    /// Writes that a thing is gone.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn is_gone(&self, id: u64) -> Result<(), TestbedError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.append(&mut file.0, &Line { id, gone: true, ..Line::default() })
    }

    /// Writes that the bed is left standing.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn stands(&self, stood: &Stood) -> Result<(), TestbedError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let line = Line { stands: Some(stood.clone()), ..Line::default() };
        self.append(&mut file.0, &line)
    }

    /// Writes which cell the bed is of.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn is_of(&self, owner: &Owner) -> Result<(), TestbedError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let line = Line { of: Some(owner.clone()), ..Line::default() };
        self.append(&mut file.0, &line)
    }

    /// Writes that an instance is ready.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn serves(&self, of: &Instance) -> Result<(), TestbedError> {
        let (name, address) = (of.name.clone(), of.address.clone());
        let host = of.host.as_ref().map(|host| host.name.clone());
        let serves = Serves { name, address, port: of.port, place: of.place, host };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.append(&mut file.0, &Line { serves: Some(serves), ..Line::default() })
    }

    /// Holds the ledger of a bed that is there; `None` where another process does.
    ///
    /// # Errors
    /// Where it cannot be opened or written.
    pub fn hold(root: &Path, bed: &str) -> Result<Option<Held>, TestbedError> {
        let (root, folder) = opened(root, bed)?;
        let path = folder.path().join(FILE);
        let mut file = folder.file(OsStr::new(FILE), OFlags::RDWR | OFlags::APPEND)?;
        if !is_free(&file, MOMENT) {
            return Ok(None);
        }
        let Contents { things, stood, last, falls, .. } = read(&file);
        if falls {
            // Who began to take it down did not come to an end.
            self::falls(&mut file, false).map_err(TestbedError::file("write", &path))?;
        }
        let ledger = Self { bed: bed.to_owned(), root, folder, file: Mutex::new((file, last)) };
        let things = things.into_iter().map(|(id, thing)| (thing, id)).collect();
        Ok(Some(Held { ledger, stood, things }))
    }

    fn append(&self, file: &mut File, line: &Line) -> Result<(), TestbedError> {
        append(file, line).map_err(TestbedError::file("write", self.folder().join(FILE)))
    }

    /// Removes the ledger, when nothing is left that stands in it.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn close(self) -> Result<(), TestbedError> {
        remove_ledger(&self.root, &self.folder)
    }

    /// Whether nobody holds the ledger of a bed any more, waiting as long as the lock of a killed
    /// holder may last.
    #[must_use]
    pub fn becomes_free(root: &Path, bed: &str) -> bool {
        let file =
            opened(root, bed).and_then(|(_, of)| Ok(of.file(OsStr::new(FILE), OFlags::RDONLY)?));
        file.is_ok_and(|file| is_free(&file, LAST))
    }

    /// The ledgers below `root`, by the ids of their beds.
    ///
    /// # Errors
    /// Where the folder cannot be read, or it, or what is in it, is not ours alone: who could write
    /// a ledger would have us do what it says.
    pub fn all(root: &Path) -> Result<Vec<FoundLedger>, TestbedError> {
        let mut found = Vec::new();
        let Some(root) = OwnFolder::open(root)? else { return Ok(found) };
        for name in root.names()? {
            let Some(file) = ledger_of(&root, &name)? else { continue };
            let is_held = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
            let bed = name.to_string_lossy().into_owned();
            let Contents { things, of, serving, stood, falls, cut, .. } = read(&file);
            let things: Vec<Thing> = things.into_values().rev().collect();
            let lives = |of: &Serves| {
                // Whether one lives on another host is not known here: who adopts it sees.
                let is_its = |thing: &&Thing| match thing.itself() {
                    Thing::Process { instance, .. } | Thing::Rented { instance, .. } => {
                        *instance == of.name
                    }
                    _ => false,
                };
                things.iter().find(is_its).is_some_and(Thing::lives)
            };
            let serving = serving.into_values().filter(lives).collect();
            let falls = falls && is_held;
            found.push(FoundLedger { bed, of, serving, is_held, falls, stood, things, cut });
        }
        found.sort_by(|a, b| a.bed.cmp(&b.bed));
        Ok(found)
    }
}

impl Drop for Ledger {
    /// Lets the lock go by name: closing the file alone would leave it, for a moment, to whatever
    /// another thread is about to start.
    fn drop(&mut self) {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = flock(&file.0, FlockOperation::Unlock);
    }
}

/// What this host has of our names that stands in none of these ledgers: it is told, and left
/// alone, as nothing proves it ours.
#[must_use]
pub fn without_ledger(found: &[FoundLedger]) -> Vec<String> {
    // Each of these names has the id of its bed behind the prefix.
    let places = [
        ("network namespace", "/run/netns", "pl-"),
        ("network interface", "/sys/class/net", "pl"),
        ("cgroup", "/sys/fs/cgroup", "plimsoll-"),
        ("cgroup", "/sys/fs/cgroup/cpu", "plimsoll-"),
    ];
    let mut others = Vec::new();
    for (what, folder, prefix) in places {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_known = found.iter().any(|of| name.contains(&of.bed));
            // An interface of anybody's may begin so: ours says so in its alias.
            let is_named = what != "network interface"
                || fs::read_to_string(entry.path().join("ifalias"))
                    .is_ok_and(|alias| alias.starts_with("plimsoll "));
            if name.starts_with(prefix) && is_named && !is_known {
                others.push(format!("{what} {name}"));
            }
        }
    }
    others.sort();
    others
}

/// The folder of all ledgers, and that of a bed's.
///
/// # Errors
/// One that is not there, or not ours alone.
pub(crate) fn opened(root: &Path, bed: &str) -> Result<(OwnFolder, OwnFolder), TestbedError> {
    let absent = || TestbedError::file("open", root)(std::io::ErrorKind::NotFound.into());
    let root = OwnFolder::open(root)?.ok_or_else(absent)?;
    let folder = root.inner(OsStr::new(bed))?;
    Ok((root, folder))
}

/// The ledger in a folder of this name; `None` where there is none, as beside lists and locks.
fn ledger_of(root: &OwnFolder, name: &OsStr) -> Result<Option<File>, TestbedError> {
    let is_folder = fs::symlink_metadata(root.path().join(name)).is_ok_and(|of| !of.is_file());
    if !is_folder {
        return Ok(None);
    }
    let file = root.inner(name).and_then(|of| of.file(OsStr::new(FILE), OFlags::RDONLY));
    match file {
        Err(error) if error.is_absent() => Ok(None),
        file => Ok(Some(file?)),
    }
}

/// Removes the ledger of a bed, and its folder.
pub(crate) fn remove_ledger(root: &OwnFolder, folder: &OwnFolder) -> Result<(), TestbedError> {
    // What a killed connection has left there is of no use to anybody.
    let _ = plimsoll_units::erase::tree(&folder.path().join(SOCKETS));
    let name = folder.path().file_name().unwrap_or_default();
    let removed = folder.remove_file(OsStr::new(FILE)).and_then(|()| root.remove_folder(name));
    match removed {
        // Somebody else has taken it down in the same moment.
        Err(error) if error.is_absent() => Ok(()),
        removed => Ok(removed?),
    }
}

#[cfg(test)]
mod tests;
