//! `plimsoll tune`: better parameters of a policy.

use crate::commands::simulate::{cells, read_plan, threads};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::simulate_args::Tune as Args;
use crate::terminal::error::{FlagError, Result, UsageError};
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say};
use plimsoll_elastic::policy::Parameter;
use plimsoll_elastic::result::PolicyResult;
use plimsoll_experiment::engine::ending;
use plimsoll_experiment::record::{Record, Subject};
use plimsoll_experiment::simulate::tune::{Axis, Trials, TuneResult, most_cells, tune};
use plimsoll_experiment::simulate::wish::{Wish, figure_of};
use plimsoll_experiment::simulate::{Model, Named, model, subject};
use plimsoll_plan::{Plan, Setting, Tune, Vary};
use plimsoll_runs::Kind;
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::ParseError;
use std::fmt::Write;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut set = settings(args)?;
    for pair in &args.set {
        set.push(Setting::from_pair(pair).map_err(|error| FlagError::new("--set", pair, error))?);
    }
    let plan = read_plan(&args.plan, &args.flags, &set)?;
    let model = model(&plan)?;
    let given = plan.tune.clone().unwrap_or_default();
    let first = model.policies.first().map(|named| named.label.clone());
    let Some(label) = given.policy.clone().or(first) else {
        return Err(UsageError("find a policy in the plan: it has none".to_owned()).into());
    };
    let bounds = given.subject_to.as_deref().unwrap_or_default();
    let wish = Wish::new(figure_of(&given.objective.figure)?, given.objective.is_great, bounds)?;
    let axes = axes(&given, model.policy(&label)?)?;
    let replications = given.replications;
    let vary = axes.iter().cloned().map(|Axis { name, values }| Vary { name, values }).collect();
    let asked = Tune { policy: Some(label.clone()), vary, ..given };
    let threads = threads(args.threads.as_deref())?;
    let interrupts = Interrupts::watch()?;
    let quiet = args.quiet || args.json;
    let record = record(args, &plan, &model, (&asked, &wish))?;
    let screen = Screen::new(quiet, &interrupts).of_steps("replications");
    let trials = Trials { replications, record: &record, control: &screen, threads };
    let tuned = tune(&model, &label, &axes, &wish, &trials);
    screen.clear();
    let is_interrupted = interrupts.count() > 0;
    let (tuned, executed) = match tuned {
        Ok(tuned) => (tuned, Ok(())),
        Err(error) => (None, Err(error)),
    };
    let warnings = tuned.as_ref().map(|of| of.warnings.clone()).unwrap_or_default();
    let folder = record.finish(ending(&executed, &screen), &warnings)?;
    executed?;
    let Some(tuned) = tuned else {
        say("interrupted before there was a result");
        folder.iter().for_each(|folder| say(&format!("what was done is in {}", folder.display())));
        return Ok(Exit::Incomplete);
    };
    if args.json {
        print(&pretty(&tuned)?)?;
    } else {
        let sign = plan.elastic.as_ref().map_or("$", |elastic| &elastic.billing.currency);
        print(&render(&tuned, sign))?;
        folder.iter().for_each(|folder| say(&format!("kept in {}", folder.display())));
    }
    Ok(match (is_interrupted, tuned.keeps) {
        (true, _) => Exit::Incomplete,
        (false, true) => Exit::Held,
        (false, false) => Exit::Broken,
    })
}

/// The keys of `[tune]` that the flags set.
fn settings(args: &Args) -> Result<Vec<Setting>, FlagError> {
    let keys = [
        ("tune.policy", &args.policy, "--policy"),
        ("tune.minimise", &args.minimise, "--minimise"),
        ("tune.maximise", &args.maximise, "--maximise"),
        ("tune.subject_to", &args.subject_to, "--subject-to"),
        ("tune.replications", &args.replications, "--replications"),
    ];
    let given = keys.into_iter().filter_map(|(key, value, flag)| {
        value.as_ref().map(|value| Setting::new(key, value, flag))
    });
    let mut settings: Vec<Setting> = given.collect();
    for text in &args.vary {
        let wanted = "a parameter and its values, upper=60,70,80 or upper=60..90/5";
        let pair = text.split_once('=').map(|(name, values)| (name.trim(), values));
        let Some((name, values)) = pair.filter(|(name, _)| !name.is_empty()) else {
            let error = ParseError::new(wanted, text, 0, text.len());
            return Err(FlagError::new("--vary", text, error));
        };
        settings.push(Setting::new(format!("tune.vary.{name}"), values, format!("--vary {name}")));
    }
    Ok(settings)
}

