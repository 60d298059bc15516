//! The page of simulated pools: the cheapest policy that holds the SLO, instances against demand,
//! what each policy comes to, cost against loss, differences, other courses, decisions, and what
//! was simulated.

mod counting;
mod courses;
mod decisions;
mod figures;
mod paired;
mod policies;
mod revenue;
mod trade;

pub(crate) use self::policies::Pools;

use self::policies::Policy;
use crate::document::{self, Block, Document, Section, Verdict, warnings, words};
use crate::figure_text;
use plimsoll_draw::chart::unit::{moment, money, whole};
use plimsoll_stats::figure;

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// The page.
pub(crate) fn page(pools: &Pools, title: Option<String>) -> Document {
    let about = &pools.about;
    let name = match about.name.as_str() {
        _ if pools.is_of_runs && pools.policies.len() > 1 => "Simulated pools",
        "" => "Simulation of policies",
        name => name,
    };
    let mut head: Vec<Block> = answer(pools).map(Block::Verdict).into_iter().collect();
    head.push(document::asked(asked(pools)));
    let slo = (!about.slo.is_empty()).then(|| format!("SLO {}", about.slo));
    head.push(Block::Facts(slo.into_iter().chain([format!("seed {}", about.seed)]).collect()));
    head.extend(warnings(&pools.warnings));
    let mut sections = sections(pools);
    sections.splice(0..0, paired::of_two(pools));
    Document { title: title.unwrap_or_else(|| name.to_owned()), head, sections, is_several: false }
}

/// The cheapest policy that holds the SLO, with what it costs and its most instances.
fn answer(pools: &Pools) -> Option<Verdict> {
    let cheapest = |of: &dyn Fn(&Policy) -> bool| {
        let known = pools.policies.iter().enumerate().filter(|(_, one)| one.is_real() && of(one));
        let costs = known.filter_map(|(n, one)| Some((n, one, one.value(figure::COST)?)));
        costs.min_by(|a, b| a.2.total_cmp(&b.2))
    };
    let told = |(number, policy, cost): (usize, &Policy, f64)| {
        let peak = pools.courses.get(number).map(|course| most(&course.ready));
        let peak = peak.filter(|&n| n > 0.0).map_or_else(String::new, |n| {
            format!(", with at most {} instances at once", whole(n.ceil()))
        });
        format!("{}: {}{peak}", policy.label, priced(pools, cost))
    };
    let slo = &pools.about.slo;
    let has_slo = pools.policies.iter().any(|policy| policy.holds.is_some());
    if !has_slo {
        let best = cheapest(&|_| true)?;
        let says = format!("{}.", told(best));
        let says = if pools.policies.len() > 1 { format!("The cheapest is {says}") } else { says };
        let lost = best.1.value(figure::LOST_SHARE).map(|share| {
            let share = figure_text::text(figure::LOST_SHARE, share, "");
            format!("It loses {share} of the requests; whether an SLO holds is not told.")
        });
        let reasons = lost.into_iter().collect();
        return Some(Verdict { class: "open", says, reasons });
    }
    if let Some(best) = cheapest(&|policy| policy.holds == Some(true)) {
        let says = format!("The cheapest policy that holds {slo} is {}.", told(best));
        let broken = pools.policies.iter().filter(|one| one.holds == Some(false));
        let broken: Vec<&str> = broken.map(|one| one.label.as_str()).collect();
        let reasons = if broken.is_empty() {
            Vec::new()
        } else {
            vec![format!("It does not hold under {}.", broken.join(", "))]
        };
        return Some(Verdict { class: "good", says, reasons });
    }
    let violated = |one: &&Policy| one.value(figure::SLO_VIOLATED_S).unwrap_or(f64::INFINITY);
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
fn priced(pools: &Pools, cost: f64) -> String {
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
fn asked(pools: &Pools) -> String {
    let about = &pools.about;
    let policies = match pools.policies.len() {
        n if pools.is_of_runs && n > 1 => format!("{n} runs of simulated pools"),
        0 => "No policy".to_owned(),
        1 => "One policy".to_owned(),
        n => format!("{n} policies on the same requests"),
    };
    let replications = match about.replications {
        0 | 1 => "in one replication".to_owned(),
        n => format!("in {n} replications"),
    };
    let load = about.load.trim_end_matches('.');
    let load = if load.is_empty() { String::new() } else { format!(": {load}") };
    format!("{policies}, {replications}{load}.")
}

fn sections(pools: &Pools) -> Vec<Section> {
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
    if let Some(block) = revenue::block(pools) {
        sections.push(Section::new("revenue", "Revenue", vec![block]));
    }
    sections.extend([
        Section::new("figures", "Other figures", figures::others(pools)),
        Section::new("decisions", "Decisions", decisions::blocks(pools)),
        Section::new("about", "What was simulated", vec![counting::about(pools)]),
        Section::new("counting", "How it was counted", vec![counting::notes(pools)]),
    ]);
    sections
}
