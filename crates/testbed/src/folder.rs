//! Files within the folder of an instance. The folder belongs to the instance's user, so whatever
//! lies there already may be that user's: no link is followed, and nothing is written over.

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::io::Errno;

use crate::error::TestbedError;
use crate::users::User;

/// The longest file that is copied, bytes.
const MOST_COPIED: u64 = 1 << 30;

/// Whether a path leads to a place within the folder that it is told from.
pub(crate) fn is_within(path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    !path.is_empty() && !path.ends_with('/') && Path::new(path).components().all(is_plain)
}

/// Makes a new file, and the folders that it lies in. A secret one is its user's alone.
fn create(folder: &Path, path: &str, owner: Option<User>) -> Result<File, TestbedError> {
    let failed = |error: Errno| TestbedError::file("write", folder.join(path))(error.into());
    if !is_within(path) {
        let text = format!("write `{path}`: it leads out of the instance's folder");
        return Err(TestbedError::Wrong(text));
    }
    let within = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: OwnedFd = open(folder, within, Mode::empty()).map_err(failed)?;
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in parents.split('/').filter(|part| !part.is_empty()) {
        match mkdirat(&at, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        at = openat(&at, part, within, Mode::empty()).map_err(failed)?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(if owner.is_some() { 0o600 } else { 0o644 });
    let file = File::from(openat(&at, name, flags, mode).map_err(failed)?);
    if let Some(User { id, group }) = owner {
        let owned = fchown(&file, Some(id), Some(group));
        owned.map_err(TestbedError::file("give its user", folder.join(path)))?;
    }
    Ok(file)
}

/// Whose alone a file is: of one that is secret, the user's that the instance runs as.
fn owner(is_secret: bool, user: Option<&str>) -> Result<Option<User>, TestbedError> {
    match (is_secret, user) {
        (false, _) => Ok(None),
        (true, Some(user)) => User::find(user).map(Some),
        (true, None) => Ok(Some(User::own())),
    }
}

/// Writes a text into a new file.
///
/// # Errors
/// A path that leads out of the folder, by a link too; a file that is there already.
pub(crate) fn write(
    folder: &Path,
    path: &str,
    text: &str,
    (is_secret, user): (bool, Option<&str>),
) -> Result<(), TestbedError> {
    let mut file = create(folder, path, owner(is_secret, user)?)?;
    file.write_all(text.as_bytes()).map_err(TestbedError::file("write", folder.join(path)))
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
    (is_secret, user): (bool, Option<&str>),
) -> Result<(), TestbedError> {
    if is_secret {
        let bytes = plimsoll_units::secret::read_own(from).map_err(TestbedError::Secret)?;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            plimsoll_units::secret::learn(text);
        }
        let mut file = create(folder, path, owner(true, user)?)?;
        return file.write_all(&bytes).map_err(TestbedError::file("write", folder.join(path)));
    }
    let read = TestbedError::file("read", from);
    let source = File::open(from).and_then(|file| Ok((file.metadata()?, file)));
    let (about, source) = source.map_err(read)?;
    if !about.is_file() || about.len() > MOST_COPIED {
        let text = format!("copy {}: expected a file of at most 1 GiB", from.display());
        return Err(TestbedError::Wrong(text));
    }
    let mut file = create(folder, path, None)?;
    // A program stays one.
    let mode = 0o644 | about.permissions().mode() & 0o111;
    let copied = std::io::copy(&mut source.take(MOST_COPIED), &mut file)
        .and_then(|_| file.set_permissions(Permissions::from_mode(mode)));
    copied.map_err(TestbedError::file("write", folder.join(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_written_stays_within_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let (folder, outside) = (place.path().join("own"), place.path().join("outside"));
        for path in [&folder, &outside] {
            std::fs::create_dir(path).unwrap();
        }
        let write = |path: &str| write(&folder, path, "text", (false, None));
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
        write(place.path(), "open", "text", (false, None)).unwrap();
        write(place.path(), "closed", "text", (true, None)).unwrap();
        assert_eq!((mode("open"), mode("closed")), (0o644, 0o600));
        let from = place.path().join("from");
        std::fs::write(&from, "a key of the test of folders").unwrap();
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o644)).unwrap();
        let refused = copy(place.path(), "key", &from, (true, None)).unwrap_err();
        assert!(matches!(refused, TestbedError::Secret(_)), "{refused}");
        copy(place.path(), "plain", &from, (false, None)).unwrap();
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o600)).unwrap();
        copy(place.path(), "key", &from, (true, None)).unwrap();
        assert_eq!((mode("plain"), mode("key")), (0o644, 0o600));
    }
}