/// The record of all that is tried; the plan is written with all that was looked for.
fn record<'a>(
    args: &'a Args,
    plan: &Plan,
    model: &Model,
    (asked, wish): (&Tune, &Wish),
) -> Result<Record<'a>> {
    let here = std::env::current_dir()?;
    let candidates = asked.vary.iter().map(|vary| vary.values.len()).product();
    let label = asked.policy.as_deref().unwrap_or_default();
    let whole = Plan { tune: Some(asked.clone()), ..plan.clone() };
    let of = subject(&whole, model, &here);
    let of = Subject { kind: Kind::Tune, what: format!("{wish} of {label}"), ..of };
    let cells = most_cells(candidates, asked.replications);
    Ok(cells::record(&args.out, &args.plan, of, (cells, args.keep_cells)))
}

/// What is varied: what is said, or what is usual for the kind.
fn axes(tune: &Tune, policy: &Named) -> Result<Vec<Axis>> {
    let given = tune.vary.iter().cloned().map(|Vary { name, values }| Axis { name, values });
    let mut axes: Vec<Axis> = given.collect();
    if axes.is_empty() {
        let all = policy.kind.parameters.iter().filter(|of| !of.usual.is_empty());
        axes.extend(all.map(|of| usual(of, policy)));
    }
    if axes.is_empty() {
        let name = policy.kind.name;
        let text = format!("vary a parameter of `{name}`: say which with --vary NAME=VALUE,VALUE");
        return Err(UsageError(text).into());
    }
    Ok(axes)
}

/// Values of the plan's own that are tried where a bound is of another metric than the usual one.
const AROUND: [f64; 5] = [0.5, 0.75, 1.0, 1.25, 1.5];

/// The usual values of a parameter. Those of bounds are of the usual metric: with another one they
/// lie around the plan's own value.
fn usual(of: &Parameter, policy: &Named) -> Axis {
    let given = |name: &str| {
        let found = policy.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str())
    };
    let is_bound = of.default.ends_with(" of cpu");
    let own = given(of.name).and_then(|text| text.parse::<f64>().ok());
    let values = match own.filter(|_| is_bound && given("metric").is_some_and(|of| of != "cpu")) {
        Some(own) => AROUND.map(|factor| (own * factor).to_string()).to_vec(),
        None => of.usual.iter().map(|value| (*value).to_owned()).collect(),
    };
    Axis { name: of.name.to_owned(), values }
}

/// The result for a person.
fn render(tuned: &TuneResult, sign: &str) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<12}{text}");
    };
    row("wished", &tuned.wish);
    row("tried", &format!("{} settings, {} replications", tuned.candidates, tuned.replications));
    row("best", &tuned.policy);
    if !tuned.keeps {
        row("but", "it does not keep what was asked; nothing that was tried does");
    }
    row(&tuned.baseline.label, &figures(&tuned.baseline, sign));
    row("tuned", &figures(&tuned.best, sign));
    if let Some(paired) = &tuned.paired {
        for Figure { name, label, .. } in [figure::COST, figure::LOST, figure::NET] {
            if let (Some(difference), Some((low, high))) =
                (paired.difference.get(*name), paired.ci95.get(*name))
            {
                let text = format!("{difference:+.2} (95%: {low:+.2} to {high:+.2})");
                row("difference", &format!("{label} {text}"));
            }
        }
    }
    for warning in &tuned.warnings {
        row("note", warning);
    }
    out
}

fn figures(of: &PolicyResult, sign: &str) -> String {
    let p99 = of.response_us.p99.unwrap_or(f64::NAN);
    let share = of.lost / of.offered.max(1.0);
    format!(
        "cost {}, lost {}, net {}, p99 {}",
        figure::COST.unit.show_in(of.cost, sign),
        figure::LOST_SHARE.unit.show(share),
        figure::NET.unit.show_in(of.net, sign),
        figure::RESPONSE_US_P99.unit.show(p99)
    )
}
