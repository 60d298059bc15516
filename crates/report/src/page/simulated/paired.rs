//! The differences of each policy from the first, on the same requests, and whether zero is among
//! what they may be.

use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::Paired;
use plimsoll_stats::figure::{self, Figure};

use crate::figure_text::{self, DASH};
use plimsoll_draw::Markup;

/// The figures of which there are differences, in the order in which they are shown.
const FIGURES: [&Figure; 15] = [
    figure::INSTANCE_HOURS,
    figure::INSTANCE_HOURS_USED,
    figure::COST,
    figure::REVENUE,
    figure::NET,
    figure::OFFERED,
    figure::SERVED,
    figure::LOST,
    figure::IN_FLIGHT_AT_END,
    figure::RESPONSE_MEAN_US,
    figure::RESPONSE_P99_US,
    figure::SLO_VIOLATED_S,
    figure::CPU_MEAN,
    figure::SCALE_OUT,
    figure::SCALE_IN,
];

/// Whether anything is compared.
pub(super) fn is_any(simulation: &Simulation) -> bool {
    !simulation.result.paired.is_empty()
}

/// Writes a table: a column a policy, a row a figure.
pub(super) fn write(m: &mut Markup, simulation: &Simulation) {
    let (paired, currency) = (&simulation.result.paired, &simulation.about.currency);
    m.leaf(
        "p",
        &[("class", &"words")],
        "All policies had the same requests in each replication, so their differences are taken \
         replication by replication: chance that all share is not in them. Where zero lies within \
         the 95% interval of a difference, it may be none.",
    );
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"sides paired")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    m.leaf("th", &[("scope", &"col")], "difference");
                    for one in paired {
                        m.tag("th", &[("scope", &"col")], |m| {
                            m.text(&one.label);
                            m.leaf("small", &[], format_args!("less {}", one.with));
                        });
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                let has = |figure: &&Figure| {
                    paired.iter().any(|one| one.difference.contains_key(figure.name))
                };
                for figure in FIGURES.into_iter().filter(has) {
                    m.tag("tr", &[], |m| {
                        m.leaf("th", &[("scope", &"row")], figure.label);
                        for one in paired {
                            m.tag("td", &[], |m| write_cell(m, figure, one, currency));
                        }
                    });
                }
            });
        });
    });
}

fn write_cell(m: &mut Markup, figure: &Figure, one: &Paired, currency: &str) {
    let show = |value: f64| figure_text::difference(figure, value, currency);
    let Some(&difference) = one.difference.get(figure.name) else {
        m.text(DASH);
        return;
    };
    let text = show(difference);
    let text = if difference > 0.0 { format!("+{text}") } else { text };
    let Some(&(low, high)) = one.ci95.get(figure.name) else {
        m.text(text);
        return;
    };
    let is_within = low <= 0.0 && 0.0 <= high;
    m.leaf(if is_within { "span" } else { "b" }, &[], text);
    let zero = if is_within { "zero within" } else { "zero outside" };
    let interval = figure_text::interval((low, high), show);
    m.leaf("small", &[], format_args!("{interval}: {zero}"));
}
