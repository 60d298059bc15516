//! The page of pools: the cheapest policy that holds the SLO, instances against demand,
//! what each policy comes to, cost against loss, differences, other courses, decisions, and what
//! was run.

mod counting;
mod courses;
mod decisions;
mod figures;
mod paired;
mod places;
mod policies;
mod predicted;
mod revenue;
mod trade;

use self::policies::{Policy, Pools};
pub(crate) use self::predicted::section as predicted;
use super::{experiment, levels};
use crate::cells::Cells;
use crate::document::{self, Block, Document, Section, Verdict, warnings, words};
use crate::error::ReportError;
use crate::figure_text;
use plimsoll_draw::chart::unit::{moment, money, whole};
use plimsoll_stats::figure::{self, Figure};

/// The figures that are drawn over levels that are numbers.
const LEVELS: [&Figure; 3] = [figure::COST, figure::LOST_SHARE, figure::RESPONSE_US_P99];
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// The page.
pub(crate) fn page(cells: &Cells, title: Option<String>) -> Result<Document, ReportError> {
    let pools = &Pools::of(cells)?;
    let name = match cells.name.as_str() {
        _ if cells.is_of_runs && pools.policies.len() > 1 => "Simulated pools",
        "" => "Simulation of policies",
        name => name,
    };
    let mut head: Vec<Block> = answer(pools).map(Block::Verdict).into_iter().collect();
    head.extend([document::asked(asked(pools)), experiment::facts(cells)]);
    head.extend(warnings(&cells.warnings));
    let mut sections = sections(pools);
    sections.splice(0..0, paired::of_two(pools));
    let title = title.unwrap_or_else(|| name.to_owned());
    Ok(Document { title, head, sections, is_several: false })
}

/// The cheapest policy that holds the SLO, with what it costs and its most instances.
fn answer(pools: &Pools<'_>) -> Option<Verdict> {
    let cheapest = |of: &dyn Fn(&Policy<'_>) -> bool| {
        let known = pools.policies.iter().filter(|one| one.is_real() && of(one));
        let costs = known.filter_map(|one| Some((one, one.value(figure::COST)?)));
        costs.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let told = |(policy, cost): (&Policy<'_>, f64)| {
        let peak = pools.course(policy).map(|course| most(&course.ready));
        let peak = peak.filter(|&n| n > 0.0).map_or_else(String::new, |n| {
            format!(", with at most {} instances at once", whole(n.ceil()))
        });
        format!("{}: {}{peak}", policy.label, priced(pools, cost))
    };
    let slo = &pools.slo;
    let has_slo = pools.policies.iter().any(|policy| policy.holds.is_some());
    if !has_slo {
        let best = cheapest(&|_| true)?;
        let says = format!("{}.", told(best));
        let says = if pools.policies.len() > 1 { format!("The cheapest is {says}") } else { says };
        let lost = best.0.value(figure::LOST_SHARE).map(|share| {
            let share = figure_text::text(figure::LOST_SHARE, share, "");
            format!("It loses {share} of the requests; whether an SLO holds is not told.")
        });
        let reasons = lost.into_iter().collect();
        return Some(Verdict { class: "open", says, reasons });
    }
    if let Some(best) = cheapest(&|policy| policy.holds == Some(true)) {
        let says = format!("The cheapest policy that holds {slo} is {}.", told(best));
        let broken = pools.policies.iter().filter(|one| one.holds == Some(false));
        let broken: Vec<&str> = broken.map(|one| one.label).collect();
        let reasons = if broken.is_empty() {
            Vec::new()
        } else {
            vec![format!("It does not hold under {}.", broken.join(", "))]
        };
        return Some(Verdict { class: "good", says, reasons });
    }
    let violated = |one: &&Policy<'_>| one.value(figure::SLO_VIOLATED_S).unwrap_or(f64::INFINITY);
    let real = pools.policies.iter().filter(|one| one.is_real());
    let nearest = real.min_by(|a, b| violated(a).total_cmp(&violated(b)))?;
    let text = figure_text::text(figure::SLO_VIOLATED_S, violated(&nearest), "");
    Some(Verdict {
        class: "poor",
        says: format!("No policy holds {slo}."),
        reasons: vec![format!(
            "The nearest is {}, under which it fails for {text}.",
            nearest.label
        )],
    })
}

/// The most of some values; 0 of none.
fn most(values: &[f64]) -> f64 {
    values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// What a policy costs, and what that is a day where the load was not as long.
fn priced(pools: &Pools<'_>, cost: f64) -> String {
    let (currency, seconds) = (&pools.about.currency, pools.seconds());
    if seconds <= 0.0 {
        return money(cost, currency);
    }
    let a_day = money(cost * DAY_S / seconds, currency);
    if (seconds - DAY_S).abs() < 60.0 {
        return format!("{} a day", money(cost, currency));
    }
    format!("{} for {}, {a_day} a day", money(cost, currency), moment(seconds))
}

/// What was asked, in a sentence.
fn asked(pools: &Pools<'_>) -> String {
    let about = &pools.about;
    let policies = match pools.policies.len() {
        n if pools.cells.is_of_runs && n > 1 => format!("{n} runs of simulated pools"),
        0 => "No policy".to_owned(),
        1 => "One policy".to_owned(),
        n => format!("{n} policies on the same requests"),
    };
    let replications = match pools.cells.replications() {
        0 | 1 => "in one replication".to_owned(),
        n => format!("in {n} replications"),
    };
    let load = about.load.trim_end_matches('.');
    let load = if load.is_empty() { String::new() } else { format!(": {load}") };
    format!("{policies}, {replications}{load}.")
}

fn sections(pools: &Pools<'_>) -> Vec<Section> {
    let first = words("The first replication of each policy, on the same axes.");
    let courses::Courses { instances, others } = courses::charts(pools);
    let mut sections = vec![
        Section::new("demand", "Instances against demand", vec![Block::Charts(instances)]),
        Section::new("policies", "Policies", figures::headline(pools)),
        Section::new("trade", "Cost against loss", vec![trade::block(pools)]),
    ];
    if !pools.paired.is_empty() {
        sections.push(Section::new("paired", "Differences", paired::blocks(pools)));
    }
    sections.push(Section::new("courses", "Over time", vec![first, Block::Charts(others)]));
    let charts = levels::charts(pools.cells, &LEVELS);
    if !charts.is_empty() {
        sections.push(Section::new("levels", "Over the levels", vec![Block::Charts(charts)]));
    }
    if let Some(block) = revenue::block(pools) {
        sections.push(Section::new("revenue", "Revenue", vec![block]));
    }
    if !pools.places.is_empty() {
        sections.push(Section::new("places", "Single instances", places::blocks(pools)));
    }
    sections.extend([
        Section::new("figures", "Other figures", figures::others(pools)),
        Section::new("decisions", "Decisions", decisions::blocks(pools)),
        Section::new("about", "The pool", vec![counting::about(pools)]),
        Section::new("plan", "The plan", vec![Block::Verbatim(pools.cells.plan.clone())]),
        Section::new("counting", "How it was counted", vec![counting::notes(pools)]),
    ]);
    sections
}
