//! The page of an experiment with factors: the best combination first, by how much and how sure;
//! then what each factor does, every combination, the cells that count for nothing and why, and
//! what speaks against it all.

use std::collections::BTreeMap;

use plimsoll_analysis::{
    Against, Analysis, Best, CellResult, CombinationResult, Levels, MeanResult,
};
use plimsoll_plan::Varied;
use plimsoll_runs::experiment::LeftOut;
use plimsoll_stats::design::Design;
use plimsoll_stats::figure::{self, Better, Figure};
use plimsoll_stats::interval::Method;

use super::{effects, experiment, in_use, labels, levels};
use crate::cells::Cells;
use crate::document::{
    self, Block, Cell, Column, Document, Grid, Section, Table, Verdict, note, words,
};
use crate::figure_text;

/// How a cell is marked that counts, and whose host was noisy.
const BUSY_HOST: &str = "busy host";
/// The most rows of a table.
const MAX_ROWS: usize = 500;
/// Experiments of more combinations have no charts over their levels: a line for each of so many
/// could not be read.
const MAX_FOR_CHARTS: usize = 64;

/// The page.
pub(crate) fn page(cells: &Cells, analysis: &Analysis, title: Option<String>) -> Document {
    let mut head = vec![Block::Verdict(answer(cells, analysis))];
    head.extend([document::asked(experiment::asked(cells)), experiment::facts(cells)]);
    head.extend(notes(cells, analysis));
    let mut all: Vec<Section> = effects::section(analysis).into_iter().collect();
    all.push(Section::new("results", "Results", results(cells, analysis)));
    all.extend(labels::section(analysis, &cells.currency));
    all.extend(in_use::section(analysis));
    all.extend(charts(cells, analysis));
    all.extend(broken(analysis));
    all.extend(
        [LeftOut::ServerEnded, LeftOut::NotValid]
            .map(|why| left_out(analysis, why))
            .into_iter()
            .flatten(),
    );
    all.extend(failed(analysis));
    all.push(Section::new("cells", "Cells", every_cell(analysis)));
    let shown = shown(cells, analysis);
    all.extend(experiment::others(cells, &shown));
    all.push(Section::new("plan", "The plan", vec![Block::Verbatim(cells.plan.clone())]));
    let title = title.unwrap_or_else(|| cells.title());
    Document { title, head, sections: all, is_several: false }
}

/// What a reader has to know: of the analysis, then of the cells.
fn notes(cells: &Cells, analysis: &Analysis) -> Option<Block> {
    let sentence = |text: &String| format!("{}.", levels::capital(text.trim_end_matches('.')));
    let all: Vec<String> = analysis.warnings.iter().chain(&cells.warnings).map(sentence).collect();
    let title = if all.len() == 1 { "Note" } else { "Notes" };
    (!all.is_empty()).then_some(Block::Notice(title, all))
}

/// What a combination is called: its levels of the factors, in the order of the plan.
pub(crate) fn called(analysis: &Analysis, factors: &Levels) -> String {
    let named = analysis.experiment.factors.iter().filter_map(|of| {
        Some(format!("{}={}", analysis.short(&of.factor), factors.get(&of.factor)?))
    });
    let parts: Vec<String> = named.collect();
    if parts.is_empty() { "all cells".to_owned() } else { parts.join(" · ") }
}

/// A value of a figure by its name.
fn shown_as(name: &str, value: f64, currency: &str) -> String {
    figure::named(name)
        .map_or_else(|| value.to_string(), |figure| figure_text::text(figure, value, currency))
}

