//! What is done for a bed, as data: `check` prints it, and a worker of this crate does and undoes
//! it.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::command::Words;
use crate::image::Start;
use crate::launch::Order;
use crate::recipe::{Check, Steady, Stop};
use crate::route::Route;
use crate::thing::Thing;

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Makes a thing by commands; it is undone by removing it.
    Make {
        /// What is made.
        thing: Thing,
        /// By which commands.
        by: Vec<Words>,
    },
    /// Makes a cgroup and writes its settings.
    Cgroup {
        /// The cgroup.
        thing: Thing,
        /// Values by the names of their files.
        settings: Vec<(String, String)>,
    },
    /// Makes the cgroups of an instance without limits, of the kind that its host has.
    Groups {
        /// Their name.
        name: String,
    },
    /// Rents an instance; it is undone by ending it.
    Rent {
        /// The instance.
        instance: String,
        /// Its role.
        role: String,
        /// What is rented, in words.
        shown: String,
    },
    /// Makes the folder of an instance, for a user.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Who may write in it; who runs this, where none is named.
        user: Option<String>,
    },
    /// Writes a file into the folder.
    Write {
        /// The folder.
        folder: PathBuf,
        /// The path in it.
        path: String,
        /// What it holds.
        text: String,
        /// Whether it has a secret in it, which is its user's alone then.
        is_secret: bool,
        /// Who the instance runs as; who runs this, where none is named.
        user: Option<String>,
    },
    /// Copies a file into the folder.
    Copy {
        /// The folder.
        folder: PathBuf,
        /// The path in it.
        path: String,
        /// The file.
        from: PathBuf,
        /// Whether it is secret, and its user's alone then.
        is_secret: bool,
        /// Who the instance runs as; who runs this, where none is named.
        user: Option<String>,
    },
    /// Puts the files of an image into the folder.
    #[serde(skip)]
    Restore {
        /// The folder.
        folder: PathBuf,
        /// The image.
        image: Box<Start>,
        /// Who the instance runs as; who runs this, where none is named.
        user: Option<String>,
    },
    /// Reaches another host, and copies this program there.
    Host {
        /// How it is reached.
        route: Route,
        /// The folder that is made there.
        folder: PathBuf,
    },
    /// Looks whether a host has what an instance needs.
    Needs {
        /// What needs it.
        what: String,
        /// Programs, and files by their whole paths.
        programs: Vec<String>,
        /// The packages that have them.
        packages: String,
        /// Where it will listen, which has to be free.
        address: String,
    },
    /// Puts this program into the folder.
    Program {
        /// The folder.
        folder: PathBuf,
    },
    /// Has a port of this host lead to the agent of another.
    Forward {
        /// The agent's folder there.
        folder: PathBuf,
        /// The address and the port here.
        here: String,
    },
    /// Starts the server.
    Start {
        /// The instance.
        instance: String,
        /// Its folder.
        folder: PathBuf,
        /// What the process becomes.
        order: Order,
        /// How it is ended.
        stop: Stop,
    },
    /// Runs a command as an instance, to its end.
    Run {
        /// What it is called in the ledger.
        name: String,
        /// The folder of the instance.
        folder: PathBuf,
        /// The file of what it says, in the folder.
        log: String,
        /// What the process becomes.
        order: Order,
    },
    /// Waits until it is ready.
    Ready {
        /// The instance.
        instance: String,
        /// Its folder.
        folder: PathBuf,
        /// Where it listens.
        address: SocketAddr,
        /// When it is ready.
        check: Check,
    },
    /// Asks for pages until its answers are steady.
    Steady {
        /// The instance.
        instance: String,
        /// Its folder.
        folder: PathBuf,
        /// Where it listens.
        address: SocketAddr,
        /// When they are.
        when: Steady,
    },
    /// Starts the router of the links, and waits until each was measured.
    Links {
        /// Its folder.
        folder: PathBuf,
        /// What the process becomes.
        order: Order,
        /// The links, a line each.
        shown: String,
    },
    /// Removes a file of the folder that is no more of it.
    Remove {
        /// The folder.
        folder: PathBuf,
        /// The path in it.
        path: String,
    },
    /// Ends a server that stands.
    End {
        /// The instance.
        instance: String,
        /// How it is ended.
        stop: Stop,
    },
    /// Removes all that is in the folder of an instance that is to be started anew.
    Clear {
        /// The folder.
        folder: PathBuf,
    },
    /// Sends a signal to a server that stands, so that it takes its files anew.
    Signal {
        /// The instance.
        instance: String,
        /// Its folder.
        folder: PathBuf,
        /// The signal's name.
        signal: String,
        /// Whether its processes of before are awaited to end.
        replaces_workers: bool,
    },
}

