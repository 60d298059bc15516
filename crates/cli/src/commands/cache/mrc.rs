//! `plimsoll cache mrc`: miss ratios over sizes, without a replay for each.

use super::{Opened, list, open, too_small, trace_json, usage, write_whole};
use crate::cache_args::CacheMrc;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{FlagError, Result, UsageError, read};
use crate::terminal::paint::Paint;
use crate::terminal::screen::Screen;
use crate::terminal::{print, say};
use plimsoll_cache::capacity::{Capacity, Size, Unit};
use plimsoll_cache::curve::{Point, lru, miniature, sampled, spaced};
use plimsoll_cache::eviction::Policy;
use plimsoll_cache::trace::Sampling;
use plimsoll_experiment::control::{Control, News};
use plimsoll_report::{Curves, DrawnCurve, Source, document};
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
    let interrupts = Interrupts::watch()?;
    let opened = open(&args.trace, &args.reading)?;
    let capacities = capacities(args, &sizes, points, &opened)?;
    let quiet = args.quiet || args.json;
    let screen = Screen::new(quiet, &interrupts).of_steps("curves");
    let began_ns = plimsoll_load::clock::process_cpu_ns();
    let mut curves = Vec::with_capacity(policies.len());
    for policy in &policies {
        let points = curve(policy, &opened, &capacities, &sampling)?;
        curves.push(DrawnCurve { name: policy.text.clone(), points });
        screen.tell(News::Steps(curves.len() as u64, policies.len() as u64));
        if !screen.goes_on() {
            screen.clear();
            say("interrupted before every curve was done");
            return Ok(Exit::Incomplete);
        }
    }
    screen.clear();
    let cpu_s = super::seconds(plimsoll_load::clock::process_cpu_ns() - began_ns);
    let warnings = warnings(args, &sizes, &opened, &curves)?;
    if args.json {
        print(&format!("{:#}\n", json(&opened, &curves, &warnings, rate, cpu_s)))?;
    } else {
        print(&table(&opened, &curves, &warnings))?;
    }
    if let Some(path) = &args.report {
        let name = args.trace.file_name().unwrap_or_default().to_string_lossy();
        let curves = Curves { name: &name, curves: &curves, warnings: &warnings };
        write_whole(path, &document(Source::Curves(&curves), None)?.html())?;
        say(&format!("report: {}", path.display()));
    }
    Ok(Exit::Held)
}

/// What a reader should know of the trace, and of what was asked for.
fn warnings(
    args: &CacheMrc,
    sizes: &[Size],
    opened: &Opened,
    curves: &[DrawnCurve],
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
    curves: &[DrawnCurve],
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
fn table(opened: &Opened, curves: &[DrawnCurve], warnings: &[String]) -> String {
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
    crate::terminal::align::align(&mut out, &rows, paint);
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
