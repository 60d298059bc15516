//! One side of a comparison: replications with their figures, wherever they come from.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_runs::baseline::Baseline;
use plimsoll_runs::experiment::{Combination, Experiment, combinations};
use plimsoll_runs::{Kind, Run, RunError};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::Pairing;

/// One side of a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Side {
    /// What it is called: the name of its first run, of its experiment, or of the baseline's file.
    pub id: String,
    /// What was measured: the plan's name, else what was put to the test.
    pub name: String,
    /// Its groups, each of one combination of levels.
    pub groups: Vec<Group>,
}

/// The replications of one combination of levels; of loads and searches there is one group without
/// levels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// The block, as that of an experiment.
    pub block: u32,
    /// Its replications that count.
    pub ones: Vec<One>,
}

/// One replication.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct One {
    /// The run's name, or the cell's.
    pub id: String,
    /// Its seed.
    pub seed: u64,
    /// How noisy its host was, a sentence each.
    pub noise: Vec<String>,
    /// Its figures by name.
    pub figures: BTreeMap<String, f64>,
}

impl One {
    /// A run by itself.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn of_run(run: &Run) -> Result<Self, RunError> {
        let meta = run.meta();
        let (figures, noise) = if meta.kind == Kind::Load {
            let summary = run.summary()?;
            let figures = summary.figures().map(|(of, value)| (of.name.to_owned(), value));
            (figures.collect(), summary.host.noise())
        } else {
            let rows = run.figures()?.into_iter();
            (rows.map(|row| (row.name, row.value)).collect(), Vec::new())
        };
        Ok(Self { id: meta.id.clone(), seed: meta.seed, noise, figures })
    }
}

impl Side {
    /// Runs that are replications of each other.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn of_runs(runs: &[Run]) -> Result<Self, RunError> {
        let ones = runs.iter().map(One::of_run).collect::<Result<Vec<_>, _>>()?;
        let id = ones.first().map_or_else(String::new, |one| one.id.clone());
        let of = |run: &Run| named(&run.meta().name, &run.meta().subject);
        let name = runs.first().map(of).unwrap_or_default();
        Ok(Self { id, name, groups: vec![Group { ones, ..Group::default() }] })
    }

    /// The combinations of an experiment, and what is to be said of its cells beside.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn of_experiment(experiment: &Experiment) -> Result<(Self, Vec<Combination>), RunError> {
        let all = combinations(experiment)?;
        let mut noise: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for aside in all.iter().flat_map(|of| &of.aside).filter(|one| one.left_out.is_none()) {
            noise.entry(aside.cell).or_default().push(aside.why.clone());
        }
        let id = experiment.meta().id.clone();
        let group = |of: &Combination| Group {
            factors: of.factors.clone(),
            block: of.block,
            ones: of
                .done
                .iter()
                .map(|one| One {
                    id: format!("{id}/{:04}", one.cell),
                    seed: one.seed,
                    noise: noise.get(&one.cell).cloned().unwrap_or_default(),
                    figures: one.figures.clone(),
                })
                .collect(),
        };
        let groups = all.iter().map(group).collect();
        let name = named(&experiment.meta().name, &experiment.meta().subject);
        Ok((Self { id: id.clone(), name, groups }, all))
    }

    /// What a baseline holds; `id` is what it is called.
    #[must_use]
    pub fn of_baseline(of: &Baseline, id: String) -> Self {
        let group = |group: &plimsoll_runs::baseline::Group| Group {
            factors: group.factors.clone(),
            block: group.block,
            ones: (group.replications.iter().enumerate())
                .map(|(at, one)| One {
                    id: one.id.clone(),
                    seed: one.seed,
                    noise: one.noise.clone(),
                    figures: (group.figures_of(at))
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                })
                .collect(),
        };
        let name = named(&of.name, &of.subject);
        Self { id, name, groups: of.groups.iter().map(group).collect() }
    }

    /// How many replications its smallest group has; 0 without a group.
    #[must_use]
    pub fn least(&self) -> usize {
        self.groups.iter().map(|group| group.ones.len()).min().unwrap_or(0)
    }
}

/// What was measured: by its plan's name, where that has one.
fn named(name: &str, subject: &str) -> String {
    if name.is_empty() { subject.to_owned() } else { name.to_owned() }
}

impl Group {
    /// Whether another group is of the same levels.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.factors, self.block) == (&other.factors, other.block)
    }

    /// What it is called: its levels.
    #[must_use]
    pub fn named(&self) -> String {
        let levels: Vec<&str> = self.factors.values().map(String::as_str).collect();
        if levels.is_empty() { "all cells".to_owned() } else { levels.join(" · ") }
    }

    /// The values of a figure, replication by replication; `None` where one lacks it.
    #[must_use]
    pub fn values(&self, figure: &Figure) -> Option<Vec<f64>> {
        let values = self.ones.iter().map(|one| one.figures.get(figure.name).copied());
        values.collect::<Option<Vec<f64>>>().filter(|values| !values.is_empty())
    }

    /// The figures of names and labels that any of its replications has.
    pub(super) fn of_subjects(&self) -> Vec<&'static Figure> {
        let names: BTreeSet<&str> =
            self.ones.iter().flat_map(|one| one.figures.keys()).map(String::as_str).collect();
        let figures =
            names.into_iter().filter(|name| name.contains(": ")).filter_map(figure::named);
        figures.filter(|figure| figure::subject_of(figure).is_some()).collect()
    }

    /// Why its host was no place to judge at, where it was noisy.
    pub(super) fn noise(&self, side: &str) -> Option<String> {
        let noisy: Vec<&One> = self.ones.iter().filter(|one| !one.noise.is_empty()).collect();
        let first = noisy.first()?.noise.first()?;
        let (n, all) = (noisy.len(), self.ones.len());
        Some(format!("the host of {side} was noisy in {n} of {all} replications ({first})"))
    }

    /// Replications of one number that drew by one seed, each by another, are pairs.
    pub(super) fn pairing(&self, other: &Self) -> Pairing {
        let seeds = |of: &Self| of.ones.iter().map(|one| one.seed).collect::<Vec<_>>();
        let (a, b) = (seeds(self), seeds(other));
        let differ = a.iter().collect::<BTreeSet<_>>().len() == a.len();
        if a == b && differ { Pairing::Pairs } else { Pairing::Independent }
    }
}
