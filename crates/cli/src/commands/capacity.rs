//! `plimsoll capacity`: finds the highest rate that a server sustains under an SLO.

mod compare;
mod restart;
mod series;
mod shown;

use crate::args::Capacity;
use crate::commands::restart::{Wishes, begin_cold};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::lock::{Holder, Lock, Tried, try_lock, wait_for_turn};
use crate::place::{VERSION, cores, environment, run_id, unix_ns};
use crate::series_args::CapacityCommand;
use crate::terminal::error::{FlagError, UsageError, read};
use crate::terminal::{print, say};
use anyhow::Result;
use plimsoll_capacity::conduct::{Judged, Limits};
use plimsoll_capacity::cost::price;
use plimsoll_capacity::ladder::StepOf;
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::{adaptive, ladder};
use plimsoll_experiment::prepare::{Place, Prepared};
use plimsoll_experiment::search::{Method, Searched, search, set_price};
use plimsoll_experiment::{Setting as RunSetting, prepare};
use plimsoll_plan::{Plan, Setting};
use plimsoll_stats::figure;
use plimsoll_stats::slo::{Bound, Clause, Comparison, Figure, Metric, Slo, Timing};
use plimsoll_units::{
    ParseError, duration, rate, share, show_count, show_duration, show_rate, show_share,
};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The SLO where none is given: the published one.
const USUAL_SLO: &str = "p90<150ms";

/// Runs the command.
pub(crate) fn run(args: &Capacity) -> Result<Exit> {
    if let Some(CapacityCommand::Compare(compare)) = &args.command {
        return compare::run(compare);
    }
    if let Some(path) = &args.series.resume {
        return series::resume(args, path);
    }
    let plan = read_plan(args)?;
    restart::check(args, &plan)?;
    let asked = Asked::new(args, plan)?;
    if let Some(path) = &args.model_out {
        crate::files::check_place("the service model", path)?;
    }
    if asked.plan.repeat > 1 {
        return series::run(&asked);
    }
    if args.series.every.is_some() {
        let text = "search every so often: how often in all is not said; say it by --repeat 96";
        return Err(UsageError(text.to_owned()).into());
    }
    let interrupts = Interrupts::watch()?;
    let held = asked.lock()?;
    let turn = asked.turn(&interrupts);
    if interrupts.count() > 0 {
        return Ok(Exit::Incomplete);
    }
    let started = unix_ns();
    let id = run_id(started);
    let (path, quiet) = (args.out.join(&id), asked.is_quiet());
    if let Some(exit) = begin_cold(&asked.plan, &asked.prepared, &path, quiet, &interrupts)? {
        return Ok(exit);
    }
    let searched = asked.search(id, started, &interrupts)?;
    drop((turn, held));
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&searched.result)?))?;
    } else {
        print(&render(&searched.result))?;
        print(&format!("  {:<14}{}\n", "run", searched.run.path().display()))?;
    }
    Ok(exit(&searched.result))
}

/// A search that was asked for, read and ready.
pub(super) struct Asked<'a> {
    args: &'a Capacity,
    plan: Plan,
    slo: Slo,
    method: Method,
    limits: Limits,
    prepared: Prepared,
    price_per_hour: Option<f64>,
}

impl<'a> Asked<'a> {
    fn new(args: &'a Capacity, plan: Plan) -> Result<Self> {
        let usual = Slo::parse(USUAL_SLO);
        let slo = plan.measure.slo.clone().map_or(usual, Ok).map_err(anyhow::Error::from)?;
        let mut method = method(args, &slo)?;
        if args.calibrate {
            method = Method::Calibrating(Box::new(method));
        }
        let limits = limits(args)?;
        let price = args.series.price.as_ref().map(|text| read("--price", text, price));
        let price_per_hour = price.transpose()?;
        let place = Place { environment: &environment, cores: cores(), version: VERSION };
        let prepared = prepare(&plan, &place, true)?;
        if let Some(bound) = slo.response_bound() {
            check_timeout(bound, prepared.config.timeout_ns)?;
        }
        Ok(Self { args, plan, slo, method, limits, prepared, price_per_hour })
    }

