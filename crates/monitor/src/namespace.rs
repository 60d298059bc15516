//! Network namespaces: that of this process, and others, in which sockets are opened.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// That of this process.
    Own,
    /// That of the file `/proc/PID/ns/net`.
    Of(PathBuf),
}

impl Namespace {
    /// The namespace whose figures stand in a folder `/proc/PID/net`; `None` where the folder is
    /// in no process's.
    pub(crate) fn of_figures(net: &Path) -> Option<Self> {
        net.parent().map(|process| Self::Of(process.join("ns/net")))
    }

    /// Opens something within it: on a thread of its own, which enters the namespace and ends.
    pub(crate) fn open<T: Send>(
        &self,
        open: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let Self::Of(path) = self else { return open() };
        let namespace = File::open(path)?;
        std::thread::scope(|scope| {
            let open_there = || {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                open()
            };
            let thread = std::thread::Builder::new().name("enter-namespace".to_owned());
            let thread = thread.stack_size(64 * 1024).spawn_scoped(scope, open_there)?;
            thread
                .join()
                .map_err(|_| io::Error::other("the thread that enters a namespace ended"))?
        })
    }
}