/// The answer in a sentence: the best combination that holds, by how much, and how sure.
fn answer(cells: &Cells, analysis: &Analysis) -> Verdict {
    let slo = analysis.experiment.slo.as_deref();
    let Some(best) = &analysis.best else {
        let is_done = analysis.cells.iter().any(CellResult::is_done);
        let (class, says) = match (is_done, slo) {
            (false, _) => ("open", "No cell is done.".to_owned()),
            (true, Some(slo)) if is_told(analysis) => {
                ("poor", format!("No combination holds {slo} in all its cells."))
            }
            (true, Some(slo)) => {
                ("open", format!("Of no combination it can be told that it holds {slo}."))
            }
            (true, None) => ("open", "No combination counts in all its cells.".to_owned()),
        };
        return Verdict { class, says, reasons: Vec::new() };
    };
    let figure = figure::named(best.figure);
    let show = |value: f64| shown_as(best.figure, value, &cells.currency);
    let ranked = analysis.combinations.iter().filter(|of| of.ranked).count();
    let of = match (ranked, slo) {
        (1, Some(slo)) => format!("the only combination that holds {slo}"),
        (1, None) => "the only combination that counts in all its cells".to_owned(),
        (n, Some(slo)) => format!("of the {n} combinations that hold {slo}"),
        (n, None) => format!("of {n} combinations"),
    };
    let spread = best.ci95.map_or_else(String::new, |[low, high]| {
        format!(" (95%: {})", figure_text::interval((low, high), show))
    });
    let (name, value) = (called(analysis, &best.factors), show(best.value));
    let label = figure.map_or(best.figure, |of| of.label);
    let base = best.against.iter().find(|of| of.what == "first levels");
    let by = base.map_or_else(String::new, |of| format!(", {}", times(of, &show)));
    let says = match ranked {
        1 => format!("{name} is {of}: {label} {value}{spread}{by}."),
        _ => format!("{name} has the {} {label} {of}: {value}{spread}{by}.", word(analysis, best)),
    };
    let next = best.against.iter().find(|of| of.what == "next");
    let class = match next {
        Some(next) if next.ci95.is_some_and(is_apart) => "good",
        Some(_) => "open",
        None => "good",
    };
    let is_base = next.zip(base).is_some_and(|(next, base)| next.factors == base.factors);
    let reasons = match next {
        Some(next) if is_base => vec![format!("The first levels are the next best{}.", sure(next))],
        Some(next) => vec![against_next(analysis, next, &show)],
        None => Vec::new(),
    };
    Verdict { class, says, reasons }
}

/// Whether every combination has broken its SLO.
fn is_told(analysis: &Analysis) -> bool {
    analysis.combinations.iter().all(|of| of.slo == Some(false))
}

/// `lowest` or `highest`.
fn word(analysis: &Analysis, best: &Best) -> &'static str {
    let values = analysis.combinations.iter().filter(|of| of.ranked);
    let values = values.filter_map(|of| of.figures.get(best.figure));
    let is_least = values.into_iter().all(|of| of.mean >= best.value);
    if is_least { "lowest" } else { "highest" }
}

/// `× 0.43 of the first levels' 27.5 ms (95%: 0.41 to 0.46)`.
fn times(of: &Against, show: &dyn Fn(f64) -> String) -> String {
    let sure = of.ci95.map_or_else(
        || " (how sure is not known)".to_owned(),
        |[low, high]| format!(" (95%: {low:.3} to {high:.3})"),
    );
    format!("× {:.3} of the {} at the first levels{sure}", of.ratio, show(of.value))
}

fn is_apart([low, high]: [f64; 2]) -> bool {
    low > 1.0 || high < 1.0
}

/// Whether a ratio is more than chance, as the end of a sentence.
fn sure(of: &Against) -> &'static str {
    match of.ci95 {
        None => "; there are too few replications to tell whether that is chance",
        Some(ends) if is_apart(ends) => ", by more than chance",
        Some(_) => "; it may be chance",
    }
}

fn against_next(analysis: &Analysis, next: &Against, show: &dyn Fn(f64) -> String) -> String {
    let ends =
        next.ci95.map_or_else(String::new, |[low, high]| format!(" (95%: {low:.3} to {high:.3})"));
    format!(
        "The next best is {} with {}: the best has × {:.3} of it{ends}{}.",
        called(analysis, &next.factors),
        show(next.value),
        next.ratio,
        sure(next)
    )
}

