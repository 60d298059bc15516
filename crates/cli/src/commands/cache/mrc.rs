//! `plimsoll cache mrc`: miss ratios over sizes, without a replay for each.

use super::{Opened, list, open, too_small, trace_json, usage};
use crate::cache_args::CacheMrc;
use crate::commands::report::write_page;
use crate::commands::simulate::cells::record;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{FlagError, Result, UsageError, read};
use crate::terminal::paint::Paint;
use crate::terminal::screen::Screen;
use crate::terminal::{print, say};
use plimsoll_cache::about::{About, name_of};
use plimsoll_cache::capacity::{Capacity, Size, Unit};
use plimsoll_cache::curve::{Point, lru, miniature, sampled, spaced};
use plimsoll_cache::eviction::Policy;
use plimsoll_cache::trace::Sampling;
use plimsoll_experiment::conduct::ending;
use plimsoll_experiment::control::{Control, News};
use plimsoll_experiment::plans::read_caches;
use plimsoll_experiment::record::{CellPlan, Keeps, Subject, rows_of};
use plimsoll_experiment::world::caches::{of_capacity, subject_of_comparison};
use plimsoll_plan::{Setting, Written};
use plimsoll_runs::FigureRow;
use plimsoll_stats::figure;
use plimsoll_units::{ParseError, count, share, show_count, show_share};
use std::fmt::Write as _;

/// The most sizes of a curve.
const MOST_POINTS: u64 = 1000;

/// Runs the command.
pub(super) fn run(args: &CacheMrc) -> Result<Exit> {
    let policies: Vec<Policy> = list("--policy", &args.policy)?;
    let sizes: Vec<Size> = list("--size", &args.size)?;
    let rate = read("--rate", &args.rate, share)?;
    let sampling = Sampling::new(rate, read("--seed", &args.seed, count)?).map_err(usage)?;
    let points = points(&args.points)?;
    crate::files::check_report(args.report.as_deref())?;
    let opened = open(&args.trace, &args.reading)?;
    // An interrupt while the trace is read ends the program.
    let interrupts = Interrupts::watch()?;
    let capacities = capacities(args, &sizes, points, &opened)?;
    let quiet = args.quiet || args.json;
    let screen = Screen::new(quiet, &interrupts).of_steps("curves");
    let of = subject(args, &policies, &capacities, &opened)?;
    let all = (policies.len() * capacities.len()) as u64;
    let record = record((&args.out, ""), of, (all.max(2), Keeps::Figures), args.tags.read()?);
    let cells = record.plan(cells(&policies, &capacities))?;
    let mut curves = Vec::with_capacity(policies.len());
    let began_ns = plimsoll_load::clock::process_cpu_ns();
    for (policy, cells) in policies.iter().zip(cells.chunks(capacities.len().max(1))) {
        record.begins();
        let points = curve(policy, &opened, &capacities, &sampling)?;
        for (cell, point) in cells.iter().zip(&points) {
            record.done(cell, figures(point), &|_| Ok(()))?;
        }
        curves.push(Curve { name: policy.text.clone(), points });
        screen.tell(News::Steps(curves.len() as u64, policies.len() as u64));
        if !screen.goes_on() {
            break;
        }
    }
    screen.clear();
    let cpu_s = super::seconds(plimsoll_load::clock::process_cpu_ns() - began_ns);
    let warnings = warnings(args, &sizes, &opened, &curves)?;
    let folder = record.finish(ending(&Ok(()), &screen), &warnings)?;
    if curves.len() < policies.len() {
        say("interrupted before every curve was done");
        return Ok(Exit::Incomplete);
    }
    if args.json {
        print(&format!("{:#}\n", json(&opened, &curves, &warnings, rate, cpu_s)))?;
    } else {
        print(&table(&opened, &curves, &warnings))?;
        folder.iter().for_each(|folder| say(&format!("kept in {}", folder.display())));
    }
    if let (Some(path), Some(folder)) = (&args.report, &folder) {
        write_page(folder, path)?;
        say(&format!("report: {}", path.display()));
    }
    Ok(Exit::Held)
}

