//! `plimsoll runs trend`: a figure over runs by one of their tags.

use crate::commands::compare::{others, tolerance};
use crate::commands::report::write;
use crate::exit::Exit;
use crate::figures;
use crate::tag_args::tag;
use crate::terminal::align::align;
use crate::terminal::error::{Result, UsageError};
use crate::terminal::paint::Paint;
use crate::terminal::{print, say};
use crate::trend_args::Trend as Args;
use plimsoll_analysis::compared::{One, Side};
use plimsoll_analysis::trend::{Point, Tagged, Trend};
use plimsoll_report::Source;
use plimsoll_runs::experiment::Experiment;
use plimsoll_runs::index::{Entry, list};
use plimsoll_runs::{Kind, Run};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::Verdict;
use std::collections::BTreeSet;
use std::path::Path;

/// Runs the command.
pub(super) fn show(args: &Args) -> Result<Exit> {
    let tolerance = tolerance(&args.tolerance)?;
    let tags = args.tag.iter().map(|text| tag(text)).collect::<Result<Vec<_>>>()?;
    let listing = list(&args.out)?;
    let has_tags = |entry: &&Entry| {
        entry.tags.contains_key(&args.by)
            && tags.iter().all(|(key, value)| entry.tags.get(key) == Some(value))
            && args.name.as_ref().is_none_or(|name| entry.name == *name)
    };
    let mut remarks = Vec::new();
    for (path, why) in &listing.unreadable {
        remarks.push(format!("left out: {} cannot be read: {why}", path.display()));
    }
    let runs: Vec<&Entry> = listing.runs.iter().filter(has_tags).collect();
    let (kind, subject) = one_plan(&runs, args)?;
    let figure = match &args.figure {
        Some(word) => figures::named(std::slice::from_ref(word))?[0],
        None => usual(kind),
    };
    let mut tagged = Vec::new();
    for &entry in &runs {
        let not_valid = entry.load.is_some_and(|load| !load.valid);
        if not_valid {
            remarks.push(format!("left out, as it is not valid: {}", entry.id));
            continue;
        }
        let Some(ones) = ones(&args.out.join(&entry.id), entry)? else {
            remarks.push(format!("left out, as it has several combinations: {}", entry.id));
            continue;
        };
        tagged.extend(ones.into_iter().map(|one| {
            let (started, value) = (entry.started.clone(), entry.tags[&args.by].clone());
            Tagged { started, value, one }
        }));
    }
    remarks.extend(other_loads(&runs, &args.out)?);
    let mut of = Trend::of((figure, &args.by, &subject), tolerance, tagged);
    of.remarks.splice(0..0, remarks);
    print(&if args.json { format!("{:#}\n", of.json()) } else { table(&of) })?;
    if let Some(path) = &args.output {
        write(Source::Trend(&of), (path, "-o"), args.title.clone())?;
        say(&format!("page: {}", path.display()));
    }
    Ok(Exit::Held)
}

/// Where the loads of the runs differ: then that may be why the figure does.
fn other_loads(runs: &[&Entry], root: &Path) -> Result<Option<String>> {
    let mut first: Option<String> = None;
    for entry in runs {
        let path = root.join(&entry.id);
        let plan = match entry.cells {
            None => Run::open(&path)?.plan_text(),
            Some(_) => Experiment::open(&path)?.meta().plan_text.clone(),
        };
        let before = first.get_or_insert_with(|| plan.clone());
        if let Some(other) = others(before, &plan).first() {
            return Ok(Some(format!("the loads differ, as of {}: {other}", entry.id)));
        }
    }
    Ok(None)
}

/// The replications of a run or of an experiment; `None` where that has several combinations.
fn ones(path: &Path, entry: &Entry) -> Result<Option<Vec<One>>> {
    if entry.cells.is_none() {
        return Ok(Some(vec![One::of_run(&Run::open(path)?)?]));
    }
    let (side, _) = Side::of_experiment(&Experiment::open(path)?)?;
    Ok(match <[_; 1]>::try_from(side.groups) {
        Ok([group]) => Some(group.ones),
        Err(_) => None,
    })
}

/// The kind of runs and what their plan is called; runs of several plans tell nothing together.
fn one_plan(runs: &[&Entry], args: &Args) -> Result<(Kind, String)> {
    let Some(first) = runs.first() else {
        let (by, out) = (&args.by, args.out.display());
        let text = format!("find runs with the tag {by} in {out}: there are none; tag by --tag");
        return Err(UsageError(text).into());
    };
    let called = |entry: &Entry| match entry.name.is_empty() {
        true => entry.subject.clone(),
        false => entry.name.clone(),
    };
    let names: BTreeSet<String> = runs.iter().map(|entry| called(entry)).collect();
    if names.len() > 1 {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!("draw one line of several plans: {names}; name one by --name");
        return Err(UsageError(text).into());
    }
    if let Some(other) = runs.iter().find(|entry| entry.kind != first.kind) {
        let (one, other) = (first.kind.name(), other.kind.name());
        let text = format!("draw one line of runs of two kinds, {one} and {other}");
        return Err(UsageError(text).into());
    }
    Ok((first.kind, called(first)))
}

/// The figure that tells the most of a kind.
fn usual(kind: Kind) -> &'static Figure {
    match kind {
        Kind::Load => figure::RESPONSE_US_P50,
        Kind::Search => figure::ESTIMATE_PER_S,
        Kind::Pool | Kind::Tune => figure::COST,
        Kind::Caches => figure::MISS_RATIO,
    }
}

fn table(of: &Trend) -> String {
    let mut out = format!("{}\n\n", of.says());
    for remark in &of.remarks {
        out.push_str(&format!("{} {remark}\n", Paint::stdout().warn("note:")));
    }
    if !of.remarks.is_empty() {
        out.push('\n');
    }
    let most = of.points.iter().map(|point| point.mean).fold(0.0, f64::max);
    let heads = [of.tag.as_str(), "runs", of.figure.label, "95% interval", "change", ""];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(of.points.iter().map(|point| row(of, point, most)));
    align(&mut out, &rows, 1, Paint::stdout());
    out
}

/// The widest bar.
const WIDEST: u32 = 24;

fn row(of: &Trend, point: &Point, most: f64) -> Vec<String> {
    let show = |value: f64| of.figure.unit.show(value);
    let interval = point
        .interval
        .map_or_else(|| "–".to_owned(), |of| format!("{} to {}", show(of.low), show(of.high)));
    let change = of.changed(point);
    let word = match point.verdict {
        Some(Verdict::Worse) => " worse",
        Some(Verdict::Better) => " better",
        _ if point.noisy > 0 => " (noisy host)",
        _ => "",
    };
    let share = if most > 0.0 { point.mean / most } else { 0.0 };
    let is_full = |at: &u32| f64::from(*at) + 0.5 <= share * f64::from(WIDEST);
    // Columns stand to the right; bars begin at one place.
    let bar: String = (0..WIDEST).map(|at| if is_full(&at) { '▇' } else { ' ' }).collect();
    let runs = point.runs.len().to_string();
    vec![point.value.clone(), runs, show(point.mean), interval, format!("{change}{word}"), bar]
}
