//! `plimsoll infer --every`: the load of others over time, a line for each stretch.

use super::{precision, read, read_plan, warnings};
use crate::exit::Exit;
use crate::infer_args::Infer;
use crate::interrupt::Interrupts;
use crate::metrics::Metrics;
use crate::place::{VERSION, environment, place, run_id, unix_ns};
use crate::terminal::error::{Result, UsageError};
use crate::terminal::screen::Screen;
use crate::terminal::{print, print_while_read, say, verdict};
use plimsoll_capacity::infer::calibration::Calibration;
use plimsoll_capacity::infer::over_time::LEAST_PROBES;
use plimsoll_capacity::infer::probing::{Settings, Why};
use plimsoll_capacity::infer::result::{InferResult, StretchResult};
use plimsoll_experiment::conduct::{Conducted, run_plan};
use plimsoll_experiment::control::News;
use plimsoll_experiment::infer::Inference;
use plimsoll_experiment::locks::Locks;
use plimsoll_experiment::prepare;
use plimsoll_experiment::ready::{Ready, Takes, With};
use plimsoll_experiment::record::{Keeps, Opening, Record};
use plimsoll_plan::{Plan, WarmUp};
use plimsoll_runs::Run;
use plimsoll_runs::experiment::Layout;
use plimsoll_units::{ParseError, duration, show_count, show_duration, show_rate, show_share};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Seconds are the smallest that a load is watched by.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long it goes on where nothing is said.
const USUAL_LENGTH: &str = "24h";

/// Tells the load of each stretch of this length.
pub(super) fn run(args: &Infer, every: &str, run: &Run, calibration: Calibration) -> Result<Exit> {
    let (within, rate_per_s) = precision(args, calibration.capacity_per_s)?;
    let every = read("--every", every, length_of_stretch)?;
    let settings = settings(every.as_secs_f64(), within, rate_per_s)?;
    let length = args.length.as_deref().unwrap_or(USUAL_LENGTH);
    let plan = read_plan(args, &format!("{rate_per_s}/s"), length)?;
    is_one_load(&plan)?;
    let left = cut(read("--for", length, duration)?, every)?;
    let here = std::env::current_dir()?;
    let place = place(&here);
    let prepared = prepare(&plan, &place, true)?;
    for warning in warnings(run, &plan, &prepared.subject, &settings, &calibration) {
        say(&format!("note: {warning}"));
    }
    let metrics = metrics(args)?;
    let (interrupts, id) = (Interrupts::watch()?, run_id(unix_ns()));
    say_before(args, &settings, (every, left));
    let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
    let inference = Inference { calibration, id: run.meta().id.clone(), settings, every_ns };
    let length = (prepared.offer.duration_ns(), prepared.warmup_ns);
    let ready = Ready::inferred(plan, prepared, &here, inference)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("runs"));
    let record = Record::new(Opening {
        root: &out,
        id: id.clone(),
        layout: Layout::Beside,
        of: ready.subject.clone(),
        plan_file: crate::files::plan_file(Some(&args.probe)),
        cells: 1,
        keeps: Keeps::All,
        adopts: false,
        tags: args.tags.read()?,
        version: VERSION,
        now_ns: unix_ns,
    });
    let course = Mutex::new(Course { is_json: args.json, run: id.clone(), ..Course::default() });
    let hear = |news: &News<'_>| {
        if let News::Inferred(stretch) = news {
            metrics.iter().for_each(|metrics| metrics.inferred(stretch));
            let mut course = course.lock().unwrap_or_else(PoisonError::into_inner);
            course.hear(stretch);
            // Nobody reads it any more.
            if course.is_unread || course.fault.is_some() {
                interrupts.interrupt();
            }
        }
    };
    let screen = Screen::new(true, &interrupts).of_load(length, metrics.clone()).heard_by(&hear);
    let with = With {
        record: &record,
        path: &out.join(&id),
        control: &screen,
        // tidy: allow(shared-folder, `Locks` opens it)
        locks: &Locks::new(environment("XDG_RUNTIME_DIR")),
        threads: NonZeroUsize::MIN,
        place,
        is_fail_fast: false,
        cpu_ns: plimsoll_load::clock::thread_cpu_ns,
        takes: Takes::Nobody,
        workers: None,
    };
    let Conducted { path, executed, .. } = run_plan(&ready, &with)?;
    if let Some(metrics) = metrics {
        metrics.finish();
    }
    let course = course.into_inner().unwrap_or_else(PoisonError::into_inner);
    executed?;
    let Some(path) = path else { return Ok(Exit::Incomplete) };
    course.conclude(&path)
}

/// Refuses what would mix the stretches of several loads, or put a warm-up into them.
fn is_one_load(plan: &Plan) -> Result<()> {
    let text = match () {
        () if plan.repeat != 1 => "repeat probes that go on: leave `repeat` out",
        () if plan.load.warm_up != WarmUp::Lasting(Duration::ZERO) => {
            "warm up by probes, each of which counts: leave `warm_up` out"
        }
        () => return Ok(()),
    };
    Err(UsageError(text.to_owned()).into())
}

/// What is left of a length behind its last whole stretch.
fn cut(length: Duration, every: Duration) -> Result<Duration> {
    let stretches = length.as_nanos() / every.as_nanos().max(1);
    if stretches == 0 {
        let [length, every] = [length, every].map(|of| show_seconds(of.as_secs_f64()));
        let text = format!(
            "tell a load each {every} within {length}: no stretch would end; say a longer --for, \
             or a shorter --every"
        );
        return Err(UsageError(text).into());
    }
    let whole = every.saturating_mul(u32::try_from(stretches).unwrap_or(u32::MAX));
    Ok(length.saturating_sub(whole))
}

