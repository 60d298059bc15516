//! The ledger: what was started, written before it is started, with what proves it ours.
//!
//! A file of JSON lines, only ever appended to: `{"id": 3, "made": {…}}` before a thing is made,
//! `{"id": 3, "gone": true}` after it was removed. Who writes it holds a lock on it, so whether
//! the experiment lives is no guess: [`Ledger::all`] tells those whose holder is gone, and
//! [`Ledger::take_down`] removes what is left of one, as far as it is [proved ours](crate::thing).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
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

/// A line of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Line {
    id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<Owner>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    serves: Option<Serves>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stands: Option<Stood>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<Thing>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    gone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    falls: Option<bool>,
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
pub struct Found {
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
        let new = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
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

    /// Holds the ledger of a bed that is there; `None` where another process does. A line that was
    /// cut is taken off: what is written after it would not be read.
    ///
    /// # Errors
    /// Where it cannot be opened or mended.
    pub fn hold(root: &Path, bed: &str) -> Result<Option<Held>, TestbedError> {
        let (root, folder) = opened(root, bed)?;
        let path = folder.path().join(FILE);
        let mut file = folder.file(OsStr::new(FILE), OFlags::RDWR | OFlags::APPEND)?;
        if !is_free(&file, MOMENT) {
            return Ok(None);
        }
        let Contents { things, stood, last, whole, falls, .. } = read(&file);
        let mended = match falls {
            // Who began to take it down did not come to an end.
            true => self::falls(&mut file, whole, false),
            false => file.set_len(whole),
        };
        mended.map_err(TestbedError::file("mend", &path))?;
        let ledger = Self { bed: bed.to_owned(), root, folder, file: Mutex::new((file, last)) };
        let things = things.into_iter().map(|(id, thing)| (thing, id)).collect();
        Ok(Some(Held { ledger, stood, things }))
    }