    /// Whether nothing is said of the way.
    fn is_quiet(&self) -> bool {
        self.args.quiet || self.args.json
    }

    /// Keeps other searches of this target away.
    fn lock(&self) -> Result<Option<Lock>> {
        let address = self.prepared.config.endpoint.to_string();
        match try_lock(&format!("target {address}"), "") {
            None => Ok(None),
            Some(Tried::Ours(lock)) => Ok(Some(lock)),
            Some(Tried::Held(holder)) => {
                let text = format!(
                    "search {address}: another search{holder} loads it, and each would measure the \
                     other; wait for its end"
                );
                Err(UsageError(text).into())
            }
        }
    }

    /// Waits until no other search of this user uses this machine; `None` where the user will not
    /// wait, or no lock can be had.
    fn turn(&self, interrupts: &Interrupts) -> Option<Lock> {
        let deed = format!("of {}", self.prepared.config.endpoint);
        let why = |holder: &Holder| {
            format!("another search{holder} uses this machine: waiting for its end")
        };
        wait_for_turn("generator", &deed, why, || interrupts.count() > 0)
    }

    /// Searches once, in a run of its own.
    fn search(&self, id: String, started: u64, interrupts: &Interrupts) -> Result<Searched> {
        let (args, plan) = (self.args, &self.plan);
        let here = std::env::current_dir()?;
        let setting = RunSetting {
            root: &args.out,
            id,
            name: plan.name.clone().unwrap_or_default(),
            started_unix_ns: started,
            version: VERSION,
            plan_text: plan.to_toml_from(&here),
            patience: plan.load.patience,
            slo: Some(self.slo.to_string()),
            stop_when: None,
            system: Path::new("/"),
        };
        let quiet = self.is_quiet();
        let mut wishes = Wishes::of(interrupts);
        let (quantile, _) = self.slo.response_bound().unwrap_or((0.9, 0));
        let mut show = |judged: &Judged| {
            if !quiet {
                say(&line(judged, quantile));
            }
        };
        let (prepared, method) = (&self.prepared, &self.method);
        let mut searched = search(prepared, method, self.limits, &setting, &mut wishes, &mut show)?;
        if let Some(price) = self.price_per_hour {
            set_price(&mut searched, price)?;
        }
        match (&args.model_out, &searched.model) {
            (Some(path), Some(model)) => model.write(path)?,
            (Some(path), None) => {
                say(&format!("no service model was found: {} is not written", path.display()));
            }
            (None, _) => {}
        }
        Ok(searched)
    }
}

fn read_plan(args: &Capacity) -> Result<Plan> {
    let mut settings = args.request.settings();
    for pair in &args.set {
        let setting =
            Setting::from_pair(pair).map_err(|error| FlagError::new("--set", pair, error))?;
        settings.push(setting);
    }
    // A search makes its own load: what stands in a plan is only how it is sent.
    settings.push(Setting::new("load.rate", &args.start, "--start"));
    settings.push(Setting::new("load.for", "1h", "the search"));
    settings.push(Setting::new("load.arrivals", "poisson", "the search"));
    settings.extend(args.series.settings()?);
    let target = args.target.as_deref().unwrap_or_default();
    if crate::files::is_plan(target) {
        let text = crate::files::plan(target)?;
        return Ok(Plan::parse_with(&text, target, &settings)?);
    }
    settings.push(Setting::new("target.url", target, "the URL"));
    Ok(Plan::assemble(&settings)?)
}

/// What a search steers by: one percentile of the response time, and beside it, where it is given,
/// a limit of the share of errors.
struct Goal<'a> {
    clause: &'a Clause,
    slo: (f64, u64),
    most_errors: Option<f64>,
}

