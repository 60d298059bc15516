//! A plan's search for parameters, ready to be made: `[tune]` and what it leaves out.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use plimsoll_elastic::policy::Parameter;
use plimsoll_plan::{Plan, Tune, Vary};
use plimsoll_runs::Kind;
use plimsoll_units::failure::FileError;

use super::conduct::subject;
use super::model::{Model, Named, model};
use super::tune::{Axis, Trials, TuneResult, most_cells, tune};
use super::wish::{Wish, figure_of};
use crate::control::Control;
use crate::error::ExperimentError;
use crate::record::{Record, Subject};

/// The file of what was found, in the folder of the experiment.
pub const FILE: &str = "tune.json";

/// Values of the plan's own that are tried where a bound is of another metric than the usual one.
const AROUND: [f64; 5] = [0.5, 0.75, 1.0, 1.25, 1.5];

/// A search for the parameters of a plan's policy, read and checked.
pub struct Tuning {
    /// The plan, with all that is looked for, whether it said so or left it out.
    plan: Plan,
    model: Model,
    label: String,
    axes: Vec<Axis>,
    wish: Wish,
    replications: u64,
}

impl Tuning {
    /// Reads what a plan looks for; without `[tune]`, what is usual for its first policy.
    ///
    /// # Errors
    /// A pool that cannot be simulated, a policy that the plan does not have or that has nothing to
    /// vary, and what is no figure or no bound.
    pub fn of(plan: &Plan) -> Result<Self, ExperimentError> {
        let conflict = |text: &str| ExperimentError::Conflict(text.to_owned());
        let model = model(plan)?;
        let given = plan.tune.clone().unwrap_or_default();
        let first = model.policies.first().map(|named| named.label.clone());
        let label = given.policy.clone().or(first);
        let label = label.ok_or_else(|| conflict("find a policy in the plan: it has none"))?;
        let bounds = given.subject_to.as_deref().unwrap_or_default();
        let figure = figure_of(&given.objective.figure)?;
        let wish = Wish::new(figure, given.objective.is_great, bounds)?;
        let axes = axes(&given, model.policy(&label)?)?;
        let replications = given.replications;
        let vary = axes.iter().cloned().map(|Axis { name, values }| Vary { name, values });
        let asked = Tune { policy: Some(label.clone()), vary: vary.collect(), ..given };
        let plan = Plan { tune: Some(asked), ..plan.clone() };
        Ok(Self { plan, model, label, axes, wish, replications })
    }

    /// What it is, for its record; `here` is the working folder.
    #[must_use]
    pub fn subject(&self, here: &Path) -> Subject {
        let what = format!("{} of {}", self.wish, self.label);
        Subject { kind: Kind::Tune, what, ..subject(&self.plan, &self.model, here) }
    }

    /// How many cells it has at most: one setting in one replication each.
    #[must_use]
    pub fn most_cells(&self) -> u64 {
        most_cells(self.axes.iter().map(|axis| axis.values.len()).product(), self.replications)
    }

    /// What a reader should know of the model, one sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.model.notes
    }

    /// Looks for the parameters. `None` where the user has ended it before there was a result.
    ///
    /// # Errors
    /// As for [`tune`].
    pub fn tune(
        &self,
        record: &Record<'_>,
        control: &dyn Control,
        threads: NonZeroUsize,
    ) -> Result<Option<TuneResult>, ExperimentError> {
        let trials = Trials { replications: self.replications, record, control, threads };
        let tuned = tune(&self.model, &self.label, &self.axes, &self.wish, &trials)?;
        for (kind, text) in tuned.iter().flat_map(found) {
            record.found(None, kind, &text)?;
        }
        Ok(tuned)
    }
}

/// What was found, for the page.
fn found(tuned: &TuneResult) -> impl Iterator<Item = (&'static str, String)> {
    let best = match tuned.keeps {
        true => format!("Best: {}.", tuned.policy),
        false => format!("Nothing that was tried keeps what was asked; nearest: {}.", tuned.policy),
    };
    let wish = format!("It was asked for the {}.", tuned.wish);
    let tried =
        format!("Tried: {} settings, {} replications.", tuned.candidates, tuned.replications);
    [("best", best), ("asked", wish), ("tried", tried)].into_iter()
}

/// Keeps what was found, in the folder of the experiment.
///
/// # Errors
/// Where it cannot be written.
pub fn write_tuned(folder: &Path, tuned: &TuneResult) -> Result<(), ExperimentError> {
    let path = folder.join(FILE);
    let text = serde_json::to_string(tuned).map_err(std::io::Error::other);
    let written = text.and_then(|text| plimsoll_runs::own::write(&path, text.as_bytes()));
    written.map_err(|source| ExperimentError::Artifact { path, source })
}

/// What was found by the search of a folder; `None` where it did not come to a result.
///
/// # Errors
/// A file that cannot be read, or is not what was written.
pub fn tuned_of(folder: &Path) -> Result<Option<TuneResult>, ExperimentError> {
    let path: PathBuf = folder.join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let failed = FileError::of("read", &path);
    let text = std::fs::read_to_string(&path).map_err(&failed)?;
    Ok(serde_json::from_str(&text).map(Some).map_err(|error| failed(error.into()))?)
}

/// What is varied: what is said, or what is usual for the kind.
fn axes(tune: &Tune, policy: &Named) -> Result<Vec<Axis>, ExperimentError> {
    let given = tune.vary.iter().cloned().map(|Vary { name, values }| Axis { name, values });
    let mut axes: Vec<Axis> = given.collect();
    if axes.is_empty() {
        let all = policy.kind.parameters.iter().filter(|of| !of.usual.is_empty());
        axes.extend(all.map(|of| usual(of, policy)));
    }
    if axes.is_empty() {
        let name = policy.kind.name;
        let text = format!("vary a parameter of `{name}`: say which with --vary NAME=VALUE,VALUE");
        return Err(ExperimentError::Conflict(text));
    }
    Ok(axes)
}

/// The usual values of a parameter. Those of bounds are of the usual metric: with another one they
/// lie around the plan's own value.
fn usual(of: &Parameter, policy: &Named) -> Axis {
    let given = |name: &str| {
        let found = policy.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str())
    };
    let is_bound = of.default.ends_with(" of cpu");
    let own = given(of.name).and_then(|text| text.parse::<f64>().ok());
    let values = match own.filter(|_| is_bound && given("metric").is_some_and(|of| of != "cpu")) {
        Some(own) => AROUND.map(|factor| (own * factor).to_string()).to_vec(),
        None => of.usual.iter().map(|value| (*value).to_owned()).collect(),
    };
    Axis { name: of.name.to_owned(), values }
}
