//! Folders that are ours alone. What lies in one was put there by us, so it may be obeyed.
//!
//! Ledgers, locks, images and sockets lie below folders that many share, such as `/tmp`. Whoever
//! makes a folder there first decides what is in it: a ledger of somebody else's would have us end
//! processes, remove files and run commands. So a folder is ours alone only where
//!
//! - each folder above it belongs to us, to root, or to whoever has `/`, and nobody else may write
//!   in it, unless its sticky bit keeps others from exchanging what is ours;
//! - each link on the way was made by one of these;
//! - it is a folder, no link, belongs to us, and nobody else may write in it; what others could
//!   have put there before, beside what is ours, is told by whose it is.
//!
//! All of it is looked at through descriptors, from `/` on, and what is opened in the folder is
//! opened below its descriptor: nothing can be exchanged between the look and the use.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat, fchmod, fstat, mkdirat, open, openat,
    readlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::failure::{Failure, Kind};

/// A folder that is looked at, and no link to one.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A folder that is opened, and no link to one.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The mode of a folder of ours.
const OURS: Mode = Mode::RWXU;
/// The most links on the way to a folder, as the kernel has it.
const MOST_LINKS: usize = 40;
/// Who may write beside the owner, and the bit that keeps others from exchanging what is ours.
const GROUP_WRITES: RawMode = 0o020;
const OTHERS_WRITE: RawMode = 0o002;
const STICKY: RawMode = 0o1000;

/// Why a folder, or what is in it, is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnError {
    /// One that is not ours alone.
    #[error("use {path}: {why}")]
    NotOurs {
        /// The folder or file, as it was found.
        path: PathBuf,
        /// Whose it is, or what others may do to it.
        why: String,
        /// What to type.
        hint: String,
    },
    /// One that cannot be opened or made.
    #[error("{deed} {path}")]
    File {
        /// What was to be done with it.
        deed: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

impl OwnError {
    fn of(deed: &'static str, path: &Path) -> impl Fn(Errno) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::File { deed, path: path.clone(), source: error.into() }
    }

    /// Whether there is no such file or folder.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl Failure for OwnError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotOurs { hint, .. } => Some(hint.clone()),
            Self::File { source, .. } => Failure::hint(source),
        }
    }
}

impl From<OwnError> for io::Error {
    fn from(error: OwnError) -> Self {
        let kind = match &error {
            OwnError::NotOurs { .. } => io::ErrorKind::PermissionDenied,
            OwnError::File { source, .. } => source.kind(),
        };
        Self::new(kind, crate::failure::told(&error))
    }
}

/// A folder that is ours alone, opened.
#[derive(Debug)]
pub struct OwnFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl OwnFolder {
    /// Opens a folder, and makes it, with those above it, where they are not there.
    ///
    /// # Errors
    /// One that is not ours alone; one that cannot be made.
    pub fn make(path: &Path) -> Result<Self, OwnError> {
        let (above, name, path) = place(path, true)?;
        match mkdirat(&above, &name, OURS) {
            Ok(()) | Err(Errno::EXIST) => Self::of(&above, &name, path),
            Err(error) => Err(OwnError::of("make", &path)(error)),
        }
    }

    /// Makes a folder in one that is there.
    ///
    /// # Errors
    /// One that is there already; one that cannot be made; a place in which others could exchange
    /// it.
    pub fn make_new(path: &Path) -> Result<Self, OwnError> {
        let (above, name, path) = place(path, false)?;
        mkdirat(&above, &name, OURS).map_err(OwnError::of("make", &path))?;
        Self::of(&above, &name, path)
    }

    /// Makes a folder in one where nobody else writes, whoever may: that of a container, say, which
    /// those who manage it have left open to all. The caller vouches for that.
    ///
    /// # Errors
    /// One that is there already; one that cannot be made.
    pub fn make_new_alone(path: &Path) -> Result<Self, OwnError> {
        let failed = |source| OwnError::File { deed: "make", path: path.to_owned(), source };
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        let above = open(above, LOOK, Mode::empty()).map_err(OwnError::of("open", above))?;
        mkdirat(&above, name, OURS).map_err(OwnError::of("make", path))?;
        Self::of(&above, name, path.to_owned())
    }

