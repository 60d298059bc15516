//! The differences of each policy from the first, on the same requests, and whether zero is among
//! what they may be.

use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::Paired;

use super::fields::{FIELDS, Field, Show};
use crate::markup::Markup;

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
                let has =
                    |field: &Field| paired.iter().any(|one| one.difference.contains_key(field.key));
                for field in FIELDS.iter().filter(|field| has(field)) {
                    m.tag("tr", &[], |m| {
                        m.leaf("th", &[("scope", &"row")], field.name);
                        for one in paired {
                            m.tag("td", &[], |m| write_cell(m, *field, one, currency));
                        }
                    });
                }
            });
        });
    });
}

fn write_cell(m: &mut Markup, field: Field, one: &Paired, currency: &str) {
    let show = if field.show == Show::PerCent { Show::Points } else { field.show };
    let Some(&difference) = one.difference.get(field.key) else {
        m.text(super::fields::DASH);
        return;
    };
    let text = show.text(difference, currency);
    let text = if difference > 0.0 { format!("+{text}") } else { text };
    let Some(&(low, high)) = one.ci95.get(field.key) else {
        m.text(text);
        return;
    };
    let is_within = low <= 0.0 && 0.0 <= high;
    m.leaf(if is_within { "span" } else { "b" }, &[], text);
    let zero = if is_within { "zero within" } else { "zero outside" };
    let interval = show.interval((low, high), currency);
    m.leaf("small", &[], format_args!("{interval}: {zero}"));
}
