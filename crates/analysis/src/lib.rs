//! What an experiment says: its cells with their verdicts, the effects of its factors, and the best
//! combination.
//!
//! An effect is the ratio of a figure at a level to the same figure at the factor's first level, in
//! the geometric mean over the other factors and the replications. Of a design of two-level factors
//! it is that of the contrasts ([`plimsoll_stats::effects`]); of other designs, that of the pairs
//! of cells that differ in this factor alone. P-values are corrected together (Holm). A cell whose
//! availability did not hold has answered something else than what was asked: it is in no effect,
//! and in no ranking.

use std::collections::BTreeMap;

use plimsoll_plan::{Experiment as Asked, FactorPlan, Varied};
use plimsoll_runs::experiment::{CellRow, Experiment, State};
use plimsoll_runs::summary::SloVerdict;
use plimsoll_runs::{Kind, RunError, World};
use plimsoll_stats::effects::{RatioEffect, Run as DesignRun, main_ratios, ratios};
use plimsoll_stats::figure::{self, Better, Figure};
use plimsoll_stats::holm::corrected;
use plimsoll_stats::interval::{self, Estimate, LEVEL, p_of_ratio, paired_ratio};
use plimsoll_stats::slo::NOT_RESOLVABLE;
use serde::Serialize;

/// The version of the document.
const SCHEMA: u32 = 1;

/// What an experiment says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know.
    pub warnings: Vec<String>,
    /// The experiment as a whole.
    pub experiment: Whole,
    /// Its cells, by their numbers.
    pub cells: Vec<CellResult>,
    /// The effects of its factors.
    pub effects: Vec<EffectResult>,
    /// The best combination; `None` where none holds, or nothing says what is better.
    pub best: Option<Best>,
}

/// The experiment as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Whole {
    /// Its id.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// The plan's seed; `None` where its cells do not tell it.
    pub seed: Option<u64>,
    /// How many cells it has.
    pub cells_planned: usize,
    /// How many of them are done.
    pub cells_done: usize,
    /// How many failed.
    pub cells_failed: usize,
    /// How long it took, seconds; `None` where it has not ended.
    pub wall_s: Option<f64>,
    /// Whether all cells are done.
    pub complete: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellResult {
    /// Its number.
    pub id: u32,
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// Its replication, from 0.
    pub replication: u32,
    /// Its block.
    pub block: u32,
    /// `live` or `simulated`.
    pub world: &'static str,
    /// `planned`, `running`, `done`, `failed` or `cut`.
    pub state: &'static str,
    /// Why it failed, or was cut; empty where it did not.
    pub reason: String,
    /// Whether its figures can be believed; `None` where it has no run that says so.
    pub valid: Option<bool>,
    /// Whether its availability held: `held`, `broken`, `not_resolvable`; `None` where that was not
    /// asked.
    pub gate: Option<&'static str>,
    /// Whether its whole SLO held; `None` where it has none, or it cannot be told.
    pub slo: Option<bool>,
    /// Whether it has an SLO.
    #[serde(skip)]
    pub has_slo: bool,
    /// Its run, in the folder of the experiment; `None` where none was kept.
    pub run: Option<String>,
    /// Its figures, by name.
    pub figures: BTreeMap<String, f64>,
}

/// What a level of a factor does to a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectResult {
    /// The factor.
    pub factor: String,
    /// The level that is compared with, and the one that is.
    pub levels: [String; 2],
    /// The figure.
    pub figure: &'static str,
    /// The figure at the second level over that at the first.
    pub effect: f64,
    /// Its 95% interval; `None` where no error is known.
    pub ci95: Option<[f64; 2]>,
    /// The probability of a ratio as far from 1 where there is no effect, corrected for how many
    /// are looked at; `None` where no error is known.
    pub p_holm: Option<f64>,
    /// Other effects that it cannot be told apart from, by the names of their factors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// The best combination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Best {
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// By which figure.
    pub figure: &'static str,
    /// Its mean over the replications.
    pub value: f64,
    /// The mean's 95% interval; `None` of one replication.
    pub ci95: Option<[f64; 2]>,
}

