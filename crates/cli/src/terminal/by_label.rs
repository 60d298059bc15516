//! Figures by label: the table at the end of a run.

use super::align::align;
use super::by_name::short;
use super::paint::Paint;
use super::table::us;
use plimsoll_runs::LabelFigures;
use plimsoll_units::show_count;

/// The most labels that the table has.
const MOST_ROWS: usize = 20;

/// The table of the labels that most users had, in their order; nothing without labels.
pub(super) fn table(out: &mut String, all: &[LabelFigures], paint: Paint) {
    if all.is_empty() {
        return;
    }
    let mut most: Vec<&LabelFigures> = all.iter().collect();
    most.sort_by_key(|of| std::cmp::Reverse(of.users));
    let least = most.get(MOST_ROWS - 1).map_or(0, |of| of.users);
    let shown: Vec<&LabelFigures> =
        all.iter().filter(|of| of.users >= least).take(MOST_ROWS).collect();
    let has_broadcasts = all.iter().any(|of| of.latency_us.is_some());
    let mut heads = vec!["by label", "users", "requests", "failed", "p50", "p99"];
    if has_broadcasts {
        heads.extend(["broadcast p50", "p99"]);
    }
    let mut rows =
        vec![heads.iter().map(|head| format!("  {head}").trim_end().to_owned()).collect()];
    rows.extend(shown.iter().map(|of| row(of, has_broadcasts)));
    out.push('\n');
    align(out, &rows, 1, paint);
    if all.len() > shown.len() {
        let rest = show_count((all.len() - shown.len()) as u64);
        let text = format!("  and {rest} labels that fewer users had: --json has all");
        out.push_str(&paint.dim(&text));
        out.push('\n');
    }
}

fn row(of: &LabelFigures, has_broadcasts: bool) -> Vec<String> {
    let label = match of.labels {
        Some(labels) => format!("  {} ({} labels)", of.label, show_count(labels)),
        None => format!("  {}", short(&of.label)),
    };
    let time = |time: Option<f64>| time.map_or_else(|| "–".to_owned(), us);
    let mut row = vec![label, show_count(of.users), show_count(of.count), show_count(of.errors)];
    row.extend([of.response_us.p50, of.response_us.p99].map(time));
    if has_broadcasts {
        let latency = of.latency_us.as_ref();
        row.extend([latency.and_then(|of| of.p50), latency.and_then(|of| of.p99)].map(time));
    }
    row
}