/// A miss-ratio curve.
struct Curve {
    /// The policy.
    name: String,
    /// Its points; those of all curves have the same capacities.
    points: Vec<Point>,
}

/// What the curves are of, for their record. Its plan is that of a replay at each size.
fn subject(
    args: &CacheMrc,
    policies: &[Policy],
    capacities: &[Capacity],
    opened: &Opened,
) -> Result<Subject> {
    let mut settings =
        vec![Setting::new("trace.file", args.trace.display().to_string(), "--trace")];
    let all = policies.iter().map(|of| Setting::new("cache.policy", &of.text, "--policy"));
    settings.extend(all);
    settings.extend(capacities.iter().map(|of| Setting::new("cache.size", size(of), "--size")));
    let plan = read_caches(&Written::flags(&settings))?;
    let about = About { is_curves: true, ..About::of(&opened.trace, name_of(&args.trace)) };
    let of = subject_of_comparison(&plan, &about)?;
    let sample =
        format!("# Curves of a sample of {} of the objects, seed {}.", args.rate, args.seed);
    let text = format!("{sample}\n{}", of.plan_text);
    Ok(Subject { plan_text: text.clone(), identity: text, ..of })
}

/// A cell for each policy at each size.
fn cells<'a>(
    policies: &'a [Policy],
    capacities: &'a [Capacity],
) -> impl Iterator<Item = CellPlan> + 'a {
    let all = policies.iter().flat_map(|policy| capacities.iter().map(move |of| (policy, of)));
    (1..).zip(all).map(|(number, (policy, of))| {
        let levels = [("policy", policy.text.clone()), ("size", size(of))];
        let factors = levels.map(|(factor, level)| (factor.to_owned(), level)).into();
        CellPlan { number, factors, replication: 0, block: 0, seed: 0 }
    })
}

/// A capacity as a plan has it.
fn size(of: &Capacity) -> String {
    match of.unit {
        Unit::Bytes => of.amount.to_string(),
        Unit::Objects => format!("{}obj", of.amount),
    }
}

/// The figures of a point; that of a sample which suffices has no word on it.
fn figures(point: &Point) -> Vec<FigureRow> {
    let known = [
        (figure::MISS_RATIO, point.miss_ratio),
        (figure::BYTE_MISS_RATIO, point.byte_miss_ratio),
        (figure::RELIABLE, (!point.reliable).then_some(0.0)),
    ];
    let known = known.into_iter().filter_map(|(figure, value)| Some((figure, value?)));
    rows_of(&std::iter::once(of_capacity(&point.capacity)).chain(known).collect::<Vec<_>>())
}

/// What a reader should know of the trace, and of what was asked for.
fn warnings(
    args: &CacheMrc,
    sizes: &[Size],
    opened: &Opened,
    curves: &[Curve],
) -> Result<Vec<String>, UsageError> {
    let mut warnings = opened.told.warnings();
    let mut asked = Vec::new();
    for size in sizes {
        asked.push((size.text(), size.of(&opened.trace).map_err(usage)?));
    }
    warnings.extend(too_small(&opened.trace, asked.into_iter()));
    if curves.iter().flat_map(|curve| &curve.points).any(|point| point.miss_ratio.is_none()) {
        warnings.push(format!(
            "--rate {} takes none of the {} objects: nothing is known; take a higher rate",
            args.rate,
            show_count(u64::from(opened.trace.distinct()))
        ));
    }
    Ok(warnings)
}

fn points(text: &str) -> Result<usize, FlagError> {
    let points = read("--points", text, |text| match count(text)? {
        points @ 1..=MOST_POINTS => Ok(points),
        _ => Err(ParseError::new("from 1 to 1000 sizes", text, 0, text.len())),
    })?;
    Ok(usize::try_from(points).unwrap_or(usize::MAX))
}

