//! `plimsoll capacity`: finds the highest rate that a server sustains under an SLO.

mod compare;
mod restart;
mod series;
mod shown;

use crate::args::Capacity;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::{VERSION, environment, place, run_id, unix_ns};
use crate::series_args::CapacityCommand;
use crate::terminal::error::{FlagError, UsageError, read};
use crate::terminal::screen::{Hear, Screen};
use crate::terminal::{print, say};
use anyhow::Result;
use plimsoll_capacity::conduct::{Judged, Limits};
use plimsoll_capacity::cost::price;
use plimsoll_capacity::ladder::StepOf;
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::{adaptive, ladder};
use plimsoll_experiment::control::News;
use plimsoll_experiment::engine::{ending, execute};
use plimsoll_experiment::locks::Locks;
use plimsoll_experiment::prepare;
use plimsoll_experiment::prepare::Prepared;
use plimsoll_experiment::record::{Opening, Record};
use plimsoll_experiment::search::{self, Method};
use plimsoll_experiment::world::search::{Came, Search as World, Take, cells, subject};
use plimsoll_plan::{Plan, Setting};
use plimsoll_runs::experiment::{Journal, Layout};
use plimsoll_stats::figure;
use plimsoll_stats::slo::{Bound, Clause, Comparison, Figure, Metric, Slo, Timing};
use plimsoll_units::{
    ParseError, duration, rate, share, show_count, show_duration, show_rate, show_share,
};
use plimsoll_workload::service_model::{ServiceModel, ServiceModelError};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
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
    once(&asked)
}

/// Searches once.
fn once(asked: &Asked<'_>) -> Result<Exit> {
    let args = asked.args;
    let (interrupts, id) = (Interrupts::watch()?, run_id(unix_ns()));
    let hear = asked.hear();
    let screen = asked.screen(&interrupts, &hear);
    let came = Mutex::new(None);
    let take = |of: Came| {
        *came.lock().unwrap_or_else(PoisonError::into_inner) = Some(of);
        Ok(())
    };
    let world = asked.world(&args.out.join(&id), &take);
    let held = world.hold_target(&screen)?;
    let record = asked.record(id, 1, None);
    let cells = record.plan(cells(1..=1, asked.plan.seed))?;
    let executed = execute(&world, &cells, &record, &screen, NonZeroUsize::MIN);
    record.finish(ending(&executed, &screen), &[])?;
    executed?;
    drop(held);
    let Some(came) = came.into_inner().unwrap_or_else(PoisonError::into_inner) else {
        return Ok(Exit::Incomplete);
    };
    if let Some(error) = came.error {
        return Err(error.into());
    }
    asked.keep_model(came.model.as_ref())?;
    let Some(result) = came.result else {
        let why = came.run.why.unwrap_or_default();
        say(&format!("no load was put on {}: {why}", asked.prepared.subject));
        return Ok(Exit::Incomplete);
    };
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&result)?))?;
    } else {
        print(&render(&result))?;
        let run = args.out.join(came.run.run.unwrap_or_default());
        print(&format!("  {:<14}{}\n", "run", run.display()))?;
    }
    Ok(exit(&result))
}

/// A search that was asked for, read and ready.
pub(super) struct Asked<'a> {
    args: &'a Capacity,
    plan: Plan,
    slo: Slo,
    search: search::Asked,
    prepared: Prepared,
    locks: Locks,
    here: PathBuf,
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
        let search = search::Asked { method, limits, price_per_hour: price.transpose()? };
        let here = std::env::current_dir()?;
        let prepared = prepare(&plan, &place(&here), true)?;
        if let Some(bound) = slo.response_bound() {
            check_timeout(bound, prepared.config.timeout_ns)?;
        }
        let locks = Locks::new(environment("XDG_RUNTIME_DIR"));
        Ok(Self { args, plan, slo, search, prepared, locks, here })
    }

    /// Whether nothing is said of the way.
    fn is_quiet(&self) -> bool {
        self.args.quiet || self.args.json
    }

    /// Says what becomes of each window.
    fn hear(&self) -> impl Fn(&News<'_>) + Sync + use<> {
        let (quiet, quantile) = (self.is_quiet(), self.slo.response_bound().map_or(0.9, |of| of.0));
        move |news| match news {
            News::Window(judged) if !quiet => say(&line(judged, quantile)),
            _ => {}
        }
    }

    fn screen<'b>(&self, interrupts: &Interrupts, hear: Hear<'b>) -> Screen<'b> {
        let screen = Screen::new(self.is_quiet(), interrupts).heard_by(hear);
        screen.answering("ending; what was measured is kept")
    }

    /// The search as a world, whose results `take` takes.
    fn world<'b>(&'b self, path: &Path, take: Take<'b>) -> World<'b> {
        World {
            plan: &self.plan,
            prepared: &self.prepared,
            asked: &self.search,
            slo: self.slo.to_string(),
            path: path.to_owned(),
            locks: &self.locks,
            restarts: false,
            every_s: None,
            of: 1,
            killed: 0,
            place: place(&self.here),
            take,
            due_us: Mutex::default(),
        }
    }

    /// The record of so many searches, or of those that go on with a journal.
    fn record(&self, id: String, cells: u32, journal: Option<Journal>) -> Record<'_> {
        let opening = Opening {
            root: &self.args.out,
            id,
            layout: Layout::Beside,
            of: subject(&self.plan, &self.prepared, &self.slo.to_string(), &place(&self.here)),
            plan_file: crate::files::plan_file(self.args.target.as_deref()),
            cells: cells.into(),
            keeps_runs: true,
            version: VERSION,
            now_ns: unix_ns,
        };
        match journal {
            Some(journal) => Record::resume(opening, journal),
            None => Record::new(opening),
        }
    }

    /// Writes the service model that was found, where one is asked for.
    fn keep_model(&self, model: Option<&ServiceModel>) -> Result<(), ServiceModelError> {
        match (&self.args.model_out, model) {
            (Some(path), Some(model)) => model.write(path)?,
            (Some(path), None) => {
                say(&format!("no service model was found: {} is not written", path.display()));
            }
            (None, _) => {}
        }
        Ok(())
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
