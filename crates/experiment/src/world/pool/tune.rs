//! Looks for better parameters of a policy: successive halving over a grid (K. Jamieson,
//! A. Talwalkar, *Non-stochastic best arm identification and hyperparameter optimization*, AISTATS
//! 2016), all candidates on the same requests.
//!
//! In each round the worse of the candidates are left, and the others get three times as many
//! replications. Those that are left at the end are run on replications that none of them was
//! chosen by, beside the plan's own setting: what is said of the best is from these alone.

use super::conduct::{Grid, Keep, Pool};
use super::model::{Model, Named};
use super::wish::{Wish, value};
use crate::control::{Control, News};
use crate::engine;
use crate::error::ExperimentError;
use crate::record::{CellPlan, Record};
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::policy::{Facts, Fault};
use plimsoll_elastic::result::{Paired, PolicyResult};
use plimsoll_stats::design::full;
use plimsoll_stats::figure::Figure;
use plimsoll_units::show_count;
use plimsoll_workload::random::seed_of;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::ops::Range;

/// Of the candidates of a round one in so many is kept, with so many times the replications.
const KEEPS: usize = 3;
/// So many come to the end.
pub const FINALISTS: usize = 3;
/// The most candidates of a grid.
pub const MOST_CANDIDATES: usize = 20_000;
/// Replications that nothing was chosen by are numbered from here.
const FRESH: u64 = 1 << 32;

/// A parameter, and the values that are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The parameter's name.
    pub name: String,
    /// Its values, as text.
    pub values: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuneResult {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know.
    pub warnings: Vec<String>,
    /// What was wished for.
    pub wish: String,
    /// Candidates of the grid that can be made.
    pub candidates: usize,
    /// Simulated replications in all.
    pub replications: u64,
    /// The plan's own setting, on fresh replications.
    pub baseline: PolicyResult,
    /// The best of the grid, on the same.
    pub best: PolicyResult,
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
    /// As a policy on the command line.
    pub policy: String,
    /// Whether it keeps all that was asked, by the means.
    pub keeps: bool,
    /// Its differences from the plan's own setting; nothing where there is one replication.
    pub paired: Option<Paired>,
    /// All that came to the end, the best first.
    pub finalists: Vec<Finalist>,
}

/// A candidate that came to the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finalist {
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
    /// What is wished to be small, or great: the mean over the replications, in the figure's own
    /// unit; `None` where a replication has no such figure.
    pub objective: Option<f64>,
    /// Whether it keeps all that was asked.
    pub keeps: bool,
}

/// How what is tried is executed.
pub struct Trials<'a> {
    /// Fresh replications of those that come to the end; at least 2 for intervals.
    pub replications: u64,
    /// Keeps what comes of each setting in each replication.
    pub record: &'a Record<'a>,
    /// Watches, and says when to end.
    pub control: &'a dyn Control,
    /// Threads.
    pub threads: NonZeroUsize,
}

/// The level of a parameter that a setting leaves at its default.
const DEFAULT: &str = "default";

/// How many cells a search of so many candidates has: one setting in one replication each, in all
/// its rounds, with so many fresh replications of those that come to the end.
#[must_use]
pub fn most_cells(candidates: usize, fresh: u64) -> u64 {
    let (mut left, mut each, mut all) = (candidates, 1, 0);
    loop {
        all += left as u64 * each;
        if left <= FINALISTS {
            return all + (left as u64 + 1) * fresh;
        }
        left = kept(left);
        each *= KEEPS as u64;
    }
}

/// How many candidates of a round are kept.
fn kept(candidates: usize) -> usize {
    (candidates / KEEPS).max(FINALISTS)
}

/// The means of the figures of a candidate, and how often they were seen.
struct CandidateMeans {
    parameters: Vec<(String, String)>,
    sums: Vec<f64>,
    count: f64,
}

/// All combinations of the axes, laid over a policy's own parameters.
fn grid(base: &Named, axes: &[Axis]) -> Vec<Vec<(String, String)>> {
    let is_varied = |name: &String| axes.iter().any(|axis| axis.name == *name);
    let own = base.parameters.iter().filter(|(name, _)| !is_varied(name));
    let own: Vec<(String, String)> = own.cloned().collect();
    let factors: Vec<(String, &[String])> =
        axes.iter().map(|axis| (axis.name.clone(), &axis.values[..])).collect();
    full(&factors).map(|levels| [own.clone(), levels].concat()).collect()
}

