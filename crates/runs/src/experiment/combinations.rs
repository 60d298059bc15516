//! The results of an experiment by combination of its factors' levels: each figure as the mean over
//! the replications, with its interval.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::{LEVEL, Method, one_mean};

use crate::FigureRow;
use crate::error::RunError;
use crate::experiment::{CellRow, Experiment, LeftOut, Standing};
use crate::meta::Kind;

/// A combination of levels, and what its cells came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// The block of its cells.
    pub block: u32,
    /// How many cells it has.
    pub cells: usize,
    /// Its cells that are done and count, in the order of their replications.
    pub done: Vec<Replication>,
    /// Its cells that are done and do not count, and those that count and are marked.
    pub aside: Vec<Aside>,
}

/// What is to be said of a cell that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Aside {
    /// The number of the cell.
    pub cell: u32,
    /// Why it is in no mean; `None` where it is, and its host was noisy.
    pub left_out: Option<LeftOut>,
    /// What was seen.
    pub why: String,
}

/// A cell that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Replication {
    /// The number of its cell.
    pub cell: u32,
    /// Its number among the replications of its combination.
    pub number: u32,
    /// Its seed.
    pub seed: u64,
    /// Its figures, by name.
    pub figures: BTreeMap<String, f64>,
    /// The intervals of those that have one of their own, by name.
    pub intervals: BTreeMap<String, (f64, f64)>,
}

/// A figure over the replications of a combination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its 95% interval, cut off where the figure cannot be; `None` of one replication.
    pub ci95: Option<(f64, f64)>,
    /// How that was found.
    pub method: Method,
}

/// The combinations of an experiment, in the order of their first cells.
///
/// # Errors
/// Where the journal cannot be read.
pub fn combinations(experiment: &Experiment) -> Result<Vec<Combination>, RunError> {
    let mut places: BTreeMap<(BTreeMap<String, String>, u32), usize> = BTreeMap::new();
    let mut all: Vec<Combination> = Vec::new();
    // Blocks of a search for parameters are rounds; those of any other experiment are replications.
    let has_rounds = experiment.meta().kind == Kind::Tune;
    for row in experiment.cells()? {
        let CellRow { cell, state, .. } = &row;
        let block = if has_rounds { cell.block } else { 0 };
        let key = (cell.factors.clone(), block);
        let place = *places.entry(key).or_insert_with(|| {
            let factors = cell.factors.clone();
            let (done, aside) = (Vec::new(), Vec::new());
            all.push(Combination { factors, block, cells: 0, done, aside });
            all.len() - 1
        });
        let combination = &mut all[place];
        combination.cells += 1;
        if !state.is_kept() {
            continue;
        }
        let (standing, _) = Standing::of(experiment, &row)?;
        combination.aside.extend(Aside::of(cell.number, &standing));
        if standing.left_out().is_none() {
            let figures = experiment.figures_of(cell.number)?;
            let (number, seed) = (cell.replication, cell.seed);
            combination.done.push(Replication::of(cell.number, (number, seed), figures));
        }
    }
    all.iter_mut().for_each(|of| of.done.sort_by_key(|one| one.number));
    Ok(all)
}

impl Replication {
    /// A cell with its figures; of which replication it is, and its seed.
    #[must_use]
    pub fn of(cell: u32, (number, seed): (u32, u64), rows: Vec<FigureRow>) -> Self {
        let interval = |row: &FigureRow| Some((row.name.clone(), (row.low?, row.high?)));
        let intervals = rows.iter().filter_map(interval).collect();
        let figures = rows.into_iter().map(|row| (row.name, row.value)).collect();
        Self { cell, number, seed, figures, intervals }
    }
}

impl Aside {
    /// What is to be said of a cell; `None` where nothing is.
    fn of(cell: u32, standing: &Standing) -> Option<Self> {
        let left_out = standing.left_out();
        let why = if left_out.is_some() { standing.why() } else { standing.noise.join("; ") };
        (left_out.is_some() || !why.is_empty()).then_some(Self { cell, left_out, why })
    }
}

impl Combination {
    /// How many of its cells are done, whether they count or not.
    #[must_use]
    pub fn executed(&self) -> usize {
        self.kept().count()
    }

    /// The numbers of its cells that are done, whether they count or not.
    pub fn kept(&self) -> impl Iterator<Item = u32> + use<> {
        let left_out = self.aside.iter().filter(|of| of.left_out.is_some()).map(|of| of.cell);
        let mut all: Vec<u32> = self.done.iter().map(|of| of.cell).chain(left_out).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// The values of a figure, replication by replication; `None` where one lacks it, or none is
    /// done.
    #[must_use]
    pub fn values(&self, figure: &Figure) -> Option<Vec<f64>> {
        let values = self.done.iter().map(|one| one.figures.get(figure.name).copied());
        values.collect::<Option<Vec<f64>>>().filter(|values| !values.is_empty())
    }

    /// A figure over the replications; `None` as for [`Combination::values`].
    #[must_use]
    pub fn mean(&self, figure: &Figure) -> Option<Mean> {
        let values = self.values(figure)?;
        let value = values.iter().sum::<f64>() / values.len() as f64;
        let (least, greatest) = figure.unit.range();
        let described = one_mean(&values, LEVEL).ok();
        let ci95 = described.map(|(of, _)| (of.low.max(least), of.high.min(greatest)));
        Some(Mean { value, ci95, method: described.map(|(_, how)| how).unwrap_or_default() })
    }

    /// The figures that any of its replications has, in the order of the registry; those of names
    /// and labels last.
    pub fn figures(&self) -> impl Iterator<Item = &'static Figure> {
        let has =
            |figure: &Figure| self.done.iter().any(|one| one.figures.contains_key(figure.name));
        let of_all = figure::ALL.iter().copied().filter(move |figure| has(figure));
        of_all.chain(self.of_subjects())
    }

    /// The figures of names and labels that any of its replications has.
    pub fn of_subjects(&self) -> impl Iterator<Item = &'static Figure> + use<> {
        let names: BTreeSet<&str> =
            self.done.iter().flat_map(|one| one.figures.keys()).map(String::as_str).collect();
        let figures =
            names.into_iter().filter(|name| name.contains(": ")).filter_map(figure::named);
        let all = figures.filter(|figure| figure::subject_of(figure).is_some());
        all.collect::<Vec<_>>().into_iter()
    }
}
