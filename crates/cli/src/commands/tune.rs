//! `plimsoll tune`: better parameters of a policy.

use crate::commands::simulate::{cells, read_plan, threads};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::simulate_args::Tune;
use crate::terminal::error::{FlagError, UsageError, read};
use crate::terminal::screen::Screen;
use crate::terminal::{print, say};
use anyhow::Result;
use plimsoll_elastic::policy::Parameter;
use plimsoll_elastic::result::PolicyResult;
use plimsoll_experiment::engine::ending;
use plimsoll_experiment::record::{Record, Subject};
use plimsoll_experiment::simulate::tune::{Axis, Trials, TuneResult, most_cells, tune};
use plimsoll_experiment::simulate::wish::{Wish, figure_of};
use plimsoll_experiment::simulate::{Model, Named, model, subject};
use plimsoll_plan::{Plan, Setting, Tuning};
use plimsoll_runs::Kind;
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::{ParseError, count};
use std::fmt::Write;

/// The most values of one parameter.
const MOST_VALUES: usize = 1000;

/// Runs the command.
pub(crate) fn run(args: &Tune) -> Result<Exit> {
    let wish = wish(args)?;
    let mut set = Vec::new();
    for pair in &args.set {
        set.push(Setting::from_pair(pair).map_err(|error| FlagError::new("--set", pair, error))?);
    }
    let plan = read_plan(&args.plan, &args.flags, &set)?;
    let model = model(&plan)?;
    let first = model.policies.first().map(|named| named.label.clone());
    let Some(label) = args.policy.clone().or(first) else {
        return Err(UsageError("find a policy in the plan: it has none".to_owned()).into());
    };
    let axes = axes(args, model.policy(&label)?)?;
    let replications = read("--replications", &args.replications, |text| match count(text)? {
        n @ 2..=100_000 => Ok(n),
        _ => Err(ParseError::new("from 2 to 100000 replications", text, 0, text.len())),
    })?;
    let threads = threads(args.threads.as_deref())?;
    let interrupts = Interrupts::watch()?;
    let quiet = args.quiet || args.json;
    let record = record(args, &plan, &model, &asked(&label, &axes, &wish, replications))?;
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
        print(&format!("{}\n", serde_json::to_string_pretty(&tuned)?))?;
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

/// What is looked for, as it is written beside the plan.
fn asked(label: &str, axes: &[Axis], wish: &Wish, replications: u64) -> Tuning {
    Tuning {
        policy: label.to_owned(),
        vary: axes.iter().map(|axis| (axis.name.clone(), axis.values.clone())).collect(),
        wish: wish.to_string(),
        replications,
    }
}

/// The record of all that is tried.
fn record<'a>(args: &'a Tune, plan: &Plan, model: &Model, asked: &Tuning) -> Result<Record<'a>> {
    let here = std::env::current_dir()?;
    let candidates = asked.vary.iter().map(|(_, values)| values.len()).product();
    let of = subject(plan, model, &here);
    let of = Subject {
        kind: Kind::Tune,
        what: format!("{} of {}", asked.wish, asked.policy),
        plan_text: format!("{}\n{}", of.plan_text, asked.to_toml()),
        ..of
    };
    let cells = most_cells(candidates, asked.replications);
    Ok(cells::record(&args.out, &args.plan, of, (cells, args.keep_cells)))
}

fn wish(args: &Tune) -> Result<Wish> {
    let (figure, is_great) = match (&args.minimise, &args.maximise) {
        (_, Some(text)) => (read("--maximise", text, figure_of)?, true),
        (Some(text), None) => (read("--minimise", text, figure_of)?, false),
        (None, None) => (figure::COST, false),
    };
    let bounds = &args.subject_to;
    Ok(read("--subject-to", bounds, |text| Wish::new(figure, is_great, text))?)
}

/// What is varied: what the flags say, or what is usual for the kind.
fn axes(args: &Tune, policy: &Named) -> Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for text in &args.vary {
        axes.push(read("--vary", text, axis)?);
    }
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

/// Reads `upper=60,70,80` or `upper=60..90/5`.
fn axis(text: &str) -> Result<Axis, ParseError> {
    let wrong = |wanted: &str| ParseError::new(wanted, text, 0, text.len());
    let wanted = "a parameter and its values, upper=60,70,80 or upper=60..90/5";
    let (name, values) = text.split_once('=').ok_or_else(|| wrong(wanted))?;
    let name = name.trim().to_owned();
    let range = values.split_once("..").and_then(|(from, rest)| {
        let (to, step) = rest.split_once('/')?;
        let [from, to, step] = [from, to, step].map(|number| number.trim().parse::<f64>().ok());
        Some((from?, to?, step?))
    });
    let values: Vec<String> = match range {
        Some((from, to, step)) if step > 0.0 && to >= from => {
            let last = ((to - from) / step + 1e-9).floor();
            if last >= MOST_VALUES as f64 {
                return Err(wrong("at most 1000 values"));
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few")]
            let last = last as u32;
            let value = |k: u32| from + f64::from(k) * step;
            (0..=last).map(|k| ((1e9 * value(k)).round() / 1e9).to_string()).collect()
        }
        Some(_) => {
            return Err(wrong("a range with the lesser number first, and a step above zero"));
        }
        None => values.split(',').map(|value| value.trim().to_owned()).collect(),
    };
    if name.is_empty() || values.iter().any(String::is_empty) {
        return Err(wrong(wanted));
    }
    Ok(Axis { name, values })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_listed_or_ranged() {
        let values = |text: &str| axis(text).map(|axis| axis.values);
        assert_eq!(values("upper=60,70").unwrap(), ["60", "70"]);
        assert_eq!(values("upper=60..75/5").unwrap(), ["60", "65", "70", "75"]);
        assert_eq!(values("headroom=0..0.3/0.1").unwrap(), ["0", "0.1", "0.2", "0.3"]);
        for wrong in ["upper", "=3", "upper=", "upper=9..3/1", "upper=1..9/0", "upper=0..9/0.001"] {
            assert!(axis(wrong).is_err(), "{wrong}");
        }
    }
}