/// The figures of the tables: those that respond, then those by which the kind is told.
fn shown(cells: &Cells, analysis: &Analysis) -> Vec<&'static Figure> {
    let respond = analysis.experiment.respond.iter().filter_map(|name| figure::named(name));
    let mut all: Vec<&'static Figure> = respond.collect();
    for figure in cells.known(cells.kind.figures()) {
        if !all.contains(&figure) {
            all.push(figure);
        }
    }
    all
}

/// Every combination that has a cell that counts, the best first.
fn results(cells: &Cells, analysis: &Analysis) -> Vec<Block> {
    let mut rows: Vec<&CombinationResult> =
        analysis.combinations.iter().filter(|of| of.counted > 0).collect();
    if rows.is_empty() {
        return vec![document::nothing("No cell counts.")];
    }
    if let Some(best) = &analysis.best {
        let sign = if word(analysis, best) == "lowest" { 1.0 } else { -1.0 };
        let value = |of: &CombinationResult| of.figures.get(best.figure).map(|of| sign * of.mean);
        rows.sort_by(|a, b| {
            let key = |of: &CombinationResult| (!of.ranked, value(of).is_none());
            let by_value = value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0));
            key(a).cmp(&key(b)).then(by_value)
        });
    }
    let left = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let figures = shown(cells, analysis);
    let mut blocks = vec![Block::Table(table(cells, analysis, &rows, &figures))];
    if left > 0 {
        blocks.push(note(format!("{left} more are left out: `plimsoll export` has all.")));
    }
    blocks.push(note(how(analysis)));
    blocks
}

/// How means and scores of the table are made.
fn how(analysis: &Analysis) -> String {
    let mut text = String::new();
    let means = || analysis.combinations.iter().flat_map(|of| of.figures.values());
    if means().any(|mean| mean.ci95.is_some()) {
        text.push_str("Means over the cells that count, each with its 95% interval (Student's t)");
        if means().any(|mean| mean.method == Method::Bca) {
            text.push_str(
                "; where a sample of 20 and more is not normal, as Shapiro and Wilk's test at 1% \
                 has it, by bootstrap, which is said",
            );
        }
        text.push_str(". ");
    } else {
        text.push_str("Each combination ran once: its figures have no interval. ");
    }
    if analysis.combinations.iter().any(|of| of.score.is_some()) {
        text.push_str(
            "The score is the geometric mean of how many times better each figure that responds \
             is than at the first levels. ",
        );
    }
    if analysis.combinations.iter().any(|of| of.slo == Some(false)) {
        text.push_str("A combination whose SLO broke in one of its cells is in no ranking.");
    }
    text.trim_end().to_owned()
}

fn table(
    cells: &Cells,
    analysis: &Analysis,
    rows: &[&CombinationResult],
    figures: &[&'static Figure],
) -> Grid {
    type Row<'a> = &'a CombinationResult;
    let mut columns = vec![
        Column::plain("combination", |of: &Row<'_>| Cell::of(called(analysis, &of.factors))),
        Column::plain("cells", |of: &Row<'_>| {
            Cell::of(format_args!("{} of {}", of.counted, of.cells)).with(marks(analysis, of))
        }),
    ];
    if analysis.experiment.slo.is_some() {
        columns.push(Column::plain("SLO", |of: &Row<'_>| match of.slo {
            Some(true) => Cell::default().judged("good", "held"),
            Some(false) => Cell::default().judged("poor", "broken"),
            None => Cell::default().judged("open", "not told"),
        }));
    }
    for figure in figures.iter().copied() {
        let mean = move |of: &Row<'_>| of.figures.get(figure.name).copied();
        let ends = move |of: &MeanResult| of.ci95.map(|[low, high]| (low, high));
        if analysis.combinations.iter().any(|of| mean(&of).is_some_and(|m| m.method == Method::Bca))
        {
            columns.push(Column::plain(figure.label, move |of: &Row<'_>| {
                mean(of)
                    .map_or_else(|| Cell::of(figure_text::DASH), |mean| described(figure, &mean))
            }));
            continue;
        }
        let column = Column::figure(figure, move |of: &Row<'_>| mean(of).map(|mean| mean.mean));
        columns.push(column.with_interval(move |of| mean(of).as_ref().and_then(ends)));
    }
    if analysis.combinations.iter().any(|of| of.score.is_some()) {
        columns.push(Column::plain("score", |of: &Row<'_>| match of.score {
            Some(score) => Cell::of(format_args!("× {score:.2}")),
            None => Cell::of(figure_text::DASH),
        }));
    }
    Table { class: "policies", id: "results-table".to_owned(), currency: &cells.currency, columns }
        .of(rows)
}