    /// Opens a folder; `None` where it is not there.
    ///
    /// # Errors
    /// One that is not ours alone; one that cannot be opened.
    pub fn open(path: &Path) -> Result<Option<Self>, OwnError> {
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let (deed, path) = ("open", path.to_owned());
                return Err(OwnError::File { deed, path, source: error });
            }
            Ok(_) => {}
        }
        let (above, name, path) = place(path, false)?;
        Self::of(&above, &name, path).map(Some)
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// As for [`OwnFolder::open`]; one that is not there.
    pub fn inner(&self, name: &OsStr) -> Result<Self, OwnError> {
        Self::of(&self.folder, name, self.path.join(name))
    }

    /// Makes a folder in this one that is not there yet.
    ///
    /// # Errors
    /// One that is there, or cannot be made.
    pub fn make_inner(&self, name: &OsStr) -> Result<Self, OwnError> {
        let path = self.path.join(name);
        mkdirat(&self.folder, name, OURS).map_err(OwnError::of("make", &path))?;
        Self::of(&self.folder, name, path)
    }

    /// Opens a file in this folder, and no link to one. One that is made is ours alone.
    ///
    /// # Errors
    /// One that is no file, is somebody else's, or that others may write; what the system says.
    pub fn file(&self, name: &OsStr, flags: OFlags) -> Result<File, OwnError> {
        let path = self.path.join(name);
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR);
        let file = file.map_err(|error| match error {
            Errno::LOOP => linked(&path),
            error => OwnError::of("open", &path)(error),
        })?;
        let about = fstat(&file).map_err(OwnError::of("open", &path))?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            let (why, hint) = ("it is no file".to_owned(), removing(&path));
            return Err(OwnError::NotOurs { path, why, hint });
        }
        is_ours(&about, &path, false)?;
        Ok(File::from(file))
    }

    /// The names of what is in it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn names(&self) -> Result<Vec<OsString>, OwnError> {
        let failed = OwnError::of("read", &self.path);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.folder).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Removes a file in it.
    ///
    /// # Errors
    /// One that cannot be removed, or is not there.
    pub fn remove_file(&self, name: &OsStr) -> Result<(), OwnError> {
        let removed = unlinkat(&self.folder, name, AtFlags::empty());
        removed.map_err(OwnError::of("remove", &self.path.join(name)))
    }

    /// Removes an empty folder in it.
    ///
    /// # Errors
    /// One that cannot be removed, or is not there.
    pub fn remove_folder(&self, name: &OsStr) -> Result<(), OwnError> {
        let removed = unlinkat(&self.folder, name, AtFlags::REMOVEDIR);
        removed.map_err(OwnError::of("remove", &self.path.join(name)))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens what was just found or made below a descriptor, where it is ours alone.
    fn of(above: &impl AsFd, name: &OsStr, path: PathBuf) -> Result<Self, OwnError> {
        let folder = openat(above, name, FOLDER, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => linked(&path),
            // Somebody else's, or one that its owner has closed.
            Errno::ACCESS => whose(above, name, &path, error),
            error => OwnError::of("open", &path)(error),
        })?;
        let about = fstat(&folder).map_err(OwnError::of("open", &path))?;
        is_ours(&about, &path, about.st_mode & STICKY != 0)?;
        if about.st_mode & 0o077 != 0 {
            // Others could read in it, or put their own beside ours: from now on they cannot.
            let closed = fchmod(&folder, OURS);
            if others_write(&about) {
                closed.map_err(OwnError::of("close", &path))?;
            }
        }
        Ok(Self { folder, path })
    }
}

impl AsFd for OwnFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The folder above a path, opened, the last part of the path, and the path without `.`. Others
/// cannot exchange what we make there.
///
/// # Errors
/// A folder on the way in which others could; one that is not there and is not to be made.
pub fn place(path: &Path, makes: bool) -> Result<(OwnedFd, OsString, PathBuf), OwnError> {
    let failed = |source| OwnError::File { deed: "find", path: path.to_owned(), source };
    let path = std::path::absolute(path).map_err(failed)?;
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        let error = io::Error::from(io::ErrorKind::InvalidInput);
        return Err(OwnError::File { deed: "make", path, source: error });
    };
    let (above, name) = (Way::begin(above, makes)?.end(&path)?, name.to_owned());
    Ok((above, name, path))
}

/// The way to a folder, from `/` on.
struct Way {
    at: OwnedFd,
    shown: PathBuf,
    /// What is left of it, the next last.
    rest: Vec<OsString>,
    links: usize,
    makes: bool,
    /// Who owns `/`: he could exchange anything.
    first: u32,
}

impl Way {
    fn begin(folder: &Path, makes: bool) -> Result<Self, OwnError> {
        let at = open("/", LOOK, Mode::empty());
        let at = at.map_err(OwnError::of("open", Path::new("/")))?;
        let first = fstat(&at).map_err(OwnError::of("open", Path::new("/")))?.st_uid;
        let (shown, rest, links) = (PathBuf::from("/"), Vec::new(), 0);
        let mut way = Self { at, shown, rest, links, makes, first };
        way.goes_on(folder);
        Ok(way)
    }

    fn goes_on(&mut self, by: &Path) {
        let part = |part: Component<'_>| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        };
        self.rest.extend(by.components().rev().filter_map(part));
    }

