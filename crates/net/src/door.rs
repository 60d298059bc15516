//! A Unix socket at a path: a file that only its user may open, so whoever comes by it is trusted.
//!
//! A path is any text that somebody types. Nothing is removed there but a socket of this user's
//! that nobody listens at: what a server left behind that is no more.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::geteuid;

/// Connections that wait to be accepted.
const WAITING: i32 = 64;

/// The socket's file, which goes when its server ends.
#[derive(Debug)]
pub struct Door {
    path: PathBuf,
    /// The device and the number of the file: another one in its place stays.
    own: (u64, u64),
}

impl Door {
    /// Opens it, without blocking. One of this user's that a server left behind which is no more is
    /// taken away first.
    ///
    /// # Errors
    /// A file that is no socket, or a link; a socket of another user's, or one that is listened at:
    /// all of these stay. What the system says.
    pub fn open(path: &Path) -> io::Result<(Self, UnixListener)> {
        clear(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // The file has the socket's mode from its first moment on.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        let about = std::fs::symlink_metadata(path)?;
        let door = Self { path: path.to_owned(), own: (about.dev(), about.ino()) };
        listen(&socket, WAITING)?;
        Ok((door, UnixListener::from(socket)))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let found = std::fs::symlink_metadata(&self.path).map(|of| (of.dev(), of.ino()));
        if found.is_ok_and(|found| found == self.own) {
            // It may be gone by now, and nothing is lost where it stays.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Takes away what a server of this user's left behind.
fn clear(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let stays = |why: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, why.to_owned()));
    if !found.file_type().is_socket() {
        return stays("a file that is no socket is there, and stays; name another path");
    }
    if found.uid() != geteuid().as_raw() {
        return stays(&format!(
            "a socket of the user {} is there, and stays; name another path",
            found.uid()
        ));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
    use std::os::unix::net::UnixDatagram;

    /// What is at a path, whoever follows it: its kind, its number and what it holds.
    fn seen(path: &Path) -> (bool, u64, Option<String>) {
        let about = std::fs::symlink_metadata(path).unwrap();
        (about.is_symlink(), about.ino(), std::fs::read_to_string(path).ok())
    }

    #[test]
    fn what_is_no_socket_of_ours_stays() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("file"), "precious").unwrap();
        std::fs::write(at("empty"), "").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        drop(UnixListener::bind(at("real")).unwrap());
        symlink(at("real"), at("to-a-socket")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0)
            .unwrap();
        let _datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
        let mut all =
            vec!["file", "empty", "link", "dangling", "to-a-socket", "folder", "datagrams"];
        if geteuid().is_root() {
            drop(UnixListener::bind(at("theirs")).unwrap());
            lchown(at("theirs"), Some(23_502), None).unwrap();
            all.push("theirs");
        }
        for name in all {
            let before = seen(&at(name));
            let told = Door::open(&at(name)).unwrap_err();
            assert_eq!(seen(&at(name)), before, "{name}: {told}");
        }
        Door::open(&at("pipe")).unwrap_err();
        assert!(at("pipe").exists() && !at("nowhere").exists());
    }

    #[test]
    fn one_that_is_left_is_taken_over_and_one_that_lives_is_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("door");
        let (door, _listener) = Door::open(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
        let told = Door::open(&path).unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::AddrInUse, "{told}");
        UnixStream::connect(&path).unwrap();
        drop((door, _listener));
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        drop(Door::open(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_has_taken_its_place_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("door");
        let opened = Door::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        drop(opened);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }
}