/// Analyses an experiment.
///
/// # Errors
/// Where it cannot be read.
pub fn analyse(experiment: &Experiment) -> Result<Analysis, RunError> {
    let meta = experiment.meta();
    let varied = Varied::of(&meta.plan_text);
    let rows = experiment.cells()?;
    let mut cells = Vec::with_capacity(rows.len());
    for row in &rows {
        cells.push(cell(experiment, row)?);
    }
    let mut warnings = Vec::new();
    let done = cells.iter().filter(|cell| cell.state == State::Done.name()).count();
    let failed = cells.iter().filter(|cell| cell.state == State::Failed.name()).count();
    let broken = cells.iter().filter(|cell| !counts(cell)).count() - (cells.len() - done);
    if broken > 0 {
        warnings.push(format!(
            "the availability of {broken} cells did not hold: they are in no effect and in no \
             ranking"
        ));
    }
    let asked = varied.as_ref().and_then(|of| of.experiment.clone()).unwrap_or_default();
    let factors = varied.as_ref().map_or(&[][..], |of| &of.factors);
    let respond = responses(&asked, &cells, &mut warnings);
    let effects = effects(factors, &respond, &cells, &mut warnings);
    let best = best(&asked, &respond, &cells);
    Ok(Analysis {
        schema: SCHEMA,
        warnings,
        experiment: Whole {
            id: meta.id.clone(),
            name: meta.name.clone(),
            seed: varied.as_ref().map(|of| of.seed),
            cells_planned: cells.len(),
            cells_done: done,
            cells_failed: failed,
            wall_s: experiment.ended_ns().map(|ns| ns as f64 / 1e9),
            complete: done == cells.len(),
        },
        cells,
        effects,
        best,
    })
}

fn cell(experiment: &Experiment, row: &CellRow) -> Result<CellResult, RunError> {
    let of = &row.cell;
    let run = if row.state == State::Done { experiment.run(of.number)? } else { None };
    let summary = match &run {
        Some(run) if run.meta().kind == Kind::Load => Some(run.summary()?),
        _ => None,
    };
    let figures = experiment.figures_of(of.number)?;
    let figures: BTreeMap<String, f64> =
        figures.into_iter().map(|row| (row.name, row.value)).collect();
    // A simulated replication tells whether its SLO held by a figure.
    let told = figures.get(figure::SLO_HELD.name).map(|held| *held > 0.5);
    let verdicts = summary.as_ref().map_or(&[][..], |summary| &summary.slo);
    let folder = run.as_ref().and_then(|run| {
        let path = run.path().strip_prefix(experiment.folder()).unwrap_or(run.path());
        path.to_str().map(str::to_owned)
    });
    Ok(CellResult {
        id: of.number,
        factors: of.factors.clone(),
        replication: of.replication,
        block: of.block,
        world: match of.world {
            World::Live => "live",
            World::Simulated => "simulated",
        },
        state: row.state.name(),
        reason: row.reason.clone(),
        valid: summary.as_ref().map(|summary| summary.run.valid),
        gate: gate(verdicts),
        slo: told.or_else(|| all_of(verdicts.iter())),
        has_slo: told.is_some() || !verdicts.is_empty(),
        run: folder,
        figures,
    })
}

/// Whether the clauses of availability held.
fn gate(verdicts: &[SloVerdict]) -> Option<&'static str> {
    let mut clauses = verdicts.iter().filter(|of| of.expr.starts_with("availability")).peekable();
    clauses.peek()?;
    Some(match all_of(clauses) {
        Some(true) => "held",
        Some(false) => "broken",
        None => "not_resolvable",
    })
}

/// Whether a clause held; `None` where it cannot be told, as of an availability to three digits in
/// ten seconds.
fn pass(of: &SloVerdict) -> Option<bool> {
    let is_resolvable = of.note.as_ref().is_none_or(|note| !note.starts_with(NOT_RESOLVABLE));
    of.pass.filter(|_| is_resolvable)
}

/// Whether all held; `None` where there are none, or where it hangs on one that cannot be told.
fn all_of<'a>(verdicts: impl Iterator<Item = &'a SloVerdict>) -> Option<bool> {
    let passes: Vec<Option<bool>> = verdicts.map(pass).collect();
    match () {
        () if passes.contains(&Some(false)) => Some(false),
        () if passes.is_empty() || passes.contains(&None) => None,
        () => Some(true),
    }
}

