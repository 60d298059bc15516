//! Two sides, each of replications: is B worse than A? The answer in a sentence, the figures that
//! are judged as ratios with their intervals, then all figures, those of each name together.

use plimsoll_analysis::compared::{Change, Compared, Row};
use plimsoll_draw::chart::plot::{Table as Values, plain_heads};
use plimsoll_draw::chart::ratios::{self, Ratios};
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_stats::figure;
use plimsoll_stats::interval::Verdict;
use plimsoll_units::show_share;

use crate::document::{
    self, Block, Cell, Document, Grid, Manner, Section, Verdict as Judged, chart, note, words,
};
use crate::figure_text::DASH;

/// The most ratios of a chart; the tables have all.
const MAX_ROWS: usize = 60;

/// The page.
pub(crate) fn page(of: &Compared) -> Document {
    let [(a, n), (b, m)] = &of.sides;
    let paired = if of.is_paired() { ", compared as pairs of one seed" } else { "" };
    let mut head = vec![Block::Verdict(answer(of))];
    head.push(document::asked(format!("Is B worse than A? · {}", question(of))));
    let replications = |n: usize| if n == 1 { "replication" } else { "replications" };
    head.push(Block::Facts(vec![
        format!("A is {a}, {n} {}", replications(*n)),
        format!("B is {b}, {m} {}{paired}", replications(*m)),
        format!("B may be worse by {}", show_share(of.tolerance)),
    ]));
    if !of.remarks.is_empty() {
        let title = if of.remarks.len() == 1 { "Note" } else { "Notes" };
        head.push(Block::Notice(title, of.remarks.clone()));
    }
    let mut sections = vec![Section::new("changes", "What changed", changes(of))];
    let tables = by_subject(of);
    if !tables.is_empty() {
        sections.push(Section::new("figures", "All figures", tables));
    }
    Document { title: of.title(), head, sections, is_several: false }
}

fn answer(of: &Compared) -> Judged {
    let is_open = of.untold.is_some() || of.says().starts_with("It cannot");
    let class = match () {
        () if of.is_worse() => "poor",
        () if is_open => "open",
        () => "good",
    };
    let mut reasons: Vec<String> = Vec::new();
    for row in of.rows.iter().filter(|row| row.is_judged) {
        if let Some(why) = row.open.as_ref().filter(|why| !reasons.contains(why)) {
            reasons.push(why.clone());
        }
    }
    Judged { class, says: format!("{}.", of.says()), reasons }
}

/// By which figures B is judged.
fn question(of: &Compared) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for row in of.rows.iter().filter(|row| row.is_judged) {
        if !labels.contains(&row.figure.label) {
            labels.push(row.figure.label);
        }
    }
    match labels.is_empty() {
        true => "no figure of both sides is judged.".to_owned(),
        false => format!("judged by {}.", labels.join(", ")),
    }
}

/// The chart of all ratios, those that are judged first.
fn changes(of: &Compared) -> Vec<Block> {
    let mut rows: Vec<&Row> = of.rows.iter().collect();
    rows.sort_by_key(|row| !row.is_judged);
    let drawn: Vec<ratios::Row> = rows.iter().filter_map(|row| ratio(row)).take(MAX_ROWS).collect();
    let mut blocks = vec![words(
        "B over A, for each figure that is above zero: on the line at 1 nothing changed. Bars are \
         95% intervals; where differences are compared, those of the difference over A's mean.",
    )];
    if drawn.is_empty() {
        let text = "No figure has a ratio: differences stand in the tables.";
        return vec![Block::Paragraph(Manner::Nothing, text.to_owned())];
    }
    let value = |row: &ratios::Row| {
        let (low, high) = row.interval.unwrap_or((f64::NAN, f64::NAN));
        vec![row.name.clone(), format!("{:.3}", row.value), format!("{low:.3} to {high:.3}")]
    };
    let heads = plain_heads(["figure", "B over A", "95% interval"]);
    let table = Values::new("changes-table".to_owned(), heads, drawn.iter().map(value).collect());
    blocks.push(Block::Charts(vec![chart(Ratios {
        id: "changes-chart".to_owned(),
        title: "B over A".to_owned(),
        note: "A green disc: better, or not worse. A red triangle: worse. An empty square: it \
               cannot be told, or the figure is not judged."
            .to_owned(),
        measure: "B over A, a logarithmic axis".to_owned(),
        rows: drawn,
        table,
    })]));
    blocks
}

