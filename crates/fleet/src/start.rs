//! How a worker is started.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// How a worker comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// What people call the worker.
    pub name: String,
    /// By what it is reached.
    pub by: By,
    /// Where the worker is.
    pub at: At,
}

/// By what a worker is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// A command that becomes one.
    Command(Command),
    /// A bus, at which it was there.
    #[cfg(feature = "amqp")]
    Bus(crate::bus::Called),
}

/// A command that becomes a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its words.
    pub words: Vec<String>,
    /// Its environment, where that is not this process's own.
    pub environment: Option<Vec<(String, String)>>,
    /// What the command reads before it is a worker: this program, of which it makes a copy.
    pub copy: Option<PathBuf>,
}

/// Where a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// A child of this process, which has the files of this host.
    Here,
    /// Wherever its command has brought it, beside others perhaps.
    Somewhere,
    /// A host of its own: two of them are not one.
    OwnHost,
}

/// A file that workers elsewhere are given.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name among those that a worker is given.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

/// What a file holds.
#[derive(Debug, Clone)]
pub enum Content {
    /// What this one does.
    File(Arc<File>),
    /// These bytes.
    Bytes(Arc<[u8]>),
}
