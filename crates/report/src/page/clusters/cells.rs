//! Every cluster as a row: its misses, where else it finds objects, what that costs in messages,
//! and its response times. The lowest of what clusters are chosen by stands out.

use plimsoll_cache::cluster::Counts;
use plimsoll_stats::figure::{self, Figure};

use super::shown::Shown;
use super::{messages, ratio};
use crate::figure_text;
use plimsoll_draw::Markup;
use plimsoll_draw::chart::unit::{per_cent, significant};

/// What clusters are chosen by, lower is better.
pub(super) struct Measure {
    /// The figure that the column shows.
    pub(super) figure: &'static Figure,
    /// What its lowest value is called.
    pub(super) lowest: &'static str,
    /// Whether it says nothing of a trace without sizes.
    pub(super) needs_sizes: bool,
}

/// All of them.
pub(super) const MEASURES: [Measure; 3] = [
    Measure { figure: figure::MISS_RATIO, lowest: "Lowest miss ratio", needs_sizes: false },
    Measure {
        figure: figure::BYTE_MISS_RATIO,
        lowest: "Lowest byte miss ratio",
        needs_sizes: true,
    },
    Measure {
        figure: figure::RESPONSE_MEAN_MS,
        lowest: "Lowest mean response time",
        needs_sizes: false,
    },
];

impl Measure {
    /// The value of a cluster; 0 where it answered nothing.
    pub(super) fn value(&self, of: &Counts) -> f64 {
        of.value(self.figure).unwrap_or(0.0)
    }

    /// A value as the column shows it.
    pub(super) fn text(&self, value: f64) -> String {
        figure_text::text(self.figure, value, "")
    }
}

/// A column of the table.
enum Column {
    /// One that clusters are chosen by.
    Measure(&'static Measure),
    /// Another figure.
    Of(&'static Figure),
    /// Another: its head, and what stands in it.
    Plain(&'static str, fn(&Counts) -> String),
}

impl Column {
    fn head(&self) -> &'static str {
        match self {
            Self::Measure(measure) => measure.figure.label,
            Self::Of(figure) => figure.label,
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
    let is_any = |figure: &&'static Figure| {
        shown.all.iter().any(|(_, cell)| cell.counts.value(figure).unwrap_or(0.0) > 0.0)
    };
    let mut optional = |figures: &[&'static Figure]| {
        columns.extend(figures.iter().copied().filter(is_any).map(Column::Of));
    };
    optional(&[figure::SIBLING_SHARE, figure::PARENT_SHARE, figure::MESSAGES_PER_REQUEST]);
    if shown.any(messages) {
        columns.push(Column::Plain("their bytes a request", |of| {
            format!("{} B", significant(ratio(of.messages.bytes, of.requests)))
        }));
    }
    if shown.any(|of| of.duplicates) {
        columns.push(Column::Plain(figure::DUPLICATES.label, |of| {
            per_cent(ratio(of.duplicates, of.nodes.iter().map(|node| node.held).sum()))
        }));
    }
    let others = [figure::FALSE_HITS, figure::MISSED_CHANCES, figure::STALE_HITS];
    columns.extend(others.into_iter().filter(is_any).map(Column::Of));
    columns.push(Column::Measure(response));
    columns.extend([figure::RESPONSE_P50_MS, figure::RESPONSE_P99_MS].map(Column::Of));
    columns
}

/// The text of a figure; a dash where too few requests tell it.
pub(super) fn text(of: &Counts, figure: &Figure) -> String {
    figure_text::text(figure, of.value(figure).unwrap_or(f64::NAN), "")
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
                Column::Of(figure) => {
                    m.leaf("td", &[], text(counts, figure));
                    continue;
                }
                Column::Measure(measure) => measure,
            };
            let value = measure.value(counts);
            let others = shown.all.iter().map(|(_, cell)| measure.value(cell.counts));
            let is_least = value <= others.fold(f64::INFINITY, f64::min);
            write_value(m, &measure.text(value), is_least && shown.all.len() > 1);
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
