//! The head of several runs: a table, a column a run, a row a figure or an objective. Each figure
//! has its difference from the first run below it.

use plimsoll_runs::summary::SloVerdict;
use plimsoll_stats::figure::{self, Figure};

use super::content::Content;
use super::tiles::{lacks_p99, tiles};
use super::verdict::verdict;
use super::{headline, objectives};
use crate::document::{Block, Cell, Grid, Tile, Verdict, note};
use crate::view::View;
use plimsoll_draw::chart::unit::signed_per_cent;

/// The table, and below it what there is to say of single runs.
pub(crate) fn head(content: &Content) -> Vec<Block> {
    let first = |view: &View| {
        let name = &view.meta.name;
        Cell::lettered(&view.letter, if name.is_empty() { "unnamed" } else { name })
    };
    let mut rows = figures(content);
    rows.splice(0..0, clauses(content));
    rows.extend(identity(content));
    let grid = Grid {
        class: "sides",
        id: String::new(),
        heads: std::iter::once(Cell::default()).chain(content.views.iter().map(first)).collect(),
        rows,
    };
    let remarks = content.views.iter().filter_map(remarks);
    let differences = note(
        "A difference of two single runs may be chance: plimsoll compare tells, from several runs \
         a side.",
    );
    [Block::Table(grid), differences].into_iter().chain(remarks).collect()
}

fn row(name: Cell, content: &Content, cell: impl Fn(&View) -> Cell) -> Vec<Cell> {
    std::iter::once(name).chain(content.views.iter().map(cell)).collect()
}

fn identity(content: &Content) -> [Vec<Cell>; 5] {
    let valid = |view: &View| match view.summary.run.valid {
        true => Cell::default().judged("good", "valid"),
        false => Cell::default().judged("poor", "not valid"),
    };
    [
        row(Cell::of("Valid"), content, valid),
        row(Cell::of("Target"), content, |view| Cell::of(&view.meta.subject)),
        row(Cell::of("Asked"), content, |view| Cell::of(headline::asked(view))),
        row(Cell::of("Started"), content, |view| Cell::of(headline::started(&view.summary))),
        row(Cell::of("Run"), content, |view| Cell::of(&view.meta.id)),
    ]
}

/// A row for each clause that any of the runs has.
fn clauses(content: &Content) -> Vec<Vec<Cell>> {
    let mut clauses: Vec<&str> = Vec::new();
    for clause in content.views.iter().flat_map(|view| &view.summary.slo) {
        if !clauses.contains(&clause.expr.as_str()) {
            clauses.push(&clause.expr);
        }
    }
    let of = |expr: &str| {
        row(Cell::of(expr), content, |view| {
            let found = view.summary.slo.iter().find(|clause| clause.expr == expr);
            found.map_or_else(|| Cell::of("–"), judged)
        })
    };
    clauses.into_iter().map(of).collect()
}

fn judged(clause: &SloVerdict) -> Cell {
    let (word, class) = objectives::word(clause.pass);
    let cell = Cell { class: "strong", ..Cell::of(objectives::value(clause)) };
    cell.judged(class, word).with(clause.note.as_deref().unwrap_or_default())
}

/// The figure of the registry behind a tile, of which runs are compared.
fn behind(tile: &Tile) -> Option<&'static Figure> {
    Some(match tile.name {
        "Achieved" => figure::RATE_MEAN,
        "p50" => figure::RESPONSE_US_P50,
        "p90" => figure::RESPONSE_US_P90,
        "p99" => figure::RESPONSE_US_P99,
        "p99.9" => figure::RESPONSE_US_P999,
        "Maximum" => figure::RESPONSE_US_MAX,
        _ => return None,
    })
}

fn figures(content: &Content) -> Vec<Vec<Cell>> {
    let with_p90 = content.views.iter().any(|view| lacks_p99(&view.summary));
    let columns: Vec<Vec<Tile>> =
        content.views.iter().map(|view| tiles(&view.summary, with_p90)).collect();
    let Some(first) = columns.first() else { return Vec::new() };
    let of = |(index, named): (usize, &Tile)| {
        let cell = |(view, column): (&View, &Vec<Tile>)| {
            let tile = &column[index];
            let class = if tile.class.is_empty() { "strong" } else { "strong poor" };
            let difference = behind(tile).and_then(|of| difference(content, view, of));
            let small = [Some(tile.detail.clone()).filter(|text| !text.is_empty()), difference];
            Cell {
                class,
                small: small.into_iter().flatten().collect::<Vec<_>>().join("; "),
                is_doubtful: !view.summary.run.valid,
                ..Cell::of(&tile.value)
            }
        };
        let cells = content.views.iter().zip(&columns).map(cell);
        std::iter::once(Cell::of(named.name).with(named.meaning)).chain(cells).collect()
    };
    first.iter().enumerate().map(of).collect()
}

/// By how much a figure differs from that of the first run; `None` of the first itself, and where
/// one of the two has none.
fn difference(content: &Content, view: &View, figure: &Figure) -> Option<String> {
    let first = content.views.first()?;
    if view.letter == first.letter {
        return None;
    }
    let (was, is) = (first.summary.value(figure)?, view.summary.value(figure)?);
    if was <= 0.0 || !was.is_finite() || !is.is_finite() {
        return None;
    }
    Some(format!("{} against {}", signed_per_cent(is / was - 1.0), first.letter))
}

/// What there is to say of one run among several, if anything.
fn remarks(view: &View) -> Option<Block> {
    let s = &view.summary;
    let is_plain = s.run.valid && s.is_whole();
    if is_plain && s.warnings.is_empty() {
        return None;
    }
    let says = if is_plain { String::new() } else { format!(". {}", verdict(s).says) };
    Some(Block::Verdict(Verdict {
        class: if s.run.valid { "open" } else { "poor" },
        says: format!("{}{says}", view.heading),
        reasons: s.run.invalid_because.iter().chain(&s.warnings).cloned().collect(),
    }))
}