/// Whether a cell is in effects and rankings.
fn counts(cell: &CellResult) -> bool {
    cell.state == State::Done.name() && cell.gate != Some("broken")
}

/// The figure that a word of a plan means: its name, its label, or a part of them by which it is
/// the only one that cells have.
fn figure_of(word: &str, cells: &[CellResult]) -> Option<&'static Figure> {
    let has =
        |figure: &&&'static Figure| cells.iter().any(|cell| cell.figures.contains_key(figure.name));
    let known: Vec<&'static Figure> = figure::ALL.iter().filter(has).copied().collect();
    let by = |is: &dyn Fn(&Figure) -> bool| known.iter().find(|figure| is(figure)).copied();
    by(&|of| of.name == word)
        .or_else(|| by(&|of| of.label == word))
        .or_else(|| by(&|of| of.name == format!("response_us.{word}")))
        .or_else(|| by(&|of| of.name.split('.').next() == Some(word)))
}

/// The figures that effects are computed of. What no cell has is told.
fn responses(
    asked: &Asked,
    cells: &[CellResult],
    warnings: &mut Vec<String>,
) -> Vec<&'static Figure> {
    let mut found = Vec::new();
    for word in &asked.respond {
        match figure_of(word, cells) {
            Some(figure) => found.push(figure),
            None if cells.iter().any(|cell| !cell.figures.is_empty()) => {
                warnings.push(format!("no cell has the figure `{word}` of `respond`"));
            }
            None => {}
        }
    }
    found
}

/// The effects of all factors on all figures.
fn effects(
    factors: &[FactorPlan],
    respond: &[&'static Figure],
    cells: &[CellResult],
    warnings: &mut Vec<String>,
) -> Vec<EffectResult> {
    let mut found = Vec::new();
    for figure in respond {
        let has = |cell: &&CellResult| counts(cell) && cell.figures.contains_key(figure.name);
        let of: Vec<&CellResult> = cells.iter().filter(has).collect();
        let result = match factors.iter().all(|factor| factor.levels.len() == 2) {
            true => by_contrasts(factors, figure, &of),
            false => Ok(by_pairs(factors, figure, &of)),
        };
        match result {
            Ok(of_figure) => found.extend(of_figure),
            Err(why) => warnings.push(format!("no effects on {}: {why}", figure.label)),
        }
    }
    correct(&mut found);
    found.into_iter().map(|(effect, _)| effect).collect()
}

/// An effect with the probability that is still to be corrected.
type Found = (EffectResult, Option<f64>);

fn correct(found: &mut [Found]) {
    let p_values: Vec<f64> = found.iter().map(|(_, p)| p.unwrap_or(f64::NAN)).collect();
    for ((effect, p), corrected) in found.iter_mut().zip(corrected(&p_values)) {
        effect.p_holm = p.map(|_| corrected);
    }
}

/// The effects of two-level factors, by the contrasts of their design; where cells are missing,
/// main effects by least squares.
fn by_contrasts(
    factors: &[FactorPlan],
    figure: &'static Figure,
    cells: &[&CellResult],
) -> Result<Vec<Found>, String> {
    if factors.is_empty() {
        return Ok(Vec::new());
    }
    let mut runs: BTreeMap<Vec<i8>, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        let level = |factor: &FactorPlan| match cell.factors.get(&factor.key) {
            Some(level) if *level == factor.levels[1] => 1,
            _ => -1,
        };
        let levels: Vec<i8> = factors.iter().map(level).collect();
        runs.entry(levels).or_default().push(cell.figures[figure.name]);
    }
    let runs: Vec<DesignRun<'_>> =
        runs.iter().map(|(levels, values)| DesignRun { levels, values }).collect();
    let found = ratios(&runs, LEVEL).or_else(|_| main_ratios(&runs, LEVEL));
    let found = found.map_err(|error| error.to_string())?;
    let mains = found.iter().filter(|of| of.term.order() == 1);
    Ok(mains.map(|of| of_contrast(factors, figure, of)).collect())
}

