//! Collectors: each reads one source, and all are in one list.
//!
//! A collector is one file with a [`Kind`] in it, and one line in [`KINDS`]. Its parsers are pure
//! functions from text to [`Samples`]; where the text comes from is handed in with a [`Source`],
//! so that the tests hand in files. It measures no time and reports no success: the
//! [sampler](crate::sampler) does that for all of them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_net::http::client;
use plimsoll_units::failure::{self, Failure};
use plimsoll_units::{ParseError, nearest};

use crate::sample::{Group, Samples};
use crate::{cgroup, host, service};

/// A reader of one source.
pub trait Collector: Send {
    /// Reads the source once, within the limit of the [`Source`] that it was made of.
    ///
    /// A figure that this source does not have is left out, which is no error. What is not
    /// understood is left out too, and counted by [`Samples::leave_out`].
    ///
    /// # Errors
    /// When nothing could be read: the source is away, too slow, or says something else than such
    /// a source does.
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError>;
}

/// Why a source gave no sample.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// None of the files of such a source exists.
    #[error("read {}: there is no such file or folder", .0.display())]
    Missing(PathBuf),
    /// A file is there, and cannot be read.
    #[error("read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file or an answer is longer than any that such a source gives.
    #[error("{what} is longer than {most} bytes")]
    Long {
        /// The file, or the service that answered.
        what: String,
        /// The most that is read.
        most: usize,
    },
    /// What a service sends could not be listened for.
    #[error("listen at {address}")]
    Listen {
        /// The address, in the instance's namespace where it has one.
        address: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The service could not be asked, or did not answer in time.
    #[error("ask {address}")]
    Ask {
        /// Its address.
        address: String,
        /// What happened instead.
        #[source]
        source: client::Error,
    },
    /// The service, or the file, says something else.
    #[error("expected {wanted}, found {found:?}")]
    Garbage {
        /// What such a source says.
        wanted: &'static str,
        /// How what it said begins.
        found: String,
    },
}

impl CollectError {
    /// The error of an answer that is something else than was wanted.
    pub(crate) fn garbage(wanted: &'static str, found: &str) -> Self {
        const SHOWN: usize = 60;
        let line = found.lines().next().unwrap_or_default();
        Self::Garbage { wanted, found: plimsoll_units::truncate(line, SHOWN).to_owned() }
    }
}

impl Failure for CollectError {
    fn kind(&self) -> failure::Kind {
        failure::Kind::Incomplete
    }
}

/// Where a collector finds its source.
#[derive(Debug, Clone)]
pub struct Source {
    /// The folder that holds `proc` and `sys`.
    pub root: PathBuf,
    /// The folder of a network namespace's figures, such as `/proc/PID/net` of a process in it;
    /// `proc/net` below the root where there is none.
    pub net: Option<PathBuf>,
    /// What the interface of that namespace carries each way, bits a second; `None` where nothing
    /// limits it.
    pub net_bits_per_s: Option<u64>,
    /// The instance that is watched, which all of its series get as a label; `None` for the host.
    /// Two sources of one collector are told apart by it.
    pub instance: Option<String>,
    /// The instance's folders in the hierarchies of cgroups. A figure that two of them have is
    /// taken from the first.
    pub cgroup: Vec<PathBuf>,
    /// Where the service listens: `HOST:PORT`, or a URL.
    pub address: Option<String>,
    /// What an agent asks for, where it asks for a token.
    pub token: Option<Token>,
    /// Whether an agent tells of instances on its host too, which keep their own names.
    pub has_instances: bool,
    /// Names of the processes that are counted by name.
    pub processes: Vec<String>,
    /// The time within which a service must answer. It should be less than the period: a collector
    /// that is still reading at its next turn misses that turn.
    pub limit: Duration,
}

impl Default for Source {
    /// This host.
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            net: None,
            net_bits_per_s: None,
            instance: None,
            cgroup: Vec::new(),
            address: None,
            token: None,
            has_instances: false,
            processes: Vec::new(),
            limit: Duration::from_millis(500),
        }
    }
}

/// A token, which is shown nowhere.
#[derive(Clone)]
pub struct Token(pub(crate) String);

impl From<String> for Token {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// What a collector cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// [`Source::cgroup`].
    Cgroup,
    /// [`Source::address`].
    Address,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cgroup => "a folder of the instance's cgroup",
            Self::Address => "the service's address",
        })
    }
}

