//! `plimsoll capacity`: finds the highest rate that a server sustains under an SLO.

mod compare;
mod restart;
mod series;
mod shown;

use super::compare::{Later, Shown, say_against, with_baseline, with_comparison};
use super::web::Web;
use crate::args::Capacity;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::{VERSION, environment, place, run_id, unix_ns};
use crate::series_args::CapacityCommand;
use crate::terminal::error::{FlagError, Result, UsageError};
use crate::terminal::screen::{Hear, Screen};
use crate::terminal::{print, say};
use plimsoll_capacity::conduct::Judged;
use plimsoll_capacity::result::CapacityResult;
use plimsoll_experiment::conduct::run_plan;
use plimsoll_experiment::control::{Control, News};
use plimsoll_experiment::locks::Locks;
use plimsoll_experiment::plans;
use plimsoll_experiment::prepare;
use plimsoll_experiment::prepare::Prepared;
use plimsoll_experiment::ready::{Ready, Searches, Takes, With};
use plimsoll_experiment::record::{Keeps, Opening, Record};
use plimsoll_experiment::touches::Touches;
use plimsoll_experiment::world::search;
use plimsoll_experiment::world::search::{Came, subject};
use plimsoll_plan::{Plan, PlanKind, Setting, Written, kind_of};
use plimsoll_report::ci::Checks;
use plimsoll_runs::Kind;
use plimsoll_runs::experiment::{Journal, Layout};
use plimsoll_stats::figure;
use plimsoll_units::{show_count, show_duration, show_rate, show_share};
use plimsoll_workload::service_model::{ServiceModel, ServiceModelError};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Runs the command.
pub(crate) fn run(args: &Capacity) -> Result<Exit> {
    if let Some(CapacityCommand::Compare(compare)) = &args.command {
        return compare::run(compare);
    }
    args.ci.check()?;
    args.against.check(Kind::Search, "")?;
    perform(args).map_err(|error| match args.check {
        true => error,
        false => args.ci.no_run("capacity", error),
    })
}

fn perform(args: &Capacity) -> Result<Exit> {
    if let Some(path) = &args.series.resume {
        return series::resume(args, path);
    }
    let plan = read_plan(args)?;
    let of = (args.target.as_deref().unwrap_or_default(), "");
    crate::files::check_single(plan.is_experiment(), "capacity", of)?;
    restart::check(args, &plan)?;
    if args.print_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Held);
    }
    if args.check {
        let here = std::env::current_dir()?;
        let touches = Touches::of_plan(&plan, plan.to_toml(), false, &here);
        let ready = Ready::searched(plan, &place(&here))?;
        return super::check::show(&ready, &touches, &here, args.json);
    }
    let asked = ReadySearch::new(args, plan)?;
    if let Some(path) = &args.model_out {
        crate::files::check_place("the service model", path)?;
    }
    if asked.plan.repeat > 1 {
        return series::run(&asked);
    }
    if args.series.keys.has("every") {
        let text = "search every so often: how often in all is not said; say it by --repeat 96";
        return Err(UsageError(text.to_owned()).into());
    }
    once(&asked)
}

/// Searches once.
fn once(asked: &ReadySearch<'_>) -> Result<Exit> {
    let args = asked.args;
    let (interrupts, id) = (Interrupts::watch()?, run_id(unix_ns()));
    let web = Web::start(&args.web, (&id, asked.name()))?;
    let hear = |news: &News<'_>| asked.hear(news, web.as_ref());
    let screen = asked.screen(&interrupts, &hear);
    let came = Mutex::new(None);
    let take = |of: Came| {
        *came.lock().unwrap_or_else(PoisonError::into_inner) = Some(of);
        Ok(())
    };
    let ready = asked.ready()?;
    let path = args.out.join(&id);
    let record = asked.record(id, 1, None)?;
    let takes = Searches { begins: &|| Ok(()), take: &take };
    run_plan(&ready, &asked.with((&record, &path), &screen, takes))?.executed?;
    let Some(came) = came.into_inner().unwrap_or_else(PoisonError::into_inner) else {
        return Ok(Exit::Incomplete);
    };
    if let Some(error) = came.error {
        return Err(error.into());
    }
    asked.keep_model(came.model.as_ref())?;
    let Some(result) = came.result else {
        let why = came.run.why.unwrap_or_default();
        let why = format!("no load was put on {}: {why}", asked.prepared.subject);
        say(&why);
        let mut checks = Checks::default();
        checks.add_failure("capacity", why);
        args.ci.write(|| Ok(checks), Exit::Incomplete)?;
        return Ok(Exit::Incomplete);
    };
    let run = args.out.join(came.run.run.unwrap_or_default());
    let against = with_baseline(&args.against, || Later::of(&run))?;
    if args.json {
        print(&with_comparison(&result, against.as_ref())?)?;
    } else {
        print(&render(&result))?;
        print(&format!("  {:<14}{}\n", "run", run.display()))?;
        say_against(against.as_ref())?;
    }
    let exit = exit(&result).and(against.as_ref().map_or(Exit::Held, Shown::exit));
    args.ci.write_of(&run, against.as_ref().map(|against| &against.compared), exit)?;
    if let Some(web) = web {
        web.finish(&run, &interrupts)?;
    }
    Ok(exit)
}

