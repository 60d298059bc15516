//! What an experiment says: its cells with their verdicts, the effects of its factors, the best
//! combination, and what speaks against believing them. It is read from what is stored alone, so it
//! is the same at any time, for any kind of run and either world.
//!
//! | module | what |
//! | --- | --- |
//! | `cells` | reads the cells and their verdicts |
//! | `respond` | which figures are asked for, and by which combinations are ranked |
//! | `in_use` | how much of its limits each instance used, and what was short |
//! | `labels` | how figures spread by the labels of levels, and which level is poor |
//! | `blocks` | what is one piece of evidence: a replication |
//! | `effects` | by what a level multiplies a figure, with interval and corrected p-value |
//! | `spread` | the analysis of variance; of unreplicated designs, which effects stand out |
//! | `ranking` | combinations over their replications, and the best of them |
//! | [`screening`] | of a screening, which runs come next, and what it ended with |
//! | `notes` | the faults of benchmarks that are looked for |
//! | [`paired`] | differences between combinations that were given the same requests |
//! | `predictions` | what was predicted of live cells, beside what came of them |
//! | `types` | what a request costs on each instance type, and the cheapest pool of each |
//! | [`compared`] | whether one side of replications is worse than another |
//! | [`trend`] | a figure over runs by a tag |
//! | `worlds` | a live experiment against the same one simulated |
//!
//! Which cells stand in effects, rankings and means is one question, asked of each cell by
//! [`CellResult::why_left_out`]; see [`plimsoll_runs::experiment::LeftOut`].

mod blocks;
mod cells;
pub mod compared;
mod document;
mod effects;
mod in_use;
mod labels;
mod notes;
pub mod paired;
mod predictions;
mod ranking;
mod respond;
pub mod screening;
mod short;
mod spread;
pub mod trend;
mod types;
mod worlds;

pub use document::*;
pub use in_use::SHORT;
pub use predictions::Prediction;
pub use short::short;
pub use worlds::{EffectPair, FigurePair, Pair, Worlds, against};

use plimsoll_plan::{FactorPlan, Varied};
use plimsoll_runs::experiment::{Experiment, LeftOut, RESPONDS, UNTIL};
use plimsoll_runs::{Kind, Run, RunError};
use plimsoll_stats::design::Design;
use plimsoll_stats::figure::{Better, Figure};

/// Analyses an experiment.
///
/// # Errors
/// Where it cannot be read.
pub fn analyse(experiment: &Experiment) -> Result<Analysis, RunError> {
    let meta = experiment.meta();
    let whole = Whole {
        id: meta.id.clone(),
        name: meta.name.clone(),
        kind: meta.kind,
        wall_s: experiment.ended_ns().map(|ns| ns as f64 / 1e9),
        until: until(experiment)?,
        ..Whole::new()
    };
    let mut varied = Varied::of(&meta.plan_text);
    if let Some(asked) = varied.as_mut().and_then(|of| of.experiment.as_mut())
        && asked.respond.is_none()
    {
        asked.respond = experiment.fact(RESPONDS)?.map(|figure| vec![figure]);
    }
    let mut analysis = of(whole, varied.as_ref(), cells::of_experiment(experiment)?);
    analysis.predictions = predictions::of(experiment, &analysis.cells)?;
    analysis.paired = paired::of(experiment)?;
    analysis.types = types::of(&meta.about, &analysis.combinations, &analysis.cells);
    Ok(analysis)
}

/// Why no more replications were added, as the journal says it.
fn until(experiment: &Experiment) -> Result<Option<String>, RunError> {
    let mut events = experiment.events()?.into_iter().rev();
    Ok(events.find(|(_, event)| event.kind == UNTIL).map(|(_, event)| event.text))
}

/// The cells of an experiment so far, with their verdicts.
///
/// # Errors
/// Where it cannot be read.
pub fn cells(experiment: &Experiment) -> Result<Vec<CellResult>, RunError> {
    cells::of_experiment(experiment)
}

/// Analyses a single run, as the experiment of one cell that it is.
///
/// # Errors
/// Where it cannot be read.
pub fn analyse_run(run: &Run) -> Result<Analysis, RunError> {
    let meta = run.meta();
    let cell = cells::of_run(run)?;
    let wall_ns = meta.warmup_ns + meta.duration_ns + run.end().map_or(0, |end| end.drain_ns);
    let whole = Whole {
        id: meta.id.clone(),
        name: meta.name.clone(),
        kind: meta.kind,
        wall_s: (wall_ns > 0).then_some(wall_ns as f64 / 1e9),
        ..Whole::new()
    };
    let mut analysis = of(whole, Varied::of(&run.plan_text()).as_ref(), vec![cell]);
    analysis.warnings.extend(run.end().into_iter().flat_map(|end| end.warnings.clone()));
    Ok(analysis)
}

impl Whole {
    fn new() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            seed: None,
            cells_planned: 0,
            cells_done: 0,
            cells_failed: 0,
            wall_s: None,
            complete: false,
            until: None,
            kind: Kind::Load,
            has_design: false,
            slo: None,
            factors: Vec::new(),
            respond: Vec::new(),
            absent: Vec::new(),
        }
    }
}

