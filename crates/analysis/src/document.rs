//! The document of an experiment: what `run --json` and `analyse --json` print, and what pages are
//! made of.

use std::collections::BTreeMap;

use plimsoll_runs::Kind;
use plimsoll_runs::experiment::{Gate, LeftOut};
use plimsoll_stats::Described;
use plimsoll_stats::interval::Method;
use plimsoll_workload::instance_type::PricedType;
use serde::Serialize;

use crate::predictions::Prediction;

/// The version of the document.
pub const SCHEMA: u32 = 1;

/// The level of each factor, by its key.
pub type Levels = BTreeMap<String, String>;

/// What an experiment says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know, a sentence each.
    pub warnings: Vec<String>,
    /// The experiment as a whole.
    pub experiment: Whole,
    /// Its cells, by their numbers.
    pub cells: Vec<CellResult>,
    /// Its combinations of levels over their replications, in the order of their first cells.
    pub combinations: Vec<CombinationResult>,
    /// What each level of each factor does to the figures of `respond`.
    pub effects: Vec<EffectResult>,
    /// How much more or less a factor does at the second level of another one: of designs of
    /// two-level factors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
    /// Tables of the analysis of variance, a figure each: where there are replications.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variance: Vec<Variance>,
    /// The effects of an unreplicated two-level design by their size, a figure each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<Sizes>,
    /// The best combination; `None` where none holds, or nothing says what is better.
    pub best: Option<Best>,
    /// What was predicted of live cells, beside what came of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<Prediction>,
    /// By how much each policy is above the first one, on the same requests: of pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paired: Vec<PairedResult>,
    /// The instance types that a simulated pool was compared on, each with its cheapest pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<PricedType>,
    /// How figures spread by the labels of levels: where a factor's levels have some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_label: Vec<LabelSpread>,
    /// Levels that are poor beside those of the same labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub poor: Vec<PoorLevel>,
    /// How much of its limits each instance used, by combination: of live cells whose instances
    /// are limited and watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_use: Vec<InUse>,
}

/// The experiment as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Whole {
    /// Its id.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// The plan's seed; `None` where its plan cannot be read.
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
    /// Why no more replications were added; `None` where their number is the plan's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What each cell is a run of.
    #[serde(skip)]
    pub kind: Kind,
    /// Whether the plan names factors.
    #[serde(skip)]
    pub has_design: bool,
    /// The SLO, as the plan states it; `None` where it has none.
    pub slo: Option<String>,
    /// The factors with their levels, in the order of the plan.
    pub factors: Vec<FactorLevels>,
    /// The names of the figures that effects are computed of.
    pub respond: Vec<&'static str>,
    /// The words of `respond` whose figures no cell has; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
}

/// How a figure spreads by a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelSpread {
    /// The factor whose levels have it.
    pub factor: String,
    /// The label; the factor itself for its levels.
    pub label: String,
    /// The name of the figure.
    pub figure: &'static str,
    /// Its values among the cells that count, by the values of the label.
    pub groups: Vec<LabelGroup>,
}

/// The cells of one value of a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelGroup {
    /// The value.
    pub value: String,
    /// The figure of its cells, described.
    #[serde(flatten)]
    pub described: Described,
    /// The figure of its cells, ascending.
    pub values: Vec<f64>,
}

/// A level that is poor beside those of the same labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoorLevel {
    /// Its factor.
    pub factor: String,
    /// The level.
    pub level: String,
    /// The name of the figure.
    pub figure: &'static str,
    /// Its median as a share of the group's, the median of those replications.
    pub of_group: f64,
    /// The replications in which it was.
    pub replications: Vec<u32>,
}

/// By how much a combination is above another one that was given the same requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedResult {
    /// The combination.
    pub factors: Levels,
    /// The other one.
    pub against: Levels,
    /// How many replications both have.
    pub n: usize,
    /// The differences, replication by replication, by the names of the figures.
    pub figures: BTreeMap<&'static str, PairedMean>,
}

/// The mean of differences, in the unit of their figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedMean {
    /// The mean.
    pub mean: f64,
    /// Its 95% interval.
    pub ci95: (f64, f64),
}

