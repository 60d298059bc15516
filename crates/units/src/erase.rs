//! Removing a tree of files, and nothing else: no link is followed, and nothing is entered that is
//! mounted below it, as a folder of the host that a server was shown.
//!
//! All goes by descriptors. Each folder is opened by `openat2(2)` below the one before, with links
//! and mount points refused; where that is missing, by its mount's number. So whatever is exchanged
//! or mounted meanwhile, what is removed lies in the tree itself. What is left is told.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, ResolveFlags, StatxFlags, openat, openat2, statx, unlinkat,
};
use rustix::io::Errno;

use crate::failure::{Failure, Kind};

/// A folder that is opened, and no link to one.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How often a folder is read again in which somebody makes files meanwhile.
const LOOKS: u32 = 3;

/// Why a tree is not gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// Something is mounted in it, which was not entered. The rest is gone.
    #[error("remove {folder}: {} mounted there, and what is mounted was left alone", are(.mounts))]
    Mounted {
        /// The folder.
        folder: PathBuf,
        /// What is mounted.
        mounts: Vec<PathBuf>,
    },
    /// Something that could not be removed. The rest is gone.
    #[error("remove {path}")]
    File {
        /// The first file or folder that stayed.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

fn are(mounts: &[PathBuf]) -> String {
    let all: Vec<String> = mounts.iter().map(|of| of.display().to_string()).collect();
    format!("{} {}", all.join(", "), if all.len() == 1 { "is" } else { "are" })
}

impl Failure for EraseError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Mounted { mounts, .. } => {
                let all: Vec<String> = mounts.iter().map(|of| of.display().to_string()).collect();
                Some(format!("umount {}, then do it again", all.join(" ")))
            }
            Self::File { source, .. } => Failure::hint(source),
        }
    }
}

impl From<EraseError> for io::Error {
    fn from(error: EraseError) -> Self {
        match error {
            EraseError::File { source, .. } => source,
            mounted @ EraseError::Mounted { .. } => {
                Self::new(io::ErrorKind::ResourceBusy, crate::failure::told(&mounted))
            }
        }
    }
}

/// Removes a folder with all in it. Returns whether it was there. A link in its place is no folder.
///
/// # Errors
/// What is left of it.
pub fn tree(path: &Path) -> Result<bool, EraseError> {
    let failed = |error: Errno| EraseError::File { path: path.to_owned(), source: error.into() };
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(Errno::INVAL));
    };
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let opened = openat(CWD, above, OFlags::PATH | OFlags::DIRECTORY, Mode::empty());
    let above = match opened {
        Err(Errno::NOENT) => return Ok(false),
        opened => opened.map_err(failed)?,
    };
    let Some(folder) = opened_in(&above, name, path)? else { return Ok(false) };
    all_in(&folder, path, None)?;
    folder_itself(&above, name, path)?;
    Ok(true)
}

/// Opens a folder of a folder, and nothing that is mounted there; `None` where there is none.
///
/// # Errors
/// Something that is mounted there; a link, or what is no folder.
pub fn opened_in(
    above: &impl AsFd,
    name: &OsStr,
    path: &Path,
) -> Result<Option<OwnedFd>, EraseError> {
    match below(above, name) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::XDEV) => {
            Err(EraseError::Mounted { folder: path.to_owned(), mounts: vec![path.to_owned()] })
        }
        Err(error) => Err(EraseError::File { path: path.to_owned(), source: error.into() }),
    }
}

/// Removes an empty folder of a folder.
///
/// # Errors
/// One that is not empty, or cannot be removed.
pub fn folder_itself(above: &impl AsFd, name: &OsStr, path: &Path) -> Result<(), EraseError> {
    match unlinkat(above, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(EraseError::File { path: path.to_owned(), source: error.into() }),
    }
}