impl Analysis {
    /// Puts another combination in the place of the best: what a search for parameters chose by
    /// rules of its own, whose last round is what it compares. `None` where nothing that was tried
    /// does what was asked.
    pub fn choose(&mut self, chosen: Option<(&Levels, &'static Figure)>) {
        let last = self.cells.iter().map(|cell| cell.block).max();
        self.best = chosen.and_then(|(factors, figure)| {
            let is_it = |cell: &&CellResult| Some(cell.block) == last && cell.factors == *factors;
            let cells: Vec<&CellResult> = self.cells.iter().filter(is_it).collect();
            ranking::alone(factors, figure, &cells)
        });
    }
}

/// What the parts of an analysis share.
pub(crate) struct Study<'a> {
    pub(crate) kind: Kind,
    /// Whether the plan names factors, and runs a design of them: what else differs between cells,
    /// as policies do, is no design of the user's, and a screening chooses its cells as it goes.
    pub(crate) has_design: bool,
    /// The factors, with their levels in the order of the plan.
    pub(crate) factors: Vec<FactorPlan>,
    pub(crate) cells: &'a [CellResult],
    pub(crate) respond: Vec<&'static Figure>,
    /// By which figure combinations are ranked, and which way is better.
    pub(crate) goal: Option<(&'static Figure, Better)>,
}

impl Study<'_> {
    /// The same study of other cells.
    pub(crate) fn of_cells<'a>(&self, cells: &'a [CellResult]) -> Study<'a> {
        Study { factors: self.factors.clone(), respond: self.respond.clone(), cells, ..*self }
    }
}

fn of(whole: Whole, varied: Option<&Varied>, mut cells: Vec<CellResult>) -> Analysis {
    cells.iter_mut().for_each(|cell| cell.left_out = cell.why_left_out().map(LeftOut::name));
    let asked = varied.and_then(|of| of.experiment.as_ref());
    let mut warnings = Vec::new();
    let (respond, absent) = respond::responses(asked, whole.kind, &cells, &mut warnings);
    let goal = respond::goal(asked, &respond, &cells);
    let factors = factors(varied, whole.kind, &cells);
    let has_factors = varied.is_some_and(|of| !of.factors.is_empty());
    let has_design = has_factors && asked.is_none_or(|of| of.design != Design::Screening);
    let study = Study { kind: whole.kind, has_design, factors, cells: &cells, respond, goal };
    let screened = asked.and_then(|asked| {
        // A plan that could not be screened was not executed.
        let common = varied.map_or(&[][..], |of| &of.common);
        let factors = (&study.factors[..], common);
        screening::Screening::of(asked, factors, whole.kind).ok().flatten()
    });
    let combinations = ranking::combinations(&study);
    let (found, best, is_over) = match &screened {
        None => {
            let found = effects::of(&study, &mut warnings);
            (found, ranking::best(&study, &combinations), true)
        }
        Some(of) => {
            let best = of.end(&cells).map(|end| of.best(&study, &end, &mut warnings));
            (effects::FoundEffects::default(), best.clone().flatten(), best.is_some())
        }
    };
    let in_use = in_use::of(&combinations, &cells);
    let (by_label, poor) = (labels::spreads(&study), labels::poor(&study));
    notes::add(&study, &found, (&combinations, best.as_ref()), &mut warnings);
    let count = |is: &str| cells.iter().filter(|cell| cell.state == is).count();
    let experiment = Whole {
        seed: varied.map(|of| of.seed),
        cells_planned: cells.len(),
        cells_done: cells.iter().filter(|cell| cell.is_done()).count(),
        cells_failed: count(state::FAILED),
        complete: is_over && cells.iter().all(CellResult::is_done),
        has_design: has_factors,
        slo: varied.and_then(|of| of.slo.clone()),
        factors: study.factors.iter().map(FactorLevels::of).collect(),
        respond: study.respond.iter().map(|figure| figure.name).collect(),
        absent,
        ..whole
    };
    let (variance, sizes) = match &screened {
        None => (spread::variance(&study), spread::sizes(&study)),
        // It runs the better combinations more often: a level's cells have other levels' company.
        Some(_) => (Vec::new(), Vec::new()),
    };
    Analysis {
        schema: SCHEMA,
        warnings,
        experiment,
        combinations,
        effects: found.effects,
        interactions: found.interactions,
        variance,
        sizes,
        best,
        predictions: Vec::new(),
        paired: Vec::new(),
        types: Vec::new(),
        by_label,
        poor,
        in_use,
        cells,
    }
}

impl FactorLevels {
    fn of(plan: &FactorPlan) -> Self {
        Self { factor: plan.key.clone(), levels: plan.levels.clone() }
    }
}

/// The factors of the plan; where it names none, what differs between its cells, as the policies of
/// a pool do. Those of a search for parameters follow from what was found, and are no design.
fn factors(varied: Option<&Varied>, kind: Kind, cells: &[CellResult]) -> Vec<FactorPlan> {
    match varied {
        Some(varied) if !varied.factors.is_empty() => return varied.factors.clone(),
        _ if kind == Kind::Tune => return Vec::new(),
        _ => {}
    }
    let mut found: Vec<FactorPlan> = Vec::new();
    for (key, level) in cells.iter().flat_map(|cell| &cell.factors) {
        let levels = match found.iter_mut().find(|of| of.key == *key) {
            Some(of) => &mut of.levels,
            None => {
                found.push(FactorPlan {
                    key: key.clone(),
                    levels: Vec::new(),
                    sets: Vec::new(),
                    labels: std::collections::BTreeMap::new(),
                });
                let last = found.len() - 1;
                &mut found[last].levels
            }
        };
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    found.retain(|of| of.levels.len() > 1);
    found
}
