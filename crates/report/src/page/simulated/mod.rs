//! The page of a simulation: what each policy comes to, cost against loss, differences, courses,
//! revenue, decisions, and what was simulated.

mod counting;
mod courses;
mod decisions;
mod figures;
mod paired;
mod revenue;
mod trade;

use plimsoll_elastic::course::Simulation;

use super::{document, headline, letter, navigation, section};
use plimsoll_draw::Markup;

/// Whether a request earns anything.
fn earns(simulation: &Simulation) -> bool {
    simulation.result.policies.iter().any(|policy| policy.revenue > 0.0)
}

/// Writes the page.
pub(crate) fn write(simulation: &Simulation, title: Option<&str>) -> String {
    let about = &simulation.about;
    let title = match (title, about.name.as_str()) {
        (Some(title), _) => title.to_owned(),
        (None, "") => "Simulation of policies".to_owned(),
        (None, name) => name.to_owned(),
    };
    document(&title, "one", |m| {
        m.tag("header", &[], |m| {
            headline::write_brand(m);
            m.leaf("h1", &[], &title);
            m.leaf("p", &[("class", &"asked")], asked(simulation));
            m.tag("p", &[("class", &"identity")], |m| {
                let slo = (!about.slo.is_empty()).then(|| format!("SLO {}", about.slo));
                for fact in slo.into_iter().chain([format!("seed {}", about.seed)]) {
                    m.leaf("span", &[], fact);
                }
            });
            headline::write_warnings(m, &simulation.result.warnings);
            navigation(m, &links(simulation));
        });
        m.tag("main", &[], |m| write_sections(m, simulation));
    })
}

/// What was asked, in a sentence.
fn asked(simulation: &Simulation) -> String {
    let about = &simulation.about;
    let policies = match simulation.result.policies.len() {
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

fn links(simulation: &Simulation) -> Vec<(&'static str, &'static str)> {
    let mut links = vec![
        ("#policies", "Policies"),
        ("#trade", "Cost against loss"),
        ("#courses", "Over time"),
        ("#revenue", "Revenue"),
        ("#figures", "Other figures"),
        ("#decisions", "Decisions"),
        ("#about", "What was simulated"),
        ("#counting", "How it was counted"),
    ];
    if paired::is_any(simulation) {
        links.insert(2, ("#paired", "Differences"));
    }
    links
}

fn write_sections(m: &mut Markup, simulation: &Simulation) {
    section(m, "policies", "Policies", |m| figures::write_headline(m, simulation));
    section(m, "trade", "Cost against loss", |m| trade::write(m, simulation));
    if paired::is_any(simulation) {
        section(m, "paired", "Differences", |m| paired::write(m, simulation));
    }
    let words = "The first replication of each policy, on the same axes.";
    super::figures(m, "courses", "Over time", Some(words), &courses::figures(simulation));
    section(m, "revenue", "Revenue", |m| revenue::write(m, simulation));
    section(m, "figures", "Other figures", |m| figures::write_others(m, simulation));
    section(m, "decisions", "Decisions", |m| decisions::write(m, simulation));
    section(m, "about", "What was simulated", |m| counting::write_about(m, simulation));
    section(m, "counting", "How it was counted", |m| counting::write_counting(m, simulation));
}
