//! Why a test-bed cannot be made, or a step of it failed.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::erase::EraseError;
use plimsoll_units::failure::{Failure, Kind, chain, split};
use plimsoll_units::own::OwnError;
use plimsoll_units::show_duration;
use serde::{Deserialize, Serialize};

/// Why a test-bed cannot be made, or a step of it failed. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestbedError {
    /// A recipe, a role or a bed that cannot be what it says. The text may end in `; ` and what to
    /// do about it.
    #[error("{}", split(.0).0)]
    Wrong(String),
    /// A text of a recipe or a plan with a name that is not known, or that is no template.
    #[error("fill in {what}")]
    Template {
        /// What was filled in.
        what: String,
        /// What is wrong with it, with its line.
        #[source]
        source: minijinja::Error,
    },
    /// A secret that cannot be had.
    #[error(transparent)]
    Secret(plimsoll_units::secret::SecretError),
    /// A program that is not there.
    #[error("find `{program}`, which {what} needs")]
    Program {
        /// Its name.
        program: String,
        /// Who needs it.
        what: String,
        /// The packages that have it.
        packages: String,
    },
    /// A command that could not be started.
    #[error("start `{command}`")]
    Start {
        /// Its words.
        command: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A command that failed.
    #[error("run `{command}`: it ended with {how}{}", said(.output))]
    Failed {
        /// Its words.
        command: String,
        /// Its exit code, or the signal that ended it.
        how: String,
        /// The end of what it said.
        output: String,
    },
    /// A server that ended before it was ready.
    #[error("start {instance}: it ended with {how}{}", said(.output))]
    Ended {
        /// The instance.
        instance: String,
        /// Its exit code, or the signal that ended it.
        how: String,
        /// The end of what it said.
        output: String,
    },
    /// A server that was ready and ended before anything was asked of it.
    #[error("load {instance}: it ended by itself, with {how}{}", said(.output))]
    Gone {
        /// The instance.
        instance: String,
        /// Its exit code, or the signal that ended it.
        how: String,
        /// The end of what it said.
        output: String,
    },
    /// A step that had not ended in time.
    #[error("{what}: it had not ended after {}{}", show_limit(*.limit), said(.output))]
    TooLong {
        /// What was done.
        what: String,
        /// How long it was allowed.
        limit: Duration,
        /// The end of what was said meanwhile.
        output: String,
    },
    /// A file or folder of the bed.
    #[error("{deed} {path}")]
    File {
        /// What was to be done with it, as a verb.
        deed: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A folder that is not ours alone, or what is in it.
    #[error(transparent)]
    Own(#[from] OwnError),
    /// What could not be removed of a folder.
    #[error(transparent)]
    Erase(#[from] EraseError),
    /// A folder where one of a bed's was, which nothing says to be that.
    #[error("remove {}: nothing in it says that it is of this test-bed", .0.display())]
    Unproved(PathBuf),
    /// A ledger with lines that this version does not understand.
    #[error("undo what {} says in line {lines}: a later version has written it", .path.display())]
    Newer {
        /// The ledger.
        path: PathBuf,
        /// The numbers of the lines.
        lines: String,
    },
    /// Several things that failed.
    #[error("{first}; {}", .others.join("; "))]
    Several {
        /// The first.
        first: Box<TestbedError>,
        /// The others, with their causes.
        others: Vec<String>,
    },
    /// A host that cannot be reached, or is gone.
    #[error("reach the host {host}: {why}")]
    Away {
        /// Its name, and its address.
        host: String,
        /// What `ssh` says.
        why: String,
    },
    /// Something that failed on another host.
    #[error("{}, on the host {host}", .why.text)]
    OnHost {
        /// Its name, and its address.
        host: String,
        /// Why.
        why: Why,
    },
    /// A cloud that instances are rented from.
    #[error(transparent)]
    Cloud(#[from] crate::cloud::CloudError),
    /// Rented instances that could not be ended.
    #[error("end what is rented: {}", .0.join("; "))]
    Rented(Vec<String>),
    /// The user ended it.
    #[error("wait for the test-bed: it was interrupted")]
    Interrupted,
}

/// Why something failed on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// With all its causes.
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the plan or its use is wrong.
    pub is_usage: bool,
}

impl Why {
    pub(crate) fn of(error: &TestbedError) -> Self {
        let is_usage = matches!(error.kind(), Kind::Usage);
        Self { text: chain(error), hint: error.hint(), is_usage }
    }
}

fn show_limit(limit: Duration) -> String {
    show_duration(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
}

pub(crate) fn said(output: &str) -> String {
    match output.trim().lines().last() {
        None => String::new(),
        Some(line) => format!(": {line}"),
    }
}

impl TestbedError {
    /// Several errors as one; `None` where there is none.
    pub(crate) fn all(errors: Vec<Self>) -> Option<Self> {
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        let others: Vec<String> = errors.map(|error| chain(&error)).collect();
        match others.is_empty() {
            true => Some(first),
            false => Some(Self::Several { first: Box::new(first), others }),
        }
    }

    /// For `map_err`: a file or folder that cannot be read, made or removed.
    pub(crate) fn file(
        deed: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { deed, path, source }
    }
}

impl TestbedError {
    /// Whether it is that the budget has no room for another instance.
    #[must_use]
    pub fn is_of_budget(&self) -> bool {
        matches!(self, Self::Cloud(crate::cloud::CloudError::Budget(_)))
    }
}

impl Failure for TestbedError {
    fn kind(&self) -> Kind {
        match self {
            Self::Wrong(_) | Self::Template { .. } | Self::Program { .. } | Self::Secret(_) => {
                Kind::Usage
            }
            Self::OnHost { why, .. } if why.is_usage => Kind::Usage,
            Self::Cloud(error) => error.kind(),
            Self::Several { first, .. } => first.kind(),
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Wrong(text) => split(text).1.map(str::to_owned),
            Self::Cloud(error) => error.hint(),
            Self::Own(error) => error.hint(),
            Self::Several { first, .. } => first.hint(),
            Self::Newer { .. } => Some("take it down with that version".to_owned()),
            Self::Erase(EraseError::Mounted { mounts, .. }) => {
                let all: Vec<String> = mounts.iter().map(|of| of.display().to_string()).collect();
                Some(format!("umount {}, then plimsoll testbed down --all", all.join(" ")))
            }
            Self::Erase(error) => error.hint(),
            Self::Unproved(path) => Some(format!(
                "look at it, and remove it yourself (rm -r {}); it stays in the ledger until it is \
                 gone and `plimsoll testbed down` has seen that",
                path.display()
            )),
            Self::Rented(_) => Some(
                "look into the cloud's own console; they end by their own timer, half an hour \
                 after the planned end"
                    .to_owned(),
            ),
            Self::Program { packages, .. } if !packages.is_empty() => {
                Some(format!("apt-get install {packages}"))
            }
            Self::OnHost { why, .. } => why.hint.clone(),
            Self::Away { .. } => Some(
                "what it has of the test-bed stays in the ledger: `plimsoll testbed down` \
                      undoes it when the host is there again"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}