/// What is to be said of the cells of a combination: `1 not valid, 2 busy host`.
fn marks(analysis: &Analysis, of: &CombinationResult) -> String {
    let own = || analysis.cells.iter().filter(|cell| cell.factors == of.factors);
    let mut counts: BTreeMap<LeftOut, usize> = BTreeMap::new();
    for why in own().filter_map(CellResult::why_left_out).filter(|why| *why != LeftOut::NotDone) {
        *counts.entry(why).or_default() += 1;
    }
    let mut words: Vec<String> =
        counts.iter().map(|(why, n)| format!("{n} {}", why.word())).collect();
    let noisy = own().filter(|cell| is_noisy(cell)).count();
    words.extend((noisy > 0).then(|| format!("{noisy} {BUSY_HOST}")));
    words.join(", ")
}

/// Whether a cell counts whose host was too busy.
fn is_noisy(cell: &CellResult) -> bool {
    cell.counts() && !cell.noise.is_empty()
}

/// A mean with its interval, and how that was found.
fn described(figure: &Figure, mean: &MeanResult) -> Cell {
    let show = |value: f64| figure_text::text(figure, value, "");
    let cell = Cell::of(show(mean.mean));
    let Some([low, high]) = mean.ci95 else { return cell };
    let text = figure_text::interval((low, high), show);
    match mean.method {
        Method::Student => cell.with(text),
        Method::Bca => cell.with(format_args!("{text}, {}", mean.method.label())),
    }
}

/// The figures that respond over each factor that is a number, where few enough are drawn.
fn charts(cells: &Cells, analysis: &Analysis) -> Option<Section> {
    let full: usize = analysis.experiment.factors.iter().map(|of| of.levels.len()).product();
    // Of a design that is no full one each line would have a point or two.
    let is_whole = analysis.combinations.len() >= full || is_constrained(cells);
    if full > MAX_FOR_CHARTS || !is_whole {
        return None;
    }
    let respond = analysis.experiment.respond.iter().filter_map(|name| figure::named(name));
    let charts = levels::charts(cells, &respond.collect::<Vec<_>>());
    (!charts.is_empty())
        .then(|| Section::new("levels", "Over the levels", vec![Block::Charts(charts)]))
}

/// Whether the plan runs all combinations but for those that its constraints leave out.
fn is_constrained(cells: &Cells) -> bool {
    let varied = Varied::of(&cells.plan).and_then(|of| of.experiment);
    varied.is_some_and(|of| of.design == Design::Full && !of.constraints.is_empty())
}

/// The cells whose availability did not hold: they answered something else than what was asked.
fn broken(analysis: &Analysis) -> Option<Section> {
    let rows: Vec<&CellResult> = analysis
        .cells
        .iter()
        .filter(|of| of.why_left_out() == Some(LeftOut::Unavailable))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let figures =
        [figure::AVAILABILITY_RATIO, figure::ERRORS, figure::RATE_MEAN, figure::RESPONSE_US_P99];
    let mut columns = cell_columns(analysis);
    for figure in figures {
        columns.push(Column::figure(figure, move |cell: &&CellResult| {
            cell.figures.get(figure.name).copied()
        }));
    }
    let table = Table { class: "policies", id: String::new(), currency: "", columns };
    let text = words(
        "These cells are in no effect and in no ranking: a service that did not answer has not \
         done what it is compared by. Availability is of seconds, which one right answer makes \
         up; errors are of requests.",
    );
    let blocks = vec![text, Block::Table(table.of(&rows))];
    Some(Section::new("broken", "Availability did not hold", blocks))
}

