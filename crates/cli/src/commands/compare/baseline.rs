//! Baselines: made of runs or of an experiment that are kept, and what is compared with one.

use super::shown::{Ids, Shown};
use super::{By, experiments, judged, loads, one_kind, opened, refuse_absent, refuse_not_valid};
use super::{shown_of, tolerance};
use crate::args::AgainstBaseline;
use crate::exit::Exit;
use crate::named_record;
use crate::place::{VERSION, unix_ns};
use crate::terminal::error::{Result, UsageError};
use crate::terminal::{pretty, print, say};
use plimsoll_analysis::compared::{Change, One, Side, With, compared};
use plimsoll_plan::Varied;
use plimsoll_runs::baseline::{Baseline, Group, LEAST, Replication};
use plimsoll_runs::experiment::{Combination, Experiment, combinations, is_experiment};
use plimsoll_runs::{Kind, Phase, Run, Tag, World, iso8601};
use plimsoll_stats::Histogram;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Facts of a host: name and value.
type Facts = Vec<(String, String)>;

/// Makes a baseline of runs that are replications of each other, or of one experiment.
pub(crate) fn make(named: &[PathBuf], out: &Path) -> Result<Exit> {
    let mut paths = Vec::new();
    for path in named {
        paths.extend(named_record::all(path)?);
    }
    let baseline = match &paths[..] {
        [one] if is_experiment(one) => of_experiment(&Experiment::open(one)?)?,
        _ => of_runs(&opened(&paths)?)?,
    };
    baseline.write(out)?;
    let found = baseline.groups.iter().map(|group| group.replications.len()).min().unwrap_or(0);
    let of = match &baseline.groups[..] {
        [_] => format!("{found} replications"),
        several => format!("{} combinations, of {found} replications at least", several.len()),
    };
    say(&format!("baseline: {} of {of}", out.display()));
    if found < LEAST {
        say(&format!("note: of fewer than {LEAST} replications nothing can be told; repeat more"));
    }
    Ok(Exit::Held)
}

fn of_runs(runs: &[Run]) -> Result<Baseline> {
    refuse_not_valid("the baseline", runs)?;
    let kind = one_kind(&[runs])?;
    refuse_other_runs(runs)?;
    let Some(first) = runs.first() else {
        return Err(UsageError("make a baseline of no run; name some".to_owned()).into());
    };
    let meta = first.meta();
    let mut replications = Vec::new();
    for run in runs {
        let One { id, seed, noise, figures } = One::of_run(run)?;
        replications.push((Replication { id, seed, noise }, figures));
    }
    let mut response = Histogram::new();
    for run in runs.iter().filter(|_| kind == Kind::Load) {
        response.add(&run.histogram(Phase::Measured, Tag::Response)?);
    }
    Ok(Baseline {
        made: iso8601(unix_ns()),
        made_by: VERSION.to_owned(),
        kind: kind.name().to_owned(),
        world: meta.world.name().to_owned(),
        name: meta.name.clone(),
        subject: meta.subject.clone(),
        tags: shared_tags(runs),
        plan: first.plan_text(),
        host: meta.host.clone(),
        groups: vec![Group::new(BTreeMap::new(), 0, replications, &response)],
        left_out: 0,
    })
}

/// Refuses runs that are no replications of each other: one that is named twice, one of another
/// load, and one of something else.
fn refuse_other_runs(runs: &[Run]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for run in runs {
        if !seen.insert(run.path().canonicalize().unwrap_or_else(|_| run.path().to_owned())) {
            let id = &run.meta().id;
            let text = format!("take {id} as two replications: it is one run; name it once");
            return Err(UsageError(text).into());
        }
    }
    let subjects: BTreeSet<&str> = runs.iter().map(|run| run.meta().subject.as_str()).collect();
    if subjects.len() > 1 {
        let subjects = subjects.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!("make a baseline of runs of several targets: {subjects}");
        return Err(UsageError(text).into());
    }
    match loads::of_runs(runs, &[]).first() {
        None => Ok(()),
        Some(other) => {
            let text = format!("make a baseline of runs that are no replications: {other}");
            Err(UsageError(text).into())
        }
    }
}

