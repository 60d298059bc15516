//! The page of an experiment of any kind: the answer first, every combination of levels with its
//! figures over the replications, the figures over each factor that is a number, and the plan. A
//! kind that has more to tell puts its own sections between.

use std::collections::BTreeMap;

use plimsoll_runs::experiment::{Combination, LeftOut};
use plimsoll_runs::{Ended, Kind};
use plimsoll_stats::figure::{self, Better, Figure};

use super::levels;
use crate::cells::{Cells, Row};
use crate::document::{
    self, Block, Cell, Column, Document, Section, Table, Verdict, note, warnings, words,
};
use crate::figure_text;

/// The most rows of a table.
const MAX_ROWS: usize = 500;
/// How many figures have a chart over each factor.
const MAX_CHARTS: usize = 4;

/// The page: `sections` are what the kind has to tell beside its figures.
pub(crate) fn page(cells: &Cells, sections: Vec<Section>, title: Option<String>) -> Document {
    let mut head: Vec<Block> = answer(cells).map(Block::Verdict).into_iter().collect();
    head.extend([document::asked(asked(cells)), facts(cells)]);
    head.extend(warnings(&cells.warnings));
    let usual = cells.known(cells.kind.figures());
    let mut all = vec![Section::new("results", "Results", results(cells, &usual))];
    let charts = levels::charts(cells, &usual[..usual.len().min(MAX_CHARTS)]);
    if !charts.is_empty() {
        all.push(Section::new("levels", "Over the levels", vec![Block::Charts(charts)]));
    }
    let is_several = !sections.is_empty();
    all.extend(sections);
    // What a reader looks up last stands last.
    let place = all.iter().position(|of| of.id == "plan").unwrap_or(all.len());
    if place == all.len() {
        all.push(Section::new("plan", "The plan", vec![Block::Verbatim(cells.plan.clone())]));
    }
    all.splice(place..place, others(cells, &usual));
    Document { title: title.unwrap_or_else(|| cells.title()), head, sections: all, is_several }
}

/// What is put to the test, and in how many cells.
pub(crate) fn asked(cells: &Cells) -> String {
    let (rows, replications) = (cells.rows.len(), cells.replications());
    let number = |n: usize, one: &str, many: &str| match n {
        1 => format!("one {one}"),
        n => format!("{n} {many}"),
    };
    format!(
        "{} · {}, {} of each.",
        cells.subject,
        number(rows, "combination of levels", "combinations of levels"),
        number(replications, "replication", "replications")
    )
}

/// How far it is, and what it is called.
pub(crate) fn facts(cells: &Cells) -> Block {
    let (of, done) = cells.progress();
    let ended = cells.ended.as_ref().map_or("incomplete", Ended::name);
    let mut facts = vec![format!("{done} of {of} cells done, {ended}")];
    facts.extend(cells.slo.iter().map(|slo| format!("SLO {slo}")));
    facts.push(format!("{} {}", if cells.is_of_runs { "run" } else { "experiment" }, cells.id));
    Block::Facts(facts)
}

/// The figure that says which combination is best, where any row has it.
fn deciding(cells: &Cells) -> Option<&'static Figure> {
    let all: &[&'static Figure] = match cells.kind {
        Kind::Load => &[figure::RESPONSE_US_P99, figure::RESPONSE_US_P90, figure::RESPONSE_US_MEAN],
        Kind::Search => &[figure::ESTIMATE_PER_S],
        Kind::Pool | Kind::Tune => &[figure::COST],
        Kind::Caches => &[figure::MISS_RATIO],
    };
    // A comparison of all says more than one of some.
    let known = cells.known(all);
    let of_all = known.iter().find(|of| cells.rows.iter().all(|row| row.value(of).is_some()));
    of_all.or(known.first()).copied()
}

