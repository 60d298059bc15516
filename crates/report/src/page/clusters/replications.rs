//! The figures over replications, where requests were made up several times: means with their
//! intervals, so that a difference can be told from chance.

use super::cells::write_name;
use super::shown::Shown;
use crate::Estimate;
use crate::figure_text;
use plimsoll_draw::Markup;

/// Writes the table; nothing where there is one replication.
pub(super) fn write(m: &mut Markup, shown: &Shown<'_>) {
    let heads = shown.all.first().map_or(&[][..], |(_, cell)| &cell.estimates);
    let replications = shown.all.first().map_or(0, |(_, cell)| cell.replications);
    if heads.is_empty() {
        return;
    }
    m.leaf("h3", &[], format_args!("Means over {replications} replications"));
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"policies"), ("id", &"replications-table")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    m.leaf("th", &[("scope", &"col")], "cluster");
                    for head in heads {
                        m.leaf("th", &[("scope", &"col")], head.figure.label);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for number in 0..shown.all.len() {
                    m.tag("tr", &[], |m| {
                        write_name(m, shown, number);
                        for of in &shown.all[number].1.estimates {
                            write_estimate(m, of);
                        }
                    });
                }
            });
        });
    });
    let words = "Below each mean its 95% interval over the replications (Student). All else on \
                 this page is of the first replication. Clusters saw the same requests, so their \
                 differences are surer than their intervals say: --json has those from the first.";
    m.leaf("p", &[("class", &"note after")], words);
}

fn write_estimate(m: &mut Markup, of: &Estimate) {
    let (low, high) = of.ci95;
    m.tag("td", &[], |m| {
        m.text(figure_text::text(of.figure, of.mean, ""));
        let (least, greatest) = of.figure.unit.range();
        let ends = (low.max(least), high.min(greatest));
        let show = |value: f64| figure_text::text(of.figure, value, "");
        m.leaf("small", &[], figure_text::interval(ends, show));
    });
}
