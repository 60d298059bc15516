//! `plimsoll infer`: tells the load that is on a server now, by a few probes and an earlier search.

mod over_time;

use crate::exit::Exit;
use crate::infer_args::Infer;
use crate::interrupt::Interrupts;
use crate::place::{environment, place};
use crate::terminal::error::{FlagError, Result, UsageError};
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say};
use plimsoll_capacity::infer::calibration::Calibration;
use plimsoll_capacity::infer::live::Probed;
use plimsoll_capacity::infer::probing::{Declined, Settings, Step, USUAL_SHARE};
use plimsoll_capacity::infer::result::{InferResult, Question};
use plimsoll_experiment::control::News;
use plimsoll_experiment::infer::{calibration, infer};
use plimsoll_experiment::plans;
use plimsoll_experiment::prepare;
use plimsoll_plan::{Plan, Setting, Written};
use plimsoll_runs::Run;
use plimsoll_units::{
    ParseError, count, duration, rate, share, show_count, show_duration, show_rate, show_share,
};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Fewer probes say nothing.
const LEAST_PROBES: u64 = 50;
const MOST_PROBES: u64 = 10_000_000;
/// Half the width of the interval that is asked for where nothing is said, and over time, where
/// there are fewer probes for each answer.
const USUAL_WITHIN: &str = "10%";
const USUAL_WITHIN_EVERY: &str = "20%";
/// What of a plan's load is the probes' own, and what says it.
const OF_PROBES: [(&str, &str); 3] = [
    ("load.rate", "say --rate"),
    ("load.for", "say --for with --every"),
    ("load.arrivals", "they come by chance"),
];
/// Beyond this share of the capacity probes are a load of their own.
const HEAVY_SHARE: f64 = 0.05;

/// Runs the command.
pub(crate) fn run(args: &Infer) -> Result<Exit> {
    let run = Run::open(&args.run)?;
    let calibration = calibration(&run)?;
    if let Some(every) = &args.every {
        return over_time::run(args, every, &run, calibration);
    }
    args.tags.refuse("--every")?;
    let settings = settings(args, calibration.capacity_per_s)?;
    let seconds = args.max_time.as_ref().map(|text| read("--max-time", text, duration));
    let seconds = seconds.transpose()?.map_or(f64::INFINITY, |span| span.as_secs_f64());
    let plan = read_plan(args, "1/s", "1h")?;
    let here = std::env::current_dir()?;
    let prepared = prepare(&plan, &place(&here), true)?;
    let quiet = args.quiet || args.json;
    let warnings = warnings(&run, &plan, &prepared.subject, &settings, &calibration);
    if !quiet {
        say(&before(&settings));
    }
    let asked_before = AtomicU64::new(0);
    let hear = |news: &News<'_>| {
        let News::Steps(known, asked) = news else { return };
        let before = asked_before.swap(*asked, Ordering::Relaxed);
        if !quiet && before > 0 && before != *asked {
            say(&format!("not yet after {} probes", show_count(*known)));
        }
    };
    let screen = Screen::new(quiet, &Interrupts::watch()?).heard_by(&hear);
    let (probed, probes) = infer(&prepared, &calibration, settings, seconds, &screen)?;
    let question = Question {
        capacity_per_s: calibration.capacity_per_s,
        settings,
        calibration: run.meta().id.clone(),
    };
    let mut result = InferResult::of(&question, &probed.step, probes, probed.seconds);
    result.warnings = warnings;
    result.warnings.extend(after(&probed, probes));
    if args.json {
        print(&pretty(&result)?)?;
    } else {
        print(&render(&result, &probed.step, settings.within))?;
    }
    Ok(exit(&probed))
}

fn exit(probed: &Probed) -> Exit {
    match probed.step {
        _ if probed.stopped => Exit::Incomplete,
        _ if probed.generator_limited => Exit::Invalid,
        Step::Done(_) => Exit::Held,
        Step::Declined(_) | Step::Probe(_) => Exit::Incomplete,
    }
}

fn read<T>(
    flag: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, ParseError>,
) -> Result<T, FlagError> {
    parse(text).map_err(|error| FlagError::new(flag, text, error))
}

fn settings(args: &Infer, capacity_per_s: f64) -> Result<Settings, FlagError> {
    let wrong = |wanted: &str, text: &str| ParseError::new(wanted, text, 0, text.len());
    let probes = read("--probes", &args.probes, |text| match count(text)? {
        n if (LEAST_PROBES..=MOST_PROBES).contains(&n) => Ok(n),
        _ => Err(wrong("from 50 to 10M probes", text)),
    })?;
    let (within, rate_per_s) = precision(args, capacity_per_s)?;
    Ok(Settings { probes, rate_per_s, within })
}

/// Half the width of the interval that is asked for, as a share of the capacity, and the rate of
/// the probes.
fn precision(args: &Infer, capacity_per_s: f64) -> Result<(f64, f64), FlagError> {
    let wrong = |wanted: &str, text: &str| ParseError::new(wanted, text, 0, text.len());
    let usual = if args.every.is_some() { USUAL_WITHIN_EVERY } else { USUAL_WITHIN };
    let within = args.within.as_deref().unwrap_or(usual);
    let within = read("--within", within, |text| match share(text)? {
        value if (0.001..=0.5).contains(&value) => Ok(value),
        _ => Err(wrong("a share from 0.1% to 50%", text)),
    })?;
    let given = |text: &String| {
        read("--rate", text, |text| match rate(text)? {
            value if value > 0.0 => Ok(value),
            _ => Err(wrong("a rate above zero", text)),
        })
    };
    let rate_per_s = args.rate.as_ref().map(given).transpose()?;
    if rate_per_s.is_some_and(|of| of >= capacity_per_s) {
        let wanted = format!("a rate below the capacity of {}", show_rate(capacity_per_s));
        let text = args.rate.as_deref().unwrap_or_default();
        return Err(FlagError::new("--rate", text, wrong(&wanted, text)));
    }
    Ok((within, rate_per_s.unwrap_or(USUAL_SHARE * capacity_per_s)))
}