fn ratio(row: &Row) -> Option<ratios::Row> {
    let of = &row.result.as_ref().ok()?.estimate;
    let over = |value: f64| match row.change {
        Change::Ratio => value,
        Change::Difference => 1.0 + value / row.means.0,
    };
    let (value, low, high) = (over(of.value), over(of.low), over(of.high));
    let mark = match row.verdict().filter(|_| row.is_judged) {
        Some(Verdict::Worse) => (Symbol::Triangle, "c3"),
        Some(Verdict::Better | Verdict::NotWorse) => (Symbol::Disc, "c1"),
        Some(Verdict::Undecided) | None => (Symbol::Square, "c7"),
    };
    let is_above = row.means.0 > 0.0 && low > 0.0 && high.is_finite();
    is_above.then(|| ratios::Row {
        name: called(row),
        says: row.changed(),
        mark,
        value,
        interval: Some((low, high)),
    })
}

/// The figure, and of which combination.
fn called(row: &Row) -> String {
    match row.factors.is_empty() {
        true => row.figure.label.to_owned(),
        false => format!("{}: {}", row.group, row.figure.label),
    }
}

/// A table of the whole, then one for each name and label.
fn by_subject(of: &Compared) -> Vec<Block> {
    let subject = |row: &Row| figure::subject_of(row.figure).map(|(of, _)| of.to_string());
    let mut names: Vec<Option<String>> = Vec::new();
    for name in of.rows.iter().map(subject) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort();
    let mut blocks = Vec::new();
    for name in names {
        let rows: Vec<&Row> = of.rows.iter().filter(|row| subject(row) == name).collect();
        blocks.extend(name.map(Block::Heading));
        blocks.push(Block::Table(table(&rows)));
    }
    if !blocks.is_empty() {
        let how = match of.rows.iter().any(|row| row.change == Change::Ratio) {
            true => {
                "Shares and counts are compared by their difference, other figures by their ratio."
            }
            false => "Figures are compared by their difference.",
        };
        blocks.push(note(format!("Means over the replications of each side. {how}")));
    }
    blocks
}

fn table(rows: &[&Row]) -> Grid {
    let has_groups = rows.iter().any(|row| !row.factors.is_empty());
    let row = |row: &&Row| {
        let show = |value: f64| row.figure.unit.show(value);
        let interval = row.interval();
        let interval = if interval == DASH { String::new() } else { interval };
        let mut cells = Vec::new();
        if has_groups {
            cells.push(Cell::of(&row.group));
        }
        cells.extend([
            Cell::of(row.figure.label),
            Cell::of(show(row.means.0)),
            Cell::of(show(row.means.1)),
            Cell::of(row.changed()).with(interval),
            judged(row),
        ]);
        cells
    };
    let mut heads: Vec<&str> = if has_groups { vec!["combination"] } else { Vec::new() };
    heads.extend(["figure", "A", "B", "change", "verdict"]);
    Grid {
        class: "policies",
        id: String::new(),
        heads: heads.into_iter().map(Cell::of).collect(),
        rows: rows.iter().map(row).collect(),
    }
}

/// The verdict, with its colour where it counts.
fn judged(row: &Row) -> Cell {
    let word = match row.verdict() {
        None => return Cell::of(DASH).with(row.judged()),
        Some(_) if !row.is_judged => return Cell::of(row.judged()),
        Some(Verdict::Worse) => ("poor", "worse"),
        Some(Verdict::Better) => ("good", "better"),
        Some(Verdict::NotWorse) => ("good", "not worse"),
        Some(Verdict::Undecided) => {
            return Cell::default().judged("open", "undecided").with(row.why_open());
        }
    };
    Cell::default().judged(word.0, word.1)
}
