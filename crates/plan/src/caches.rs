//! A plan of clusters of caches: what is asked for, what every way costs, and the clusters that are
//! compared. `plimsoll cache simulate` reads it.

use std::path::PathBuf;

use plimsoll_workload::arrivals::Arrivals;

use crate::opened::{Written, plan_of};
use crate::reading::Reading;
use crate::reading::error::PlanErrors;
use crate::reading::tree::Table;
use crate::section::Section;
use crate::sections::cache_trace::CacheTrace;
use crate::sections::cluster::{self, ClusterPlan};
use crate::sections::ever;
use crate::sections::experiment::{
    Experiment, FactorPlan, check_constraints, read_factors, write_factors,
};
use crate::sections::fleet::Fleet;
use crate::sections::latency::LatencyPlan;
use crate::sections::load::Load;
use crate::sections::load_shape::{LoadShape, RateSource};
use crate::sections::own_factors::{CLUSTERS, add_clusters, add_needs, only};
use crate::sections::target::Target;
use crate::sections::top::Top;
use crate::sections::workload::Workload;
use crate::takes::{Count, Small};
use crate::varied::Varied;
use crate::vocabulary::Vocabulary;
use crate::write::Writer;

/// A complete plan of clusters: defaults filled in, every level of every cluster checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CachePlan {
    /// What reports call it.
    pub name: Option<String>,
    /// Where all randomness comes from.
    pub seed: u64,
    /// How often the simulation is repeated, each time with requests of its own; at least 1.
    pub repeat: u32,
    /// What is asked for.
    pub asked: CacheRequests,
    /// What every way costs.
    pub latency: LatencyPlan,
    /// The clusters, in the order of the plan; at least one.
    pub clusters: Vec<ClusterPlan>,
    /// What is varied, and how; `None` where the plan does not say.
    pub experiment: Option<Experiment>,
    /// The levels of each factor; of an experiment those of its clusters are among them.
    pub factors: Vec<FactorPlan>,
    /// Which processes execute its cells; `None` where this one does alone.
    pub fleet: Option<Fleet>,
}

/// What caches are asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum CacheRequests {
    /// What was recorded.
    Recorded(CacheTrace),
    /// What is made up, as a load that goes by the clock.
    Made(Box<MadeRequests>),
}

/// Requests of a synthetic workload.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeRequests {
    /// Which objects there are, and how popular each is.
    pub workload: Workload,
    /// How many requests there are, and when.
    pub source: RateSource,
    /// How they fall within that.
    pub arrivals: Arrivals,
    /// The load as it was given, to be written.
    load: Load,
    /// Of which there is nothing.
    target: Target,
}

/// The sections of a plan of clusters. A plan of a load has none of them.
pub(crate) const SECTIONS: [&str; 5] = ["trace", "workload", "latency", "cluster", "cache"];
/// The keys and sections of other plans that make no sense here.
const FOREIGN: [&str; 15] = [
    "target", "store", "search", "measure", "pool", "instance", "balancer", "billing", "policy",
    "tune", "testbed", "role", "link", "collect", "watch",
];

impl CachePlan {
    /// Reads a plan, as [`crate::Plan::read`] does.
    ///
    /// # Errors
    /// All that is wrong with it, each with its place.
    pub fn read(of: &Written<'_>, vocabulary: &'static Vocabulary) -> Result<Self, PlanErrors> {
        plan_of(of, vocabulary, Self::of)
    }

    fn of(reading: &Reading, root: &Table) -> Option<Self> {
        let top = Section::over(reading, root, Top::SECTION);
        reading.refuse_environment();
        for key in FOREIGN.into_iter().filter(|key| top.has(key)) {
            let message = format!("`{key}` goes with a server or a pool, not with caches");
            top.fault(key, message, Some("leave it out, or put it into a plan of its own"));
        }
        let Top { name, seed, repeat, .. } = Top::read_keys(&top)?;
        let repeat = repeat.and_then(|_| top.get("repeat", &REPEATS)).unwrap_or(1);
        let asked = CacheRequests::read(reading, root, (&top, repeat));
        let latency = LatencyPlan::read(&Section::open(reading, root, LatencyPlan::SECTION));
        let clusters = cluster::read(reading, root);
        let section = Section::open(reading, root, Experiment::SECTION);
        let experiment = top.has(Experiment::SECTION.path).then(|| Experiment::read(&section));
        let experiment = experiment.flatten();
        let mut factors = read_factors(reading, root);
        if experiment.is_some() || !factors.is_empty() {
            add_clusters(reading, root, clusters.as_deref().unwrap_or_default(), &mut factors);
        }
        if let Some(of) = &experiment {
            check_constraints(&section, &of.constraints, &factors);
            if !top.has(Workload::SECTION.path) {
                check_replications(&section, of);
            }
        }
        let fleet = top
            .has(Fleet::SECTION.path)
            .then(|| Fleet::read_beside(&Section::open(reading, root, Fleet::SECTION), &top));
        let (asked, latency, clusters) = (asked?, latency?, clusters?);
        let fleet = fleet.flatten();
        Some(Self { name, seed, repeat, asked, latency, clusters, experiment, factors, fleet })
    }

