//! `plimsoll cache`: the cache lab.

mod by_size;
mod clusters;
mod mrc;
mod simulate;
mod table;
mod trace;

use crate::cache_args::{Cache, CacheCommand, CacheSimulate, TraceFlags};
use crate::exit::Exit;
use crate::terminal::error::{FlagError, Result, UsageError, read};
use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::trace::read::{ReadOptions, read as read_trace};
use plimsoll_cache::trace::{ReadSummary, Trace};
use plimsoll_experiment::world::caches::{Requests, life};
use plimsoll_plan::{CacheTrace, Setting, compares_caches};
use plimsoll_units::{ParseError, show_size};
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

/// Runs the command.
pub(crate) fn run(cache: &Cache) -> Result<Exit> {
    match &cache.command {
        CacheCommand::Simulate(args) => match &args.plan {
            None => simulate::run(args, None),
            Some(path) => {
                let text = crate::files::plan(path)?;
                let is_single = compares_caches(&text);
                if is_single {
                    simulate::run(args, Some(&text))
                } else {
                    clusters::run(args, &text)
                }
            }
        },
        CacheCommand::Mrc(args) => mrc::run(args),
        CacheCommand::Trace(trace) => trace::run(&trace.command),
    }
}

/// What the flags set of a plan's trace and of its repetitions, and what `--set` does.
fn settings(args: &CacheSimulate) -> Result<Vec<Setting>, FlagError> {
    let flags = [
        ("trace.file", args.trace.as_ref().map(|file| file.display().to_string()), "--trace"),
        ("trace.format", args.reading.format.clone(), "--format"),
        ("trace.columns", args.reading.columns.clone(), "--columns"),
        ("repeat", args.seeds.clone(), "--seeds"),
    ];
    let mut settings: Vec<Setting> = flags
        .into_iter()
        .filter_map(|(key, value, flag)| value.map(|value| Setting::new(key, value, flag)))
        .collect();
    for pair in &args.set {
        let setting = Setting::from_pair(pair);
        settings.push(setting.map_err(|error| FlagError::new("--set", pair, error))?);
    }
    Ok(settings)
}

/// A trace that was read, and what it cost.
struct Opened {
    trace: Trace,
    told: ReadSummary,
    cpu_s: f64,
}

/// What caches are asked for, and what is said of it.
struct RequestStream {
    requests: Requests,
    /// As JSON has it.
    json: serde_json::Value,
    /// As a person reads it.
    about: String,
}

impl RequestStream {
    /// A trace that is read.
    fn recorded(of: &CacheTrace, seed: u64) -> Result<Self> {
        let flags = TraceFlags { format: of.format.clone(), columns: of.columns.clone() };
        let opened = open(&of.file, &flags)?;
        let (json, about) = (trace_json(&opened), table::about(&opened));
        let (life, notes) = (life(of, seed), opened.told.warnings());
        Ok(Self { json, about, requests: Requests { trace: opened.trace, life, notes } })
    }
}

fn open(path: &Path, flags: &TraceFlags) -> Result<Opened> {
    let format = flags.format.as_deref().map(|text| flag("--format", text));
    let columns = flags.columns.as_deref().map(|text| flag("--columns", text));
    let options = ReadOptions {
        format: format.transpose()?,
        columns: columns.transpose()?,
        ..ReadOptions::default()
    };
    let began_ns = plimsoll_load::clock::process_cpu_ns();
    let (trace, told) = read_trace(path, &options)?;
    let cpu_s = seconds(plimsoll_load::clock::process_cpu_ns() - began_ns);
    Ok(Opened { trace, told, cpu_s })
}

/// The value of an option whose type knows its own text.
fn flag<T: FromStr>(name: &str, text: &str) -> Result<T, UsageError>
where
    T::Err: Display,
{
    text.parse().map_err(|error: T::Err| UsageError(format!("{name}: {error}")))
}

/// What the user gave is at fault: the error and its causes in one line.
fn usage(error: impl std::error::Error + Send + Sync + 'static) -> UsageError {
    UsageError(plimsoll_units::failure::chain(&error))
}

/// Values of an option that takes a list.
fn list<T: FromStr<Err = ParseError>>(name: &str, texts: &[String]) -> Result<Vec<T>, FlagError> {
    texts.iter().map(|text| read(name, text, str::parse)).collect()
}

/// The trace as JSON, for every command alike.
fn trace_json(opened: &Opened) -> serde_json::Value {
    serde_json::json!({
        "format": opened.told.format.name(),
        "requests": opened.trace.len(),
        "objects": opened.trace.distinct(),
        "footprint_bytes": opened.trace.footprint_bytes(),
        "compile_cpu_s": opened.cpu_s,
    })
}

/// A sentence on capacities in bytes into which no object of the trace fits: everything misses
/// there, which is rarely meant. `None` where there is none.
fn too_small<'a>(
    trace: &Trace,
    capacities: impl Iterator<Item = (&'a str, Capacity)>,
) -> Option<String> {
    let sizes = trace.sizes()?;
    let all = (0..trace.distinct()).map(|object| sizes.of(object));
    let smallest = all.filter(|&bytes| bytes > 0).min()?;
    let mut small: Vec<(&str, u64)> = capacities
        .filter(|(_, capacity)| capacity.unit == Unit::Bytes && capacity.amount < smallest)
        .map(|(text, capacity)| (text, capacity.amount))
        .collect();
    small.sort_by_key(|&(_, amount)| amount);
    small.dedup();
    let shown = |&(text, amount): &(&str, u64)| format!("{text} ({})", show_size(amount));
    let sizes = small.iter().map(shown).collect::<Vec<_>>().join(", ");
    let plain = small.iter().find(|(text, _)| text.parse::<u64>().is_ok());
    let hint = plain.map_or_else(String::new, |(text, _)| {
        format!("; a plain number is bytes, {text}obj a cache of {text} objects")
    });
    let smallest = show_size(smallest);
    (!small.is_empty())
        .then(|| format!("no object fits a size of {sizes}: the smallest has {smallest}{hint}"))
}

/// What a capacity is counted in, as JSON says it.
fn unit(capacity: &Capacity) -> &'static str {
    match capacity.unit {
        Unit::Bytes => "bytes",
        Unit::Objects => "objects",
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
