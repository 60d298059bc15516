//! The client: asks a registry for the nearest caches, tries them, and says which to use.
//!
//! One request is asked of the first registry that answers; each cache of the answer is fetched
//! the site's object through, all at once; those that deliver it are ordered by how long they
//! took. Where no registry answers or none of its caches delivers, the last good answer is tried,
//! then the static list stands. What answers say reaches commands and files only through
//! [`answer`], which lets nothing pass but addresses, names of `[A-Za-z0-9.-]` and ports.
//!
//! Source: Shoal's client, whose requests and outputs [`Form::Old`] gives to the letter.

pub mod answer;
pub mod apply;
pub mod choose;
pub mod import;
mod live;
pub mod memory;
pub mod output;
pub mod rounds;
pub mod settings;
pub mod shell;
pub mod talk;

use plimsoll_units::failure::{Failure, Kind};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use live::run;
pub use output::Form;

use crate::Now;
use plimsoll_net::http::client::Dial;
use plimsoll_net::url::Url;

/// What the caches are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// File systems: `CVMFS_HTTP_PROXY`.
    Cvmfs,
    /// Conditions data: `FRONTIER_SERVER`.
    Frontier,
}

impl Use {
    /// The path of Shoal's servers for it.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Cvmfs => "nearestcvmfs",
            Self::Frontier => "nearestconditions",
        }
    }
}

/// Which way a registry is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// `GET /nearestcvmfs/N/`, which every registry knows; the answer tells no distances.
    Nearest,
    /// `GET /v1/nearest?n=N`, which tells distances and with them bands; one that does not know
    /// the path (404 or 405) is asked the other way.
    V1,
}

/// What a client is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// The registries, tried in order until one answers.
    pub servers: Vec<Url>,
    /// How they are asked.
    pub ask: Ask,
    /// For each registry.
    pub time: Duration,
    /// What the caches are for.
    pub purpose: Use,
    /// How many caches are wanted; five more are asked for.
    pub count: usize,
    /// What is fetched through each cache; nothing, and then all are taken in the answer's order.
    pub object: Option<Url>,
    /// For the fetching of it.
    pub object_time: Duration,
    /// How the result is written.
    pub form: Form,
    /// The value of `FRONTIER_SERVER` as it is, whose proxies are kept behind.
    pub frontier_server: Option<String>,
    /// The static list, in the form of `CVMFS_HTTP_PROXY`: it stands behind what is found, and
    /// alone where nothing is. Where nothing is said, it is the value that the file had before it
    /// was first written.
    pub fixed: Option<String>,
    /// The file whose `CVMFS_HTTP_PROXY` is read and, if wanted, written.
    pub file: PathBuf,
    /// Whether it is written.
    pub apply: bool,
    /// Only says what would be written.
    pub dry_run: bool,
    /// Where the last good answer is kept, and which values were written; see
    /// [`Options::state_file`].
    pub state: Option<PathBuf>,
}

impl Options {
    /// As Shoal's client does by default, against these registries.
    #[must_use]
    pub fn new(servers: Vec<Url>) -> Self {
        Self {
            servers,
            ask: Ask::Nearest,
            time: Duration::from_secs(5),
            purpose: Use::Cvmfs,
            count: 2,
            object: Url::parse(OBJECT).ok(),
            object_time: Duration::from_secs(2),
            form: Form::Bands,
            frontier_server: None,
            fixed: None,
            file: PathBuf::from("/etc/cvmfs/default.local"),
            apply: false,
            dry_run: false,
            state: None,
        }
    }

    /// The file of the memory: the one that is given, else `FILE.shoal` beside the file of
    /// settings. Without it a value that was written here would pass for the site's own list.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(|| {
            let mut name = self.file.clone().into_os_string();
            name.push(".shoal");
            name.into()
        })
    }
}

/// What Shoal's client fetches through a cache: small, signed, and the same everywhere.
pub const OBJECT: &str = "http://cvmfs-stratum-one.cern.ch/cvmfs/atlas.cern.ch/.cvmfswhitelist";

/// What a client meets.
pub struct World<'a> {
    /// Connects to registries and caches.
    pub dial: Arc<dyn Dial>,
    /// Both clocks.
    pub now: &'a dyn Fn() -> Now,
    /// Of this host's interfaces: a cache's private address is used from the same network only.
    pub own: Vec<IpAddr>,
}

/// Where a result is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A registry, by its URL.
    Registry(String),
    /// The last good answer, so many seconds old.
    Memory {
        /// By the wall clock.
        age_s: u64,
    },
    /// The static list.
    Fixed,
}

/// What a client found and did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What is to be used: a line of the asked form, without a newline.
    pub line: String,
    /// The value for `CVMFS_HTTP_PROXY` or `FRONTIER_SERVER`.
    pub value: String,
    /// Where it is from.
    pub source: Source,
    /// Why it is not from something better, one sentence fragment each, in order.
    pub notes: Vec<String>,
    /// Entries of the answer that were not believed.
    pub dropped: usize,
    /// The file was, or with [`Options::dry_run`] would be, changed.
    pub changed: bool,
    /// The lines that change, as `diff -u0` prints them; empty where none does.
    pub difference: String,
}

/// Why a client has nothing to say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither a registry nor the memory nor a static list.
    #[error("find a cache that delivers: {0}")]
    Nothing(String),
    /// A value that may not stand in the file.
    #[error("{0:?} may not stand between quotes")]
    Value(String),
    /// The file of settings is not changed.
    #[error(
        "set {name} in {path}",
        name = apply::NAME,
        path = path.display()
    )]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: apply::Refused,
    },
    /// A file could not be read or written.
    #[error("{what} {path}", path = path.display())]
    File {
        /// What was to be done with it.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl Failure for Error {
    fn kind(&self) -> Kind {
        match self {
            Self::Refused { .. } | Self::Value(_) => Kind::Usage,
            Self::Nothing(_) | Self::File { .. } => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Nothing(_) => {
                "--fallback gives a static list for this case; --object names what is fetched \
                 through each cache, --object none fetches nothing"
            }
            Self::Refused { source, .. } => return Some(source.by_hand.to_string()),
            Self::File { source, .. } => return source.hint(),
            Self::Value(_) => return None,
        };
        Some(hint.to_owned())
    }
}