/// The plan of the probes: a few connections and one thread, unless it is said otherwise.
fn read_plan(args: &Infer, rate: &str, length: &str) -> Result<Plan> {
    let mut settings = args.request.settings();
    let has = |settings: &[Setting], key: &str| settings.iter().any(|one| one.key == key);
    for pair in &args.set {
        let setting =
            Setting::from_pair(pair).map_err(|error| FlagError::new("--set", pair, error))?;
        if let Some((_, flag)) = OF_PROBES.into_iter().find(|(key, _)| *key == setting.key) {
            let text = format!("--set {pair}: the probes have their own: {flag}");
            return Err(UsageError(text).into());
        }
        settings.push(setting);
    }
    for (key, value) in [("load.connections", "8..64"), ("load.threads", "1")] {
        if !has(&settings, key) {
            settings.push(Setting::new(key, value, "the probes"));
        }
    }
    settings.push(Setting::new("load.rate", rate, "the probes"));
    settings.push(Setting::new("load.for", length, "the probes"));
    settings.push(Setting::new("load.arrivals", "poisson", "the probes"));
    if crate::files::is_plan(&args.probe) {
        let text = crate::files::plan(&args.probe)?;
        return Ok(plans::read(&Written::text(&text, &args.probe, &settings).within(environment))?);
    }
    settings.push(Setting::new("target.url", args.probe.as_str(), "--probe"));
    Ok(plans::read(&Written::flags(&settings))?)
}

/// What differs from the calibration, and what the probes do themselves.
fn warnings(
    run: &Run,
    plan: &Plan,
    subject: &str,
    settings: &Settings,
    calibration: &Calibration,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let calibrated = &run.meta().subject;
    if calibrated != subject {
        warnings.push(format!(
            "the calibration asked {calibrated}, the probes ask {subject}: a load is told from \
             response times only where both are the same request to the same server"
        ));
    } else if target(&run.plan_text()) != target(&plan.to_toml()) {
        warnings.push(
            "the request differs from the calibration's in more than its URL: its response times \
             may differ too"
                .to_owned(),
        );
    }
    let share = settings.rate_per_s / calibration.capacity_per_s;
    if share > HEAVY_SHARE {
        warnings.push(format!(
            "the probes are {} of the capacity: a load of their own, which is taken off the result",
            show_share(share)
        ));
    }
    if !calibration.has_low_loads {
        warnings.push(
            "the calibration hardly looked at low and middle loads: a search with --calibrate does"
                .to_owned(),
        );
    }
    warnings
}

/// The lines of a plan that say what is asked.
fn target(plan: &str) -> Vec<&str> {
    let mut within = false;
    let line = |line: &&str| {
        if line.starts_with('[') {
            within = line.starts_with("[target") || line.starts_with("[store");
        }
        within && !line.is_empty()
    };
    plan.lines().filter(line).collect()
}

fn after(probed: &Probed, probes: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if probed.failed > 0 {
        warnings.push(format!(
            "{} of {} probes failed at once; they count as slower than the SLO's bound",
            show_count(probed.failed),
            show_count(probes)
        ));
    }
    if probed.generator_limited {
        warnings.push(
            "the generator was late: response times have its own delay in them, and the result \
             is not valid"
                .to_owned(),
        );
    }
    warnings
}

fn before(settings: &Settings) -> String {
    let length_s = settings.probes as f64 / settings.rate_per_s;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let long = show_duration((length_s.min(1e9) * 1e9) as u64);
    format!(
        "up to {} probes, {}: {long} at most",
        show_count(settings.probes),
        show_rate(settings.rate_per_s)
    )
}

/// The result for a person.
fn render(result: &InferResult, step: &Step, within: f64) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<14}{text}");
    };
    let range = result.ci95.zip(result.share_ci95).map(|((low, high), (from, to))| {
        let (low, high) = (show_rate(low), show_rate(high));
        (format!("{low} to {high}"), format!("{} to {}", show_share(from), show_share(to)))
    });
    let (rates, shares) = range.unwrap_or_else(|| ("–".to_owned(), "–".to_owned()));
    match (result.load_per_s, result.share_of_capacity) {
        (Some(load), Some(share)) => {
            row("load", format!("{} (95%: {rates})", show_rate(load)));
            let capacity = show_rate(result.capacity_per_s);
            row("share", format!("{} (95%: {shares}) of {capacity}", show_share(share)));
        }
        _ => {
            row("load", format!("declined (95%: {rates}, {shares} of the capacity)"));
            if let Step::Declined(declined) = step {
                row("why", why(declined, within));
            }
        }
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let long = show_duration((result.seconds * 1e9) as u64);
    row(
        "probes",
        format!("{} in {long}, {}", show_count(result.probes), show_rate(result.probe_rate_per_s)),
    );
    row("calibration", result.calibration.clone());
    for warning in &result.warnings {
        row("note", warning.clone());
    }
    out
}

fn why(declined: &Declined, within: f64) -> String {
    let mut text = declined.why.text().to_owned();
    let asked = format!("±{} of the capacity", show_share(within));
    if let Some(needed) = declined.probes_needed {
        let _ = write!(text, "; about {} probes would be needed for {asked}", show_count(needed));
    } else if let Some(needed) = declined.probes_needed_at_best {
        let needed = show_count(needed);
        let _ = write!(text, "; were its curve exact, some {needed} probes would do for {asked}");
    }
    text
}
