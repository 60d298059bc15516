//! `plimsoll load`: from flags and a plan file to runs.

use crate::args::Load;
use crate::commands::compare::{Later, Shown, say_against, with_baseline};
use crate::commands::group::{Group, no_run};
use crate::commands::report;
use crate::commands::web::Web;
use crate::exit::Exit;
use crate::files;
use crate::interrupt::Interrupts;
use crate::metrics::Metrics;
use crate::place::{VERSION, environment, place, run_id, unix_ns};
use crate::terminal::error::{Error, Result, read, show};
use crate::terminal::paint::Paint;
use crate::terminal::screen::Screen;
use crate::terminal::table::{Uncertainty, render};
use crate::terminal::{pretty, print, say, verdict};
use plimsoll_experiment::conduct::{Conducted, run_plan};
use plimsoll_experiment::control::News;
use plimsoll_experiment::locks::Locks;
use plimsoll_experiment::mix::{Mix, Part};
use plimsoll_experiment::plans;
use plimsoll_experiment::prepare::Prepared;
use plimsoll_experiment::ready::{Ready, Takes, With};
use plimsoll_experiment::record::{Keeps, Opening, Record};
use plimsoll_experiment::{Check, ExperimentError, outlined, prepare};
use plimsoll_plan::{Plan, Setting, Written};
use plimsoll_report::Source;
use plimsoll_report::ci::Checks;
use plimsoll_runs::experiment::Layout;
use plimsoll_runs::{Kind, Phase, Run, Tag};
use plimsoll_stats::interval::QuantileBatches;
use plimsoll_units::{count, show_count, show_duration, show_rate, show_share};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// Runs the command.
pub(crate) fn run(args: &Load) -> Result<Exit> {
    let plan = read_plan(args)?;
    files::check_report(args.report.as_deref())?;
    args.ci.check()?;
    args.against.check(Kind::Load, "")?;
    if args.print_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Held);
    }
    let of = (args.target.as_deref().unwrap_or_default(), "");
    files::check_single(plan.is_experiment(), "load", of)?;
    if let Some(out) = &args.clean {
        return super::clean::run(args, &plan, out);
    }
    let result = perform(args, &plan);
    let result = result.map_err(|error| match args.check {
        true => error,
        false => args.ci.no_run(plan.name.as_deref().unwrap_or("load"), error),
    });
    match result {
        // Where nothing was wrong with what was asked, there is a document all the same.
        Err(error) if args.json && !args.check && error.exit() == Exit::Incomplete => {
            print(&no_run(&error))?;
            Err(error)
        }
        result => result,
    }
}

fn perform(args: &Load, plan: &Plan) -> Result<Exit> {
    let here = std::env::current_dir()?;
    let place = place(&here);
    if args.check {
        return check(&outlined(plan, &place)?, args.json);
    }
    let start = plan.fleet.as_ref().map_or(&[][..], |fleet| &fleet.start);
    files::check_starts(start, args.target.as_deref())?;
    let prepared = prepare(plan, &place, true)?;
    let mut interrupts = Interrupts::watch()?;
    if plan.load.shape.is_for_ever() {
        interrupts = interrupts.bound_to_parent();
    }
    let id = run_id(unix_ns());
    let metrics = metrics(args, (plan, &id))?;
    let web = Web::start(&args.web, (&id, plan.name.as_deref().unwrap_or_default()))?;
    let length = (prepared.offer.duration_ns(), prepared.warmup_ns);
    let ready = Ready::loaded(plan.clone(), prepared, &here);
    let record = Record::new(Opening {
        root: &args.out,
        id: id.clone(),
        layout: Layout::Beside,
        of: ready.subject.clone(),
        plan_file: files::plan_file(args.target.as_deref()),
        cells: plan.repeat.into(),
        keeps: Keeps::All,
        adopts: false,
        tags: args.tags.read()?,
        version: VERSION,
        now_ns: unix_ns,
    });
    let done = Mutex::new(Done { args, several: plan.repeat > 1, exit: Exit::Held, runs: vec![] });
    let hear = |news: &News<'_>| {
        web.iter().for_each(|web| web.hear(news));
        done.lock().unwrap_or_else(PoisonError::into_inner).hear(news);
    };
    let quiet = args.quiet || args.json;
    let screen = Screen::new(quiet, &interrupts).of_load(length, metrics.clone()).heard_by(&hear);
    let with = With {
        record: &record,
        path: &args.out.join(&id),
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
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let exit = conclude(plan, &id, done, executed, path.is_some())?;
    if let Some(metrics) = metrics {
        metrics.finish();
    }
    if let Some((web, path)) = web.zip(path) {
        web.finish(&path, &interrupts)?;
    }
    Ok(exit)
}