    fn append(&self, file: &mut File, line: &Line) -> Result<(), TestbedError> {
        let path = || self.folder().join(FILE);
        let text = serde_json::to_string(line).map_err(std::io::Error::other);
        let written = text.and_then(|text| file.write_all(format!("{text}\n").as_bytes()));
        written.map_err(TestbedError::file("write", path()))
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
    pub fn all(root: &Path) -> Result<Vec<Found>, TestbedError> {
        let mut found = Vec::new();
        let Some(root) = OwnFolder::open(root)? else { return Ok(found) };
        for name in root.names()? {
            let Some(file) = ledger_of(&root, &name)? else { continue };
            let is_held = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
            let bed = name.to_string_lossy().into_owned();
            let Contents { things, of, serving, stood, falls, .. } = read(&file);
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
            found.push(Found { bed, of, serving, is_held, falls, stood, things });
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
pub fn without_ledger(found: &[Found]) -> Vec<String> {
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

/// Writes whether a bed is being taken down, by who holds its ledger: others wait for that. A line
/// that was cut is taken off first.
pub(crate) fn falls(file: &mut File, whole: u64, falls: bool) -> std::io::Result<()> {
    file.set_len(whole)?;
    let line = Line { falls: Some(falls), ..Line::default() };
    let text = serde_json::to_string(&line).map_err(std::io::Error::other)?;
    file.write_all(format!("{text}\n").as_bytes())
}

/// What a ledger says.
#[derive(Default)]
pub(crate) struct Contents {
    /// What is there by its number, in the order in which it was made.
    pub(crate) things: BTreeMap<u64, Thing>,
    /// The cell that it is of.
    of: Option<Owner>,
    /// The instances that were ready, by their names.
    serving: BTreeMap<String, Serves>,
    /// Where its instances are, where it was left standing.
    stood: Option<Stood>,
    /// Whether somebody has begun to take it down.
    pub(crate) falls: bool,
    /// The greatest number.
    last: u64,
    /// The length of its whole lines, bytes.
    pub(crate) whole: u64,
}

/// Reads a ledger. A line that is cut is the end: what it would have told of was not made.
pub(crate) fn read(file: &File) -> Contents {
    let (mut contents, mut text) = (Contents::default(), String::new());
    let mut lines = BufReader::new(file);
    while lines.read_line(&mut text).is_ok_and(|read| read > 0) && text.ends_with('\n') {
        let Ok(line) = serde_json::from_str::<Line>(&text) else { break };
        contents.last = contents.last.max(line.id);
        match line {
            Line { of: Some(of), .. } => contents.of = Some(of),
            Line { serves: Some(of), .. } => drop(contents.serving.insert(of.name.clone(), of)),
            Line { stands: Some(stands), .. } => contents.stood = Some(stands),
            Line { falls: Some(falls), .. } => contents.falls = falls,
            Line { id, made: Some(thing), .. } => drop(contents.things.insert(id, thing)),
            Line { id, .. } => drop(contents.things.remove(&id)),
        }
        contents.whole += text.len() as u64;
        text.clear();
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thing::mark;
    use std::fs::OpenOptions;

    fn folder(path: &Path) -> Thing {
        Thing::Folder { path: path.to_owned() }
    }

    #[test]
    fn what_is_left_is_told_and_taken_down_where_it_is_ours() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("run");
        let ledger = Ledger::create(&root, "e1").unwrap();
        let (ours, others, gone) =
            (place.path().join("ours"), place.path().join("others"), place.path().join("gone"));
        for (path, bed) in [(&ours, "e1"), (&others, "e2")] {
            mark(&OwnFolder::make_new(path).unwrap(), bed).unwrap();
        }
        let id = ledger.will_make(&folder(&gone)).unwrap();
        ledger.will_make(&folder(&others)).unwrap();
        ledger.will_make(&folder(&ours)).unwrap();
        ledger.is_gone(id).unwrap();

        let found = Ledger::all(&root).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].is_held);
        assert_eq!(found[0].things, [folder(&ours), folder(&others)]);
        let refused =
            Ledger::take_down(&root, "e1", false, &crate::down::Means::default()).unwrap_err();
        assert!(refused.to_string().contains("goes on"), "{refused}");
        drop(ledger);
        assert!(!Ledger::all(&root).unwrap()[0].is_held);
        assert_eq!(
            Ledger::take_down(&root, "e1", false, &crate::down::Means::default()).unwrap(),
            [folder(&ours)]
        );
        assert!(!ours.exists() && others.exists());
        assert!(Ledger::all(&root).unwrap().is_empty());
    }

    #[test]
    fn a_line_that_was_cut_is_the_end() {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::create(place.path(), "e1").unwrap();
        ledger.will_make(&folder(Path::new("/a"))).unwrap();
        drop(ledger);
        let path = place.path().join("e1").join(FILE);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"id\": 2, \"made\": {\"what\"").unwrap();
        assert_eq!(Ledger::all(place.path()).unwrap()[0].things, [folder(Path::new("/a"))]);
    }

    /// Who goes on with a ledger, cut or not, writes what is read, under numbers of its own.
    #[test]
    fn a_ledger_that_is_gone_on_with_is_read_as_a_whole() {
        let whole = {
            let place = tempfile::tempdir().unwrap();
            let ledger = Ledger::create(place.path(), "e1").unwrap();
            ledger.will_make(&folder(Path::new("/a"))).unwrap();
            let gone = ledger.will_make(&folder(Path::new("/b"))).unwrap();
            ledger.is_gone(gone).unwrap();
            ledger.stands(&Stood { frame: "f".to_owned(), instances: Vec::new() }).unwrap();
            fs::read(place.path().join("e1").join(FILE)).unwrap()
        };
        let is_end = |at: &usize| *at == 0 || whole[*at - 1] == b'\n';
        for cut in 0..=whole.len() {
            let place = tempfile::tempdir().unwrap();
            drop(Ledger::create(place.path(), "e1").unwrap());
            fs::write(place.path().join("e1").join(FILE), &whole[..cut]).unwrap();
            let before = Ledger::all(place.path()).unwrap().remove(0);
            let held = Ledger::hold(place.path(), "e1").unwrap().unwrap();
            assert!(Ledger::hold(place.path(), "e1").unwrap().is_none(), "it is held");
            assert_eq!(held.stood, before.stood, "{cut}");
            let c = held.ledger.will_make(&folder(Path::new("/c"))).unwrap();
            held.ledger.will_make(&folder(Path::new("/d"))).unwrap();
            held.ledger.is_gone(c).unwrap();
            let rest: Vec<Thing> = held.things.into_iter().map(|(thing, _)| thing).rev().collect();
            assert_eq!(rest, before.things, "{cut}");
            let after = Ledger::all(place.path()).unwrap().remove(0);
            let expected = [vec![folder(Path::new("/d"))], rest].concat();
            assert_eq!((after.things, after.stood), (expected, before.stood), "{cut}");
            let kept = (0..=cut).rev().find(is_end).unwrap();
            let text = fs::read(place.path().join("e1").join(FILE)).unwrap();
            assert_eq!(text[..kept], whole[..kept], "{cut}");
        }
    }
}
