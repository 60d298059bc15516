//! Files within the folder of an instance. The folder belongs to the instance's user, so whatever
//! lies there already may be that user's: no link is followed, and nothing is written over. A file
//! of an instance that runs is replaced by a new one, so that it is read as a whole.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::{Component, Path};

use plimsoll_units::erase::{all_in, opened_in};
use plimsoll_units::own::place;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::error::TestbedError;
use crate::thing::MARK;
use crate::users::User;

/// The longest file that is copied, bytes.
const MOST_COPIED: u64 = 1 << 30;

/// Whether a path leads to a place within the folder that it is told from.
pub(crate) fn is_within(path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    !path.is_empty() && !path.ends_with('/') && Path::new(path).components().all(is_plain)
}

/// How a file is put into the folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// Whether it is secret, and its user's alone then.
    pub(crate) is_secret: bool,
    /// Who the instance runs as; who runs this, where none is named.
    pub(crate) user: Option<&'a str>,
    /// Whether it takes the place of a file that is there; else such a file is an error.
    pub(crate) replaces: bool,
}

impl Manner<'_> {
    /// Whose alone the file is: of one that is secret, the user's that the instance runs as.
    fn owner(&self) -> Result<Option<User>, TestbedError> {
        match (self.is_secret, self.user) {
            (false, _) => Ok(None),
            (true, Some(user)) => User::find(user).map(Some),
            (true, None) => Ok(Some(User::own())),
        }
    }
}

/// How the name of a file begins that is to take the place of another.
const NEW: &str = ".plimsoll-new-";
/// A folder that is opened, and no link to one.
const WITHIN: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file that is written, and not in its place yet where it is to take that of another.
struct Writing {
    file: File,
    folder: OwnedFd,
    name: String,
    replaces: bool,
}

impl Writing {
    /// Puts the file in its place.
    fn put(self) -> std::io::Result<()> {
        if !self.replaces {
            return Ok(());
        }
        let new = format!("{NEW}{}", self.name);
        Ok(renameat(&self.folder, new, &self.folder, &self.name)?)
    }
}