/// The sizes that are asked for, or such as are spread over all that make a difference.
fn capacities(
    args: &CacheMrc,
    sizes: &[Size],
    points: usize,
    opened: &Opened,
) -> Result<Vec<Capacity>> {
    let trace = &opened.trace;
    if !sizes.is_empty() {
        let all: Result<Vec<_>, _> = sizes.iter().map(|size| size.of(trace)).collect();
        return Ok(all.map_err(usage)?);
    }
    let (unit, most) = if args.unit == "bytes" {
        let Some(bytes) = trace.footprint_bytes() else {
            let text = "--in: expected objects, found bytes: this trace has no sizes";
            return Err(UsageError(text.to_owned()).into());
        };
        (Unit::Bytes, bytes)
    } else {
        (Unit::Objects, u64::from(trace.distinct()))
    };
    // Below a hundred-thousandth of everything a cache of bytes holds hardly an object.
    let least = if unit == Unit::Bytes { (most / 100_000).max(1) } else { 1 };
    let amounts = spaced(least, most.max(1), points);
    Ok(amounts.into_iter().map(|amount| Capacity { amount, unit }).collect())
}

/// LRU in one pass; other policies a replay a size.
fn curve(
    policy: &Policy,
    opened: &Opened,
    capacities: &[Capacity],
    sampling: &Sampling,
) -> Result<Vec<Point>, UsageError> {
    let trace = &opened.trace;
    let points = match (policy.kind.name, sampling.rate() < 1.0) {
        ("lru", false) => lru(trace, capacities),
        ("lru", true) => sampled(trace, capacities, sampling),
        _ => miniature(policy.kind, &policy.settings, trace, capacities, sampling),
    };
    points.map_err(usage)
}

fn json(
    opened: &Opened,
    curves: &[Curve],
    warnings: &[String],
    rate: f64,
    cpu_s: f64,
) -> serde_json::Value {
    let point = |point: &Point| {
        serde_json::json!({
            "capacity": point.capacity.amount,
            "unit": super::unit(&point.capacity),
            "miss_ratio": point.miss_ratio,
            "byte_miss_ratio": point.byte_miss_ratio,
            "reliable": point.reliable,
        })
    };
    let curves: Vec<_> = curves
        .iter()
        .map(|curve| {
            let points: Vec<_> = curve.points.iter().map(point).collect();
            serde_json::json!({ "policy": curve.name, "points": points })
        })
        .collect();
    serde_json::json!({
        "schema": 1,
        "warnings": warnings,
        "trace": trace_json(opened),
        "rate": rate,
        "cpu_s": cpu_s,
        "curves": curves,
    })
}

/// A row a size, a column a policy; what a sample is too small for stands in brackets, and a dash
/// where it has nothing.
fn table(opened: &Opened, curves: &[Curve], warnings: &[String]) -> String {
    let paint = Paint::stdout();
    let mut rows = vec![vec!["size".to_owned()]];
    rows[0].extend(curves.iter().map(|curve| curve.name.clone()));
    let sizes = curves.first().map_or(0, |curve| curve.points.len());
    for index in 0..sizes {
        let capacity = &curves[0].points[index].capacity;
        let shown = |point: &Point| {
            let Some(ratio) = point.miss_ratio.map(show_share) else { return "–".to_owned() };
            if point.reliable { ratio } else { format!("({ratio})") }
        };
        let mut row = vec![super::table::capacity(capacity)];
        row.extend(curves.iter().map(|curve| shown(&curve.points[index])));
        rows.push(row);
    }
    let mut out = super::table::about(opened);
    out.push('\n');
    crate::terminal::align::align(&mut out, &rows, 1, paint);
    if curves
        .iter()
        .flat_map(|curve| &curve.points)
        .any(|point| point.miss_ratio.is_some() && !point.reliable)
    {
        let _ = writeln!(out, "note: the sample is too small for the ratios in brackets");
    }
    for warning in warnings {
        let _ = writeln!(out, "note: {warning}");
    }
    out
}
