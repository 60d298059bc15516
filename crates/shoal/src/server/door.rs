//! The operator's socket: a file that only its owner may open, so whoever comes by it is trusted.

use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, chmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

/// Connections that wait to be accepted.
const WAITING: i32 = 64;

/// The socket's file, which goes when the server ends.
#[derive(Debug)]
pub(super) struct Door {
    path: PathBuf,
}

impl Door {
    /// Opens it. One that a server left behind which is no more is taken away first; one that is
    /// listened at, and a file that is no socket, stay.
    pub(super) fn open(path: &Path) -> io::Result<(Self, UnixListener)> {
        clear(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        let door = Self { path: path.to_owned() };
        // Before anybody can connect: nobody listens yet.
        chmod(path, Mode::RUSR | Mode::WUSR)?;
        listen(&socket, WAITING)?;
        Ok((door, UnixListener::from(socket)))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Somebody else's by now, or gone: either way there is nothing to do about it.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn clear(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is no socket"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there")),
    }
}