/// What tells live figures, where that is asked for.
fn metrics(args: &Load, (plan, id): (&Plan, &str)) -> Result<Option<Metrics>> {
    let Load { prometheus, otlp, .. } = args;
    if prometheus.is_none() && otlp.otlp.is_none() {
        return Ok(None);
    }
    let mut metrics = Metrics::new(plan.measure.slo.clone());
    if let Some(text) = prometheus {
        metrics.serve(read("--prometheus", text, super::agent::address)?)?;
    }
    if let Some(receiver) = otlp.receiver()? {
        let own = [
            ("service.name", "plimsoll"),
            ("service.version", VERSION),
            ("service.instance.id", id),
            ("plimsoll.run", id),
        ];
        let name = plan.name.as_deref().map(|name| ("plimsoll.plan", name));
        let all = own.into_iter().chain(name);
        metrics.push(receiver, all.map(|(key, of)| (key.to_owned(), of.to_owned())).collect())?;
    }
    Ok(Some(metrics))
}

/// Prints what replications say together, and writes the report.
fn conclude(
    plan: &Plan,
    id: &str,
    done: Done<'_>,
    executed: Result<(), ExperimentError>,
    has_run: bool,
) -> Result<Exit> {
    let Done { args, several, mut exit, runs } = done;
    let mut failures = Vec::new();
    match executed {
        Ok(()) if !has_run => {
            args.ci.write(|| Ok(Checks::default()), Exit::Incomplete)?;
            return Ok(Exit::Incomplete);
        }
        Ok(()) => {}
        Err(error) => {
            let (number, error) = (runs.len() + 1, Error::from(error));
            if runs.is_empty() && !several {
                return Err(error);
            }
            exit = exit.and(show(&error));
            failures.push(format!("replication {number}: {error}"));
        }
    }
    let against = against(args, &runs)?;
    if several {
        let of = (id, plan.name.as_deref().unwrap_or_default(), plan.repeat);
        let group = Group::of(of, &args.out, &runs, &failures)?;
        if args.json {
            print(&group.json(against.as_ref())?)?;
        } else if runs.len() > 1 || (args.quiet && !runs.is_empty()) {
            print(&group.table())?;
        }
        if !group.is_valid() {
            exit = exit.and(Exit::Invalid);
        }
    }
    if let Some(against) = &against {
        if !args.json {
            say_against(Some(against))?;
        } else if !several {
            say(&format!("note: --baseline: {}", against.compared.says()));
        }
        exit = exit.and(against.exit());
    }
    let checks = || {
        let mut checks = Checks::of_runs(&runs)?;
        against.iter().for_each(|of| checks.add_compared(&of.compared));
        failures.iter().for_each(|why| checks.add_failure("replications", why));
        Ok(checks)
    };
    args.ci.write(checks, exit)?;
    if let Some(path) = args.report.as_ref().filter(|_| !runs.is_empty()) {
        report::write(Source::Runs(&runs), (path, report::REPORT), None)?;
        say(&format!("report: {}", path.display()));
    }
    Ok(exit)
}