    /// Goes to the end; `path` is what is to be ours.
    fn end(mut self, path: &Path) -> Result<OwnedFd, OwnError> {
        self.is_kept(path)?;
        while let Some(name) = self.rest.pop() {
            if name == ".." {
                self.at = openat(&self.at, "..", LOOK, Mode::empty())
                    .map_err(OwnError::of("open", &self.shown))?;
                self.shown.pop();
                self.is_kept(path)?;
                continue;
            }
            let shown = self.shown.join(&name);
            let found = match openat(&self.at, &name, LOOK, Mode::empty()) {
                Err(Errno::NOENT) if self.makes => {
                    match mkdirat(&self.at, &name, OURS) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(OwnError::of("make", &shown)(error)),
                    }
                    openat(&self.at, &name, LOOK, Mode::empty())
                }
                found => found,
            };
            let found = found.map_err(OwnError::of("open", &shown))?;
            let about = fstat(&found).map_err(OwnError::of("open", &shown))?;
            match FileType::from_raw_mode(about.st_mode) {
                FileType::Symlink => self.follow(&name, &about, &shown, path)?,
                FileType::Directory => {
                    (self.at, self.shown) = (found, shown);
                    self.is_kept(path)?;
                }
                _ => return Err(OwnError::of("open", &shown)(Errno::NOTDIR)),
            }
        }
        Ok(self.at)
    }

    fn follow(
        &mut self,
        name: &OsStr,
        about: &Stat,
        shown: &Path,
        path: &Path,
    ) -> Result<(), OwnError> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(OwnError::of("open", shown)(Errno::LOOP));
        }
        if !self.is_trusted(about.st_uid) {
            let why = format!("{} is a link of {}", shown.display(), named(about.st_uid));
            return Err(OwnError::NotOurs { path: path.to_owned(), why, hint: elsewhere() });
        }
        let to = readlinkat(&self.at, name, Vec::new()).map_err(OwnError::of("read", shown))?;
        let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
        if to.is_absolute() {
            self.at = open("/", LOOK, Mode::empty()).map_err(OwnError::of("open", shown))?;
            self.shown = PathBuf::from("/");
        }
        self.goes_on(&to);
        Ok(())
    }

    fn is_trusted(&self, user: u32) -> bool {
        user == 0 || user == self.first || user == geteuid().as_raw()
    }

    /// Whether what we make in the folder at hand stays what it is.
    fn is_kept(&self, path: &Path) -> Result<(), OwnError> {
        let about = fstat(&self.at).map_err(OwnError::of("open", &self.shown))?;
        let (mode, above) = (about.st_mode, self.shown.display());
        let not_ours = |why, hint| OwnError::NotOurs { path: path.to_owned(), why, hint };
        if !self.is_trusted(about.st_uid) {
            let why = format!("{above}, in which it is, belongs to {}", named(about.st_uid));
            return Err(not_ours(why, elsewhere()));
        }
        if others_write(&about) && mode & STICKY == 0 {
            let why = format!(
                "others may write in {above}, in which it is: its mode is {:o}",
                mode & 0o7777
            );
            return Err(not_ours(why, format!("chmod go-w {above}, or {}", elsewhere())));
        }
        Ok(())
    }
}

/// Whether others than the owner may write. A group of the owner's number is his own.
fn others_write(about: &Stat) -> bool {
    let has_own_group = about.st_gid == about.st_uid;
    about.st_mode & OTHERS_WRITE != 0 || (about.st_mode & GROUP_WRITES != 0 && !has_own_group)
}

/// Refuses what is not ours, or what others may write. In a folder that is kept, others put only
/// what is theirs, by which it is known.
fn is_ours(about: &Stat, path: &Path, is_kept: bool) -> Result<(), OwnError> {
    let not_ours = |why| {
        let (path, hint) = (path.to_owned(), removing(path));
        Err(OwnError::NotOurs { path, why, hint })
    };
    if about.st_uid != geteuid().as_raw() {
        return not_ours(format!("it belongs to {}", named(about.st_uid)));
    }
    match others_write(about) && !is_kept {
        true => {
            not_ours(format!("others may write in it: its mode is {:o}", about.st_mode & 0o7777))
        }
        false => Ok(()),
    }
}

fn linked(path: &Path) -> OwnError {
    let why = "it is a link, or no folder, and what it leads to may be anybody's".to_owned();
    OwnError::NotOurs { path: path.to_owned(), why, hint: removing(path) }
}

/// Why a folder cannot be opened: it may be somebody else's.
fn whose(above: &impl AsFd, name: &OsStr, path: &Path, error: Errno) -> OwnError {
    let found = openat(above, name, LOOK, Mode::empty()).and_then(fstat);
    let refused = found.ok().and_then(|about| is_ours(&about, path, false).err());
    refused.unwrap_or_else(|| OwnError::of("open", path)(error))
}

fn removing(path: &Path) -> String {
    format!(
        "look at what is there, and have it removed (sudo rm -r {}), or {}",
        path.display(),
        elsewhere()
    )
}

fn elsewhere() -> String {
    "name a folder of your own: mkdir -m 700 ~/plimsoll, and XDG_RUNTIME_DIR=~/plimsoll for \
     ledgers and locks, XDG_STATE_HOME for what is rented, XDG_DATA_HOME for images, TMPDIR for \
     servers"
        .to_owned()
}

/// A user, as `/etc/passwd` names it.
fn named(user: u32) -> String {
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_its = |line: &&str| line.split(':').nth(2) == Some(&user.to_string());
    let name = text.lines().find(is_its).and_then(|line| line.split(':').next());
    name.map_or_else(|| format!("the user {user}"), |name| format!("the user {name} ({user})"))
}

#[cfg(test)]
mod tests;