impl<'a> Goal<'a> {
    fn of(slo: &'a Slo) -> Result<Self> {
        let is_time = |clause: &&Clause| {
            matches!(clause.metric, Metric::Time(Timing::Response, Figure::Quantile(_)))
        };
        let errors = |clause: &Clause| match (clause.metric, clause.comparison, clause.bound) {
            (Metric::Errors, Comparison::Below | Comparison::AtMost, Bound::Share(most)) => {
                Some(most)
            }
            _ => None,
        };
        let others: Vec<&Clause> = slo.clauses().iter().filter(|of| !is_time(of)).collect();
        let times: Vec<&Clause> = slo.clauses().iter().filter(is_time).collect();
        let most_errors = match others[..] {
            [] => Some(None),
            [one] => errors(one).map(Some),
            _ => None,
        };
        match (&times[..], slo.response_bound(), most_errors) {
            ([clause], Some(slo), Some(most_errors)) => Ok(Self { clause, slo, most_errors }),
            _ => {
                let text = format!(
                    "wanted one percentile of the response time, with a limit of errors beside it \
                     or without, found `{slo}`; write it as p90<150ms or p90<150ms,errors<1%"
                );
                Err(UsageError(text).into())
            }
        }
    }
}

/// Whether the SLO's bound can be told: what takes longer than the timeout fails before.
fn check_timeout(slo: (f64, u64), timeout_ns: u64) -> Result<(), UsageError> {
    if slo.1 <= timeout_ns {
        return Ok(());
    }
    let (bound, timeout) = (show_duration(slo.1), show_duration(timeout_ns));
    // As the option reads it.
    let typed = format!("{}ms", slo.1.div_ceil(1_000_000));
    Err(UsageError(format!(
        "search for responses within {bound}: the timeout is {timeout}, so that slower ones fail \
         before their bound; say --timeout {typed} or more, or a shorter bound"
    )))
}

fn method(args: &Capacity, slo: &Slo) -> Result<Method> {
    let Goal { clause, slo: bound, most_errors } = Goal::of(slo)?;
    let above_zero = |text: &str| {
        let value = rate(text)?;
        let wrong = || ParseError::new("a rate above zero", text, 0, text.len());
        if value > 0.0 { Ok(value) } else { Err(wrong()) }
    };
    let start_per_s = read("--start", &args.start, above_zero)?;
    let max_rate_per_s =
        args.max_rate.as_ref().map(|text| read("--max-rate", text, above_zero)).transpose()?;
    match args.search.as_str() {
        "adaptive" => {
            let precision = read("--precision", &args.precision, |text| {
                let value = share(text)?;
                let wrong = || ParseError::new("a share from 1% to 50%", text, 0, text.len());
                if (0.01..=0.5).contains(&value) { Ok(value) } else { Err(wrong()) }
            })?;
            if !args.first.is_empty() {
                return Err(UsageError("`--first` goes with `--search ladder`".to_owned()).into());
            }
            let settings = adaptive::Settings {
                slo: bound,
                most_errors,
                start_per_s,
                precision,
                max_rate_per_s,
            };
            let hold = args.sustain.as_ref().map(|text| read("--sustain", text, duration));
            Ok(Method::Adaptive { settings, hold_s: hold.transpose()?.map(|d| d.as_secs_f64()) })
        }
        "ladder" => {
            if most_errors.is_some() {
                let text = "the published method knows no limit of errors: leave it out of --slo, \
                            or use --search adaptive";
                return Err(UsageError(text.to_owned()).into());
            }
            if args.sustain.is_some() {
                let text = "`--sustain` goes with `--search adaptive`".to_owned();
                return Err(UsageError(text).into());
            }
            // The published lists of rates have no unit.
            let each = |text: &str| {
                let per_second = || above_zero(&format!("{text}/s"));
                above_zero(text).or_else(|error| per_second().map_err(|_| error))
            };
            let first = args.first.iter().map(|text| read("--first", text, each));
            let first_per_s = first.collect::<Result<Vec<f64>, _>>()?;
            let settings =
                ladder_settings(args, bound, clause.comparison, start_per_s, max_rate_per_s)?;
            Ok(Method::Ladder { settings, first_per_s })
        }
        other => {
            let wanted = "adaptive or ladder";
            Err(FlagError::new("--search", other, ParseError::new(wanted, other, 0, other.len()))
                .into())
        }
    }
}