/// Removes all that is in an opened folder, but for a file of this name directly in it.
///
/// # Errors
/// What is left, after all else was removed.
pub fn all_in(folder: &impl AsFd, path: &Path, keeps: Option<&OsStr>) -> Result<(), EraseError> {
    let failed = |error: Errno| EraseError::File { path: path.to_owned(), source: error.into() };
    let mut left = Left::default();
    // A descriptor of its own: the folder's stays where it is.
    let own = openat(folder, ".", FOLDER, Mode::empty()).map_err(failed)?;
    let mut levels = vec![Level::of(own, path.to_owned(), OsString::new()).map_err(failed)?];
    levels[0].names.retain(|name| Some(name.as_os_str()) != keeps);
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.names.pop() else {
            let done = levels.pop();
            if let (Some(done), Some(above)) = (done, levels.last()) {
                levels.extend(left.goes_up(done, above));
            }
            continue;
        };
        let path = level.path.join(&name);
        match unlinkat(&level.folder, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            // A file that is mounted over.
            Err(Errno::BUSY) => left.is_mounted(path),
            // A folder, by Linux and by POSIX.
            Err(why @ (Errno::ISDIR | Errno::PERM)) => match below(&level.folder, &name) {
                Err(Errno::NOENT) => {}
                Err(Errno::XDEV) => left.is_mounted(path),
                Err(Errno::NOTDIR | Errno::LOOP) => left.failed(path, why),
                opened => match opened.and_then(|of| Level::of(of, path.clone(), name)) {
                    Ok(inner) => levels.push(inner),
                    Err(error) => left.failed(path, error),
                },
            },
            Err(error) => left.failed(path, error),
        }
    }
    left.told(path)
}

/// A folder that is being emptied.
struct Level {
    folder: OwnedFd,
    path: PathBuf,
    /// Its name in the one above.
    name: OsString,
    /// What is in it, as far as it is not looked at yet.
    names: Vec<OsString>,
    looks: u32,
}

impl Level {
    fn of(folder: OwnedFd, path: PathBuf, name: OsString) -> rustix::io::Result<Self> {
        let names = names_in(&folder)?;
        Ok(Self { folder, path, name, names, looks: 1 })
    }
}

fn names_in(folder: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// What is left.
#[derive(Default)]
struct Left {
    mounts: Vec<PathBuf>,
    first: Option<(PathBuf, Errno)>,
}

impl Left {
    fn is_mounted(&mut self, path: PathBuf) {
        self.mounts.push(path);
    }

    fn failed(&mut self, path: PathBuf, error: Errno) {
        self.first.get_or_insert((path, error));
    }

    /// Whether something of a folder stayed, which is told.
    fn is_in(&self, folder: &Path) -> bool {
        let paths = self.mounts.iter().chain(self.first.iter().map(|(path, _)| path));
        paths.into_iter().any(|path| path.starts_with(folder))
    }

    /// Removes a folder that was emptied. Returns it where somebody has made files in it meanwhile.
    fn goes_up(&mut self, mut done: Level, above: &Level) -> Option<Level> {
        if self.is_in(&done.path) {
            return None;
        }
        match unlinkat(&above.folder, &done.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Something was mounted on it meanwhile.
            Err(Errno::BUSY) => self.is_mounted(done.path),
            Err(Errno::NOTEMPTY | Errno::EXIST) if done.looks < LOOKS => {
                done.looks += 1;
                done.names = names_in(&done.folder).unwrap_or_default();
                return Some(done);
            }
            Err(error) => self.failed(done.path, error),
        }
        None
    }

    fn told(self, folder: &Path) -> Result<(), EraseError> {
        match self {
            Self { mounts, .. } if !mounts.is_empty() => {
                Err(EraseError::Mounted { folder: folder.to_owned(), mounts })
            }
            Self { first: Some((path, error)), .. } => {
                Err(EraseError::File { path, source: error.into() })
            }
            Self { first: None, .. } => Ok(()),
        }
    }
}

/// Opens a folder of a folder: [`Errno::XDEV`] where something is mounted there.
fn below(above: &impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match openat2(above, name, FOLDER, Mode::empty(), resolve) {
        // Before Linux 5.6, and where a sandbox knows no such call.
        Err(Errno::NOSYS | Errno::PERM) => below_by_mount(above, name),
        opened => opened,
    }
}

fn below_by_mount(above: &impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let opened = openat(above, name, FOLDER, Mode::empty())?;
    match mount_of(above)? == mount_of(&opened)? {
        true => Ok(opened),
        false => Err(Errno::XDEV),
    }
}

/// The number of the mount that an opened folder is of.
fn mount_of(of: &impl AsFd) -> rustix::io::Result<u64> {
    if let Ok(about) = statx(of, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)
        && about.stx_mask & StatxFlags::MNT_ID.bits() != 0
    {
        return Ok(about.stx_mnt_id);
    }
    // Before Linux 5.8.
    let file = format!("/proc/self/fdinfo/{}", of.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let number = text.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or(Errno::NOSYS)
}

#[cfg(test)]
mod tests;