/// A search that was asked for, read and ready.
pub(super) struct ReadySearch<'a> {
    args: &'a Capacity,
    plan: Plan,
    search: search::SearchSettings,
    prepared: Prepared,
    locks: Locks,
    here: PathBuf,
}

impl<'a> ReadySearch<'a> {
    fn new(args: &'a Capacity, plan: Plan) -> Result<Self> {
        let search = search::SearchSettings::of(&plan)?;
        let here = std::env::current_dir()?;
        let prepared = prepare(&plan, &place(&here), true)?;
        // tidy: allow(shared-folder, `Locks` opens it)
        let locks = Locks::new(environment("XDG_RUNTIME_DIR"));
        Ok(Self { args, plan, search, prepared, locks, here })
    }

    /// Whether nothing is said of the way.
    fn is_quiet(&self) -> bool {
        self.args.quiet || self.args.json
    }

    /// The plan's name; empty where it has none.
    fn name(&self) -> &str {
        self.plan.name.as_deref().unwrap_or_default()
    }

    /// Says what becomes of each window, and tells the live page where there is one.
    fn hear(&self, news: &News<'_>, web: Option<&Web>) {
        web.into_iter().for_each(|web| web.hear(news));
        if let (News::Window(judged), false) = (news, self.is_quiet()) {
            say(&line(judged, self.search.method.slo().0));
        }
    }

    fn screen<'b>(&self, interrupts: &Interrupts, hear: Hear<'b>) -> Screen<'b> {
        let screen = Screen::new(self.is_quiet(), interrupts).heard_by(hear);
        screen.answering("ending; what was measured is kept")
    }

    /// The plan, ready to be executed.
    fn ready(&self) -> Result<Ready> {
        let (plan, prepared) = (self.plan.clone(), self.prepared.clone());
        Ok(Ready::sought(plan, prepared, &place(&self.here))?)
    }

    /// What it is executed with.
    fn with<'b>(
        &'b self,
        (record, path): (&'b Record<'b>, &'b Path),
        control: &'b dyn Control,
        takes: Searches<'b>,
    ) -> With<'b> {
        With {
            record,
            path,
            control,
            locks: &self.locks,
            threads: NonZeroUsize::MIN,
            place: place(&self.here),
            is_fail_fast: false,
            cpu_ns: plimsoll_load::clock::thread_cpu_ns,
            takes: Takes::Searches(takes),
            workers: None,
        }
    }

    /// The record of so many searches, or of those that go on with a journal.
    fn record(&self, id: String, cells: u32, journal: Option<Journal>) -> Result<Record<'_>> {
        let opening = Opening {
            root: &self.args.out,
            id,
            layout: Layout::Beside,
            of: subject(&self.plan, &self.prepared, &self.search, &place(&self.here)),
            plan_file: crate::files::plan_file(self.args.target.as_deref()),
            cells: cells.into(),
            keeps: Keeps::All,
            adopts: false,
            tags: self.args.tags.read()?,
            version: VERSION,
            now_ns: unix_ns,
        };
        match journal {
            Some(journal) => Ok(Record::resume(opening, journal)?),
            None => Ok(Record::new(opening)),
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

/// The plan that a command line means. What it says of a search is laid over what a plan says.
fn read_plan(args: &Capacity) -> Result<Plan> {
    let mut settings = args.request.settings();
    for pair in &args.set {
        let setting =
            Setting::from_pair(pair).map_err(|error| FlagError::new("--set", pair, error))?;
        settings.push(setting);
    }
    settings.extend(args.search.settings());
    settings.extend(args.series.settings()?);
    let target = args.target.as_deref().unwrap_or_default();
    if crate::files::is_plan(target) {
        let text = crate::files::plan(target)?;
        make_search(&mut settings, &text);
        return Ok(plans::read(&Written::text(&text, target, &settings).within(environment))?);
    }
    make_search(&mut settings, "");
    settings.push(Setting::new("target.url", target, "the URL"));
    Ok(plans::read(&Written::flags(&settings))?)
}

/// Makes a plan one of a search, where its text and what is laid over it do not say so.
fn make_search(settings: &mut Vec<Setting>, text: &str) {
    let is_one = settings.iter().any(|setting| setting.key.starts_with("search."));
    if kind_of(text) != PlanKind::Search && !is_one {
        settings.push(Setting::new("search.method", "adaptive", "the search"));
    }
}

/// A window in one line.
pub(super) fn line(judged: &Judged, quantile: f64) -> String {
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
pub(super) fn render(result: &CapacityResult) -> String {
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

pub(super) fn exit(result: &CapacityResult) -> Exit {
    match result.ended.as_str() {
        "found" => Exit::Held,
        "slo_unreachable" => Exit::Broken,
        "generator_limited" => Exit::Invalid,
        _ => Exit::Incomplete,
    }
}