/// A factor with its levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactorLevels {
    /// Its key.
    pub factor: String,
    /// Its levels; effects compare the others with the first.
    pub levels: Vec<String>,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CellResult {
    /// Its number.
    pub id: u32,
    /// The level of each factor.
    pub factors: Levels,
    /// Its replication, from 0.
    pub replication: u32,
    /// Its block.
    pub block: u32,
    /// `live` or `simulated`.
    pub world: &'static str,
    /// `planned`, `running`, `done`, `failed` or `stopped`.
    pub state: &'static str,
    /// Why it failed, or was stopped; empty where it did not.
    pub reason: String,
    /// Why each attempt at it failed, in their order: also of one that is done by now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Whether its figures can be believed; `None` where it has no run that says so.
    pub valid: Option<bool>,
    /// Why they cannot, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid_because: Vec<String>,
    /// Whether its availability held: `held`, `broken`, `not_resolvable`; `None` where that was not
    /// asked.
    pub gate: Option<&'static str>,
    /// The servers that were started for it and ended by themselves under its load: which, how, and
    /// their last words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers_ended: Vec<String>,
    /// Why its figures are in no effect, ranking or mean ([`LeftOut::name`]); `None` where they
    /// are.
    pub left_out: Option<&'static str>,
    /// How noisy this host was beside it; it counts all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<String>,
    /// What of its plan limited it; it counts all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limited: Vec<String>,
    /// Whether its whole SLO held; `None` where it has none, or it cannot be told.
    pub slo: Option<bool>,
    /// Whether it has an SLO.
    #[serde(skip)]
    pub has_slo: bool,
    /// The first clause of its SLO of which it cannot be told whether it held, and why; empty where
    /// there is none.
    #[serde(skip)]
    pub untold: String,
    /// Its run, in the folder of the experiment; `None` where none was kept.
    pub run: Option<String>,
    /// The 95% intervals of those of its figures that have one of their own, by name.
    #[serde(skip)]
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// Its figures, by name.
    pub figures: BTreeMap<String, f64>,
}

/// How far a cell is, as the document calls it.
pub mod state {
    /// Its figures count.
    pub const DONE: &str = "done";
    /// It could not be done.
    pub const FAILED: &str = "failed";
    /// It was ended as its availability could not be held any more: executed, and kept.
    pub const ENDED_EARLY: &str = "ended_early";
    /// It was ended before it was done.
    pub const STOPPED: &str = "stopped";
}

impl CellResult {
    /// Whether it was executed, and is kept.
    #[must_use]
    pub fn is_done(&self) -> bool {
        [state::DONE, state::ENDED_EARLY].contains(&self.state)
    }

    /// Why it is in no effect, ranking or mean; `None` where it is.
    #[must_use]
    pub fn why_left_out(&self) -> Option<LeftOut> {
        let is_broken = self.gate == Some(Gate::Broken.name());
        LeftOut::of(self.is_done(), !self.servers_ended.is_empty(), is_broken, self.valid)
    }

    /// Whether it is in effects, rankings and means.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.why_left_out().is_none()
    }
}

/// A figure as the mean over replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanResult {
    /// The mean.
    pub mean: f64,
    /// Its 95% interval, cut off where the figure cannot be; `None` of one replication.
    pub ci95: Option<[f64; 2]>,
    /// How the interval was found.
    #[serde(skip_serializing_if = "is_student")]
    pub method: Method,
    /// Of how many replications.
    pub n: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_student(of: &Method) -> bool {
    *of == Method::Student
}

/// A combination of levels over its replications.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CombinationResult {
    /// The level of each factor.
    pub factors: Levels,
    /// How many cells it has.
    pub cells: usize,
    /// How many of them count: those that are in effects, rankings and means.
    pub counted: usize,
    /// Whether its whole SLO held in all its cells; `None` where it has none, or it cannot be told.
    pub slo: Option<bool>,
    /// Whether it is in the ranking: its whole SLO held in every cell, where it has one, and all
    /// its cells count but for those that are not valid.
    pub ranked: bool,
    /// The geometric mean of the figures of `respond`, each as how many times better it is than at
    /// the first levels; `None` of fewer than two figures, and where one is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The usual figures and those of `respond` as means over the cells that count, by name;
    /// without those that one of the cells lacks.
    pub figures: BTreeMap<&'static str, MeanResult>,
}

/// How much of a limit an instance used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InUse {
    /// The level of each factor.
    pub factors: Levels,
    /// The instance.
    pub instance: String,
    /// What is limited.
    pub resource: Resource,
    /// The share of the limit that was in use, 0 to 1, over the cells that count.
    #[serde(flatten)]
    pub share: MeanResult,
    /// Whether so much of it was in use that more could not be had: [`SHORT`](crate::SHORT) of it.
    #[serde(rename = "short")]
    pub is_short: bool,
}