fn of_contrast(factors: &[FactorPlan], figure: &'static Figure, of: &RatioEffect) -> Found {
    let named = |word: plimsoll_stats::design::Word| {
        word.factors().map(|factor| factors[factor].key.clone()).collect::<Vec<_>>().join(" × ")
    };
    let factor = of.term.factors().next().unwrap_or(0);
    let FactorPlan { key, levels } = &factors[factor];
    let effect = EffectResult {
        factor: key.clone(),
        levels: [levels[0].clone(), levels[1].clone()],
        figure: figure.name,
        effect: of.ratio,
        ci95: of.interval.map(ends),
        p_holm: None,
        aliases: of.aliases.iter().map(|word| named(*word)).collect(),
    };
    (effect, of.p_value)
}

fn ends(of: Estimate) -> [f64; 2] {
    [of.low, of.high]
}

/// The effects of each further level of each factor, of the pairs of cells that are alike in all
/// else.
fn by_pairs(factors: &[FactorPlan], figure: &'static Figure, cells: &[&CellResult]) -> Vec<Found> {
    let mut found = Vec::new();
    for FactorPlan { key, levels } in factors {
        let others = |cell: &CellResult| {
            let mut others = cell.factors.clone();
            others.remove(key);
            (others, cell.replication)
        };
        let at = |level: &String| -> BTreeMap<_, f64> {
            let of = cells.iter().filter(|cell| cell.factors.get(key) == Some(level));
            of.map(|cell| (others(cell), cell.figures[figure.name])).collect()
        };
        let first = at(&levels[0]);
        for level in &levels[1..] {
            let second = at(level);
            let pairs = first.iter().filter_map(|(key, a)| Some((*a, *second.get(key)?)));
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.filter(|(a, b)| *a > 0.0 && *b > 0.0).unzip();
            if a.is_empty() {
                continue;
            }
            let estimate = paired_ratio(&a, &b, LEVEL).ok();
            let logs: f64 = a.iter().zip(&b).map(|(a, b)| libm::log(b / a)).sum();
            let effect = EffectResult {
                factor: key.clone(),
                levels: [levels[0].clone(), level.clone()],
                figure: figure.name,
                effect: libm::exp(logs / a.len() as f64),
                ci95: estimate.map(ends),
                p_holm: None,
                aliases: Vec::new(),
            };
            found.push((effect, estimate.as_ref().map(p_of_ratio)));
        }
    }
    found
}