fn ladder_settings(
    args: &Capacity,
    slo: (f64, u64),
    comparison: Comparison,
    start_per_s: f64,
    max_rate_per_s: Option<f64>,
) -> Result<ladder::Settings> {
    let near_rtt_ns = match args.near_rtt.as_str() {
        "off" => None,
        text => Some(nanoseconds(read("--near-rtt", text, duration)?)),
    };
    let step_of = match args.step_of.as_str() {
        "gap" => StepOf::Gap,
        "half" => StepOf::Half,
        text => {
            let error = ParseError::new("gap or half", text, 0, text.len());
            return Err(FlagError::new("--step-of", text, error).into());
        }
    };
    let window = read("--window", &args.window, |text| {
        let value = duration(text)?;
        let wrong = || ParseError::new("1 s or more", text, 0, text.len());
        if value >= Duration::from_secs(1) { Ok(value) } else { Err(wrong()) }
    })?;
    Ok(ladder::Settings {
        slo,
        comparison,
        start_per_s,
        window_s: window.as_secs_f64(),
        tuning: read("--tuning", &args.tuning, share)?,
        near_rtt_ns,
        step_of,
        max_rate_per_s,
    })
}

fn limits(args: &Capacity) -> Result<Limits> {
    let mut limits = Limits::default();
    if let Some(text) = &args.max_time {
        limits.seconds = read("--max-time", text, duration)?.as_secs_f64();
    }
    if let Some(text) = &args.max_overload {
        limits.overload_s = read("--max-overload", text, duration)?.as_secs_f64();
    }
    Ok(limits)
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A window in one line.
fn line(judged: &Judged, quantile: f64) -> String {
    let window = &judged.window;
    let at = window.response.quantile_ns(quantile).map_or_else(|| "–".to_owned(), show_duration);
    format!(
        "{:>7.1} s  {:<7} {:>12}  for {:>5.2} s  p{} {:>9}  {}",
        window.start_s,
        window.phase.name(),
        show_rate(window.rate_per_s),
        window.seconds,
        quantile * 100.0,
        at,
        judged.verdict.name(),
    )
}

/// The result for a person.
fn render(result: &CapacityResult) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<14}{text}");
    };
    match (result.estimate_per_s, result.ci95) {
        (Some(estimate), Some((low, high))) => row(
            "capacity",
            format!(
                "{} under {} (95%: {} to {})",
                show_rate(estimate),
                result.slo,
                show_rate(low),
                show_rate(high)
            ),
        ),
        (Some(estimate), None) => {
            row(
                "capacity",
                format!("{} under {}", shown::rate(estimate, result.bound), result.slo),
            );
        }
        _ => row("capacity", format!("none found under {}", result.slo)),
    }
    row("ended", result.ended.replace('_', " "));
    if let Some(caches) = &result.caches {
        row("caches", caches.clone());
    }
    for figure in [figure::KNEE_PER_S, figure::SATURATION_PER_S] {
        row(figure.label, figure.unit.show(result.value(figure).unwrap_or(f64::NAN)));
    }
    let said = |check: &Option<String>| check.clone().unwrap_or_else(|| "–".to_owned());
    row("bracket", shown::bracket(result));
    row(
        "check",
        format!("below: {}, above: {}", said(&result.check.below), said(&result.check.above)),
    );
    if let Some(held) = &result.sustained {
        row("sustained", shown::sustained(held));
    }
    if let Some(cost) = &result.cost {
        row("price", shown::cost(cost));
    }
    let beyond = result.requests_beyond_slo as f64 / result.requests.max(1) as f64;
    row(
        "cost",
        format!(
            "{:.1} s of load, {:.1} s of it above the estimate; {} requests, {} beyond the bound",
            result.seconds,
            result.seconds_above_estimate.unwrap_or(0.0),
            show_count(result.requests),
            show_share(beyond),
        ),
    );
    for warning in &result.warnings {
        row("note", warning.clone());
    }
    out
}

fn exit(result: &CapacityResult) -> Exit {
    match result.ended.as_str() {
        "found" => Exit::Held,
        "slo_unreachable" => Exit::Broken,
        "generator_limited" => Exit::Invalid,
        _ => Exit::Incomplete,
    }
}