fn of_experiment(experiment: &Experiment) -> Result<Baseline> {
    let (side, all) = Side::of_experiment(experiment)?;
    experiments::refuse_aside("the baseline", &all)?;
    let mut groups = Vec::new();
    for (of, combination) in side.groups.into_iter().zip(&all) {
        let response = response(experiment, combination)?;
        let one = |one: One| {
            let One { id, seed, noise, figures } = one;
            (Replication { id, seed, noise }, figures)
        };
        let ones = of.ones.into_iter().map(one).collect();
        groups.push(Group::new(of.factors, of.block, ones, &response));
    }
    if groups.is_empty() {
        let text = "make a baseline of an experiment without a cell that is done".to_owned();
        return Err(UsageError(text).into());
    }
    let meta = experiment.meta();
    let (world, host) = executed_where(experiment, &all)?;
    Ok(Baseline {
        made: iso8601(unix_ns()),
        made_by: VERSION.to_owned(),
        kind: meta.kind.name().to_owned(),
        world: world.name().to_owned(),
        name: meta.name.clone(),
        subject: meta.subject.clone(),
        tags: meta.tags.clone(),
        plan: meta.plan_text.clone(),
        host,
        groups,
        left_out: 0,
    })
}

/// In which world an experiment was executed, and facts of the host, by its first run that is kept.
/// Simulated cells may keep none.
fn executed_where(of: &Experiment, all: &[Combination]) -> Result<(World, Facts)> {
    for one in all.iter().flat_map(|combination| &combination.done) {
        if let Some(run) = of.run(one.cell)? {
            return Ok((run.meta().world, run.meta().host.clone()));
        }
    }
    Ok((World::Simulated, Vec::new()))
}

/// Response times of all requests of a combination; none where it is of no load.
fn response(experiment: &Experiment, of: &Combination) -> Result<Histogram> {
    let mut all = Histogram::new();
    for one in of.done.iter().filter(|_| experiment.meta().kind == Kind::Load) {
        if let Some(run) = experiment.run(one.cell)? {
            all.add(&run.histogram(Phase::Measured, Tag::Response)?);
        }
    }
    Ok(all)
}

/// The tags that all runs have.
fn shared_tags(runs: &[Run]) -> BTreeMap<String, String> {
    let mut tags = runs.first().map(|run| run.meta().tags.clone()).unwrap_or_default();
    tags.retain(|key, value| runs.iter().all(|run| run.meta().tags.get(key) == Some(value)));
    tags
}

/// What is compared with a baseline.
pub(crate) enum Later {
    /// Replications of each other.
    Runs(Vec<Run>),
    /// One experiment.
    Experiment(Box<Experiment>),
}

impl Later {
    /// What a command has left in a folder: a run, an experiment, or a series.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        if is_experiment(path) {
            return Ok(Self::Experiment(Box::new(Experiment::open(path)?)));
        }
        Ok(Self::Runs(opened(&named_record::all(path)?)?))
    }

    /// What it is one of, its plan, and facts of its host.
    fn facts(&self) -> Result<(Kind, String, Facts)> {
        Ok(match self {
            Self::Runs(runs) => {
                let kind = one_kind(&[runs])?;
                let plan = runs.first().map(Run::plan_text).unwrap_or_default();
                let host = runs.first().map(|run| run.meta().host.clone()).unwrap_or_default();
                (kind, plan, host)
            }
            Self::Experiment(of) => {
                let (_, host) = executed_where(of, &combinations(of)?)?;
                (of.meta().kind, of.meta().plan_text.clone(), host)
            }
        })
    }
}

