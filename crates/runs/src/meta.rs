//! What is known of a run before it starts, what is learnt when it ends, and what the host adds
//! each second.

use std::collections::BTreeMap;

use crate::{Names, TlsHandshakes};
use plimsoll_stats::Histogram;
use plimsoll_stats::figure::{self, Figure};

use crate::summary::StoreWorkload;

/// Where a run took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// Against a real system.
    Live,
    /// Inside a simulator.
    Simulated,
    /// Beside a real system that somebody else runs: it was watched, and nothing was done.
    Shadow,
}

impl World {
    /// The name in files: `live`, `simulated`, `shadow`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Simulated => "simulated",
            Self::Shadow => "shadow",
        }
    }

    /// The world of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Live, Self::Simulated, Self::Shadow].into_iter().find(|world| world.name() == name)
    }
}

/// What a run is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A load that was offered by a schedule.
    Load,
    /// A search for the capacity of a system.
    Search,
    /// A pool of instances under a policy.
    Pool,
    /// Clusters of caches under a trace.
    Caches,
    /// A search for the parameters of a policy.
    Tune,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Load, Self::Search, Self::Pool, Self::Caches, Self::Tune];

    /// The name in files: `load`, `search`, `pool`, `caches`, `tune`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Search => "search",
            Self::Pool => "pool",
            Self::Caches => "caches",
            Self::Tune => "tune",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The figures by which results of the kind are usually told.
    #[must_use]
    pub fn figures(self) -> &'static [&'static Figure] {
        match self {
            Self::Load => &[
                figure::RATE_MEAN,
                figure::RESPONSE_US_P50,
                figure::RESPONSE_US_P99,
                figure::ERRORS,
            ],
            Self::Search => &[figure::ESTIMATE_PER_S, figure::HELD_PER_S, figure::KNEE_PER_S],
            Self::Pool | Self::Tune => &[
                figure::COST,
                figure::LOST_SHARE,
                figure::NET,
                figure::RESPONSE_US_MEAN,
                figure::RESPONSE_US_P99,
                figure::CPU_MEAN,
                figure::SLO_VIOLATED_S,
            ],
            Self::Caches => &[
                figure::MISS_RATIO,
                figure::BYTE_MISS_RATIO,
                figure::SIBLING_SHARE,
                figure::PARENT_SHARE,
                figure::MESSAGES_PER_REQUEST,
                figure::RESPONSE_US_MEAN,
                figure::RESPONSE_US_P99,
            ],
        }
    }
}

/// What is known beforehand of the load that a run offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadMeta {
    /// What a store is asked for; `None` where the target is none.
    pub workload: Option<StoreWorkload>,
    /// Worker threads.
    pub threads: u32,
    /// `precise` or `thrifty`.
    pub pacing: String,
    /// How long a request may be unanswered before its second can be down.
    pub patience_ns: u64,
    /// Whether every request is kept in `artifacts/samples.bin`.
    pub samples: bool,
    /// What requests are called; none where they have no names.
    pub names: Names,
}

/// Everything that is known of a run before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMeta {
    /// The folder's name below the root: `<time>-<short id>`, chosen by the caller. Of a cell, that
    /// of its experiment and its own: `E/0007`.
    pub id: String,
    /// What it is a run of.
    pub kind: Kind,
    /// The cell's number in its experiment; 0 where the run is none of an experiment.
    pub cell: u32,
    /// The plan's name; may be empty.
    pub name: String,
    /// What the load is put on, for lists: a URL, or a few words.
    pub subject: String,
    /// What a simulated world tells of it beforehand, as JSON, for pages; empty where that is
    /// nothing.
    pub about: String,
    /// The levels of the cell that it is, by factor; none of a run that is no cell.
    pub factors: BTreeMap<String, String>,
    /// What it was tagged with when it was started, such as the commit under test.
    pub tags: BTreeMap<String, String>,
    /// Start by the wall clock, nanoseconds since 1970 UTC.
    pub started_unix_ns: u64,
    /// The version of this program.
    pub version: String,
    /// The seed of every random stream.
    pub seed: u64,
    /// The plan, complete: what `plan.toml` holds.
    pub plan_text: String,
    /// SHA-256 of `plan_text`, lower-case hexadecimal.
    pub plan_sha256: String,
    /// A SHA-256 of what the files hold that the plan reads, wherever they lie: the scenario and
    /// its data, traces, lists. `None` where it reads none, and of former versions.
    pub inputs_sha256: Option<String>,
    /// Length of the warm-up's schedule, 0 without one.
    pub warmup_ns: u64,
    /// Length of the measured schedule, warm-up and drain excluded; 0 where it is not known
    /// beforehand.
    pub duration_ns: u64,
    /// The SLO as the plan states it.
    pub slo: Option<String>,
    /// The load that is offered; `None` where the run has none, as a simulation of caches.
    pub load: Option<LoadMeta>,
    /// Where the run takes place.
    pub world: World,
    /// Facts of the generating host: name and value, in order.
    pub host: Vec<(String, String)>,
}

