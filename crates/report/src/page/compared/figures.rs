//! All figures of the groups as a table, with what a request costs.

use plimsoll_capacity::compared::{Compared, Group};
use plimsoll_stats::{Described, figure};

use crate::figure_text;
use plimsoll_draw::Markup;
use plimsoll_draw::chart::unit::{per_cent, significant};

const DASH: &str = "–";

/// Writes the table.
pub(super) fn write(m: &mut Markup, compared: &Compared) {
    let priced = compared.groups.iter().any(|group| group.cost().is_some());
    let mut heads = vec![
        compared.by.as_str(),
        "n",
        "median",
        "95%",
        "mean",
        "95%",
        "CV",
        "min",
        "quartile",
        "quartile",
        "max",
        "z-score",
    ];
    if priced {
        heads.extend(["price an hour", "a request", "a million"]);
    }
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"percentiles")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    for head in heads {
                        m.leaf("th", &[("scope", &"col")], head);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for group in &compared.groups {
                    write_row(m, group, priced);
                }
            });
        });
    });
    if priced {
        m.leaf(
            "p",
            &[("class", &"note after")],
            "The cost of a request is the price per hour over the requests of an hour at the \
             median estimate.",
        );
    }
}

fn write_row(m: &mut Markup, group: &Group, priced: bool) {
    m.tag("tr", &[], |m| {
        m.tag("th", &[("scope", &"row")], |m| {
            m.text(&group.group);
            if group.is_poor() {
                m.text(" ");
                m.leaf("span", &[("class", &"chip poor")], "unusually poor");
            }
        });
        let gaps = group.summary.searches - group.summary.found;
        let gaps =
            if gaps == 0 { String::new() } else { format!(" of {}", group.summary.searches) };
        let bounds = match group.summary.bounds {
            0 => String::new(),
            1 => ", 1 a bound".to_owned(),
            bounds => format!(", {bounds} bounds"),
        };
        m.leaf("td", &[], format_args!("{}{gaps}{bounds}", group.summary.found));
        for cell in cells(group.summary.estimate_per_s.as_ref()) {
            m.leaf("td", &[], cell);
        }
        let score = group.score.map_or_else(|| DASH.to_owned(), |score| format!("{score:.2}"));
        m.leaf("td", &[], score.replace('-', "−"));
        if priced {
            let costs = group.cost().map(|cost| {
                [cost.price_per_hour.to_string(), cost.show_per_request(), cost.show_per_million()]
            });
            for cell in costs.unwrap_or([DASH, DASH, DASH].map(str::to_owned)) {
                m.leaf("td", &[], cell);
            }
        }
    });
}

/// The cells of a group's estimates; dashes where there are none.
fn cells(described: Option<&Described>) -> [String; 9] {
    let Some(of) = described else { return std::array::from_fn(|_| DASH.to_owned()) };
    let rate = |value: f64| figure_text::text(figure::ESTIMATE_PER_S, value, "");
    let interval = |interval: Option<(f64, f64)>| {
        let show = |(low, high)| format!("{} to {}", significant(low), significant(high));
        interval.map_or_else(|| DASH.to_owned(), show)
    };
    [
        rate(of.spread.median),
        interval(of.median_ci95),
        rate(of.mean),
        interval(of.mean_ci95),
        of.cv.map_or_else(|| DASH.to_owned(), per_cent),
        rate(of.spread.min),
        rate(of.spread.q1),
        rate(of.spread.q3),
        rate(of.spread.max),
    ]
}