impl Op {
    /// What is done, with the whole text of a file that is written and is no secret: what a shell
    /// or a server is told by it.
    #[must_use]
    pub(crate) fn whole(&self) -> String {
        let mut told = self.to_string();
        if let Self::Write { text, is_secret: false, .. } = self {
            for line in text.lines() {
                told.push_str("\n  | ");
                told.push_str(line);
            }
        }
        told
    }
}

/// What is done, a line each.
impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Make { by, .. } => {
                let lines: Vec<String> = by.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Cgroup { thing, settings } => {
                let Thing::Cgroup { path } = thing else { return Ok(()) };
                write!(f, "make the cgroup {}", path.display())?;
                settings.iter().try_for_each(|(name, value)| write!(f, ", {name} = {value}"))
            }
            Self::Groups { name } => write!(f, "make the cgroups {name}, without limits"),
            Self::Rent { shown, .. } | Self::Links { shown, .. } => f.write_str(shown),
            Self::Folder { path, user } => {
                write!(f, "make the folder {}", path.display())?;
                user.iter().try_for_each(|user| write!(f, ", of the user {user}"))
            }
            Self::Write { folder, path, text, is_secret, .. } => {
                let file = folder.join(path);
                match is_secret {
                    true => write!(f, "write {}, which holds a secret", file.display()),
                    false => write!(f, "write {}, {} bytes", file.display(), text.len()),
                }
            }
            Self::Copy { folder, path, from, is_secret, .. } => {
                let secret = if *is_secret { ", which is secret" } else { "" };
                let to = folder.join(path);
                write!(f, "copy {} to {}{secret}", from.display(), to.display())
            }
            Self::Restore { folder, image, .. } => write!(
                f,
                "copy the image {}, {} bytes, to {}",
                image.image.name,
                image.image.bytes(),
                folder.display()
            ),
            Self::Host { route, folder } => write!(
                f,
                "ssh {route}, make the folder {} and copy this program there",
                folder.display()
            ),
            Self::Needs { programs, address, .. } if programs.is_empty() => {
                write!(f, "look whether {address} is free")
            }
            Self::Needs { programs, address, .. } => {
                write!(f, "look for {}, and whether {address} is free", programs.join(", "))
            }
            Self::Program { folder } => write!(f, "copy this program to {}", folder.display()),
            Self::Forward { here, .. } => write!(f, "lead {here} to its agent, by ssh"),
            Self::Start { order, .. } | Self::Run { order, .. } => {
                write!(f, "{}", Words(order.words.clone()))
            }
            Self::Ready { address, check, .. } => match &check.http {
                Some(path) => write!(f, "ask http://{address}{path} until it answers"),
                None => write!(f, "connect to {address} until it takes connections"),
            },
            Self::Steady { address, when: Steady { http, answers, times }, .. } => write!(
                f,
                "ask http://{address}{} until {answers} answers in a row take at most {times} times \
                 their median",
                http.join(", ")
            ),
            Self::Remove { folder, path } => write!(f, "remove {}", folder.join(path).display()),
            Self::End { instance, .. } => write!(f, "end {instance}"),
            Self::Clear { folder } => write!(f, "empty the folder {}", folder.display()),
            Self::Signal { instance, signal, .. } => write!(f, "send {signal} to {instance}"),
        }
    }
}