/// What an instance can be limited in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Processor time: `cpu` of its role.
    Processor,
    /// What it sends: `rate` of its role.
    Sent,
    /// What it receives: `rate` of its role.
    Received,
}

impl Resource {
    /// What it is called.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Sent => "link, sent",
            Self::Received => "link, received",
        }
    }
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
    /// Its 95% interval over the replications; `None` of fewer than two.
    pub ci95: Option<[f64; 2]>,
    /// Of how many replications it is: each is one piece of evidence.
    pub n: usize,
    /// The probability of a ratio as far from 1 where there is no effect, corrected for how many
    /// are looked at; `None` where no error is known.
    pub p_holm: Option<f64>,
    /// Other effects that it cannot be told apart from, by the names of their factors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The figure at both levels: geometric means over the cells that were compared.
    pub means: [f64; 2],
    /// The change as it is published, and its formula; `None` of figures without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// A relative change as it is published.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The change; 0.05 is 5%.
    pub value: f64,
    /// By which formula: NV is the figure at the first level, V that at the second.
    pub formula: &'static str,
}

/// What two factors do together that neither does by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interaction {
    /// The two factors.
    pub factors: [String; 2],
    /// The figure.
    pub figure: &'static str,
    /// The ratio of the one factor's effect at the other's second level to that at its first.
    pub effect: f64,
    /// Its 95% interval over the replications; `None` of fewer than two.
    pub ci95: Option<[f64; 2]>,
    /// Of how many replications it is.
    pub n: usize,
    /// As for an effect, corrected for how many interactions are looked at.
    pub p_holm: Option<f64>,
    /// Other effects that it cannot be told apart from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// A table of the analysis of variance of a figure's logarithms: effects are ratios. Its rows and
/// residuals add up to the total.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variance {
    /// The figure.
    pub figure: &'static str,
    /// The factors, then their interactions, what is left of both, and the replications.
    pub rows: Vec<VarianceRow>,
    /// The sum of squares that no row explains, how effects differ from replication to replication,
    /// and its degrees of freedom.
    pub residual: [f64; 2],
    /// The sum of squares of all values around their mean, and its degrees of freedom.
    pub total: [f64; 2],
}

/// A row of such a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VarianceRow {
    /// The factor, or those of an interaction; else `replication` or `others`.
    pub factors: Vec<String>,
    /// Other effects that it cannot be told apart from, by the names of their factors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Its sum of squares.
    pub sum_of_squares: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// Its mean square over that by which it differs from replication to replication; `None` where
    /// nothing varies.
    pub f: Option<f64>,
    /// The probability of an F as great where there is no effect.
    pub p: Option<f64>,
    /// η²: its share of the sum of squares of all.
    pub eta_squared: f64,
    /// ω²: that share without what chance adds to it.
    pub omega_squared: Option<f64>,
}

/// The effects and interactions of an unreplicated design by their size, the smallest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sizes {
    /// The figure.
    pub figure: &'static str,
    /// The points of a half-normal plot.
    pub points: Vec<Size>,
    /// A ratio further from 1 than this, or than its inverse, is not by chance, by Lenth's method;
    /// each looked at by itself.
    pub margin: f64,
}

/// How large an effect is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Size {
    /// The factor, or those of an interaction, with what it cannot be told apart from.
    pub of: String,
    /// The ratio, or its inverse, whichever is above 1.
    pub ratio: f64,
    /// How large an effect of this rank is by chance, in standard deviations.
    pub quantile: f64,
    /// Whether it stands out from the others.
    pub stands_out: bool,
}

/// The best combination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Best {
    /// The level of each factor.
    pub factors: Levels,
    /// By which figure.
    pub figure: &'static str,
    /// Its mean over the replications.
    pub value: f64,
    /// The mean's 95% interval; `None` of one replication.
    pub ci95: Option<[f64; 2]>,
    /// How it compares with the next best, and with the first levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Against>,
}

/// How the best combination compares with another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// `next`, the best of the others that hold; or `first levels`.
    pub what: &'static str,
    /// The level of each factor.
    pub factors: Levels,
    /// The figure's mean there.
    pub value: f64,
    /// The best one's figure over this one's.
    pub ratio: f64,
    /// The ratio's 95% interval, of pairs of replications that saw the same requests; `None` where
    /// no error is known.
    pub ci95: Option<[f64; 2]>,
}