/// Says what is wrong with the axes: names that the kind does not have, values that none of its
/// policies takes.
fn check_axes(base: &Named, axes: &[Axis], facts: &Facts) -> Result<(), ExperimentError> {
    let wrong = |what: &str, fault: &Fault| {
        let hint = fault.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
        ExperimentError::Conflict(format!("vary {what}: {fault}{hint}"))
    };
    for axis in axes {
        for value in &axis.values {
            let alone = [(axis.name.clone(), value.clone())];
            let faults = base.kind.make(&alone, facts).err().unwrap_or_default();
            // What is missing beside it, or does not fit a default, is of the whole setting.
            let text = format!("`{value}`");
            let is_of_value = |fault: &&Fault| {
                let is_named = fault.parameter.as_deref() == Some(axis.name.as_str());
                is_named && (fault.message.contains(&text) || !base.kind.has(&axis.name))
            };
            if let Some(fault) = faults.iter().find(is_of_value) {
                return Err(wrong(&format!("{}={value}", axis.name), fault));
            }
        }
    }
    Ok(())
}

/// Looks for the parameters of a policy of the model, the one of that label.
///
/// # Errors
/// No such policy; a grid that is too great, or of which nothing can be made.
pub fn tune(
    model: &Model,
    label: &str,
    axes: &[Axis],
    wish: &Wish,
    trials: &Trials<'_>,
) -> Result<Option<TuneResult>, ExperimentError> {
    let conflict = |text: String| ExperimentError::Conflict(text);
    let base = model.policy(label)?;
    let combinations: usize = axes.iter().map(|axis| axis.values.len()).product();
    if combinations > MOST_CANDIDATES {
        let text = format!("try {combinations} settings: {MOST_CANDIDATES} are the most");
        return Err(conflict(format!("{text}; give fewer values with --vary")));
    }
    let facts = model.facts_for_check();
    check_axes(base, axes, &facts)?;
    // Values that are right by themselves may not fit each other.
    let (mut fits, mut left_out) = (Vec::new(), None);
    for parameters in grid(base, axes) {
        match base.kind.make(&parameters, &facts) {
            Ok(_) => fits.push(parameters),
            Err(faults) => left_out = left_out.or_else(|| faults.first().map(ToString::to_string)),
        }
    }
    let why = left_out.unwrap_or_default();
    if fits.is_empty() {
        let name = base.kind.name;
        return Err(conflict(format!("make `{name}` of these values, none fits: {why}")));
    }
    let candidates = fits.len();
    let note = (candidates < combinations).then(|| {
        let left = combinations - candidates;
        format!("{left} of {combinations} settings cannot be made, and were left out: {why}")
    });
    let mut search = Halving { model, base, axes, wish, trials, note, done: 0, run: 0 };
    let Some(left) = search.run(fits)? else { return Ok(None) };
    search.last(left, candidates)
}

/// What is to be said of a figure that some replication does not have.
fn lacking(figure: &Figure) -> String {
    format!(
        "{} is not stated of every replication: a mean needs a served request, and a percentile \
         ten that lie beyond it. It counts as beyond every bound there.",
        figure.name
    )
}

/// A search by halving.
struct Halving<'a> {
    model: &'a Model,
    base: &'a Named,
    axes: &'a [Axis],
    wish: &'a Wish,
    trials: &'a Trials<'a>,
    /// What was left out of the grid.
    note: Option<String>,
    /// Replications by which candidates were chosen.
    done: u64,
    /// Simulated in all.
    run: u64,
}

