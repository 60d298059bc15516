//! `plimsoll cache trace`: what a trace is, the compiled form, and the reference trace.

use super::{Opened, open, seconds, table, trace_json, usage};
use crate::cache_args::CacheTraceCommand;
use crate::exit::Exit;
use crate::terminal::error::{Result, UsageError, read};
use crate::terminal::{print, say};
use plimsoll_cache::trace::info::{Info, SizeSpread, Sizes};
use plimsoll_cache::trace::reference::Reference;
use plimsoll_cache::trace::{Trace, compiled, oracle_general};
use plimsoll_stats::percentiles::is_stated;
use plimsoll_units::{count, show_count, show_duration, show_rate, show_share, show_size};
use std::fmt::Write as _;
use std::path::Path;

/// Runs the command.
pub(super) fn run(command: &CacheTraceCommand) -> Result<Exit> {
    match command {
        CacheTraceCommand::Info { trace, reading, json } => {
            let opened = open(trace, reading)?;
            let info = Info::of(&opened.trace);
            print(&if *json {
                format!("{:#}\n", info_json(&opened, &info))
            } else {
                shown(&opened, &info)
            })?;
        }
        CacheTraceCommand::Compile { trace, reading, output, json } => {
            let opened = open(trace, reading)?;
            write(&opened.trace, output)?;
            if *json {
                let value = serde_json::json!({
                    "schema": 1, "warnings": opened.told.warnings(), "trace": trace_json(&opened),
                });
                print(&format!("{value:#}\n"))?;
            } else {
                say(table::about(&opened).trim_end());
                for warning in opened.told.warnings() {
                    say(&format!("note: {warning}"));
                }
                say(&format!("written: {}", output.display()));
            }
        }
        CacheTraceCommand::Reference { objects, requests, seed, output } => {
            reference(objects, requests, seed, output)?;
        }
    }
    Ok(Exit::Held)
}

/// In the form that the name asks for.
fn write(trace: &Trace, path: &Path) -> Result<(), UsageError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let packed = [".gz", ".zst"].into_iter().any(|end| name.ends_with(end));
    if packed {
        let text = format!("--output: expected a plain file, found {name}: compress it afterwards");
        return Err(UsageError(text));
    }
    if name.contains(".oracleGeneral") {
        oracle_general::write_file(trace, path).map_err(usage)
    } else {
        compiled::write_file(trace, path).map_err(usage)
    }
}

fn reference(objects: &str, requests: &str, seed: &str, output: &Path) -> Result<()> {
    let whole = |name: &str, text: &str| read(name, text, count);
    let began_ns = plimsoll_load::clock::process_cpu_ns();
    let reference = Reference {
        objects: u32::try_from(whole("--objects", objects)?).unwrap_or(u32::MAX),
        requests: usize::try_from(whole("--requests", requests)?).unwrap_or(usize::MAX),
        seed: whole("--seed", seed)?,
    };
    let trace = reference.trace().map_err(usage)?;
    write(&trace, output)?;
    let cpu_s = seconds(plimsoll_load::clock::process_cpu_ns() - began_ns);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let took = show_duration((cpu_s * 1e9) as u64);
    let text = format!(
        "{} requests of {} objects with {}, made in {took} of processor time",
        show_count(trace.len() as u64),
        show_count(u64::from(trace.distinct())),
        show_size(trace.footprint_bytes().unwrap_or(0)),
    );
    say(&text);
    say(&format!("written: {}", output.display()));
    Ok(())
}

/// A percentile, where it may be stated of so many values.
fn stated<T>(value: T, share: f64, count: u64) -> Option<T> {
    is_stated(share, count).then_some(value)
}

/// Requests that are not the first to their object: those that have a reuse distance.
fn again(info: &Info) -> u64 {
    info.requests - info.objects
}

