//! `plimsoll compare`: is B worse than A? Intervals come from replications, never from the
//! correlated seconds of one run.

pub(crate) mod baseline;
mod experiments;
mod loads;
mod pooled;
mod shown;

use crate::args::Compare;
use crate::exit::Exit;
use crate::figures;
use crate::named_record;
use crate::terminal::error::{FlagError, NotValid, Result, UsageError};
pub(crate) use baseline::{Later, say_against, with_baseline, with_comparison};
pub(crate) use loads::others;
use plimsoll_analysis::compared::{Change, Side, With, compared, usual};
use plimsoll_plan::Varied;
use plimsoll_runs::baseline::is_baseline;
use plimsoll_runs::experiment::{Experiment, is_experiment};
use plimsoll_runs::{Kind, Run};
use plimsoll_stats::figure::{self, Better, Figure};
use shown::Ids;
pub(crate) use shown::Shown;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The figures that runs are compared by.
pub(crate) const FIGURES: [&Figure; 9] = [
    figure::RESPONSE_US_MEAN,
    figure::RESPONSE_US_P50,
    figure::RESPONSE_US_P90,
    figure::RESPONSE_US_P99,
    figure::RESPONSE_US_P999,
    figure::SERVICE_US_P50,
    figure::SERVICE_US_P99,
    figure::RATE_MEAN,
    figure::ERRORS,
];

/// The figures by which runs are compared whose users receive broadcasts.
const OF_BROADCASTS: [&Figure; 3] =
    [figure::BROADCAST_LATENCY_US_P50, figure::BROADCAST_LATENCY_US_P99, figure::BROADCAST_LOST];

/// The fewest replications of a side.
const LEAST: usize = 2;

/// Runs the command.
pub(crate) fn run(args: &Compare) -> Result<Exit> {
    args.forms.ci.check()?;
    let read = args.runs.iter().chain(&args.with);
    args.forms.check_apart(read.filter(|path| path.is_file()))?;
    let shown = shown(args).map_err(|error| args.forms.ci.no_run("compare", error))?;
    shown.tell(&args.forms)
}

/// By what is compared: the share by which B may be worse, and the figures that are asked for.
#[derive(Clone, Copy)]
pub(crate) struct By<'a> {
    /// The share.
    pub(crate) tolerance: f64,
    /// The figures.
    pub(crate) asked: &'a [&'static Figure],
}

fn shown(args: &Compare) -> Result<Shown> {
    let asked = figures::named(&args.figure)?;
    let by = By { tolerance: tolerance(&args.tolerance)?, asked: &asked };
    let (a, b) = sides(args)?;
    once_each(&a, &b)?;
    if let Some(file) = b.iter().find(|path| is_baseline(path)).filter(|_| a != b) {
        let file = file.display();
        let text = format!("compare with the baseline {file} as B: it stands first, as A");
        return Err(UsageError(text).into());
    }
    if let [file] = &a[..]
        && is_baseline(file)
    {
        return baseline::against(file, &later(&b)?, by);
    }
    if let ([a], [b]) = (&a[..], &b[..])
        && is_experiment(a)
        && is_experiment(b)
    {
        return experiments::compare(a, b, by);
    }
    if let Some(one) = a.iter().chain(&b).find(|path| is_experiment(path)) {
        let one = one.display();
        let text = format!("compare the experiment {one} with runs: name one experiment a side");
        return Err(UsageError(text).into());
    }
    of_runs(&opened(&a)?, &opened(&b)?, by)
}

/// What is compared with a baseline: one experiment, or runs.
fn later(paths: &[PathBuf]) -> Result<Later> {
    match paths {
        [one] if is_experiment(one) => Ok(Later::Experiment(Box::new(Experiment::open(one)?))),
        _ => Ok(Later::Runs(opened(paths)?)),
    }
}

fn of_runs(a: &[Run], b: &[Run], by: By<'_>) -> Result<Shown> {
    for (side, runs) in [("A", a), ("B", b)] {
        refuse_not_valid(side, runs)?;
        refuse_few(side, runs)?;
    }
    let kind = one_kind(&[a, b])?;
    let sides = [Side::of_runs(a)?, Side::of_runs(b)?];
    let plan = b.first().map(Run::plan_text).unwrap_or_default();
    let judged = judged(kind, [&sides[0], &sides[1]], by.asked, &plan);
    let (tolerance, shown) = (by.tolerance, shown_of(kind));
    let with =
        With { tolerance, shown: &shown, judged: &judged, change: Change::Ratio, least: LEAST };
    let mut of = compared(&sides[0], &sides[1], &with);
    refuse_absent(by.asked, |figure| of.rows.iter().any(|row| row.figure == figure))?;
    of.remarks.splice(0..0, loads::of_runs(a, b));
    let pooled = if kind == Kind::Load { pooled::of(a, b)? } else { Vec::new() };
    let ids = [&sides[0], &sides[1]].map(Ids::of_runs);
    Ok(Shown { compared: of, ids, pooled, is_grouped: false, fault: None })
}