/// Compares what came later with the baseline in a file.
pub(crate) fn against(file: &Path, later: &Later, by: By<'_>) -> Result<Shown> {
    let baseline = Baseline::read(file)?;
    let (kind, plan, host) = later.facts()?;
    refuse_other_kind(&baseline, kind)?;
    let a = Side::of_baseline(&baseline, file.display().to_string());
    let (b, mut remarks) = match later {
        Later::Runs(runs) => {
            refuse_not_valid("B", runs)?;
            (Side::of_runs(runs)?, loads::of_plan(&baseline.plan, runs))
        }
        Later::Experiment(of) => {
            let (side, all) = Side::of_experiment(of)?;
            experiments::refuse_aside("B", &all)?;
            experiments::refuse_other_loads(&baseline.plan, &plan)?;
            (side, Vec::new())
        }
    };
    remarks.extend(other_host(&baseline, &host));
    // As two experiments are compared, or as runs are.
    let is_grouped = matches!(later, Later::Experiment(_));
    let judged = judged(kind, [&a, &b], by.asked, &plan);
    let change = if is_grouped { Change::Difference } else { Change::Ratio };
    let shown = if is_grouped { kind.figures().to_vec() } else { shown_of(kind) };
    let tolerance = by.tolerance;
    let with = With { tolerance, shown: &shown, judged: &judged, change, least: LEAST };
    let mut of = compared(&a, &b, &with);
    if of.rows.is_empty() {
        let text = "compare what has no combination of levels in common with the baseline";
        return Err(UsageError(text.to_owned()).into());
    }
    refuse_absent(by.asked, |figure| of.rows.iter().any(|row| row.figure == figure))?;
    remarks.extend(experiments::told_alone(&of.alone));
    of.remarks.splice(0..0, remarks);
    let ids = [Ids::of_runs(&a), Ids::of_runs(&b)];
    Ok(match is_grouped {
        true => Shown::of_groups(of),
        false => Shown { compared: of, ids, pooled: Vec::new(), is_grouped, fault: None },
    })
}

/// That what came later was executed on another host, where it was.
fn other_host(baseline: &Baseline, own: &[(String, String)]) -> Option<String> {
    let differs = |(name, value): &&(String, String)| {
        ["cpu", "cores"].contains(&name.as_str())
            && own.iter().any(|(known, other)| known == name && other != value)
    };
    let (name, value) = baseline.host.iter().find(differs)?;
    Some(format!(
        "the baseline is of another host, whose {name} is {value}: the host may be why figures \
         differ"
    ))
}

impl AgainstBaseline {
    /// Reads what the flags name, before anything is sent: whether it is of that kind, and of the
    /// load of that plan.
    pub(crate) fn check(&self, kind: Kind, plan: &str) -> Result<()> {
        let Some(file) = &self.baseline else { return Ok(()) };
        tolerance(&self.tolerance)?;
        let baseline = Baseline::read(file)?;
        refuse_other_kind(&baseline, kind)?;
        let is_of_experiment = Varied::of(plan).is_some_and(|of| !of.factors.is_empty());
        match is_of_experiment {
            true => experiments::refuse_other_loads(&baseline.plan, plan),
            false => Ok(()),
        }
    }
}

fn refuse_other_kind(baseline: &Baseline, kind: Kind) -> Result<()> {
    if kind.name() == baseline.kind {
        return Ok(());
    }
    let (own, other) = (kind.name(), &baseline.kind);
    Err(UsageError(format!("compare runs of {own} with a baseline of {other}")).into())
}

/// What came of comparing what a command has left with a baseline; `None` where none is named, or
/// where nothing can be compared, which is said.
pub(crate) fn with_baseline(
    args: &AgainstBaseline,
    later: impl FnOnce() -> Result<Later>,
) -> Result<Option<Shown>> {
    let Some(file) = &args.baseline else { return Ok(None) };
    let by = By { tolerance: tolerance(&args.tolerance)?, asked: &[] };
    match later().and_then(|later| against(file, &later, by)) {
        Ok(shown) => Ok(Some(shown)),
        Err(error) if error.exit() == Exit::Invalid => {
            say(&format!("note: --baseline: nothing is compared: {error}"));
            Ok(None)
        }
        // What was measured is told all the same.
        Err(error) if error.exit() == Exit::Usage => {
            let (a, why) = (file.display().to_string(), error.to_string());
            Ok(Some(Shown::of_fault(a, by.tolerance, why)))
        }
        Err(error) => Err(error),
    }
}

/// A document with what came of comparing it with a baseline.
pub(crate) fn with_comparison(of: &impl Serialize, against: Option<&Shown>) -> Result<String> {
    let Some(against) = against else { return pretty(of) };
    let mut document = serde_json::to_value(of).map_err(std::io::Error::from)?;
    document["baseline"] = against.json();
    pretty(&document)
}

/// Shows a person what came of comparing with a baseline.
pub(crate) fn say_against(against: Option<&Shown>) -> Result<()> {
    against.map_or(Ok(()), |against| Ok(print(&format!("\n{}", against.table()))?))
}
