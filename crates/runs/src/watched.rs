//! Figures of what was watched in a run, made of its series.

use std::ops::Range;

use plimsoll_stats::figure::{Round, Rounds};
use plimsoll_stats::slo::{Clause, Slo, Watched};

use crate::FigureRow;
use crate::error::RunError;
use crate::run::Run;

/// How the names of figures begin that are series by their own names.
const SERIES: &str = "series.";

/// What was watched in the measured phase, as far as an SLO and a run's figures look at it. Costs
/// one pass over the series.
pub(crate) fn watched(
    run: &Run,
    span: &Range<u64>,
    slo: Option<&Slo>,
) -> Result<Watched, RunError> {
    let words = slo.map_or(&[][..], Slo::clauses).iter().map(Clause::word);
    let mut rounds = Rounds::with(words.filter_map(|word| word.strip_prefix(SERIES)));
    let mut watched = Watched::new(slo);
    let mut take = |round: Option<Round>| {
        if let Some(round) = round.filter(|round| span.contains(&round.at_ns)) {
            watched.add(&round);
        }
    };
    run.for_each_sample(|name, sample| {
        let labels = sample.labels.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        take(rounds.take(name, labels, sample.at_ns, sample.value.unwrap_or(f64::NAN)));
        Ok(())
    })?;
    take(rounds.close());
    Ok(watched)
}

impl Run {
    /// The means of what was watched over the measured phase, as figures of the run.
    pub(crate) fn watched_means(&self) -> Result<Vec<FigureRow>, RunError> {
        let means = watched(self, &self.measured()?, None)?.means();
        Ok(means.into_iter().map(|(name, value)| FigureRow::new(name, value)).collect())
    }
}