fn info_json(opened: &Opened, info: &Info) -> serde_json::Value {
    let spread = |of: &SizeSpread, count: u64| {
        serde_json::json!({
            "min": of.min, "mean": of.mean, "median": stated(of.median, 0.5, count),
            "p90": stated(of.p90, 0.9, count), "p99": stated(of.p99, 0.99, count), "max": of.max,
        })
    };
    let sizes = info.sizes.as_ref().map(|sizes| {
        let classes: Vec<_> = sizes
            .classes
            .iter()
            .map(|class| {
                serde_json::json!({
                    "from": class.from, "below": class.below, "objects": class.objects,
                    "footprint_bytes": class.footprint_bytes, "requests": class.requests,
                    "requested_bytes": class.requested_bytes,
                })
            })
            .collect();
        serde_json::json!({
            "requested_bytes": sizes.requested_bytes,
            "compulsory_byte_miss_ratio": sizes.compulsory_byte_miss_ratio,
            "of_objects": spread(&sizes.of_objects, info.objects),
            "of_requests": spread(&sizes.of_requests, info.requests),
            "classes": classes,
        })
    });
    let popularity = &info.popularity;
    serde_json::json!({
        "schema": 1,
        "warnings": opened.told.warnings(),
        "trace": trace_json(opened),
        "compulsory_miss_ratio": info.compulsory_miss_ratio,
        "popularity": {
            "one_hit_objects": popularity.one_hit_objects,
            "one_hit_requests": popularity.one_hit_requests,
            "top_1_percent": popularity.top_1_percent,
            "top_10_percent": popularity.top_10_percent,
            "zipf_exponent": popularity.zipf.map(|zipf| zipf.exponent),
            "zipf_ranks": popularity.zipf.map(|zipf| zipf.ranks),
        },
        "sizes": sizes,
        "reuse_distance": info.reuse.map(|reuse| {
            let at = |distance: u32, share: f64| stated(distance, share, again(info));
            serde_json::json!({
                "p10": at(reuse.p10, 0.1), "p25": at(reuse.p25, 0.25),
                "median": at(reuse.median, 0.5), "p75": at(reuse.p75, 0.75),
                "p90": at(reuse.p90, 0.9), "p99": at(reuse.p99, 0.99), "max": reuse.max,
            })
        }),
        "times": info.times.map(|times| serde_json::json!({
            "duration_s": times.duration_s, "rate_per_s": times.rate_per_s,
            "busiest_second": times.busiest_second,
        })),
        "clients": info.clients.map(|clients| serde_json::json!({
            "count": clients.count, "busiest_share": clients.busiest_share,
        })),
    })
}

/// What a trace is, a line a fact.
fn shown(opened: &Opened, info: &Info) -> String {
    let mut out = table::about(opened);
    let mut line = |name: &str, text: String| {
        let _ = writeln!(out, "{name:<12}{text}");
    };
    let popularity = &info.popularity;
    line(
        "first",
        format!("{} of requests ask for an object first", show_share(info.compulsory_miss_ratio)),
    );
    line(
        "popularity",
        format!(
            "{} of requests go to 1% of objects, {} to 10%",
            show_share(popularity.top_1_percent),
            show_share(popularity.top_10_percent)
        ),
    );
    if let Some(zipf) = popularity.zipf {
        let ranks = show_count(zipf.ranks);
        line("Zipf", format!("exponent {:.2}, from {ranks} ranks", zipf.exponent));
    }
    line(
        "once",
        format!(
            "{} of objects are asked for once: {} of requests",
            show_share(popularity.one_hit_objects),
            show_share(popularity.one_hit_requests)
        ),
    );
    if let Some(sizes) = &info.sizes {
        write_sizes(sizes, info, &mut line);
    }
    if let Some(reuse) = &info.reuse {
        let at = |distance: u32, share: f64| {
            let distance = stated(distance, share, again(info)).map(u64::from);
            distance.map_or_else(|| "–".to_owned(), show_count)
        };
        line(
            "reuse",
            format!(
                "{} other objects in between in the median, {} p90, {} p99, {} most",
                at(reuse.median, 0.5),
                at(reuse.p90, 0.9),
                at(reuse.p99, 0.99),
                show_count(u64::from(reuse.max))
            ),
        );
    }
    if let Some(times) = &info.times {
        let rate = times.rate_per_s.map_or_else(|| "–".to_owned(), show_rate);
        let length = show_duration(u64::from(times.duration_s) * 1_000_000_000);
        let most = show_count(times.busiest_second);
        line("times", format!("{length}, {rate} in the mean, {most} in the busiest second"));
    }
    if let Some(clients) = &info.clients {
        let busiest = show_share(clients.busiest_share);
        line("clients", format!("{}, the busiest asks {busiest}", show_count(clients.count)));
    }
    for warning in opened.told.warnings() {
        let _ = writeln!(out, "note: {warning}");
    }
    out
}

/// How large objects and answers are.
fn write_sizes(sizes: &Sizes, info: &Info, line: &mut impl FnMut(&str, String)) {
    let spread = |of: &SizeSpread, count: u64| {
        let at = |bytes: u64, share: f64| {
            stated(bytes, share, count).map_or_else(|| "–".to_owned(), show_size)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
        let mean = show_size(of.mean as u64);
        format!(
            "{mean} mean, {} median, {} p90, {} p99, {} greatest",
            at(of.median, 0.5),
            at(of.p90, 0.9),
            at(of.p99, 0.99),
            show_size(of.max)
        )
    };
    line("asked", format!("{} in all", show_size(sizes.requested_bytes)));
    line("objects", spread(&sizes.of_objects, info.objects));
    line("requests", spread(&sizes.of_requests, info.requests));
}