/// The best combination whose gate and SLO hold in all its replications.
fn best(asked: &Asked, respond: &[&'static Figure], cells: &[CellResult]) -> Option<Best> {
    let (figure, is_great) = match asked.goal.as_deref().and_then(|goal| goal.split_once(' ')) {
        Some((way, word)) => (figure_of(word.trim(), cells)?, way == "max"),
        None => {
            let figure = *respond.first()?;
            (figure, figure.better == Better::Higher)
        }
    };
    let mut all: BTreeMap<&BTreeMap<String, String>, Vec<&CellResult>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.state == State::Done.name()) {
        all.entry(&cell.factors).or_default().push(cell);
    }
    let holds = |cell: &&CellResult| counts(cell) && cell.slo != Some(false);
    let values = |cells: &[&CellResult]| -> Option<Vec<f64>> {
        cells.iter().map(|cell| cell.figures.get(figure.name).copied()).collect()
    };
    let held = all.into_iter().filter(|(_, cells)| cells.iter().all(holds));
    let means = held.filter_map(|(factors, cells)| {
        let values = values(&cells)?;
        Some((factors, values.iter().sum::<f64>() / values.len() as f64, values))
    });
    let sign = if is_great { -1.0 } else { 1.0 };
    let (factors, value, values) = means.min_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)))?;
    let ci95 = interval::mean(&values, LEVEL).ok().map(ends);
    Some(Best { factors: factors.clone(), figure: figure.name, value, ci95 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of a design whose rate is 100, twice that at 40% of a core, and a tenth less with 256
    /// users.
    fn cells(factors: &[FactorPlan]) -> Vec<CellResult> {
        let mut cells = Vec::new();
        for replication in 0..3_u32 {
            for users in &factors[0].levels {
                for cpu in &factors[1].levels {
                    let noise = 1.0 + 0.01 * f64::from(replication);
                    let cpu_factor = if cpu == "40%" { 2.0 } else { 1.0 };
                    let users_factor = if users == "256" { 0.9 } else { 1.0 };
                    let rate = 100.0 * noise * cpu_factor * users_factor;
                    let id = u32::try_from(cells.len() + 1).unwrap();
                    cells.push(CellResult {
                        id,
                        factors: BTreeMap::from([
                            ("load.users".to_owned(), users.clone()),
                            ("role.web.cpu".to_owned(), cpu.clone()),
                        ]),
                        replication,
                        block: replication,
                        world: "live",
                        state: "done",
                        reason: String::new(),
                        valid: Some(true),
                        gate: Some("held"),
                        slo: Some(cpu != "20%"),
                        has_slo: true,
                        run: None,
                        figures: BTreeMap::from([("rate_mean".to_owned(), rate)]),
                    });
                }
            }
        }
        cells
    }

    fn factors(users: &[&str]) -> Vec<FactorPlan> {
        let levels = |of: &[&str]| of.iter().map(|level| (*level).to_owned()).collect();
        vec![
            FactorPlan { key: "load.users".to_owned(), levels: levels(users) },
            FactorPlan { key: "role.web.cpu".to_owned(), levels: levels(&["20%", "40%"]) },
        ]
    }

    #[test]
    fn factors_have_their_ratios_by_contrasts_and_by_pairs() {
        for users in [&["16", "256"][..], &["16", "64", "256"]] {
            let factors = factors(users);
            let cells = cells(&factors);
            let respond = responses(
                &Asked { respond: vec!["rate".to_owned(), "no".to_owned()], ..Asked::default() },
                &cells,
                &mut Vec::new(),
            );
            let mut warnings = Vec::new();
            let found = effects(&factors, &respond, &cells, &mut warnings);
            assert!(warnings.is_empty(), "{warnings:?}");
            let of = |factor: &str, level: &str| {
                let is = |of: &&EffectResult| of.factor == factor && of.levels[1] == level;
                found.iter().find(is).unwrap()
            };
            let cpu = of("role.web.cpu", "40%");
            assert!((cpu.effect - 2.0).abs() < 1e-9 && cpu.figure == "rate_mean", "{cpu:?}");
            let [low, high] = cpu.ci95.unwrap();
            assert!(low > 1.6 && low <= 2.0 && high >= 2.0 && cpu.p_holm.unwrap() < 0.01);
            assert!((of("load.users", "256").effect - 0.9).abs() < 1e-9);
        }
    }

    #[test]
    fn the_best_holds_in_all_replications() {
        let factors = factors(&["16", "256"]);
        let mut cells = cells(&factors);
        let asked = Asked { respond: vec!["rate".to_owned()], ..Asked::default() };
        let respond = responses(&asked, &cells, &mut Vec::new());
        let best_of = |cells: &[CellResult]| best(&asked, &respond, cells).unwrap();
        let first = best_of(&cells);
        assert_eq!(first.factors["load.users"], "16");
        assert!((first.value - 202.0).abs() < 1e-9, "{first:?}");
        // Its availability is broken in one replication.
        let broken = cells.iter_mut().find(|cell| cell.factors == first.factors).unwrap();
        broken.gate = Some("broken");
        assert_eq!(best_of(&cells).factors["load.users"], "256");
        let least = Asked { goal: Some("min rate".to_owned()), ..asked.clone() };
        assert_eq!(best(&least, &respond, &cells).unwrap().factors["load.users"], "256");
    }

    #[test]
    fn a_gate_is_of_availability_alone() {
        let of = |expr: &str, pass: Option<bool>| SloVerdict {
            expr: expr.to_owned(),
            value: None,
            pass,
            note: None,
        };
        assert_eq!(gate(&[of("p99<1s", Some(false))]), None);
        let verdicts = [of("p99<1s", Some(false)), of("availability>=99%", Some(true))];
        assert_eq!((gate(&verdicts), all_of(verdicts.iter())), (Some("held"), Some(false)));
        assert_eq!(gate(&[of("availability>=99%", None)]), Some("not_resolvable"));
        let note = Some(format!("{NOT_RESOLVABLE}: one second of 10 is more than it allows"));
        let short = SloVerdict { note, ..of("availability>=99.9%", Some(false)) };
        assert_eq!(gate(&[short]), Some("not_resolvable"));
    }
}
