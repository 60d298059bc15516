//! Every cluster as a row: its misses, where else it finds objects, what that costs in messages,
//! and its response times. The lowest of what clusters are chosen by stands out.

use plimsoll_cache::cluster::{Counts, Source};

use super::shown::Shown;
use super::{mean_us, messages, ratio};
use crate::chart::unit::{micros, per_cent, significant, whole};
use crate::markup::Markup;

/// What clusters are chosen by, lower is better.
pub(super) struct Measure {
    /// What it is called, and with its lowest value.
    pub(super) name: &'static str,
    pub(super) lowest: &'static str,
    /// Whether it says nothing of a trace without sizes.
    pub(super) needs_sizes: bool,
    pub(super) value: fn(&Counts) -> f64,
    /// How a value reads.
    pub(super) text: fn(f64) -> String,
}

/// All of them.
pub(super) const MEASURES: [Measure; 3] = [
    Measure {
        name: "miss ratio",
        lowest: "Lowest miss ratio",
        needs_sizes: false,
        value: Counts::miss_ratio,
        text: per_cent,
    },
    Measure {
        name: "byte miss ratio",
        lowest: "Lowest byte miss ratio",
        needs_sizes: true,
        value: Counts::byte_miss_ratio,
        text: per_cent,
    },
    Measure {
        name: "mean response",
        lowest: "Lowest mean response time",
        needs_sizes: false,
        value: mean_us,
        text: micros,
    },
];

/// A column of the table.
enum Column {
    /// One that clusters are chosen by.
    Measure(&'static Measure),
    /// Another: its head, and what stands in it.
    Plain(&'static str, fn(&Counts) -> String),
}

impl Column {
    fn head(&self) -> &'static str {
        match self {
            Self::Measure(measure) => measure.name,
            Self::Plain(head, _) => head,
        }
    }
}

/// Writes the table.
pub(super) fn write(m: &mut Markup, shown: &Shown<'_>) {
    if shown.all.is_empty() {
        m.leaf("p", &[("class", &"nothing")], "There is no cluster.");
        return;
    }
    let left_out = shown.of.cells.len() - shown.all.len();
    if left_out > 0 {
        let words = format!(
            "These are the {} with the lowest miss ratios of {}; --json has all.",
            shown.all.len(),
            shown.of.cells.len()
        );
        m.leaf("p", &[("class", &"words")], words);
    }
    let columns = columns(shown);
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"policies"), ("id", &"cells-table")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    for head in std::iter::once("cluster").chain(columns.iter().map(Column::head)) {
                        m.leaf("th", &[("scope", &"col")], head);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for number in 0..shown.all.len() {
                    write_row(m, shown, number, &columns);
                }
            });
        });
    });
    m.leaf("p", &[("class", &"note after")], note(shown));
}

fn note(shown: &Shown<'_>) -> String {
    let marked = if shown.all.len() > 1 {
        "The lowest of what clusters are chosen by is marked. "
    } else {
        ""
    };
    let duplicates = if shown.any(|of| of.duplicates) {
        " Duplicates are copies beyond the first, as a share of what the nodes hold at the end."
    } else {
        ""
    };
    format!(
        "{marked}A miss is an answer that came from the origin, whoever fetched it. Response times \
         are those of the latency model.{duplicates}"
    )
}

/// Those that say something here: a column of nothing but zeros is left out.
fn columns(shown: &Shown<'_>) -> Vec<Column> {
    let [misses, bytes, response] = &MEASURES;
    let mut columns = vec![Column::Measure(misses)];
    if shown.is_sized() {
        columns.push(Column::Measure(bytes));
        columns.push(Column::Plain("bandwidth saved", |of| per_cent(1.0 - of.byte_miss_ratio())));
    }
    let mut optional = |is_any: bool, head, show: fn(&Counts) -> String| {
        if is_any {
            columns.push(Column::Plain(head, show));
        }
    };
    let from = |source: Source| shown.any(|of| of.answers[source as usize]);
    optional(from(Source::Sibling), "from siblings", |of| answered(of, Source::Sibling));
    optional(from(Source::Parent), "from parents", |of| answered(of, Source::Parent));
    let talks = shown.any(messages);
    optional(talks, "messages a request", |of| significant(of.messages_per_request()));
    optional(talks, "their bytes a request", |of| {
        format!("{} B", significant(ratio(of.messages.bytes, of.requests)))
    });
    optional(shown.any(|of| of.duplicates), "duplicates", |of| {
        per_cent(ratio(of.duplicates, of.nodes.iter().map(|node| node.held).sum()))
    });
    optional(shown.any(|of| of.false_hits), "false hits", |of| whole(of.false_hits as f64));
    optional(shown.any(|of| of.missed_chances), "missed chances", |of| {
        whole(of.missed_chances as f64)
    });
    optional(shown.any(|of| of.stale_hits), "stale hits", |of| whole(of.stale_hits as f64));
    columns.push(Column::Measure(response));
    columns.push(Column::Plain("p50", |of| quantile(of, 0.5)));
    columns.push(Column::Plain("p99", |of| quantile(of, 0.99)));
    columns
}

/// The share of requests that came from there.
fn answered(of: &Counts, source: Source) -> String {
    per_cent(ratio(of.answers[source as usize], of.requests))
}

/// A quantile of the response times; a dash where too few requests lie beyond it.
pub(super) fn quantile(of: &Counts, quantile: f64) -> String {
    let ns = of.response_percentile(quantile);
    ns.map_or_else(|| "–".to_owned(), |ns| micros(ns as f64 / 1e3))
}

fn write_row(m: &mut Markup, shown: &Shown<'_>, number: usize, columns: &[Column]) {
    let counts = shown.counts(number);
    m.tag("tr", &[], |m| {
        write_name(m, shown, number);
        for column in columns {
            let measure = match column {
                Column::Plain(_, show) => {
                    m.leaf("td", &[], show(counts));
                    continue;
                }
                Column::Measure(measure) => measure,
            };
            let value = (measure.value)(counts);
            let others = shown.all.iter().map(|(_, cell)| (measure.value)(cell.counts));
            let is_least = value <= others.fold(f64::INFINITY, f64::min);
            write_value(m, &(measure.text)(value), is_least && shown.all.len() > 1);
        }
    });
}

/// The head of a cluster's row.
pub(super) fn write_name(m: &mut Markup, shown: &Shown<'_>, number: usize) {
    let (letter, cell) = &shown.all[number];
    m.tag("th", &[("scope", &"row")], |m| {
        m.leaf("b", &[], letter);
        m.text(" ");
        m.text(&cell.name);
    });
}

/// A value, marked where it is the lowest.
pub(super) fn write_value(m: &mut Markup, text: &str, is_lowest: bool) {
    m.tag("td", &[], |m| {
        m.text(text);
        if is_lowest {
            m.text(" ");
            m.leaf("span", &[("class", &"chip good")], "lowest");
        }
    });
}
