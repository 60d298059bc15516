//! Simulated caches as worlds: policies and sizes on one trace, a cell each; and clusters, a cell
//! each in each replication of their requests.

use super::{Cell as ClusterCell, Figures, Requests, made, of_replay, write_cluster, write_replay};
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::record::{CellPlan, Subject, rows_of};
use plimsoll_cache::about::{About, name_of};
use plimsoll_cache::bound::{self, Bound};
use plimsoll_cache::capacity::Capacity;
use plimsoll_cache::cluster::{Cluster, Counts, simulate as replay};
use plimsoll_cache::simulate::{Cell as Replayed, Comparison, Replays};
use plimsoll_cache::trace::Trace;
use plimsoll_plan::{self as plan, CacheComparison, CachePlan, CacheRequests};
use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{Kind, RunWriter};
use plimsoll_units::failure::FileError;
use plimsoll_units::{ParseError, count, share};
use plimsoll_workload::random::seed_of;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// Every policy at every size of a comparison.
pub struct Policies<'a> {
    trace: &'a Trace,
    replays: Replays<'a>,
    bounds: &'a [Bound],
    kept: Mutex<BTreeMap<u32, Replayed>>,
}

/// Parts of a trace, each a point of a line over time.
const PARTS: NonZeroUsize = NonZeroUsize::new(200).unwrap();

/// What a plan compares on a trace.
///
/// # Errors
/// What cannot be read, or is skipped, of this trace.
pub fn comparison(of: &plan::Cache, trace: &Trace) -> Result<Comparison, ExperimentError> {
    let skip = of.skip.as_deref().map(|text| skipped(text, trace.len())).transpose()?;
    Ok(Comparison {
        policies: of.policy.iter().map(|text| said(text)).collect::<Result<_, _>>()?,
        sizes: of.size.iter().map(|text| said(text)).collect::<Result<_, _>>()?,
        admission: of.admit.as_deref().map(said).transpose()?,
        skip: skip.unwrap_or(0),
        parts: PARTS,
        by_size: of.by_size,
    })
}

/// What no policy undercuts at each size of a comparison; nothing where that is not asked for.
///
/// # Errors
/// A size that cannot be, for this trace.
pub fn bounds(
    of: &plan::Cache,
    comparison: &Comparison,
    trace: &Trace,
) -> Result<Vec<Bound>, ExperimentError> {
    let conflict = |error: &dyn std::fmt::Display| ExperimentError::Conflict(error.to_string());
    let mut capacities: Vec<Capacity> = Vec::new();
    for size in comparison.sizes.iter().filter(|_| of.bound) {
        let capacity = size.of(trace).map_err(|error| conflict(&error))?;
        if !capacities.contains(&capacity) {
            capacities.push(capacity);
        }
    }
    let refuses = comparison.admission.is_some();
    bound::bounds(trace, &capacities, refuses).map_err(|error| conflict(&error))
}

fn told<T>(read: Result<T, ParseError>) -> Result<T, ExperimentError> {
    read.map_err(|error| ExperimentError::Conflict(error.to_string()))
}

fn said<T: FromStr<Err = ParseError>>(text: &str) -> Result<T, ExperimentError> {
    told(text.parse())
}

/// How many requests are skipped: a number of them, or a share.
fn skipped(text: &str, requests: usize) -> Result<usize, ExperimentError> {
    let count = if text.contains('%') || text.contains('.') {
        let share = told(share(text))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        let count = (requests as f64 * share) as u64;
        count
    } else {
        told(count(text))?
    };
    usize::try_from(count).ok().filter(|count| *count < requests).ok_or_else(|| {
        ExperimentError::Conflict(format!(
            "`skip`: expected fewer than the trace's {requests} requests, found {text}"
        ))
    })
}

/// The cells of a comparison: the sizes of the first policy, then those of the next.
pub fn policy_cells(of: &Comparison) -> impl Iterator<Item = CellPlan> {
    let all = of.policies.iter().flat_map(|policy| of.sizes.iter().map(move |size| (policy, size)));
    all.zip(1..).map(|((policy, size), number)| {
        let levels = [("policy", policy.text.as_str()), ("size", size.text())];
        let factors = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into();
        CellPlan { number, factors, replication: 0, block: 0, seed: 0 }
    })
}

impl<'a> Policies<'a> {
    /// A comparison on a trace, of which nothing is replayed yet, with its bounds. `cpu_ns` tells
    /// the processor time of the thread that asks.
    ///
    /// # Errors
    /// What this trace does not allow.
    pub fn new(
        trace: &'a Trace,
        (comparison, bounds): (&'a Comparison, &'a [Bound]),
        cpu_ns: fn() -> u64,
    ) -> Result<Self, ExperimentError> {
        let replays = Replays::new(trace, comparison, cpu_ns)?;
        Ok(Self { trace, replays, bounds, kept: Mutex::default() })
    }