/// What was found over all cells; else the best combination, and by what ratio it is ahead of the
/// next.
pub(crate) fn answer(cells: &Cells) -> Option<Verdict> {
    if let [(_, first), rest @ ..] = &cells.results[..] {
        let reasons = rest.iter().map(|(_, text)| text.clone()).collect();
        return Some(Verdict { class: "good", says: first.clone(), reasons });
    }
    let figure = deciding(cells)?;
    let mut known: Vec<(&Row, f64)> =
        cells.rows.iter().filter_map(|row| Some((row, row.value(figure)?))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    if figure.better == Better::Higher {
        known.reverse();
    }
    let told = |row: &Row, value: f64| {
        let show = |value: f64| figure_text::text(figure, value, &cells.currency);
        let interval = row
            .interval(figure)
            .map_or_else(String::new, |of| format!(" (95%: {})", figure_text::interval(of, show)));
        format!("{}{interval}", show(value))
    };
    let (best, value) = *known.first()?;
    let Some(&(next, other)) = known.get(1) else {
        let n = best.of.done.len();
        let of = if n == 1 { String::new() } else { format!(", the mean of {n} replications") };
        let (label, class) = match cells.kind {
            Kind::Search => ("Capacity".to_owned(), "good"),
            _ => (levels::capital(figure.label), "open"),
        };
        let slo = match (cells.kind, &cells.slo) {
            (Kind::Search, Some(slo)) => format!(" under {slo}"),
            _ => String::new(),
        };
        let says = format!("{label}{slo}: {}{of}.", told(best, value));
        return Some(judged(cells, Verdict { class, says, reasons: Vec::new() }));
    };
    let (class, apart) = apart(best.interval(figure), next.interval(figure));
    let word = if figure.better == Better::Higher { "highest" } else { "lowest" };
    let label = figure.label;
    if value.total_cmp(&other).is_eq() {
        let says = format!(
            "{} and {} have the {word} {label}: {}.",
            best.label,
            next.label,
            told(best, value)
        );
        return Some(judged(cells, Verdict { class: "open", says, reasons: Vec::new() }));
    }
    let ratio = if other > 0.0 {
        format!("{:.2} times that of", value / other)
    } else {
        "before".to_owned()
    };
    let says = format!(
        "{} has the {word} {label}: {}, {ratio} {} with {}.",
        best.label,
        told(best, value),
        next.label,
        told(next, other)
    );
    Some(judged(cells, Verdict { class, says, reasons: vec![apart.to_owned()] }))
}

/// The verdict with in how many runs the SLO held.
fn judged(cells: &Cells, verdict: Verdict) -> Verdict {
    let (Some((held, of)), Some(slo)) = (cells.held, &cells.slo) else { return verdict };
    let class = match held {
        0 => "poor",
        held if held == of => "good",
        _ => "open",
    };
    let mut reasons = verdict.reasons;
    reasons.insert(0, format!("{slo} held in {held} of {of} runs."));
    Verdict { class, reasons, ..verdict }
}

/// Whether two intervals tell two values apart.
fn apart(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> (&'static str, &'static str) {
    match one.zip(other) {
        None => ("open", "There are too few replications for intervals: it may be chance."),
        Some((one, other)) if one.1 < other.0 || other.1 < one.0 => {
            ("good", "The 95% intervals of the two do not overlap.")
        }
        Some(_) => ("open", "The 95% intervals of the two overlap: it may be chance."),
    }
}

/// The figures by which the kind is told.
fn results(cells: &Cells, usual: &[&'static Figure]) -> Vec<Block> {
    let mut blocks = vec![Block::Table(table(cells, usual, true))];
    if cells.rows.len() > MAX_ROWS {
        let more = cells.rows.len() - MAX_ROWS;
        blocks.push(note(format!("{more} more are left out: `plimsoll export` has all.")));
    }
    if cells.replications() > 1 {
        blocks.push(note(
            "Means over the replications, each with its 95% interval (Student's t). The best mean \
             of a column is marked; it may be so by chance where intervals overlap.",
        ));
    }
    blocks
}

/// How many cells of a combination are in no mean, and why: `1 not valid`.
fn marks(of: &Combination) -> String {
    let mut counts: BTreeMap<LeftOut, usize> = BTreeMap::new();
    for why in of.aside.iter().filter_map(|one| one.left_out) {
        *counts.entry(why).or_default() += 1;
    }
    counts.iter().map(|(why, n)| format!("{n} {}", why.word())).collect::<Vec<_>>().join(", ")
}

/// A row a combination, a column a figure.
pub(crate) fn table(
    cells: &Cells,
    figures: &[&'static Figure],
    marks_best: bool,
) -> document::Grid {
    let mut columns = vec![Column::plain("combination", |row: &&Row| Cell::of(&row.label))];
    columns.push(Column::plain("done", |row: &&Row| {
        Cell::of(format_args!("{} of {}", row.of.executed(), row.of.cells)).with(marks(&row.of))
    }));
    columns.extend(figures.iter().copied().map(|figure| {
        let column = Column::figure(figure, move |row: &&Row| row.value(figure))
            .with_interval(move |row| row.interval(figure));
        if marks_best { column.marking_best() } else { column }
    }));
    let rows: Vec<&Row> = cells.rows.iter().take(MAX_ROWS).collect();
    Table { class: "policies", id: String::new(), currency: &cells.currency, columns }.of(&rows)
}

/// All figures that are not among the usual ones, folded away.
pub(super) fn others(cells: &Cells, usual: &[&'static Figure]) -> Option<Section> {
    let rest = figure::ALL.iter().filter(|figure| !usual.contains(figure));
    let rest = cells.known(rest);
    let title = match rest.len() {
        1 => "One other figure".to_owned(),
        n => format!("{n} other figures"),
    };
    let table = || Block::Table(table(cells, &rest, false));
    let folded = || Block::Folded(title.clone(), vec![table()]);
    (!rest.is_empty()).then(|| {
        let text = words("Everything else that is stored of each cell, as means.");
        Section::new("others", "Other figures", vec![text, folded()])
    })
}