/// An entry in the list of collectors.
#[derive(Debug)]
pub struct Kind {
    /// Its name in `[collect] from`.
    pub name: &'static str,
    /// What it reads, as a clause.
    pub about: &'static str,
    /// What it cannot do without.
    pub needs: &'static [Need],
    /// The series that it reads, where they are known beforehand.
    pub groups: &'static [&'static Group],
    /// Makes a collector of a source that has what it needs.
    pub(crate) make: fn(&Source) -> Result<Box<dyn Collector>, ParseError>,
}

/// All collectors.
pub const KINDS: &[&Kind] = &[
    &host::KIND,
    &host::NETWORK,
    &cgroup::KIND,
    &service::nginx::KIND,
    &service::redis::KIND,
    &service::memcached::KIND,
    &service::mariadb::KIND,
    &service::phpfpm::KIND,
    &service::rabbitmq::KIND,
    &service::target::KIND,
    &service::prometheus::KIND,
    &service::statsd::KIND,
    &service::agent::KIND,
];

/// Why there is no collector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No collector has this name.
    #[error("expected a collector ({}), found `{found}`", names().join(", "))]
    Unknown {
        /// The name that was given.
        found: String,
    },
    /// The source lacks something that the collector needs.
    #[error("the collector `{collector}` needs {need}")]
    Needs {
        /// The collector's name.
        collector: &'static str,
        /// What it needs.
        need: Need,
    },
    /// The address cannot be read.
    #[error("the address of the collector `{collector}`")]
    Address {
        /// The collector's name.
        collector: &'static str,
        /// What was expected, and where.
        #[source]
        source: ParseError,
    },
}

impl Failure for SourceError {
    fn kind(&self) -> failure::Kind {
        failure::Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { found } => {
                nearest(found, names()).map(|known| format!("did you mean `{known}`?"))
            }
            Self::Needs { .. } => None,
            Self::Address { source, .. } => source.hint.clone(),
        }
    }
}

/// The names of all collectors.
#[must_use]
pub fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// The collector of a name.
///
/// # Errors
/// When none has this name.
pub fn named(name: &str) -> Result<&'static Kind, SourceError> {
    let found = KINDS.iter().find(|kind| kind.name == name);
    found.copied().ok_or_else(|| SourceError::Unknown { found: name.to_owned() })
}

/// A collector with its source, ready to be sampled.
pub struct Watched {
    /// The collector's name.
    pub(crate) name: &'static str,
    /// The instance that it watches.
    pub(crate) instance: Option<String>,
    pub(crate) collector: Box<dyn Collector>,
}

impl Watched {
    /// A collector of the list, by its name. The source is not asked yet.
    ///
    /// # Errors
    /// When none has this name, or the source lacks what it needs.
    pub fn open(name: &str, source: &Source) -> Result<Self, SourceError> {
        let kind = named(name)?;
        let lacks = |need: &&Need| match need {
            Need::Cgroup => source.cgroup.is_empty(),
            Need::Address => source.address.is_none(),
        };
        let collector = kind.name;
        if let Some(need) = kind.needs.iter().find(lacks) {
            return Err(SourceError::Needs { collector, need: *need });
        }
        let made = (kind.make)(source);
        let made = made.map_err(|source| SourceError::Address { collector, source })?;
        Ok(Self::new(collector, source.instance.clone(), made))
    }

    /// The cgroups of a host whose names begin so, as they come and go: each is an instance, by the
    /// rest of its name. `root` is the folder that holds `sys`.
    #[must_use]
    pub fn groups(root: &Path, prefix: &str) -> Self {
        let (root, prefix) = (root.to_owned(), prefix.to_owned());
        Self::new(cgroup::KIND.name, None, Box::new(cgroup::Groups { root, prefix }))
    }

    /// A collector that is not in the list.
    #[must_use]
    pub fn new(
        name: &'static str,
        instance: Option<String>,
        collector: Box<dyn Collector>,
    ) -> Self {
        Self { name, instance, collector }
    }

    /// Reads the source once.
    ///
    /// # Errors
    /// As [`Collector::collect`].
    pub fn collect(&mut self) -> Result<Samples, CollectError> {
        let mut out = Samples::of(self.instance.as_deref());
        self.collector.collect(&mut out)?;
        Ok(out)
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("name", &self.name).field("of", &self.instance).finish()
    }
}