    /// The cells that were replayed, in their order.
    pub fn replayed(self) -> Vec<Replayed> {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }
}

impl World for Policies<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        to.each(batch, &|cell| {
            let replayed = self.replays.replay(place(cell))?;
            let write = |run: &mut RunWriter| write_replay(run, self.trace, &replayed);
            let bound = self.bounds.iter().find(|of| of.capacity == replayed.capacity);
            let goes_on = to.done(cell, rows_of(&of_replay(&replayed, bound)), &write)?;
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(cell.place, replayed);
            Ok(goes_on)
        })
    }
}

/// A cluster that was simulated.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// What happened in the first replication.
    pub counts: Counts,
    /// The figures of all replications.
    pub replications: Vec<Figures>,
    /// The processor time of all replays, seconds.
    pub cpu_s: f64,
}

/// The clusters of a plan.
pub struct Clusters<'a> {
    /// The plan.
    plan: &'a CachePlan,
    /// Its clusters.
    clusters: &'a [ClusterCell],
    /// What they are asked for in the first replication.
    first: &'a Requests,
    cpu_ns: fn() -> u64,
    kept: Mutex<BTreeMap<u32, Kept>>,
}

/// What is kept of a cluster in a replication; of the first one all.
struct Kept {
    counts: Option<Counts>,
    figures: Figures,
    cpu_s: f64,
}

/// The cells of a plan of clusters: all in the first replication, then all in the next.
pub fn cluster_cells<'a>(
    plan: &'a CachePlan,
    clusters: &'a [ClusterCell],
) -> impl Iterator<Item = CellPlan> + 'a {
    let all = (0..plan.repeat).flat_map(move |number| clusters.iter().map(move |of| (number, of)));
    all.zip(1..).map(|((replication, of), number)| {
        let label = std::iter::once(("cluster".to_owned(), of.label.clone()));
        let level =
            |key: &&'static str| ((*key).to_owned(), of.level(key).unwrap_or_default().to_owned());
        CellPlan {
            number,
            factors: label.chain(of.differs.iter().map(level)).collect(),
            replication,
            block: 0,
            seed: match &plan.asked {
                CacheRequests::Recorded(_) => plan.seed,
                CacheRequests::Made(_) => seed_of(plan.seed, u64::from(replication)),
            },
        }
    })
}

/// What a plan's clusters are, for their record: `clusters` are its cells, `trace` what they are
/// asked for first. The text of the plan names its files from anywhere.
///
/// # Errors
/// Where the working folder cannot be found.
pub fn subject(
    plan: &CachePlan,
    clusters: &[ClusterCell],
    trace: &Trace,
) -> Result<Subject, ExperimentError> {
    let kept = told_from_anywhere(plan)?;
    let (name, files) = (name_of_requests(&kept), kept.files());
    // The latency model is the plan's, the same for every cluster.
    let latency = clusters.first().map(|cell| cell.cluster.latency);
    let about = About { latency, ..About::of(trace, name) };
    let nameless = CachePlan { name: None, repeat: 1, seed: 0, fleet: None, ..kept.clone() };
    let texts = (kept.to_toml(), nameless.to_toml());
    Ok(of_texts(plan.name.clone(), &about, texts, files))
}

/// A plan whose trace is named from anywhere.
pub(crate) fn told_from_anywhere(plan: &CachePlan) -> Result<CachePlan, ExperimentError> {
    let mut kept = plan.clone();
    if let CacheRequests::Recorded(trace) = &mut kept.asked {
        let failed = FileError::of("read the trace", &trace.file);
        trace.file = std::path::absolute(&trace.file).map_err(failed)?;
    }
    Ok(kept)
}

fn name_of_requests(plan: &CachePlan) -> String {
    match &plan.asked {
        CacheRequests::Recorded(trace) => name_of(&trace.file),
        CacheRequests::Made(_) => "a synthetic workload".to_owned(),
    }
}

/// What a page tells of policies and sizes on a trace.
#[must_use]
pub fn about(
    plan: &CacheComparison,
    trace: &Trace,
    (comparison, bounds): (&Comparison, &[Bound]),
) -> About {
    let skip = comparison.skip as u64;
    About { skip, ..About::of(trace, name_of(&plan.trace.file)) }.with_bounds(bounds)
}

