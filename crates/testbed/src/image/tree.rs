//! The tree of an image: taken from the folder of an instance, and put into that of another. No
//! link is followed in either, whoever made it; links are copied as they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use plimsoll_units::hash::hex;
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchmod, fchown, fstat, mkdirat, open,
    openat, readlinkat, symlinkat,
};
use sha2::{Digest, Sha256};

use super::Entry;
use crate::error::TestbedError;
use crate::thing::MARK;
use crate::users::User;

/// A folder that is opened, and no link to one.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// The most that an image may hold: bytes, and files, folders and links.
const MOST_BYTES: u64 = 16 << 30;
const MOST_ENTRIES: usize = 1_000_000;
/// The deepest folder.
const DEEPEST: usize = 64;
const BLOCK: usize = 1 << 16;

/// A copy of a tree under way.
struct Copying<'a> {
    /// Paths that are left out, with all below them.
    left_out: &'a [String],
    /// Whose the copies are; those of who runs this, where nobody is named.
    user: Option<User>,
    /// What the files have to be, by their paths; of an image that is made nothing is known.
    known: Option<BTreeMap<&'a str, &'a Entry>>,
    files: Vec<Entry>,
    entries: usize,
    bytes: u64,
}

/// Copies what an instance has into an image. Returns its files, by their paths.
///
/// # Errors
/// A folder that holds more than an image may; what cannot be read or written.
pub(super) fn capture(
    from: &Path,
    to: &Path,
    left_out: &[String],
) -> Result<Vec<Entry>, TestbedError> {
    let (user, known) = (None, None);
    let mut copying = Copying { left_out, user, known, files: Vec::new(), entries: 0, bytes: 0 };
    copying.all(from, to)?;
    copying.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(copying.files)
}

/// Copies the tree of an image into the folder of an instance, where it is a user's.
///
/// # Errors
/// A file that is not as it was when the image was made; what is there already; what cannot be read
/// or written.
pub(crate) fn restore(
    from: &Path,
    to: &Path,
    user: Option<&str>,
    files: &[Entry],
) -> Result<(), TestbedError> {
    let user = user.map(User::find).transpose()?;
    let known = files.iter().map(|of| (of.path.as_str(), of)).collect();
    let (left_out, files) = (&[], Vec::new());
    let mut copying = Copying { left_out, user, known: Some(known), files, entries: 0, bytes: 0 };
    copying.all(from, to)?;
    let missing = copying.known.iter().flatten().map(|(path, _)| *path).next();
    missing.map_or(Ok(()), |path| Err(changed(path)))
}

/// Why an image is not started from.
fn changed(path: &str) -> TestbedError {
    TestbedError::Wrong(format!(
        "start from the image: its file {path} is not as it was made; bake it anew"
    ))
}

impl Copying<'_> {
    fn all(&mut self, from: &Path, to: &Path) -> Result<(), TestbedError> {
        let opened = |path: &Path| {
            open(path, FOLDER, Mode::empty())
                .map_err(|error| TestbedError::file("open", path)(error.into()))
        };
        let (source, target) = (opened(from)?, opened(to)?);
        self.folder((&source, &target), "", 0)
    }

    /// Copies what is in a folder. Links come last: nothing is written below one.
    fn folder(
        &mut self,
        (from, to): (&OwnedFd, &OwnedFd),
        at: &str,
        depth: usize,
    ) -> Result<(), TestbedError> {
        let failed = |path: &str, error: rustix::io::Errno| {
            TestbedError::file("copy", path.to_owned())(io::Error::from(error))
        };
        let mut links = Vec::new();
        for entry in Dir::read_from(from).map_err(|error| failed(at, error))? {
            let entry = entry.map_err(|error| failed(at, error))?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let path = if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
            if matches!(name, "." | "..") || path == MARK || self.left_out.contains(&path) {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES || depth >= DEEPEST {
                return Err(TestbedError::Wrong(format!(
                    "make an image of {path}: it may hold {MOST_ENTRIES} files in folders \
                     {DEEPEST} deep at most"
                )));
            }
            match entry.file_type() {
                FileType::Directory => {
                    let mode = Mode::from_raw_mode(0o700);
                    let made = || -> rustix::io::Result<_> {
                        let inner = openat(from, name, FOLDER, Mode::empty())?;
                        mkdirat(to, name, mode)?;
                        let made = openat(to, name, FOLDER, Mode::empty())?;
                        fchmod(&made, Mode::from_raw_mode(fstat(&inner)?.st_mode & 0o777))?;
                        self.give(&made)?;
                        Ok((inner, made))
                    };
                    let (inner, made) = made().map_err(|error| failed(&path, error))?;
                    self.folder((&inner, &made), &path, depth + 1)?;
                }
                FileType::RegularFile => {
                    let failed = TestbedError::file("copy", path.clone());
                    let entry = self.file((from, to), (name, &path)).map_err(failed)?;
                    self.check(entry)?;
                }
                FileType::Symlink => links.push((name.to_owned(), path)),
                // Sockets and pipes are made anew by who listens on them.
                _ => {}
            }
        }
        for (name, path) in links {
            let linked = || -> rustix::io::Result<()> {
                let target = readlinkat(from, name.as_str(), Vec::new())?;
                symlinkat(&*target, to, name.as_str())?;
                let Some(user) = self.user else { return Ok(()) };
                let (id, group) = (Uid::from_raw(user.id), Gid::from_raw(user.group));
                chownat(to, name.as_str(), Some(id), Some(group), AtFlags::SYMLINK_NOFOLLOW)
            };
            linked().map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    /// Gives a copy to the user that it is to be of.
    fn give(&self, of: &OwnedFd) -> rustix::io::Result<()> {
        let Some(user) = self.user else { return Ok(()) };
        fchown(of, Some(Uid::from_raw(user.id)), Some(Gid::from_raw(user.group)))
    }

    fn file(
        &mut self,
        (from, to): (&OwnedFd, &OwnedFd),
        (name, path): (&str, &str),
    ) -> io::Result<Entry> {
        // A pipe that has taken the place of the file meanwhile is not waited for.
        let source = openat(from, name, READ | OFlags::NONBLOCK, Mode::empty())?;
        let mode = Mode::from_raw_mode(fstat(&source)?.st_mode & 0o777);
        let target = openat(to, name, NEW, Mode::from_raw_mode(0o600))?;
        fchmod(&target, mode)?;
        self.give(&target)?;
        let (mut source, mut target) = (File::from(source), File::from(target));
        let (mut digest, mut block, mut bytes) = (Sha256::new(), vec![0; BLOCK], 0_u64);
        loop {
            let read = source.read(&mut block)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            self.bytes += read as u64;
            if self.bytes > MOST_BYTES {
                return Err(io::Error::other("an image may hold 16 GiB at most"));
            }
            digest.update(&block[..read]);
            target.write_all(&block[..read])?;
        }
        Ok(Entry { path: path.to_owned(), bytes, sha256: hex(&digest.finalize()) })
    }

    /// Takes a file that was copied: of an image that is started from, it is what it was.
    fn check(&mut self, of: Entry) -> Result<(), TestbedError> {
        let Some(known) = &mut self.known else {
            self.files.push(of);
            return Ok(());
        };
        match known.remove(of.path.as_str()) {
            Some(was) if *was == of => Ok(()),
            _ => Err(changed(&of.path)),
        }
    }
}

/// Has the file system write what was made.
pub(super) fn sync(folder: &Path) -> Result<(), TestbedError> {
    let synced = File::open(folder).and_then(|of| Ok(rustix::fs::syncfs(&of)?));
    synced.map_err(TestbedError::file("write", folder))
}
