//! The replications of one load: their means with intervals, for a person and as JSON.

use crate::commands::compare::{FIGURES, Shown};
use crate::terminal::error::Result;
use crate::terminal::pretty;
use plimsoll_runs::{Run, Summary};
use plimsoll_stats::figure::Figure;
use plimsoll_stats::interval::{Estimate, LEVEL, mean};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;

/// The replications of one load.
pub(crate) struct Group<'a> {
    /// What their folders are called, without the number at the end.
    pub(crate) id: &'a str,
    /// The plan's name; may be empty.
    pub(crate) name: &'a str,
    /// How many were asked for.
    pub(crate) repeat: u32,
    /// The folder for runs.
    pub(crate) folder: &'a Path,
    summaries: Vec<Summary>,
    /// What a reader should know, one sentence each.
    warnings: Vec<String>,
}

/// One figure over the replications that have it.
struct Mean {
    values: Vec<f64>,
    /// Replications that lack it.
    lacking: Vec<String>,
}

impl Mean {
    /// The mean with its interval; none where a replication lacks the figure, or is alone. No time,
    /// rate or share is below nought: there its interval is cut off.
    fn estimate(&self) -> Option<Estimate> {
        let whole = self.lacking.is_empty();
        let estimate = whole.then(|| mean(&self.values, LEVEL).ok()).flatten()?;
        Some(Estimate { low: estimate.low.max(0.0), ..estimate })
    }
}

impl<'a> Group<'a> {
    /// Of the runs that came about; `failures` say why others did not.
    pub(crate) fn of(
        (id, name, repeat): (&'a str, &'a str, u32),
        folder: &'a Path,
        runs: &[Run],
        failures: &[String],
    ) -> Result<Self> {
        let summaries = runs.iter().map(Run::summary).collect::<Result<Vec<_>, _>>()?;
        let mut group = Self { id, name, repeat, folder, summaries, warnings: failures.to_vec() };
        group.warnings.extend(group.not_valid());
        group.warnings.extend(group.left_out());
        Ok(group)
    }

    /// Whether every replication is valid.
    pub(crate) fn is_valid(&self) -> bool {
        self.summaries.iter().all(|one| one.run.valid)
    }

    fn not_valid(&self) -> Option<String> {
        let ids: Vec<&str> =
            self.summaries.iter().filter(|one| !one.run.valid).map(|one| &*one.run.id).collect();
        let (found, all) = (ids.len(), self.summaries.len());
        let text = || {
            format!(
                "{found} of {all} runs are not valid, and these means rest on them: {}",
                ids.join(", ")
            )
        };
        (found > 0).then(text)
    }

    fn left_out(&self) -> Vec<String> {
        let lacking = FIGURES.iter().map(|figure| (figure.name, self.figure(figure)));
        lacking
            .filter(|(_, mean)| !mean.lacking.is_empty() && !mean.values.is_empty())
            .map(|(name, mean)| format!("{name} is left out: {} lack it", mean.lacking.join(", ")))
            .collect()
    }

    fn figure(&self, figure: &Figure) -> Mean {
        let lacking = self.summaries.iter().filter(|one| one.value(figure).is_none());
        Mean {
            values: self.summaries.iter().filter_map(|one| one.value(figure)).collect(),
            lacking: lacking.map(|one| one.run.id.clone()).collect(),
        }
    }

    /// The document of `--json --repeat`, with what came of a baseline, where there is one.
    pub(crate) fn json(&self, baseline: Option<&Shown>) -> Result<String> {
        let mut figures = Map::new();
        for figure in FIGURES {
            let mean = self.figure(figure);
            let estimate = mean.estimate();
            let value = json!({
                "mean": estimate.map(|of| of.value),
                "ci95": estimate.map(|of| [of.low, of.high]),
                "n": mean.values.len(),
            });
            figures.insert(figure.name.to_owned(), value);
        }
        let mut document = json!({
            "schema": 1,
            "warnings": self.warnings,
            "group": {
                "id": self.id,
                "name": self.name,
                "repeat": self.repeat,
                "valid": self.is_valid(),
            },
            "runs": self.summaries,
            "figures": Value::Object(figures),
        });
        if let Some(against) = baseline {
            document["baseline"] = against.json();
        }
        pretty(&document)
    }

    /// The means for a person; what is not valid stands above them.
    pub(crate) fn table(&self) -> String {
        let mut out = "\n".to_owned();
        for warning in &self.warnings {
            let _ = writeln!(out, "note: {warning}");
        }
        let _ = writeln!(out, "{} replications, mean and 95% interval:", self.summaries.len());
        for figure in FIGURES {
            let Some(of) = self.figure(figure).estimate() else { continue };
            let [value, low, high] =
                [of.value, of.low, of.high].map(|value| figure.unit.show(value));
            let _ = writeln!(out, "  {:<16}{value:>12}   [{low}, {high}]", figure.label);
        }
        let _ = writeln!(out, "  {:<16}{}", "group", self.folder.join(self.id).display());
        out
    }
}

/// The document of a command that came to no run.
pub(crate) fn no_run(error: &crate::terminal::error::Error) -> String {
    let document = json!({ "schema": 1, "warnings": [format!("{error}")], "run": null });
    format!("{document:#}\n")
}
