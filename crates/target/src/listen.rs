//! The listening socket, TCP or Unix, and the process's limit of descriptors.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, getsockname, ipproto,
    listen, socket_with, sockopt,
};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::error::TargetError;
use crate::options::Address;

/// Connections that may wait to be accepted; the kernel cuts it to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// A listening socket; a Unix socket's path goes with it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) fd: OwnedFd,
    pub(crate) address: Address,
    unix: Option<PathBuf>,
}

impl Listener {
    pub(crate) fn bind(address: &Address) -> Result<Self, TargetError> {
        let opened = match address {
            Address::Tcp(address) => Self::tcp(*address),
            Address::Unix(path) => Self::unix(path.clone()),
        };
        opened.map_err(|errno| TargetError::Listen {
            address: address.to_string(),
            source: io::Error::from(errno),
        })
    }

    fn tcp(address: SocketAddr) -> Result<Self, Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        // Accepted sockets inherit it: answers are small and leave when they are due.
        sockopt::set_tcp_nodelay(&fd, true)?;
        bind(&fd, &address)?;
        listen(&fd, BACKLOG)?;
        let bound = SocketAddr::try_from(getsockname(&fd)?)?;
        Ok(Self { fd, address: Address::Tcp(bound), unix: None })
    }

    fn unix(path: PathBuf) -> Result<Self, Errno> {
        let name = SocketAddrUnix::new(&path)?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let open = || socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let fd = open()?;
        match bind(&fd, &name) {
            // A socket that nobody listens on was left behind by a server that was killed.
            Err(Errno::ADDRINUSE) if connect(&open()?, &name) == Err(Errno::CONNREFUSED) => {
                rustix::fs::unlink(&path)?;
                bind(&fd, &name)?;
            }
            bound => bound?,
        }
        listen(&fd, BACKLOG)?;
        Ok(Self { fd, address: Address::Unix(path.clone()), unix: Some(path) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.unix {
            // It may be gone already, and nothing is lost where it stays.
            let _ = rustix::fs::unlink(path);
        }
    }
}

/// Raises the soft limit of descriptors to the hard one.
pub(crate) fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, running out of descriptors says so.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// How many descriptors the process may have open.
pub(crate) fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