impl RunMeta {
    /// Whether a run like this tells of a load second by second: a simulated search has its windows
    /// only.
    #[must_use]
    pub fn has_seconds(&self) -> bool {
        let has_windows_only = self.kind == Kind::Search && self.world == World::Simulated;
        self.load.is_some() && !has_windows_only
    }
}

/// What the host did in one second besides running us.
#[derive(Debug, Clone, Copy)]
pub struct HostSample<'a> {
    /// Share of CPU time that the hypervisor gave to others, 0..=1; `None` where not known.
    pub steal_share: Option<f64>,
    /// How late an idle timer woke, in nanoseconds.
    pub timer_late: &'a Histogram,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The schedule was offered to its end.
    Complete,
    /// Somebody asked it to end, by `plimsoll stop`: what was offered is whole.
    Asked,
    /// The user interrupted it.
    Interrupted,
    /// Its stop rule held; the rule and its figures.
    Stopped(String),
    /// What it may cost was spent; how much that is.
    Budget(String),
    /// It could not go on; the reason.
    Failed(String),
}

impl Ended {
    /// The name in files: `complete`, `asked`, `interrupted`, `stopped`, `budget`, `failed`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Asked => "asked",
            Self::Interrupted => "interrupted",
            Self::Stopped(_) => "stopped",
            Self::Budget(_) => "budget",
            Self::Failed(_) => "failed",
        }
    }

    /// Whether all was offered that was to be, up to an end that was meant.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Complete | Self::Asked)
    }

    /// The reason, empty where the name says it all.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Complete | Self::Asked | Self::Interrupted => "",
            Self::Stopped(reason) | Self::Budget(reason) | Self::Failed(reason) => reason,
        }
    }

    /// The end of that name, with its reason; `None` where the name is not one of
    /// [`Self::name`].
    #[must_use]
    pub fn from_parts(name: &str, reason: &str) -> Option<Self> {
        match name {
            "complete" => Some(Self::Complete),
            "asked" => Some(Self::Asked),
            "interrupted" => Some(Self::Interrupted),
            "stopped" => Some(Self::Stopped(reason.to_owned())),
            "budget" => Some(Self::Budget(reason.to_owned())),
            "failed" => Some(Self::Failed(reason.to_owned())),
            _ => None,
        }
    }
}

/// What is known only when a run has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// How it ended.
    pub ended: Ended,
    /// How long the measured schedule was offered, where that is not the planned duration: an
    /// interrupted or stopped run, a list that came to its end. `None`: as planned after
    /// [`Ended::Complete`], else what the intervals cover without warm-up and drain.
    pub measured_ns: Option<u64>,
    /// From the end of the schedule to the end of the run.
    pub drain_ns: u64,
    /// Greatest resident memory of this program; `None` where not known.
    pub max_rss_bytes: Option<u64>,
    /// CPU time of this program, every thread, from start to end.
    pub cpu_ns: u64,
    /// The greatest rate the generator is reckoned to have been good for, where it can tell.
    pub max_rate_per_s: Option<f64>,
    /// Reasons why the result is not valid that the run's own figures do not show, one plain
    /// sentence each. What the figures show is found by [`crate::summarise`].
    pub invalid_because: Vec<String>,
    /// Caveats for the reader, one plain sentence each.
    pub warnings: Vec<String>,
    /// TLS handshakes of the whole run; `None` where TLS was not spoken.
    pub tls: Option<TlsHandshakes>,
}

impl End {
    /// An end with nothing else known.
    #[must_use]
    pub fn new(ended: Ended) -> Self {
        Self {
            ended,
            measured_ns: None,
            drain_ns: 0,
            max_rss_bytes: None,
            cpu_ns: 0,
            max_rate_per_s: None,
            invalid_because: Vec::new(),
            warnings: Vec::new(),
            tls: None,
        }
    }
}

/// The sign before amounts of money that a world tells in its `about`, where it tells one.
#[must_use]
pub fn currency(about: &str) -> String {
    let about: serde_json::Value = serde_json::from_str(about).unwrap_or_default();
    about["currency"].as_str().unwrap_or_default().to_owned()
}
