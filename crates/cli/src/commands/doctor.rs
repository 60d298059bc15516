//! `plimsoll doctor`: whether this host is fit for a load, and the lines that would change it.

use super::run::plan_text;
use crate::doctor_args::Doctor;
use crate::exit::Exit;
use crate::place::place;
use crate::terminal::error::Result;
use crate::terminal::{pretty, print};
use plimsoll_experiment::wants::wants;
use plimsoll_monitor::doctor::{Finding, Fit, Wants, examine};
use plimsoll_testbed::links::lacks;
use plimsoll_testbed::provider::{Ability, abilities};
use plimsoll_units::show_count;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// What links between instances are made by, whatever else the kernel has.
const BY: &str = "a router of this program on TUN devices";

/// Runs the command.
pub(crate) fn run(args: &Doctor) -> Result<Exit> {
    let here = std::env::current_dir()?;
    let wants = wanted(args, &here)?;
    let root = Path::new("/");
    let (findings, providers, links) = (examine(root, wants), abilities(root), lacks(root));
    let text = match args.json {
        true => pretty(&document(wants, &findings, &providers, &links))?,
        false => shown(wants, &findings, &providers, &links),
    };
    print(&text)?;
    let is_unfit = findings.iter().any(|finding| finding.fit == Fit::Unfit);
    Ok(if is_unfit { Exit::Broken } else { Exit::Held })
}

fn wanted(args: &Doctor, here: &Path) -> Result<Wants> {
    let of_plan = match &args.plan {
        None => Wants::default(),
        Some(plan) => {
            let text = plan_text(plan, &args.set, args.testbed.as_deref())?;
            wants(&text, &place(here))?
        }
    };
    Ok(match args.connections {
        None => of_plan,
        Some(connections) => {
            let opened_per_s = of_plan.opened_per_s.max(connections as f64);
            Wants { connections, opened_per_s }
        }
    })
}

fn document(
    wants: Wants,
    findings: &[Finding],
    providers: &[Ability],
    links: &[String],
) -> serde_json::Value {
    let finding = |of: &Finding| {
        json!({
            "name": of.name, "fit": of.fit.name(), "found": of.found, "wanted": of.wanted,
            "why": of.why, "change": of.change,
        })
    };
    let provider = |of: &Ability| json!({"provider": of.provider, "lacks": of.lacks});
    json!({
        "schema": 1,
        "warnings": [],
        "wants": {
            "connections": wants.connections, "opened_per_s": wants.opened_per_s,
        },
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        "testbed": providers.iter().map(provider).collect::<Vec<_>>(),
        "links": { "by": BY, "lacks": links },
    })
}

fn shown(wants: Wants, findings: &[Finding], providers: &[Ability], links: &[String]) -> String {
    let mut out = format!(
        "for {} connections, {} opened a second\n\n",
        show_count(wants.connections),
        show_count(rounded(wants.opened_per_s))
    );
    for of in findings {
        let found = if of.found.is_empty() { "this host does not say" } else { &of.found };
        let _ = writeln!(out, "{:<10}{:<24}{found}", of.fit.name(), of.name);
        if matches!(of.fit, Fit::Doubtful | Fit::Unfit) {
            let _ = writeln!(out, "{:<10}wanted: {}; {}", "", of.wanted, of.why);
            of.change.iter().for_each(|line| {
                let _ = writeln!(out, "{:<10}    {line}", "");
            });
        }
    }
    out.push_str("\ntest-bed\n");
    let mut can = |what: &str, lacks: &[String]| {
        let can = if lacks.is_empty() { "can" } else { "cannot" };
        let _ = writeln!(out, "{can:<10}{what}");
        lacks.iter().for_each(|what| {
            let _ = writeln!(out, "{:<10}{what}", "");
        });
    };
    for of in providers {
        can(&format!("provider {}", of.provider), &of.lacks);
    }
    can(&format!("links, by {BY}"), links);
    out
}

fn rounded(per_s: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is shown")]
    let rounded = per_s.clamp(0.0, 1e15).round() as u64;
    rounded
}