/// What came of comparing runs with a baseline, where one is named.
fn against(args: &Load, runs: &[Run]) -> Result<Option<Shown>> {
    if runs.is_empty() {
        return Ok(None);
    }
    let opened = || runs.iter().map(|run| Ok(Run::open(run.path())?)).collect::<Result<Vec<_>>>();
    with_baseline(&args.against, || Ok(Later::Runs(opened()?)))
}

fn read_plan(args: &Load) -> Result<Plan> {
    let flags = |plan: Option<&Plan>| {
        [super::clean::settings(args), args.flags.settings_beside(plan)].concat()
    };
    let users = users_meant(args, &flags(None));
    if let Some(users) = &users {
        say(&format!(
            "note: -c {users} without a rate means --users {users}: each user waits for its \
             answer, then asks again"
        ));
    }
    read_plan_of(args.target.as_ref(), &args.set, |plan| {
        let mut settings = flags(plan);
        let connections = settings.iter_mut().filter(|of| of.key == "load.connections");
        connections.filter(|_| users.is_some()).for_each(|of| of.key = "load.users".to_owned());
        settings
    })
}

/// The users that `-c N` means beside `-n` or `--for`, as it does for wrk, hey, ab and oha; `None`
/// where something else says how much load there is.
fn users_meant(args: &Load, flags: &[Setting]) -> Option<String> {
    const SHAPES: [&str; 6] =
        ["load.rate", "load.schedule", "load.users", "load.trace", "load.profile", "target.replay"];
    if args.target.as_deref().is_some_and(files::is_plan) {
        return None;
    }
    let set = args.set.iter().filter_map(|pair| Setting::from_pair(pair).ok());
    let keys: Vec<String> = flags.iter().cloned().chain(set).map(|of| of.key).collect();
    let has_shape = keys.iter().any(|key| SHAPES.iter().any(|shape| key.starts_with(shape)));
    let ends = ["load.requests", "load.for"].iter().any(|end| keys.iter().any(|key| key == end));
    let connections = flags.iter().rfind(|of| of.key == "load.connections")?;
    let is_count = count(&connections.value).is_ok();
    (ends && !has_shape && is_count).then(|| connections.value.clone())
}

/// The plan that a command line means: a URL or a plan file, with flags laid over it, and the pairs
/// of `--set` over these.
pub(crate) fn read_plan_of(
    target: Option<&String>,
    set: &[String],
    flags: impl Fn(Option<&Plan>) -> Vec<Setting>,
) -> Result<Plan> {
    let mut pairs = Vec::new();
    for pair in set {
        let setting = Setting::from_pair(pair)
            .map_err(|error| crate::terminal::error::FlagError::new("--set", pair, error))?;
        pairs.push(setting);
    }
    let settings = |plan: Option<&Plan>| [flags(plan), pairs.clone()].concat();
    let Some(target) = target else {
        return Ok(plans::read(&Written::flags(&settings(None)))?);
    };
    if files::is_plan(target) {
        let text = files::plan(target)?;
        // A plan that is whole only with the flags says nothing of its own trace.
        let plan = plans::read(&Written::text(&text, target, &[]).within(environment)).ok();
        return Ok(plans::read(
            &Written::text(&text, target, &settings(plan.as_ref())).within(environment),
        )?);
    }
    let url = Setting::new("target.url", target.as_str(), "the URL");
    Ok(plans::read(&Written::flags(&[vec![url], settings(None)].concat()))?)
}

