//! Why a plan cannot be executed, or a run not be completed.

mod steps;

pub(crate) use steps::show;
pub use steps::{ColdError, RestartError};

use plimsoll_units::failure::{Failure, FileError, Kind, split};
use std::path::PathBuf;

/// Why a plan cannot be executed, or a run not be completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// What is wrong with the plan's text.
    #[error(transparent)]
    Plan(Box<plimsoll_plan::PlanErrors>),
    /// A trace of caches that cannot be read.
    #[error(transparent)]
    CacheTrace(Box<plimsoll_cache::trace::TraceError>),
    /// The plan names no target.
    #[error("find what to request: the plan has neither `target.url` nor URLs of its own")]
    NoTarget,
    /// Secrets were left out of a printed plan.
    #[error("authenticate: the printed plan leaves out {keys}")]
    Redacted {
        /// The keys.
        keys: String,
    },
    /// An environment variable that holds a secret is missing or not usable.
    #[error("read the secret in the environment variable `{name}`: {why}")]
    Secret {
        /// The variable.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The URLs of one load must lead to one server.
    #[error("put all URLs on one server: `{one}` and `{other}` differ")]
    SeveralServers {
        /// The first server.
        one: String,
        /// Another one.
        other: String,
    },
    /// A clause of the SLO is about a name that no request has.
    #[error("judge the requests called `{name}`: there are none")]
    UnknownName {
        /// The name.
        name: String,
        /// The name that it may have been meant to be.
        nearest: Option<String>,
        /// Whether any request has a name.
        is_any: bool,
    },
    /// A figure or a clause is about a label, and users have none.
    #[error("judge the users of the label `{label}`: users of this load have no labels")]
    NoLabels {
        /// The label.
        label: String,
    },
    /// A figure or a clause is about a name that two kinds of things have.
    #[error("judge `{name}`: a {} and a {} are called so", kinds.0, kinds.1)]
    SeveralOfOneName {
        /// The name.
        name: String,
        /// What is called so.
        kinds: (&'static str, &'static str),
    },
    /// A clause of the SLO is about something that nothing tells of.
    #[error("judge `{clause}`: `{name}` are messages, of which only times and rates are told")]
    Unfed {
        /// The clause.
        clause: String,
        /// The name of the messages.
        name: String,
    },
    /// A name that cannot be resolved.
    #[error("find the address of `{host}`")]
    Name {
        /// The name.
        host: String,
        /// What the resolver said.
        #[source]
        source: std::io::Error,
    },
    /// A file that the plan names cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A body that is no template.
    #[error("read the body in {path}")]
    Body {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: plimsoll_units::ParseError,
    },
    /// A trace that cannot be used.
    #[error(transparent)]
    Trace(Box<plimsoll_workload::trace::TraceError>),
    /// A service model that cannot be used.
    #[error(transparent)]
    Service(#[from] plimsoll_workload::service_model::ServiceModelError),
    /// A list of URLs that cannot be used.
    #[error(transparent)]
    Requests(Box<plimsoll_workload::request::RequestError>),
    /// A log that cannot be replayed.
    #[error(transparent)]
    Log(#[from] plimsoll_workload::access_log::LogError),
    /// A schedule that cannot be made.
    #[error(transparent)]
    Schedule(#[from] plimsoll_workload::schedule::ScheduleError),
    /// A schedule without a request.
    #[error("find a request in the schedule: it offers {expected:.3} in all")]
    Nothing {
        /// The integral of the rate.
        expected: f64,
    },
    /// Two parts of the plan that do not go together. The text may end in `; ` and what to do about
    /// it.
    #[error("{}", split(.0).0)]
    Conflict(String),
    /// The servers under test.
    #[error(transparent)]
    Testbed(Box<plimsoll_testbed::TestbedError>),
    /// A value that is not understood.
    #[error(transparent)]
    Value(#[from] plimsoll_units::ParseError),
    /// Certificates that cannot be used.
    #[error("set up TLS: {0}")]
    Tls(String),
    /// The target did not agree on a protocol.
    #[error("agree on a protocol with {endpoint}: {why}")]
    Protocol {
        /// Where.
        endpoint: String,
        /// Why not.
        why: String,
    },
    /// A store did not let us in, or is none.
    #[error(transparent)]
    Store(#[from] plimsoll_load::ask::CheckError),
    /// Requests for caches that cannot be made.
    #[error(transparent)]
    Synthetic(#[from] plimsoll_cache::trace::synthetic::SyntheticError),
    /// A cluster of caches that its requests do not allow.
    #[error(transparent)]
    Cluster(Box<plimsoll_cache::cluster::ClusterError>),
    /// A policy or size that a trace does not allow.
    #[error(transparent)]
    Replay(Box<plimsoll_cache::simulate::SimulateError>),
    /// Something of a load cannot be divided among workers.
    #[error("divide among workers {0}")]
    Undivided(String),
    /// An address or a socket that this process may not ask.
    #[error("ask {0}: it is beyond what this worker may")]
    Beyond(String),
    /// The keys of a fleet are not used.
    #[cfg(feature = "amqp")]
    #[error(transparent)]
    Key(#[from] plimsoll_fleet::bus::KeyError),
    /// Workers could not begin a load.
    #[error(transparent)]
    Fleet(#[from] plimsoll_fleet::FleetError),
    /// The run could not be made or completed.
    #[error(transparent)]
    Load(#[from] plimsoll_load::run::RunError),
    /// The search for a capacity could not be made or completed.
    #[error(transparent)]
    Capacity(#[from] plimsoll_capacity::live::LiveError),
    /// A file of the run folder could not be written.
    #[error("write {path}")]
    Artifact {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The run folder could not be made or finished.
    #[error(transparent)]
    Runs(#[from] plimsoll_runs::RunError),
    /// The plan of an experiment that is gone on with has changed.
    #[error(
        "go on with {}: the plan has changed, so that cell {cell} is a cell of another plan: {}",
        .path.display(), listed(.differences)
    )]
    OtherPlan {
        /// The experiment's folder.
        path: PathBuf,
        /// The first cell that differs.
        cell: u32,
        /// What distinguishes the plans, a line each.
        differences: Vec<String>,
    },
    /// A series of searches could not be kept.
    #[error(transparent)]
    Series(Box<crate::series::SeriesError>),
    /// Another search loads the target.
    #[error("search {address}: another search{holder} loads it, and each would measure the other")]
    TargetInUse {
        /// The target.
        address: String,
        /// Who searches it.
        holder: crate::locks::Holder,
    },
    /// What a load needs did not come about: an answer after a restart, the end of its warm-up.
    #[error("put a load on {subject}: {why}")]
    Silent {
        /// The target.
        subject: String,
        /// What was waited for, and how long.
        why: String,
    },
    /// The target could not be restarted, or its caches not be emptied.
    #[error(transparent)]
    Cold(Box<ColdError>),
    /// The probe of the host could not start.
    #[error(transparent)]
    Timer(#[from] plimsoll_monitor::TimerError),
}

/// The most differences of two plans that are told.
const MAX_DIFFERENCES: usize = 20;

/// Lines, each on its own, and how many more there are.
fn listed(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines.iter().take(MAX_DIFFERENCES) {
        text.push_str(&format!("\n  {line}"));
    }
    if lines.len() > MAX_DIFFERENCES {
        text.push_str(&format!("\n  and {} more", lines.len() - MAX_DIFFERENCES));
    }
    text
}

impl Failure for ExperimentError {
    /// Most of them are the plan's fault, or that of what it names.
    fn kind(&self) -> Kind {
        match self {
            Self::Load(error) => error.kind(),
            Self::Fleet(error) => error.kind(),
            Self::Name { .. }
            | Self::Protocol { .. }
            | Self::Store(_)
            | Self::Capacity(_)
            | Self::Artifact { .. }
            | Self::Silent { .. }
            | Self::Timer(_) => Kind::Incomplete,
            Self::Runs(error) => error.kind(),
            Self::Series(error) => error.kind(),
            Self::Cold(error) => error.kind(),
            Self::Testbed(error) => error.kind(),
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Redacted { .. } => "put the secret or `…_env` back",
            Self::OtherPlan { .. } => {
                "begin another experiment by --new, or go on with its equal cells by --adopt"
            }
            Self::Conflict(text) => return split(text).1.map(str::to_owned),
            Self::UnknownName { nearest: Some(near), .. } => {
                return Some(format!("did you mean `{near}`?"));
            }
            Self::UnknownName { is_any: true, .. } => {
                "a name is that of a line of the list, or the pattern of the paths of a replay; \
                 --check lists them"
            }
            Self::Unfed { .. } => {
                "judge a step that sends and expects, or times such as p99; `lost` of \
                 `websocket.broadcast` in the summary tells of gaps"
            }
            Self::NoLabels { .. } => {
                "a scenario gives them: `label = \"{{accounts.region}}\"` at the top of its file"
            }
            Self::SeveralOfOneName { .. } => "give them names of their own in the scenario",
            Self::UnknownName { .. } => {
                "requests have names in a list (`urls`) and in a replay, one URL alone has none"
            }
            Self::TargetInUse { .. } => "wait for its end",
            Self::SeveralServers { .. } => "drive several servers by several runs",
            Self::Nothing { .. } => "offer more, or longer",
            Self::Value(error) => return error.hint.clone(),
            Self::Body { source, .. } => return source.hint.clone(),
            Self::Trace(error) => return error.hint(),
            Self::Service(error) => return error.hint(),
            Self::Requests(error) => return error.hint(),
            Self::Log(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Load(error) => return error.hint(),
            Self::Fleet(error) => return error.hint(),
            Self::Capacity(error) => return error.hint(),
            Self::File(error) => return error.hint(),
            Self::Artifact { source, .. } => return plimsoll_runs::hint_for_write(source),
            Self::Runs(error) => return error.hint(),
            Self::Series(error) => return error.hint(),
            Self::Cold(error) => return error.hint(),
            Self::Testbed(error) => return error.hint(),
            Self::Timer(error) => return error.hint(),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Errors that are large are kept in a box.
macro_rules! boxed {
    ($($error:ty => $variant:ident,)*) => {
        $(impl From<$error> for ExperimentError {
            fn from(error: $error) -> Self {
                Self::$variant(Box::new(error))
            }
        })*
    };
}

boxed! {
    plimsoll_plan::PlanErrors => Plan,
    plimsoll_workload::trace::TraceError => Trace,
    plimsoll_workload::request::RequestError => Requests,
    plimsoll_cache::trace::TraceError => CacheTrace,
    plimsoll_cache::cluster::ClusterError => Cluster,
    plimsoll_cache::simulate::SimulateError => Replay,
    crate::series::SeriesError => Series,
    plimsoll_testbed::TestbedError => Testbed,
    ColdError => Cold,
}