/// The share by which B may be worse.
pub(crate) fn tolerance(text: &str) -> Result<f64> {
    Ok(plimsoll_units::share(text).map_err(|error| FlagError::new("--tolerance", text, error))?)
}

/// The figures that results of a kind are compared by.
fn shown_of(kind: Kind) -> Vec<&'static Figure> {
    match kind {
        Kind::Load => FIGURES.into_iter().chain(OF_BROADCASTS).collect(),
        _ => kind.figures().to_vec(),
    }
}

/// The figures that are judged: those that are asked for, else those that the plan responds by,
/// else the usual ones.
fn judged(
    kind: Kind,
    sides: [&Side; 2],
    asked: &[&'static Figure],
    plan: &str,
) -> Vec<&'static Figure> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let respond = Varied::of(plan).and_then(|of| of.experiment?.respond).unwrap_or_default();
    let named: Vec<&'static Figure> =
        respond.iter().filter_map(|word| figure::called(word, |_| true)).collect();
    if named.is_empty() { usual(kind, sides) } else { named }
}

/// The kind of some runs.
fn one_kind(sides: &[&[Run]]) -> Result<Kind> {
    let mut kinds = sides.iter().flat_map(|side| side.iter().map(|run| run.meta().kind));
    let first = kinds.next().unwrap_or(Kind::Load);
    match kinds.find(|kind| *kind != first) {
        None => Ok(first),
        Some(other) => {
            let (first, other) = (first.name(), other.name());
            let text = format!("compare runs of two kinds: one is of {first}, one of {other}");
            Err(UsageError(text).into())
        }
    }
}

/// The run folders of both sides.
fn sides(args: &Compare) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (a, b) = if args.with.is_empty() {
        match args.runs.as_slice() {
            [a, b] => (vec![a.clone()], vec![b.clone()]),
            runs => {
                let found = runs.len();
                let text = format!("tell A from {found} runs; put `--with` between A's and B's");
                return Err(UsageError(text).into());
            }
        }
    } else {
        (args.runs.clone(), args.with.clone())
    };
    let expand = |side: Vec<PathBuf>| -> Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for path in side {
            if is_baseline(&path) {
                all.push(path);
            } else if path.is_file() && named_record::journal(&path).is_none() {
                let text =
                    format!("compare {}: it is neither a run nor a baseline", path.display());
                return Err(UsageError(text).into());
            } else {
                all.extend(named_record::all(&path)?);
            }
        }
        Ok(all)
    };
    Ok((expand(a)?, expand(b)?))
}

/// Refuses runs that are named twice: a run is no replication of itself, and no other version.
fn once_each(a: &[PathBuf], b: &[PathBuf]) -> Result<()> {
    let mut seen: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for (side, path) in a.iter().map(|path| ("A", path)).chain(b.iter().map(|path| ("B", path))) {
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        let Some(before) = seen.insert(place, side) else { continue };
        let shown = path.display();
        let text = if before == side {
            format!("take {shown} as two replications of {side}: it is one run; name it once")
        } else {
            format!("compare {shown} with itself: it stands on both sides; leave it out of one")
        };
        return Err(UsageError(text).into());
    }
    Ok(())
}

fn opened(paths: &[PathBuf]) -> Result<Vec<Run>> {
    paths.iter().map(|path| Ok(Run::open(path)?)).collect()
}

/// Refuses runs whose figures the generator made.
fn refuse_not_valid(side: &str, runs: &[Run]) -> Result<()> {
    for run in runs.iter().filter(|run| run.meta().kind == Kind::Load) {
        let of = run.summary()?.run;
        if !of.valid {
            let (id, why) = (of.id, of.invalid_because.join("; "));
            let text = format!("compare run {id} of {side}: it is not valid: {why}");
            return Err(NotValid(text).into());
        }
    }
    Ok(())
}

/// Refuses a side of a single run.
fn refuse_few(side: &str, runs: &[Run]) -> Result<()> {
    let found = runs.len();
    if found >= LEAST {
        return Ok(());
    }
    let error = format!(
        "compare with {found} run as {side}: at least {LEAST} replications a side are needed, as \
         the seconds of one run depend on each other and give no interval; repeat both by \
         `plimsoll load … --repeat 5`"
    );
    Err(UsageError(error).into())
}

/// Refuses a figure that is asked for and that nothing is said of.
fn refuse_absent(asked: &[&Figure], is_said: impl Fn(&Figure) -> bool) -> Result<()> {
    let Some(absent) = asked.iter().find(|asked| !is_said(asked)) else { return Ok(()) };
    let why = match absent.better {
        Better::Neither => "of two values none is the better; `runs show` has both",
        Better::Lower | Better::Higher => "not all of both sides have it",
    };
    Err(UsageError(format!("compare `{}`: {why}", absent.name)).into())
}
