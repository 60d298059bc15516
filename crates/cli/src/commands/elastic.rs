//! `plimsoll elastic`: what is done with the runs of elastic pools.

use super::simulate::policy_settings;
use crate::elastic_args::{Elastic, ElasticCommand, ElasticReplay};
use crate::exit::Exit;
use crate::terminal::align::align;
use crate::terminal::error::Result;
use crate::terminal::paint::Paint;
use crate::terminal::{pretty, print};
use plimsoll_elastic::policy;
use plimsoll_experiment::replay::{Replayed, replay};
use plimsoll_plan::Setting;
use plimsoll_runs::Run;
use plimsoll_units::{show_count, show_duration};
use serde_json::{Value, json};

/// Runs the command.
pub(crate) fn run(args: &Elastic) -> Result<Exit> {
    match &args.command {
        ElasticCommand::Replay(of) => replayed(of),
    }
}

fn replayed(args: &ElasticReplay) -> Result<Exit> {
    let run = Run::open(&args.run)?;
    let (label, settings) = of_policy(&args.policy)?;
    let all = replay(&run, &settings, &label)?;
    let differ = all.iter().filter(|of| differs(of)).count();
    let shown: Vec<&Replayed> = all.iter().filter(|of| args.all || differs(of)).collect();
    if args.json {
        let document = json!({
            "schema": 1, "warnings": [], "run": args.run, "policy": args.policy,
            "decisions": all.len(), "differ": differ,
            "moments": shown.iter().map(|of| moment(of)).collect::<Vec<_>>(),
        });
        print(&pretty(&document)?)?;
        return Ok(Exit::Held);
    }
    let (count, differ) = (show_count(all.len() as u64), show_count(differ as u64));
    print(&format!("{count} decisions, {differ} of them differ\n"))?;
    if !shown.is_empty() {
        print(&table(&shown))?;
    }
    Ok(Exit::Held)
}

/// What a policy is called in the plan, and what is laid over that for it.
fn of_policy(text: &str) -> Result<(String, Vec<Setting>)> {
    let is_kind = text.split_whitespace().next().is_some_and(|kind| policy::kind(kind).is_ok());
    if !is_kind && !text.contains([' ', '=']) {
        return Ok((text.to_owned(), Vec::new()));
    }
    let settings = policy_settings(text)?;
    let label = settings.first().and_then(|of| of.key.split('.').nth(1)).unwrap_or_default();
    Ok((label.to_owned(), settings))
}

fn differs(of: &Replayed) -> bool {
    of.was.desired != of.would.desired
}

fn moment(of: &Replayed) -> Value {
    let Replayed { was, would } = of;
    let limited_by = would.limited_by.map(policy::Bound::name);
    json!({
        "at_ns": was.at_ns, "before": was.before,
        "was": {"desired": was.desired, "limited_by": was.limited_by, "reason": was.reason},
        "would": {"desired": would.desired, "limited_by": limited_by, "reason": would.reason},
    })
}

fn table(shown: &[&Replayed]) -> String {
    let titles = ["at", "there were", "decided", "would have", "why"].map(str::to_owned).to_vec();
    let row = |of: &&Replayed| {
        vec![
            show_duration(of.was.at_ns),
            of.was.before.to_string(),
            of.was.desired.to_string(),
            of.would.desired.to_string(),
            of.would.reason.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(titles).chain(shown.iter().map(row)).collect();
    let mut text = String::new();
    align(&mut text, &rows, 1, Paint::stdout());
    text
}