/// The cells whose figures are not of what was asked: the generator's, or those of a service whose
/// servers ended.
fn left_out(analysis: &Analysis, why: LeftOut) -> Option<Section> {
    let is_its = |cell: &&CellResult| cell.why_left_out() == Some(why);
    let rows: Vec<&CellResult> = analysis.cells.iter().filter(is_its).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = cell_columns(analysis);
    columns.push(Column::plain("why", |cell: &&CellResult| {
        Cell::of([&cell.servers_ended[..], &cell.invalid_because].concat().join("; "))
    }));
    let table = Table { class: "policies", id: String::new(), currency: "", columns };
    let (id, title, text) = match why {
        LeftOut::ServerEnded => (
            "ended",
            "Servers ended by themselves",
            "These cells are in no effect, ranking or mean: a server that was started for them \
             ended while it was under load, and what was answered is not what was to be compared.",
        ),
        _ => (
            "not-valid",
            "The generator was the limit",
            "These cells are in no effect, ranking or mean: their figures are those of the \
             generator, not of what it loads.",
        ),
    };
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    Some(Section::new(id, title, vec![words(text), Block::Table(table.of(shown))]))
}

/// What was not done, and why.
fn failed(analysis: &Analysis) -> Option<Section> {
    let rows: Vec<&CellResult> = analysis.cells.iter().filter(|cell| !cell.is_done()).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = cell_columns(analysis);
    columns.push(Column::plain("state", |cell: &&CellResult| {
        let class = if cell.state == "failed" { "poor" } else { "open" };
        Cell::default().judged(class, cell.state)
    }));
    columns.push(Column::plain("why", |cell: &&CellResult| Cell::of(&cell.reason)));
    let table = Table { class: "policies", id: String::new(), currency: "", columns };
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    Some(Section::new("failed", "Not done", vec![Block::Table(table.of(shown))]))
}

/// Which cell it is.
fn cell_columns<'a>(analysis: &'a Analysis) -> Vec<Column<'a, &'a CellResult>> {
    vec![
        Column::plain("cell", |cell: &&CellResult| Cell::of(cell.id)),
        Column::plain("combination", |cell: &&CellResult| {
            Cell::of(called(analysis, &cell.factors))
        }),
        Column::plain("replication", |cell: &&CellResult| Cell::of(cell.replication + 1)),
    ]
}

/// All cells, folded away.
fn every_cell(analysis: &Analysis) -> Vec<Block> {
    let rows: Vec<&CellResult> = analysis.cells.iter().take(MAX_ROWS).collect();
    let mut columns = cell_columns(analysis);
    columns.push(Column::plain("state", |cell: &&CellResult| match cell.why_left_out() {
        Some(LeftOut::NotDone) => Cell::of(cell.state),
        Some(why) => Cell::default().judged("poor", why.word()),
        None if is_noisy(cell) => Cell::of(cell.state).with(BUSY_HOST),
        None => Cell::of(cell.state),
    }));
    for figure in analysis.experiment.respond.iter().filter_map(|name| figure::named(name)) {
        columns.push(Column::figure(figure, move |cell: &&CellResult| {
            cell.figures.get(figure.name).copied()
        }));
    }
    columns.push(Column::plain("run", |cell: &&CellResult| {
        Cell::of(cell.run.as_deref().unwrap_or(figure_text::DASH))
    }));
    let table = Table { class: "policies", id: String::new(), currency: "", columns };
    let title = match analysis.cells.len() {
        1 => "One cell".to_owned(),
        n if n > MAX_ROWS => format!("The first {MAX_ROWS} of {n} cells"),
        n => format!("All {n} cells"),
    };
    let mut blocks = vec![words(
        "A cell that kept its run has a page of its own, with its response times and all that was \
         watched: `plimsoll report` with the folder of its run.",
    )];
    blocks.push(Block::Folded(title, vec![Block::Table(table.of(&rows))]));
    blocks
}

/// Whether a figure is better at a ratio; `None` where neither way is.
pub(crate) fn is_better(figure: &Figure, ratio: f64) -> Option<bool> {
    match figure.better {
        Better::Lower => Some(ratio < 1.0),
        Better::Higher => Some(ratio > 1.0),
        Better::Neither => None,
    }
}