/// What a plan's policies and sizes on a trace are, for their record. The text of the plan names
/// its trace from anywhere.
///
/// # Errors
/// Where the working folder cannot be found.
pub fn subject_of_comparison(
    plan: &CacheComparison,
    about: &About,
) -> Result<Subject, ExperimentError> {
    let mut kept = plan.clone();
    let failed = FileError::of("read the trace", &plan.trace.file);
    kept.trace.file = std::path::absolute(&plan.trace.file).map_err(failed)?;
    let nameless = CacheComparison { name: None, ..kept.clone() };
    let (texts, files) = ((kept.to_toml(), nameless.to_toml()), vec![kept.trace.file]);
    Ok(of_texts(plan.name.clone(), about, texts, files))
}

fn of_texts(
    name: Option<String>,
    about: &About,
    (plan_text, identity): (String, String),
    files: Vec<PathBuf>,
) -> Subject {
    Subject {
        name: name.unwrap_or_default(),
        kind: Kind::Caches,
        world: plimsoll_runs::World::Simulated,
        what: format!("caches, {}", about.name),
        about: serde_json::to_string(about).unwrap_or_default(),
        plan_text,
        identity,
        own: BTreeMap::new(),
        files,
        slo: None,
        duration_ns: 0,
    }
}

/// The place of a cell among all.
fn place(cell: &Cell) -> usize {
    cell.place as usize - 1
}

impl<'a> Clusters<'a> {
    /// Clusters of which nothing is simulated yet. `cpu_ns` tells the processor time of the thread
    /// that asks.
    #[must_use]
    pub fn new(
        plan: &'a CachePlan,
        clusters: &'a [ClusterCell],
        first: &'a Requests,
        cpu_ns: fn() -> u64,
    ) -> Self {
        Self { plan, clusters, first, cpu_ns, kept: Mutex::default() }
    }

    /// The clusters, in their order, with as many replications as all of them have; `None` where
    /// one lacks the first.
    pub fn simulated(self) -> Option<Vec<Simulated>> {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_next = |(number, (known, _)): &(u32, (&u32, &Kept))| number == *known;
        let whole = (1..).zip(&kept).take_while(is_next).count() / self.clusters.len();
        let mut all: Vec<Simulated> = Vec::with_capacity(self.clusters.len());
        for (place, Kept { counts, figures, cpu_s }) in kept.into_values().enumerate() {
            match counts {
                Some(counts) => {
                    all.push(Simulated { counts, replications: vec![figures], cpu_s });
                }
                None if place / self.clusters.len() < whole => {
                    let of = all.get_mut(place % self.clusters.len())?;
                    of.replications.push(figures);
                    of.cpu_s += cpu_s;
                }
                None => {}
            }
        }
        (whole > 0).then_some(all)
    }

    fn replication(
        &self,
        batch: &[Cell],
        requests: &Requests,
        to: &Execution<'_>,
    ) -> Result<(), ExperimentError> {
        to.each(batch, &|cell| {
            let of = &self.clusters[place(cell) % self.clusters.len()];
            let began_ns = (self.cpu_ns)();
            let Some(counts) = simulate(of, requests, to)? else { return Ok(false) };
            let cpu_s = (self.cpu_ns)().saturating_sub(began_ns) as f64 / 1e9;
            let goes_on = hand_over((of, &counts), requests, cell, to)?;
            let figures = Figures::of(&counts);
            let counts = (cell.replication == 0).then_some(counts);
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(cell.place, Kept { counts, figures, cpu_s });
            Ok(goes_on)
        })
    }
}

/// Simulates a cluster; `None` where the user does not wish to go on.
pub(crate) fn simulate(
    of: &ClusterCell,
    requests: &Requests,
    to: &Execution<'_>,
) -> Result<Option<Counts>, ExperimentError> {
    let cluster = Cluster { life: requests.life.clone(), ..of.cluster.clone() };
    Ok(replay(&requests.trace, &cluster, &|| to.control.goes_on())?)
}

/// Hands over what came of a cluster in a cell; says whether to go on.
pub(crate) fn hand_over(
    (of, counts): (&ClusterCell, &Counts),
    requests: &Requests,
    cell: &Cell,
    to: &Execution<'_>,
) -> Result<bool, ExperimentError> {
    let write =
        |run: &mut RunWriter| write_cluster(run, &requests.trace, (of, counts, cell.replication));
    to.done(cell, rows_of(&counts.figures()), &write)
}

impl World for Clusters<'_> {
    /// Those of one replication see the same requests.
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        cells.chunk_by(|a, b| a.replication == b.replication).collect()
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        let replication = batch.first().map_or(0, |cell| cell.replication);
        match &self.plan.asked {
            CacheRequests::Made(of) if replication > 0 => {
                self.replication(batch, &made(of, self.plan.seed, replication)?, to)
            }
            _ => self.replication(batch, self.first, to),
        }
    }
}
