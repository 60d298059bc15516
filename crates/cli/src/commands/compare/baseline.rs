//! Baselines: made of runs that are kept, and what is compared with one.

use super::shown::{self, Shown};
use super::{judged, loads, one_kind, opened, refuse_absent, refuse_not_valid, shown_of};
use crate::exit::Exit;
use crate::found;
use crate::place::{VERSION, unix_ns};
use crate::terminal::error::{Result, UsageError};
use crate::terminal::{print, say};
use plimsoll_analysis::compared::{Change, Compared, One, Side, With, compared};
use plimsoll_runs::baseline::{Baseline, Group, LEAST, Replication};
use plimsoll_runs::{Kind, Phase, Run, Tag, iso8601};
use plimsoll_stats::Histogram;
use plimsoll_stats::figure::Figure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Makes a baseline of runs.
pub(crate) fn make(named: &[PathBuf], out: &Path) -> Result<Exit> {
    let mut paths = Vec::new();
    for path in named {
        paths.extend(found::all(path)?);
    }
    let runs = opened(&paths)?;
    refuse_not_valid("the baseline", &runs)?;
    let kind = one_kind(&[&runs])?;
    let Some(first) = runs.first() else {
        return Err(UsageError("make a baseline of no run; name some".to_owned()).into());
    };
    let meta = first.meta();
    let mut replications = Vec::new();
    for run in &runs {
        let One { id, seed, noise, figures } = One::of_run(run)?;
        replications.push((Replication { id, seed, noise }, figures));
    }
    let found = replications.len();
    let group = Group::new(BTreeMap::new(), 0, replications, &response(kind, &runs)?);
    let baseline = Baseline {
        made: iso8601(unix_ns()),
        made_by: VERSION.to_owned(),
        kind: kind.name().to_owned(),
        world: meta.world.name().to_owned(),
        name: meta.name.clone(),
        subject: meta.subject.clone(),
        tags: shared_tags(&runs),
        plan: first.plan_text(),
        host: meta.host.clone(),
        groups: vec![group],
        left_out: 0,
    };
    baseline.write(out)?;
    say(&format!("baseline: {} of {found} replications", out.display()));
    if found < LEAST {
        say(&format!("note: of fewer than {LEAST} replications nothing can be told; repeat more"));
    }
    Ok(Exit::Held)
}

/// Response times of all requests of loads.
fn response(kind: Kind, runs: &[Run]) -> Result<Histogram> {
    let mut all = Histogram::new();
    for run in runs.iter().filter(|_| kind == Kind::Load) {
        all.add(&run.histogram(Phase::Measured, Tag::Response)?);
    }
    Ok(all)
}

/// The tags that all runs have.
fn shared_tags(runs: &[Run]) -> BTreeMap<String, String> {
    let mut tags = runs.first().map(|run| run.meta().tags.clone()).unwrap_or_default();
    tags.retain(|key, value| runs.iter().all(|run| run.meta().tags.get(key) == Some(value)));
    tags
}

/// Runs held against a baseline.
pub(crate) struct Against {
    /// What came of it.
    pub(crate) compared: Compared,
    /// The names of the replications of both sides.
    ids: [Vec<String>; 2],
    loads: Vec<String>,
}

impl Against {
    /// Compares runs with the baseline in a file.
    pub(crate) fn of(
        file: &Path,
        runs: &[Run],
        (tolerance, asked): (f64, &[&'static Figure]),
    ) -> Result<Self> {
        let baseline = Baseline::read(file)?;
        let kind = one_kind(&[runs])?;
        if kind.name() != baseline.kind {
            let (own, other) = (kind.name(), &baseline.kind);
            let text = format!("compare runs of {own} with a baseline of {other}");
            return Err(UsageError(text).into());
        }
        let a = Side::of_baseline(&baseline, file.display().to_string());
        let b = Side::of_runs(runs)?;
        let judged = judged(kind, [&a, &b], asked, runs);
        let shown = shown_of(kind);
        let change = Change::Ratio;
        let with = With { tolerance, shown: &shown, judged: &judged, change, least: LEAST };
        let compared = compared(&a, &b, &with);
        refuse_absent(asked, |figure| compared.rows.iter().any(|row| row.figure == figure))?;
        let mut loads = loads::of_plan(&baseline.plan, runs);
        loads.extend(other_host(&baseline, runs));
        Ok(Self { compared, ids: [shown::ids(&a), shown::ids(&b)], loads })
    }

    fn shown(&self) -> Shown<'_> {
        let Self { compared, ids, loads } = self;
        Shown { compared, ids: ids.clone(), loads: loads.clone(), pooled: Vec::new() }
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        self.shown().table()
    }

    /// The document.
    pub(crate) fn json(&self) -> serde_json::Value {
        self.shown().value()
    }
}

/// That the runs were executed on another host, where they were.
fn other_host(baseline: &Baseline, runs: &[Run]) -> Option<String> {
    let own = &runs.first()?.meta().host;
    let differs = |(name, value): &&(String, String)| {
        ["cpu", "cores"].contains(&name.as_str())
            && own.iter().any(|(known, other)| known == name && other != value)
    };
    let (name, value) = baseline.host.iter().find(differs)?;
    Some(format!("the baseline is of another host, whose {name} is {value}: what differs may be the host's doing"))
}

/// `compare BASELINE RUN…`.
pub(super) fn compare(
    file: &Path,
    runs: &[PathBuf],
    by: (f64, &[&'static Figure]),
    json: bool,
) -> Result<Exit> {
    let runs = opened(runs)?;
    refuse_not_valid("B", &runs)?;
    let against = Against::of(file, &runs, by)?;
    let text = if json { format!("{:#}\n", against.json()) } else { against.table() };
    print(&text)?;
    Ok(if against.compared.is_worse() { Exit::Broken } else { Exit::Held })
}