/// How each stretch is probed: with all probes that are due in it.
fn settings(every_s: f64, within: f64, rate_per_s: f64) -> Result<Settings> {
    let mean = every_s * rate_per_s;
    if mean < LEAST_PROBES {
        let rate = (LEAST_PROBES / every_s * 10.0).ceil() / 10.0;
        let every_s = (LEAST_PROBES / rate_per_s).ceil();
        let text = format!(
            "tell a load from {mean:.0} probes: a stretch has to have {LEAST_PROBES}; say --rate \
             {rate}/s, or --every {every_s}s"
        );
        return Err(UsageError(text).into());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let probes = mean as u64;
    Ok(Settings { probes, rate_per_s, within })
}

/// What tells the load to others, where that is asked for.
fn metrics(args: &Infer) -> Result<Option<Metrics>> {
    let Some(text) = &args.prometheus else { return Ok(None) };
    let mut metrics = Metrics::new(None);
    let address =
        crate::terminal::error::read("--prometheus", text, crate::commands::agent::address)?;
    metrics.serve(address)?;
    Ok(Some(metrics))
}

fn length_of_stretch(text: &str) -> Result<Duration, ParseError> {
    match duration(text)? {
        every if every >= SHORTEST => Ok(every),
        _ => Err(ParseError::new("1s or more", text, 0, text.len())),
    }
}

/// Says what is about to be done; `left` lies behind the last stretch.
fn say_before(args: &Infer, settings: &Settings, (every, left): (Duration, Duration)) {
    if !left.is_zero() {
        let left = show_seconds(left.as_secs_f64());
        say(&format!("note: the last {left} are of no stretch: --for is no multiple of --every"));
    }
    if !args.quiet && !args.json {
        say(&before(settings, every.as_secs_f64()));
    }
}

fn before(settings: &Settings, every_s: f64) -> String {
    format!(
        "{}, about {} probes each {}",
        show_rate(settings.rate_per_s),
        show_count(settings.probes),
        show_seconds(every_s)
    )
}

fn show_seconds(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let long = show_duration((seconds * 1e9) as u64);
    long
}

/// What was told so far.
#[derive(Default)]
struct Course {
    is_json: bool,
    /// The id of the run that keeps it.
    run: String,
    loads: Vec<f64>,
    stretches: u64,
    /// Whether whoever read it has gone away.
    is_unread: bool,
    /// Why nothing could be printed.
    fault: Option<crate::terminal::error::Error>,
}

/// A stretch for a program.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    stretch: &'a StretchResult,
    /// The id of the run that keeps it.
    run: &'a str,
}

impl Course {
    fn hear(&mut self, stretch: &StretchResult) {
        self.stretches += 1;
        self.loads.extend(stretch.result.load_per_s);
        let printed = match self.is_json {
            true => serde_json::to_string(&Line { stretch, run: &self.run })
                .map_err(std::io::Error::from),
            false => Ok(line(stretch)),
        };
        match printed.and_then(|text| print_while_read(&format!("{text}\n"))) {
            Ok(is_read) => self.is_unread |= !is_read,
            Err(error) => {
                self.fault.get_or_insert(error.into());
            }
        }
    }

    fn conclude(mut self, path: &Path) -> Result<Exit> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let told = self.loads.len();
        if !self.is_json {
            self.loads.sort_by(f64::total_cmp);
            let all = show_count(self.stretches);
            let mut rows = vec![("told", format!("{} of {all}", show_count(told as u64)))];
            if let [low, .., high] = self.loads[..] {
                let middle = 0.5 * (self.loads[(told - 1) / 2] + self.loads[told / 2]);
                let median = show_rate(middle);
                let (low, high) = (show_rate(low), show_rate(high));
                rows.push(("load", format!("{low} to {high}, median {median}")));
            }
            rows.push(("run", path.display().to_string()));
            for (name, text) in rows {
                print(&format!("  {name:<14}{text}\n"))?;
            }
        }
        let ended = verdict::exit(&Run::open(path)?.summary()?);
        Ok(ended.and(if told == 0 { Exit::Incomplete } else { Exit::Held }))
    }
}

/// A stretch for a person.
fn line(stretch: &StretchResult) -> String {
    // Of the stretch as files have it, the day and the second.
    let until: String = stretch.until.chars().take("2026-11-22T03:02:54".len()).collect();
    let until = until.replacen('T', " ", 1);
    let InferResult { load_per_s, share_of_capacity, ci95, declined, .. } = &stretch.result;
    let known = ci95.map(|(low, high)| format!("{} to {}", show_rate(low), show_rate(high)));
    match (load_per_s.zip(*share_of_capacity), declined) {
        (Some((load, share)), _) => {
            let known = known.unwrap_or_default();
            format!("{until}Z {:>9} {:>7}  {known}", show_rate(load), show_share(share))
        }
        (None, declined) => {
            let reason = declined.as_ref().map_or("", |of| of.reason.as_str());
            let why = Why::ALL.into_iter().find(|why| why.name() == reason);
            let why = why.map_or("", Why::text);
            let known = known.map(|known| format!(" (95%: {known})")).unwrap_or_default();
            let needed = declined.as_ref().and_then(|of| of.probes_needed).map(show_count);
            let needed = needed.map(|of| format!("; about {of} probes would do"));
            let needed = needed.unwrap_or_default();
            let failed = match stretch.failed {
                0 => String::new(),
                failed => {
                    let probes = show_count(stretch.result.probes);
                    format!(" ({} of {probes} failed)", show_count(failed))
                }
            };
            format!("{until}Z {:>9} {:>7}  {why}{failed}{known}{needed}", "–", "–")
        }
    }
}