/// Opens the folder that a path lies in, and makes the folders on the way to it. Returns the last
/// part of the path too.
fn parent(folder: &Path, path: &str, makes: bool) -> Result<(OwnedFd, String), TestbedError> {
    let failed = |error: Errno| TestbedError::file("write", folder.join(path))(error.into());
    if !is_within(path) {
        let text = format!("write `{path}`: it leads out of the instance's folder");
        return Err(TestbedError::Wrong(text));
    }
    let mut at: OwnedFd = open(folder, WITHIN, Mode::empty()).map_err(failed)?;
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in parents.split('/').filter(|part| !part.is_empty()) {
        if makes {
            match mkdirat(&at, part, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        at = openat(&at, part, WITHIN, Mode::empty()).map_err(failed)?;
    }
    Ok((at, name.to_owned()))
}

/// Makes a new file, and the folders that it lies in. A secret one is its user's alone.
fn create(folder: &Path, path: &str, manner: Manner<'_>) -> Result<Writing, TestbedError> {
    let failed = |error: Errno| TestbedError::file("write", folder.join(path))(error.into());
    let owner = manner.owner()?;
    let (at, name) = parent(folder, path, true)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(if owner.is_some() { 0o600 } else { 0o644 });
    let replaces = manner.replaces;
    let own = if replaces { format!("{NEW}{name}") } else { name.clone() };
    if replaces {
        // What a kill has left of an attempt before.
        match unlinkat(&at, &own, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let file = File::from(openat(&at, &own, flags, mode).map_err(failed)?);
    if let Some(User { id, group }) = owner {
        let owned = fchown(&file, Some(id), Some(group));
        owned.map_err(TestbedError::file("give its user", folder.join(path)))?;
    }
    Ok(Writing { file, folder: at, name, replaces })
}

/// Writes a text into a new file.
///
/// # Errors
/// A path that leads out of the folder, by a link too; a file that is there already and is not to
/// be replaced.
pub(crate) fn write(
    folder: &Path,
    path: &str,
    text: &str,
    manner: Manner<'_>,
) -> Result<(), TestbedError> {
    let mut new = create(folder, path, manner)?;
    let written = new.file.write_all(text.as_bytes()).and_then(|()| new.put());
    written.map_err(TestbedError::file("write", folder.join(path)))
}

/// Copies a file into a new one.
///
/// # Errors
/// As for [`write`]; a file that cannot be read, is longer than 1 GiB, or is secret and can be read
/// by others.
pub(crate) fn copy(
    folder: &Path,
    path: &str,
    from: &Path,
    manner: Manner<'_>,
) -> Result<(), TestbedError> {
    put(folder, path, source(from, manner.is_secret)?.bytes(), manner)
}

/// What a file to be copied holds.
pub(crate) struct Bytes<'a> {
    /// The bytes.
    pub(crate) from: &'a mut (dyn Read + Send),
    /// How many.
    pub(crate) length: u64,
    /// The bits of its mode that make it a program.
    pub(crate) mode: u32,
}

/// A file that is to be copied, opened.
pub(crate) struct Opened {
    from: Box<dyn Read + Send>,
    length: u64,
    mode: u32,
}

impl Opened {
    /// What it holds.
    pub(crate) fn bytes(&mut self) -> Bytes<'_> {
        Bytes { from: &mut *self.from, length: self.length, mode: self.mode }
    }
}

/// Opens a file that is to be copied.
///
/// # Errors
/// One that cannot be read, is longer than 1 GiB, or is secret and can be read by others.
pub(crate) fn source(from: &Path, is_secret: bool) -> Result<Opened, TestbedError> {
    if is_secret {
        let bytes = plimsoll_units::secret::read_own(from).map_err(TestbedError::Secret)?;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            plimsoll_units::secret::learn(text);
        }
        let length = bytes.len() as u64;
        return Ok(Opened { from: Box::new(std::io::Cursor::new(bytes)), length, mode: 0 });
    }
    let opened = File::open(from).and_then(|file| Ok((file.metadata()?, file)));
    let (about, file) = opened.map_err(TestbedError::file("read", from))?;
    if !about.is_file() || about.len() > MOST_COPIED {
        let text = format!("copy {}: expected a file of at most 1 GiB", from.display());
        return Err(TestbedError::Wrong(text));
    }
    let (length, mode) = (about.len(), about.permissions().mode() & 0o111);
    Ok(Opened { from: Box::new(file), length, mode })
}

/// Copies bytes into a new file.
///
/// # Errors
/// As for [`write`]; fewer bytes than there should be.
pub(crate) fn put(
    folder: &Path,
    path: &str,
    bytes: Bytes<'_>,
    manner: Manner<'_>,
) -> Result<(), TestbedError> {
    let failed = || TestbedError::file("write", folder.join(path));
    let Bytes { from, length, mode } = bytes;
    let mut new = create(folder, path, manner)?;
    let copied = std::io::copy(&mut from.take(length), &mut new.file).and_then(|copied| {
        if copied < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match manner.is_secret {
            true => Ok(()),
            // A program stays one.
            false => new.file.set_permissions(Permissions::from_mode(0o644 | mode)),
        }
    });
    copied.and_then(|()| new.put()).map_err(failed())
}

/// Removes a file, where it is there.
///
/// # Errors
/// A path that leads out of the folder; a file that cannot be removed.
pub(crate) fn remove(folder: &Path, path: &str) -> Result<(), TestbedError> {
    let failed = |error: Errno| TestbedError::file("remove", folder.join(path))(error.into());
    let (at, name) = match parent(folder, path, false) {
        Err(TestbedError::File { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Ok(());
        }
        found => found?,
    };
    match unlinkat(&at, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Removes all that is in the folder of an instance, but for the mark that says whose it is. What
/// is mounted there is not entered.
///
/// # Errors
/// What cannot be removed, or is mounted.
pub(crate) fn clear(folder: &Path) -> Result<(), TestbedError> {
    let (above, name, path) = place(folder, false)?;
    let absent = || TestbedError::file("read", folder)(ErrorKind::NotFound.into());
    let opened = opened_in(&above, &name, &path)?.ok_or_else(absent)?;
    Ok(all_in(&opened, &path, Some(OsStr::new(MARK)))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const OPEN: Manner<'_> = Manner { is_secret: false, user: None, replaces: false };
    const SECRET: Manner<'_> = Manner { is_secret: true, ..OPEN };

    #[test]
    fn what_is_written_stays_within_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let (folder, outside) = (place.path().join("own"), place.path().join("outside"));
        for path in [&folder, &outside] {
            std::fs::create_dir(path).unwrap();
        }
        let write = |path: &str| write(&folder, path, "text", OPEN);
        write("a").unwrap();
        write("pages/deep/index.html").unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("pages/deep/index.html")).unwrap(), "text");
        for path in ["", "..", "../outside/x", "/tmp/x", "a/../../outside/x", "pages/"] {
            let error = write(path).unwrap_err().to_string();
            assert!(error.contains("leads out"), "{path}: {error}");
        }
        // Links of whoever may write there, to a folder and to a file.
        symlink(&outside, folder.join("link")).unwrap();
        symlink(outside.join("file"), folder.join("other")).unwrap();
        symlink("nowhere", folder.join("dangling")).unwrap();
        for path in ["link/x", "other", "dangling", "a"] {
            write(path).unwrap_err();
        }
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn a_secret_file_is_its_users_alone() {
        let place = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            std::fs::metadata(place.path().join(name)).unwrap().permissions().mode() & 0o777
        };
        write(place.path(), "open", "text", OPEN).unwrap();
        write(place.path(), "closed", "text", SECRET).unwrap();
        assert_eq!((mode("open"), mode("closed")), (0o644, 0o600));
        let from = place.path().join("from");
        std::fs::write(&from, "a key of the test of folders").unwrap();
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o644)).unwrap();
        let refused = copy(place.path(), "key", &from, SECRET).unwrap_err();
        assert!(matches!(refused, TestbedError::Secret(_)), "{refused}");
        copy(place.path(), "plain", &from, OPEN).unwrap();
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o600)).unwrap();
        copy(place.path(), "key", &from, SECRET).unwrap();
        assert_eq!((mode("plain"), mode("key")), (0o644, 0o600));
    }

    /// Whatever lies in the place of a file that is replaced, nothing outside is touched.
    #[test]
    fn what_is_replaced_and_removed_is_within_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let (folder, outside) = (place.path().join("own"), place.path().join("outside"));
        for path in [&folder, &outside] {
            std::fs::create_dir(path).unwrap();
        }
        let kept = outside.join("kept");
        std::fs::write(&kept, "others'").unwrap();
        let anew = Manner { replaces: true, ..OPEN };
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        write(&folder, "pages/a", "one", OPEN).unwrap();
        // What a kill has left of a replacement, and a link in its place.
        std::fs::write(folder.join("pages/.plimsoll-new-a"), "half").unwrap();
        write(&folder, "pages/a", "two", anew).unwrap();
        assert_eq!(read("pages/a"), "two");
        symlink(&kept, folder.join("link")).unwrap();
        symlink(&kept, folder.join(".plimsoll-new-link")).unwrap();
        write(&folder, "link", "three", anew).unwrap();
        assert_eq!(read("link"), "three");
        let from = place.path().join("from");
        std::fs::write(&from, "four").unwrap();
        copy(&folder, "pages/a", &from, anew).unwrap();
        assert_eq!(read("pages/a"), "four");
        symlink(&outside, folder.join("there")).unwrap();
        for path in ["there/kept", "../outside/kept"] {
            write(&folder, path, "text", anew).unwrap_err();
            remove(&folder, path).unwrap_err();
        }
        for path in ["link", "pages/a", "pages/a", "nowhere/a"] {
            remove(&folder, path).unwrap();
            assert!(!folder.join(path).exists());
        }
        std::fs::write(folder.join(MARK), "bed").unwrap();
        clear(&folder).unwrap();
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
        assert_eq!(left.iter().map(std::fs::DirEntry::file_name).collect::<Vec<_>>(), [MARK]);
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "others'");
    }
}
