//! `plimsoll trace`: traces from access logs, and what a trace is.

mod anew;

use crate::exit::Exit;
use crate::files::check_place;
use crate::terminal::error::{Context, FlagError, Result, read};
use crate::terminal::{print, say};
use crate::trace_args::{FromLog, TraceCommand};
use plimsoll_units::{count, show_count, show_duration, show_rate};
use plimsoll_workload::access_log::{ImportOptions, ImportedLog, LogFormat, Rewrite, import_all};
use plimsoll_workload::trace::{Trace, TraceOptions};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(command: &TraceCommand) -> Result<Exit> {
    match command {
        TraceCommand::FromLog(args) => {
            let max = count(&args.max_urls)
                .map_err(|error| FlagError::new("--max-urls", &args.max_urls, error))?;
            let format =
                args.log_format.as_ref().map(|text| read("--log-format", text, LogFormat::parse));
            let rewrites = args.rewrite.iter().map(|text| read("--rewrite", text, Rewrite::parse));
            for (what, path) in [("the trace", &args.output), ("the list", &args.urls)] {
                path.iter().try_for_each(|path| check_place(what, path))?;
            }
            let options = ImportOptions {
                format: format.transpose()?,
                max_urls: usize::try_from(max).unwrap_or(usize::MAX),
                rewrites: rewrites.collect::<Result<_, _>>()?,
            };
            let imported = import_all(&args.logs, &options)?;
            let remarks = remarks(&imported, args.urls.is_some());
            from_log(&imported, args, &remarks)
        }
        TraceCommand::Scale(args) => anew::scale(args),
        TraceCommand::Resample(args) => anew::resample(args),
        TraceCommand::Info { of, json } => info(&anew::open(of)?, *json),
    }
}

fn from_log(log: &ImportedLog, args: &FromLog, remarks: &[String]) -> Result<Exit> {
    let FromLog { output, urls, json, .. } = args;
    if let Some(path) = output {
        write(path, |out| log.write_trace_csv(out))?;
    }
    if let Some(path) = urls {
        write(path, |out| log.write_urls_csv(out))?;
    }
    if output.is_none() && urls.is_none() && !*json {
        let mut text = Vec::new();
        log.write_trace_csv(&mut text)?;
        print(&String::from_utf8_lossy(&text))?;
    }
    if *json {
        let value = serde_json::json!({
            "schema": 1,
            "warnings": remarks,
            "format": log.format.to_string(),
            "lines": log.lines,
            "requests": log.requests,
            "unreadable": log.unreadable,
            "empty": log.empty,
            "urls": log.urls.len(),
            "left_out": {
                "methods": log.left_out.methods().collect::<BTreeMap<_, _>>(),
                "other_methods": log.left_out.other_methods,
                "without_method": log.left_out.without_method,
                "without_url": log.left_out.without_url,
            },
            "other": log.left_out.beyond,
            "duration_s": log.seconds.span_s(),
        });
        print(&format!("{value:#}\n"))?;
        return Ok(Exit::Held);
    }
    say(&format!(
        "{}: {} lines, {} requests in {}, {} distinct URLs",
        log.format,
        show_count(log.lines),
        show_count(log.requests),
        show_duration(log.seconds.span_s() * 1_000_000_000),
        show_count(log.urls.len() as u64),
    ));
    for remark in remarks {
        say(&format!("note: {remark}"));
    }
    if log.unreadable > 0 {
        say("the first lines that cannot be read:");
        for line in &log.examples {
            let of = if args.logs.len() > 1 { format!("{}, ", line.origin) } else { String::new() };
            say(&format!("  {of}line {}: {} ({})", line.line, line.text, line.why));
        }
    }
    Ok(Exit::Held)
}

/// What a reader of the trace and the list must know, a sentence each.
fn remarks(log: &ImportedLog, has_list: bool) -> Vec<String> {
    let mut remarks: Vec<String> = log.damage.iter().chain(&log.twice).cloned().collect();
    if log.unreadable > 0 {
        remarks.push(format!("{} lines cannot be read", show_count(log.unreadable)));
    }
    let reasons = log.left_out.reasons();
    if !reasons.is_empty() {
        let what = "left out of the URLs, which are asked for by GET";
        remarks.push(format!("{what}: {}", reasons.join(", ")));
    }
    if has_list && log.urls.is_empty() {
        remarks.push("the list of URLs is empty".to_owned());
    }
    remarks
}

fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<std::fs::File>) -> std::io::Result<()>,
) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut out = BufWriter::new(std::fs::File::create(path)?);
        fill(&mut out)?;
        out.flush()
    };
    write().with_context(|| format!("write {}", path.display()))
}

fn info(trace: &Trace, json: bool) -> Result<Exit> {
    let (schedule, notes) = trace.schedule(&TraceOptions::default())?;
    let seconds = schedule.duration_ns() as f64 / 1e9;
    let mean = schedule.cumulative(schedule.duration_ns()) / seconds;
    let rates = || trace.points().iter().map(|point| point.rate_per_s);
    let least = rates().fold(f64::INFINITY, f64::min);
    if json {
        let value = serde_json::json!({
            "schema": 1, "warnings": trace.remarks(),
            "rows": notes.rows, "interval_s": notes.interval_ns as f64 / 1e9,
            "begins": trace.start().map(|at| at.to_string()),
            "missing": notes.missing, "duration_s": seconds, "requests": schedule.total(),
            "rate_per_s": { "min": least, "mean": mean, "max": schedule.peak() },
        });
        print(&format!("{value:#}\n"))?;
        return Ok(Exit::Held);
    }
    let mut out = String::new();
    let _ = writeln!(
        out,
        "rows      {} of {}",
        show_count(notes.rows as u64),
        show_duration(notes.interval_ns)
    );
    if let Some(at) = trace.start() {
        let _ = writeln!(out, "begins    {at}");
    }
    let _ = writeln!(out, "length    {}", show_duration(schedule.duration_ns()));
    let _ = writeln!(out, "requests  {}", show_count(schedule.total()));
    let _ = writeln!(
        out,
        "rate      {} least, {} mean, {} greatest",
        show_rate(least),
        show_rate(mean),
        show_rate(schedule.peak())
    );
    if notes.missing > 0 {
        let _ =
            writeln!(out, "missing   {} intervals, in which nothing was requested", notes.missing);
    }
    for remark in trace.remarks() {
        let _ = writeln!(out, "note: {remark}");
    }
    print(&out)?;
    Ok(Exit::Held)
}