fn check(prepared: &Prepared, json: bool) -> Result<Exit> {
    let check = Check::of(prepared);
    if json {
        let value = serde_json::json!({
            "schema": 1,
            "requests": check.requests,
            "duration_s": check.duration_s,
            "peak_per_s": check.peak_per_s,
            "connections": { "start": check.connections.0, "most": check.connections.1 },
            "descriptors": check.descriptors,
            "threads": check.threads,
            "pacing": check.pacing,
            "mix": check.mix.as_ref().map(mix_json),
            "notes": check.notes,
        });
        print(&format!("{value:#}\n"))?;
        return Ok(Exit::Held);
    }
    let mut out = String::new();
    let seconds = std::time::Duration::from_secs_f64(check.duration_s);
    let long = show_duration(u64::try_from(seconds.as_nanos()).unwrap_or(u64::MAX));
    match (check.requests, check.peak_per_s) {
        (Some(requests), Some(peak)) => {
            let requests = show_count(requests);
            let _ =
                writeln!(out, "requests     {requests} in {long}, {} at the peak", show_rate(peak));
        }
        _ => {
            let _ = writeln!(out, "requests     as many as the target answers, for {long}");
        }
    }
    let (start, most) = check.connections;
    let connections =
        if start == most { show_count(u64::from(start)) } else { format!("{start} to {most}") };
    let _ = writeln!(out, "connections  {connections}");
    let _ = writeln!(out, "descriptors  {} at most", show_count(check.descriptors));
    let _ = writeln!(out, "threads      {}, {}", check.threads, check.pacing);
    if let Some(mix) = &check.mix {
        show_mix(mix, &mut out);
    }
    for note in &check.notes {
        let _ = writeln!(out, "note: {note}");
    }
    print(&out)?;
    Ok(Exit::Held)
}

/// Which share of the requests asks for what.
fn show_mix(mix: &Mix, out: &mut String) {
    let _ = writeln!(out, "mix          {} requests, {}", show_count(mix.of as u64), mix.order);
    for part in &mix.most {
        let _ = writeln!(out, "  {:>8}  {} {}", show_share(part.share), part.method, part.url);
    }
    if mix.of > mix.most.len() {
        let others = show_count((mix.of - mix.most.len()) as u64);
        let _ = writeln!(out, "  {:>8}  {others} others", show_share(mix.rest));
    }
}

fn mix_json(mix: &Mix) -> serde_json::Value {
    let part = |part: &Part| {
        let (method, url) = (&part.method, &part.url);
        serde_json::json!({ "method": method, "url": url, "share": part.share })
    };
    serde_json::json!({
        "order": mix.order,
        "of": mix.of,
        "most": mix.most.iter().map(part).collect::<Vec<_>>(),
        "rest": mix.rest,
    })
}

/// The runs that are done, and how the program ends with them.
struct Done<'a> {
    args: &'a Load,
    several: bool,
    exit: Exit,
    runs: Vec<Run>,
}

impl Done<'_> {
    fn hear(&mut self, news: &News<'_>) {
        if let News::Done(_, Some(run)) = news {
            let ended = self.show(run).unwrap_or_else(|error| show(&error));
            self.exit = self.exit.and(ended);
        }
    }

    fn show(&mut self, run: &Run) -> Result<Exit> {
        let summary = run.summary()?;
        // Of several the quiet hear what they come to together.
        let is_told = !(self.several && self.args.quiet);
        if !self.args.json && is_told {
            let uncertainty = uncertainty(run)?;
            print(&render(&summary, uncertainty.as_ref(), Paint::stdout()))?;
            print(&format!("\n  {:<14}{}\n", "run", run.path().display()))?;
        } else if self.args.json && !self.several {
            // Several are told of together.
            print(&pretty(&summary)?)?;
        }
        self.runs.push(Run::open(run.path())?);
        Ok(verdict::exit(&summary))
    }
}

/// The uncertainty of a run's 99th percentile.
pub(crate) fn uncertainty(run: &Run) -> Result<Option<Uncertainty>> {
    let mut batches = QuantileBatches::new();
    for (_, _, second) in run.histograms_over_time(Phase::Measured, Tag::Response)? {
        batches.push(&second);
    }
    Ok(Uncertainty::of(&batches))
}
