//! Clusters of caches under the combinations of an experiment: the clusters of the plan with the
//! levels of their keys, and levels of any other key. Those that are asked for the same have one
//! trace in common, which is made once in each replication.

use std::collections::BTreeMap;

use plimsoll_plan::{CachePlan, CacheRequests, ClusterPlan, Factor, NO_LEVEL, Varied};
use plimsoll_runs::experiment::Cell;
use plimsoll_workload::random::seed_of;

use crate::bench::Text;
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::factors::{Combination, levels_of};
use crate::plans;
use crate::record::{Own, Subject};
use crate::world::caches::{
    Cell as ClusterCell, Requests, cells, hand_over, made, recorded, simulate, subject,
    told_from_anywhere,
};

/// The level of each factor of a combination.
type Levels = BTreeMap<String, String>;

/// The factor whose levels are the clusters.
const CLUSTER: &str = "cluster";

/// What is simulated of each combination.
pub(super) struct Combinations {
    /// A plan for each thing that caches are asked for.
    asked: Vec<CachePlan>,
    /// What those of the first are asked for in the first replication.
    first: Requests,
    /// What each combination is, in the order of the plan.
    all: Vec<(Levels, Combined)>,
    /// The places of the combinations.
    places: BTreeMap<Levels, usize>,
}

/// What a combination is.
struct Combined {
    /// The place of what it is asked for.
    asked: usize,
    cluster: ClusterCell,
    own: Own,
}

impl Combinations {
    /// What an experiment means; each counts its trace in so many parts. Makes the requests of its
    /// first combination.
    ///
    /// # Errors
    /// Levels that a key does not take, or that do not go together; a trace that cannot be read.
    pub(super) fn of(
        text: &Text,
        varied: &Varied,
        all: &[Combination],
        parts: usize,
    ) -> Result<Self, ExperimentError> {
        let mut plans: BTreeMap<Levels, (CachePlan, Vec<ClusterCell>)> = BTreeMap::new();
        let (mut asked, mut found): (Vec<CachePlan>, Vec<(Levels, Combined)>) = Default::default();
        let is_own = |factor: &str| varied.factors.iter().any(|of| of.key == factor && of.is_own());
        for of in all {
            let set: Levels = of.iter().filter(|(factor, _)| !is_own(factor)).cloned().collect();
            if !plans.contains_key(&set) {
                let read = text.with(&text.settings(of), |of| plans::read_clusters(&of))?;
                let clusters = cells(&read, parts);
                let clusters =
                    clusters.map_err(|error| ExperimentError::Conflict(error.to_string()))?;
                plans.insert(set.clone(), (read, clusters));
            }
            let (plan, clusters) = &plans[&set];
            let levels = levels_of(varied, of);
            let cluster = clusters.iter().find(|of| is_of(of, &levels, &is_own));
            let cluster = cluster.ok_or_else(|| unknown(&levels))?.clone();
            let place = asked.iter().position(|of: &CachePlan| of.asked == plan.asked);
            let place = place.unwrap_or(asked.len());
            if place == asked.len() {
                asked.push(plan.clone());
            }
            let own = own(plan, &cluster)?;
            found.push((levels, Combined { asked: place, cluster, own }));
        }
        let places = found.iter().enumerate().map(|(place, (of, _))| (of.clone(), place)).collect();
        let first = asked.first().map(|plan| requests(plan, 0));
        let first = first.transpose()?.ok_or_else(|| unknown(&Levels::new()))?;
        Ok(Self { asked, first, all: found, places })
    }

    /// What a reader should know of the requests.
    pub(super) fn notes(&self) -> &[String] {
        &self.first.notes
    }

    /// What the experiment of a plan is, for its record.
    ///
    /// # Errors
    /// Where the working folder cannot be found.
    pub(super) fn subject(&self, plan: &CachePlan) -> Result<Subject, ExperimentError> {
        let clusters: Vec<ClusterCell> =
            self.all.iter().map(|(_, of)| of.cluster.clone()).take(1).collect();
        let own: BTreeMap<Levels, Own> =
            self.all.iter().map(|(levels, of)| (levels.clone(), of.own.clone())).collect();
        let mut files: Vec<_> = own.values().flat_map(Own::files).cloned().collect();
        files.sort();
        files.dedup();
        let of = subject(plan, &clusters, &self.first.trace)?;
        Ok(Subject { identity: String::new(), own, files, ..of })
    }

    fn at(&self, levels: &Levels) -> Result<&Combined, ExperimentError> {
        let place = self.places.get(levels).ok_or_else(|| unknown(levels))?;
        Ok(&self.all[*place].1)
    }
}

/// Whether a cluster is that of these levels.
fn is_of(of: &ClusterCell, levels: &Levels, is_own: &dyn Fn(&str) -> bool) -> bool {
    levels.iter().all(|(factor, level)| match factor.as_str() {
        CLUSTER => of.label == *level,
        key if is_own(key) => of.level(key).unwrap_or(NO_LEVEL) == level,
        _ => true,
    })
}

fn unknown(levels: &Levels) -> ExperimentError {
    let levels: Vec<String> = levels.iter().map(|(key, level)| format!("{key} {level}")).collect();
    let text = format!("find a cluster of the plan with {}", levels.join(", "));
    ExperimentError::Conflict(text)
}

/// What the figures of a cluster depend on, beside the seed of each cell: its own levels, what it
/// is asked for, and what every way costs.
fn own(plan: &CachePlan, of: &ClusterCell) -> Result<Own, ExperimentError> {
    let factor =
        |(key, level): &(&'static str, String)| Factor { key, levels: vec![level.clone()] };
    let factors = of.levels.iter().map(factor).collect();
    let plan = told_from_anywhere(plan)?;
    let files = plan.files();
    let alone = CachePlan {
        name: None,
        seed: 0,
        repeat: 1,
        clusters: vec![ClusterPlan { label: CLUSTER.to_owned(), factors }],
        experiment: None,
        factors: Vec::new(),
        fleet: None,
        ..plan
    };
    Ok(Own::new(&alone.to_toml(), files))
}

/// What the caches of a plan are asked for in a replication.
fn requests(plan: &CachePlan, replication: u32) -> Result<Requests, ExperimentError> {
    match &plan.asked {
        CacheRequests::Recorded(of) => recorded(of, seed_of(plan.seed, replication.into())),
        CacheRequests::Made(of) => made(of, plan.seed, replication),
    }
}

impl World for Combinations {
    /// Those of one replication see the same requests, where they are asked for the same.
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        cells.chunk_by(|a, b| a.replication == b.replication).collect()
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        let replication = batch.first().map_or(0, |cell| cell.replication);
        let mut all: BTreeMap<usize, Vec<Cell>> = BTreeMap::new();
        for cell in batch {
            all.entry(self.at(&cell.factors)?.asked).or_default().push(cell.clone());
        }
        for (place, cells) in all {
            if !to.begins_another() {
                break;
            }
            let made = match (place, replication) {
                (0, 0) => None,
                _ => Some(requests(&self.asked[place], replication)?),
            };
            let requests = made.as_ref().unwrap_or(&self.first);
            to.each(&cells, &|cell| {
                let of = &self.at(&cell.factors)?.cluster;
                let Some(counts) = simulate(of, requests, to)? else { return Ok(false) };
                hand_over((of, &counts), requests, cell, to)
            })?;
        }
        Ok(())
    }
}