impl Halving<'_> {
    /// Rounds until only finalists are left, the best first; `None` where it was stopped.
    fn run(
        &mut self,
        grid: Vec<Vec<(String, String)>>,
    ) -> Result<Option<Vec<CandidateMeans>>, ExperimentError> {
        let figures = self.wish.figures().len();
        let fresh =
            |parameters| CandidateMeans { parameters, sums: vec![0.0; figures], count: 0.0 };
        let mut left: Vec<CandidateMeans> = grid.into_iter().map(fresh).collect();
        let mut replications = 1;
        loop {
            if !self.look(&mut left, replications)? {
                return Ok(None);
            }
            left.sort_by(|a, b| self.rank(a).total_cmp_by(&self.rank(b)));
            if left.len() <= FINALISTS {
                return Ok(Some(left));
            }
            left.truncate(kept(left.len()));
            replications *= KEEPS as u64;
        }
    }

    /// Runs a round, the settings of a model in some replications, and keeps of each outcome what
    /// `keep` makes of it. A row for each setting; shorter where the user has ended it.
    fn round<T: Send>(
        &self,
        model: &Model,
        replications: Range<u64>,
        keep: Keep<'_, T>,
    ) -> Result<Vec<Vec<T>>, ExperimentError> {
        let Trials { record, control, threads, .. } = *self.trials;
        let (settings, more) =
            (model.policies.len(), replications.end.saturating_sub(replications.start));
        let (candidates, each) = (show_count(settings as u64), show_count(more));
        control
            .tell(News::Says(&format!("{candidates} settings, {each} more replications of each")));
        let grid = Grid { before: self.run, policies: settings, replications };
        let cells = record.plan(grid.places().map(|(setting, replication)| {
            self.cell(&model.policies[setting], grid.number(setting, replication), replication)
        }))?;
        let pool = Pool::new(model, grid, keep)?;
        engine::execute(&pool, &cells, record, control, threads)?;
        Ok(pool.rows())
    }

    /// A setting in a replication. Its factors are the parameters that are varied. In block 0
    /// settings are chosen; block 1 has the replications that nothing was chosen by, numbered anew.
    fn cell(&self, setting: &Named, number: u32, replication: u64) -> CellPlan {
        let level = |axis: &Axis| {
            let given = setting.parameters.iter().find(|(name, _)| *name == axis.name);
            (axis.name.clone(), given.map_or(DEFAULT, |(_, value)| value).to_owned())
        };
        CellPlan {
            number,
            factors: self.axes.iter().map(level).collect(),
            replication: u32::try_from(replication % FRESH).unwrap_or(u32::MAX),
            block: u32::from(replication >= FRESH),
            seed: seed_of(self.model.setup.seed, replication),
        }
    }

    /// Runs so many more replications of all candidates.
    fn look(
        &mut self,
        left: &mut [CandidateMeans],
        replications: u64,
    ) -> Result<bool, ExperimentError> {
        let figures = self.wish.figures();
        let keep = |outcome: Outcome| -> Vec<f64> {
            figures.iter().map(|figure| value(figure, &outcome)).collect()
        };
        let model = self.of(left.iter().map(|seen| seen.parameters.clone()));
        let range = self.done..self.done + replications;
        let rows = self.round(&model, range, &keep)?;
        self.done += replications;
        for (seen, row) in left.iter_mut().zip(&rows) {
            self.run += row.len() as u64;
            for values in row {
                seen.count += 1.0;
                seen.sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
        Ok(rows.iter().all(|row| row.len() as u64 == replications))
    }

    fn rank(&self, seen: &CandidateMeans) -> super::wish::Rank {
        let means: Vec<f64> = seen.sums.iter().map(|sum| sum / seen.count.max(1.0)).collect();
        self.wish.rank(&means)
    }

    /// The model with these settings of the policy.
    fn of(&self, settings: impl Iterator<Item = Vec<(String, String)>>) -> Model {
        let named = |parameters| Named { parameters, ..self.base.clone() };
        Model {
            policies: settings.map(named).collect(),
            notes: Vec::new(),
            instance_type: None,
            ..self.model.clone()
        }
    }

    /// The plan's own setting and the finalists on replications that nothing was chosen by.
    fn last(
        &mut self,
        left: Vec<CandidateMeans>,
        candidates: usize,
    ) -> Result<Option<TuneResult>, ExperimentError> {
        let own = std::iter::once(self.base.parameters.clone());
        let model = self.of(own.chain(left.into_iter().map(|seen| seen.parameters)));
        let range = FRESH..FRESH + self.trials.replications;
        let rows = self.round(&model, range, &|outcome| outcome)?;
        if rows.iter().any(Vec::is_empty) {
            return Ok(None);
        }
        self.run += rows.iter().map(|row| row.len() as u64).sum::<u64>();
        let figures = self.wish.figures();
        let means = |row: &[Outcome]| -> Vec<f64> {
            let mean = |figure: &&Figure| {
                row.iter().map(|of| value(figure, of)).sum::<f64>() / row.len() as f64
            };
            figures.iter().map(mean).collect()
        };
        let mut places: Vec<(usize, Vec<f64>)> =
            (1..rows.len()).map(|place| (place, means(&rows[place]))).collect();
        places.sort_by(|a, b| self.wish.rank(&a.1).total_cmp_by(&self.wish.rank(&b.1)));
        let finalists: Vec<Finalist> = places
            .iter()
            .map(|(place, means)| Finalist {
                parameters: model.policies[*place].parameters.clone(),
                objective: Some(means[0]).filter(|mean| mean.is_finite()),
                keeps: self.wish.keeps(means),
            })
            .collect();
        let lacking: Vec<String> = figures
            .iter()
            .filter(|figure| rows.iter().flatten().any(|of| of.value(figure).is_none()))
            .map(|figure| lacking(figure))
            .collect();
        let (best, of_best) = &places[0];
        let parameters = model.policies[*best].parameters.clone();
        let demand = self.model.demand.describe();
        let kind = self.base.kind.name;
        let slo = model.setup.slo.as_ref();
        let of =
            |label: &str, place: usize| PolicyResult::of(label, kind, &demand, slo, &rows[place]);
        let words: Vec<String> =
            parameters.iter().map(|(name, text)| format!("{name}={text}")).collect();
        let (label, tuned) = (&self.base.label, format!("{} tuned", self.base.label));
        Ok(Some(TuneResult {
            schema: plimsoll_elastic::result::SCHEMA,
            warnings: self.model.notes.iter().chain(&self.note).chain(&lacking).cloned().collect(),
            wish: self.wish.to_string(),
            candidates,
            replications: self.run,
            baseline: of(label, 0),
            best: of(&tuned, *best),
            policy: format!("{kind} {}", words.join(" ")),
            parameters,
            keeps: self.wish.keeps(of_best),
            paired: Paired::of(&tuned, &rows[*best], label, &rows[0]),
            finalists,
        }))
    }
}