    /// What it varies. Clusters, and their keys of several levels, are factors of its experiment; a
    /// single one is a level that all cells have.
    #[must_use]
    pub fn varied(&self) -> Varied {
        let labels: Vec<&str> = self.clusters.iter().map(|of| of.label.as_str()).collect();
        let mut experiment = self.experiment.clone();
        add_needs(&mut experiment, &self.clusters, &self.factors);
        Varied {
            seed: self.seed,
            repeat: self.repeat,
            experiment,
            factors: self.factors.clone(),
            common: only(CLUSTERS, &labels),
            slo: None,
        }
    }

    /// Whether it is an experiment, as for [`crate::Plan::is_experiment`].
    #[must_use]
    pub fn is_experiment(&self) -> bool {
        self.experiment.is_some() || !self.factors.is_empty()
    }

    /// The files that the plan names.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.asked {
            CacheRequests::Recorded(trace) => vec![trace.file.clone()],
            CacheRequests::Made(made) => made.load.files().cloned().collect(),
        }
    }

    /// The plan as a complete text, which reads back the same from the working folder.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Writer::default();
        let (name, repeat) = (self.name.clone(), (self.repeat > 1).then_some(self.repeat));
        Top { name, seed: self.seed, repeat, speed: None, folder: None }.write_keys(&mut out, &[]);
        self.asked.write(&mut out);
        self.latency.write(&mut out);
        cluster::write(&self.clusters, &mut out);
        self.experiment.iter().for_each(|of| of.write(&mut out));
        write_factors(&self.factors, &mut out);
        self.fleet.iter().for_each(|of| of.write(&mut out));
        out.finish()
    }
}

/// Refuses replications of what is the same each time.
fn check_replications(section: &Section<'_>, of: &Experiment) {
    let given = [("replications", of.replications > 1), ("until", of.until.is_some())];
    for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        let hint = "a trace is the same each time; a [workload] is another with each seed";
        section.fault(key, format!("`{key}` goes with a [workload]"), Some(hint));
    }
}

const REPEATS: Small = Count(1..=10_000_u32);

impl CacheRequests {
    fn read(reading: &Reading, root: &Table, (top, repeat): (&Section<'_>, u32)) -> Option<Self> {
        if !top.has(Workload::SECTION.path) {
            if top.has(Load::SECTION.path) {
                let hint = "a trace has times of its own: leave [load] out, or [trace]";
                top.fault(Load::SECTION.path, "`load` goes with a [workload]", Some(hint));
            }
            if repeat > 1 {
                let hint = "a trace is the same each time; a [workload] is another with each seed";
                top.fault("repeat", "`repeat` goes with a [workload]", Some(hint));
            }
            let section = Section::open(reading, root, CacheTrace::SECTION);
            return CacheTrace::read(&section).map(Self::Recorded);
        }
        if top.has(CacheTrace::SECTION.path) {
            let message = "[trace] and [workload] exclude each other".to_owned();
            top.fault_beside(
                CacheTrace::SECTION.path,
                Workload::SECTION.path,
                message,
                Some("keep one of them"),
            );
        }
        let workload = Workload::read(&Section::open(reading, root, Workload::SECTION));
        let target = Target::read(&Section::open(reading, root, Target::SECTION), true)?;
        let section = Section::open(reading, root, Load::SECTION);
        let load = Load::read(&section, &target, None)?;
        if load.shape.is_for_ever() {
            ever::refuse_simulated(&section);
        }
        let LoadShape::Open { source, arrivals } = &load.shape else {
            let message = "expected a load that goes by the clock: `rate`, `schedule`, `trace` or \
                           `profile`";
            top.fault(
                Load::SECTION.path,
                message,
                Some("for example rate = \"100/s\" and for = \"1h\""),
            );
            return None;
        };
        let (source, arrivals) = (source.clone(), *arrivals);
        Some(Self::Made(Box::new(MadeRequests {
            workload: workload?,
            source,
            arrivals,
            load,
            target,
        })))
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Self::Recorded(trace) => trace.write(out),
            Self::Made(made) => {
                made.workload.write(out);
                made.load.write(out, &made.target, false);
            }
        }
    }
}
