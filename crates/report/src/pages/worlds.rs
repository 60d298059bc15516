//! One plan in two worlds: a live experiment and the same one simulated, over each other. How far
//! the prediction was off, combination by combination, and whether it has the same effects.

use plimsoll_analysis::{Analysis, EffectPair, FigurePair, Pair, Worlds};
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::plot::{Table as Values, plain_heads};
use plimsoll_draw::chart::ratios::{Ratios, Row};
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_stats::figure::{self, Figure};

use super::designed::called;
use super::levels::capital;
use crate::cells::Cells;
use crate::document::{self, Block, Cell, Document, Grid, Section, Verdict, chart, note, words};
use crate::figure_text::{self, DASH};

/// The most combinations of a chart; the table has all.
const MAX_ROWS: usize = 60;

/// The page: of the live one, then of the simulated one.
pub(crate) fn page(worlds: &Worlds, of: [&Analysis; 2], cells: &[Cells; 2]) -> Document {
    let figures: Vec<&'static Figure> =
        of[0].experiment.respond.iter().filter_map(|name| figure::named(name)).collect();
    let mut head: Vec<Block> =
        figures.iter().find_map(|figure| answer(worlds, figure)).into_iter().collect();
    head.push(document::asked(format!(
        "{} · one plan in two worlds, {} combinations of levels in both.",
        cells[0].subject,
        worlds.pairs.len()
    )));
    head.push(Block::Facts(vec![
        format!("measured in experiment {}", of[0].experiment.id),
        format!("predicted in experiment {}", of[1].experiment.id),
    ]));
    head.extend(notes(worlds, of));
    let mut sections = vec![Section::new(
        "prediction",
        "Prediction against measurement",
        compared(worlds, of[0], &figures),
    )];
    sections.extend(effects(worlds, &figures));
    let plan = vec![Block::Verbatim(cells[0].plan.clone())];
    sections.push(Section::new("plan", "The plan", plan));
    let title = cells[0].title();
    Document { title, head, sections, is_several: false }
}

/// The figures of a pair that are shown: those that both worlds have.
fn pairs<'a>(worlds: &'a Worlds, figure: &Figure) -> Vec<(&'a Pair, &'a FigurePair)> {
    let of = |pair: &'a Pair| {
        let found = pair.figures.iter().find(|of| of.figure == figure.name)?;
        Some((pair, found))
    };
    worlds.pairs.iter().filter_map(of).collect()
}

/// How far the prediction of a figure was off, over all combinations.
fn answer(worlds: &Worlds, figure: &'static Figure) -> Option<Block> {
    let pairs = pairs(worlds, figure);
    let ratios: Vec<f64> =
        pairs.iter().filter_map(|(_, of)| of.ratio).filter(|ratio| *ratio > 0.0).collect();
    if ratios.is_empty() {
        return None;
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let range = match ratios.len() {
        1 => String::new(),
        n => format!(
            " in the geometric mean over {n} combinations, × {least:.3} to × {most:.3} in single \
             ones"
        ),
    };
    let says = format!("Predicted {}: × {mean:.3} of what was measured{range}.", figure.label);
    let told: Vec<bool> = pairs.iter().filter_map(|(_, of)| of.meet).collect();
    let met = told.iter().filter(|meet| **meet).count();
    let reason = match told.len() {
        0 => "No figure has an interval: how far chance goes is not known.".to_owned(),
        n => format!("The 95% intervals of the two meet in {met} of {n} combinations."),
    };
    Some(Block::Verdict(Verdict { class: "open", says, reasons: vec![reason] }))
}

/// What a reader has to know of either.
fn notes(worlds: &Worlds, of: [&Analysis; 2]) -> Option<Block> {
    let mut all = Vec::new();
    if worlds.unpaired > 0 {
        all.push(format!(
            "{} combinations are done in one world only, and are left out.",
            worlds.unpaired
        ));
    }
    for (name, analysis) in ["Measured", "Predicted"].into_iter().zip(of) {
        all.extend(analysis.warnings.iter().map(|text| format!("{name}: {text}.")));
    }
    let title = if all.len() == 1 { "Note" } else { "Notes" };
    (!all.is_empty()).then_some(Block::Notice(title, all))
}

/// The predictions over what was measured, as charts and as a table.
fn compared(worlds: &Worlds, live: &Analysis, figures: &[&'static Figure]) -> Vec<Block> {
    let charts: Vec<Box<dyn Chart>> = figures
        .iter()
        .enumerate()
        .filter_map(|(place, figure)| ratios(worlds, live, figure, place))
        .map(chart)
        .collect();
    let mut blocks = vec![words(
        "A prediction over what was measured, for each combination of levels: on the line at 1 it \
         was right. Bars are 95% intervals of the ratio of the two means.",
    )];
    blocks.push(Block::Charts(charts));
    let mut shown = figures.to_vec();
    let known = worlds.pairs.iter().flat_map(|pair| &pair.figures);
    for figure in known.filter_map(|of| figure::named(of.figure)) {
        if !shown.contains(&figure) {
            shown.push(figure);
        }
    }
    blocks.push(Block::Table(table(worlds, live, &shown)));
    blocks.push(note(
        "Means over the replications of each world. A figure of one replication has no interval.",
    ));
    blocks
}

/// The marks of a comparison: told apart, or not.
fn mark(meet: Option<bool>) -> (Symbol, &'static str) {
    match meet {
        Some(false) => (Symbol::Triangle, "c3"),
        Some(true) => (Symbol::Disc, "c1"),
        None => (Symbol::Square, "c7"),
    }
}

fn ratios(
    worlds: &Worlds,
    live: &Analysis,
    figure: &'static Figure,
    place: usize,
) -> Option<Ratios> {
    let pairs = pairs(worlds, figure);
    let row = |(pair, of): &(&Pair, &FigurePair)| {
        let ratio = of.ratio.filter(|ratio| *ratio > 0.0)?;
        Some(Row {
            name: called(live, &pair.factors),
            says: format!("× {ratio:.3}"),
            mark: mark(of.meet),
            value: ratio,
            interval: of.ratio_ci95.filter(|[low, _]| *low > 0.0).map(|[low, high]| (low, high)),
        })
    };
    let rows: Vec<Row> = pairs.iter().filter_map(row).take(MAX_ROWS).collect();
    if rows.is_empty() {
        return None;
    }
    let value = |row: &Row| {
        let ends = row.interval.map(|(low, high)| (format!("{low:.3}"), format!("{high:.3}")));
        let (low, high) = ends.unwrap_or((DASH.to_owned(), DASH.to_owned()));
        vec![row.name.clone(), format!("{:.3}", row.value), low, high]
    };
    let heads = plain_heads(["combination", "ratio", "from", "to"]);
    let id = format!("worlds-{place}");
    let table = Values::new(format!("{id}-table"), heads, rows.iter().map(value).collect());
    Some(Ratios {
        id,
        title: format!("{}, predicted over measured", capital(figure.label)),
        note: "A green disc: the intervals of the two meet. A red triangle: they do not. An empty \
               square: there are too few replications to tell."
            .to_owned(),
        measure: "predicted over measured, a logarithmic axis".to_owned(),
        rows,
        table,
    })
}

fn valued(figure: &Figure, of: &plimsoll_analysis::MeanResult) -> Cell {
    let show = |value: f64| figure_text::text(figure, value, "");
    let ends = of.ci95.map(|[low, high]| figure_text::interval((low, high), show));
    Cell::of(show(of.mean)).with(ends.unwrap_or_default())
}

fn met(meet: Option<bool>) -> Cell {
    match meet {
        Some(true) => Cell::default().judged("good", "meet"),
        Some(false) => Cell::default().judged("poor", "apart"),
        None => Cell::of(DASH),
    }
}

fn table(worlds: &Worlds, live: &Analysis, figures: &[&'static Figure]) -> Grid {
    let mut rows = Vec::new();
    for pair in &worlds.pairs {
        for figure in figures {
            let Some(of) = pair.figures.iter().find(|of| of.figure == figure.name) else {
                continue;
            };
            let ratio = of.ratio.map_or_else(|| DASH.to_owned(), |ratio| format!("× {ratio:.3}"));
            let ends = of.ratio_ci95.map(|[low, high]| format!("{low:.3} to {high:.3}"));
            rows.push(vec![
                Cell::of(called(live, &pair.factors)),
                Cell::of(figure.label),
                valued(figure, &of.live),
                valued(figure, &of.simulated),
                Cell::of(ratio).with(ends.unwrap_or_default()),
                met(of.meet),
            ]);
        }
    }
    let heads = ["combination", "figure", "measured", "predicted", "ratio", "intervals"];
    let (class, id) = ("policies", "worlds-table".to_owned());
    Grid { class, id, heads: heads.map(Cell::of).into(), rows }
}

/// The effects of both worlds beside each other.
fn effects(worlds: &Worlds, figures: &[&'static Figure]) -> Option<Section> {
    let charts: Vec<Box<dyn Chart>> = figures
        .iter()
        .enumerate()
        .filter_map(|(place, figure)| effects_on(worlds, figure, place))
        .map(chart)
        .collect();
    if charts.is_empty() {
        return None;
    }
    let row = |of: &EffectPair| {
        let side = |effect: &plimsoll_analysis::EffectResult| {
            let ends = effect.ci95.map(|[low, high]| format!("{low:.3} to {high:.3}"));
            Cell::of(format_args!("× {:.3}", effect.effect)).with(ends.unwrap_or_default())
        };
        let label = figure::named(of.live.figure).map_or(of.live.figure, |figure| figure.label);
        vec![
            Cell::of(named(of)),
            Cell::of(label),
            side(&of.live),
            side(&of.simulated),
            met(of.meet),
        ]
    };
    let heads = ["effect", "on", "measured", "predicted", "intervals"];
    let grid = Grid {
        class: "policies",
        id: String::new(),
        heads: heads.map(Cell::of).into(),
        rows: worlds.effects.iter().map(row).collect(),
    };
    let text = words(
        "A prediction that is off by the same ratio everywhere still tells what helps: its effects \
         are those that were measured.",
    );
    let blocks = vec![text, Block::Charts(charts), Block::Table(grid)];
    Some(Section::new("effects", "Effects in both worlds", blocks))
}

fn named(of: &EffectPair) -> String {
    format!("{}: {} → {}", of.live.factor, of.live.levels[0], of.live.levels[1])
}

fn effects_on(worlds: &Worlds, figure: &'static Figure, place: usize) -> Option<Ratios> {
    let mut rows = Vec::new();
    for of in worlds.effects.iter().filter(|of| of.live.figure == figure.name) {
        let sides = [
            ("measured", &of.live, (Symbol::Disc, "c0")),
            ("predicted", &of.simulated, (Symbol::Square, "c2")),
        ];
        for (word, effect, mark) in sides {
            rows.push(Row {
                name: format!("{}, {word}", named(of)),
                says: format!("× {:.3}", effect.effect),
                mark,
                value: effect.effect,
                interval: effect.ci95.map(|[low, high]| (low, high)),
            });
        }
    }
    if rows.is_empty() {
        return None;
    }
    let value = |row: &Row| vec![row.name.clone(), format!("{:.3}", row.value)];
    let id = format!("both-{place}");
    let heads = plain_heads(["effect", "ratio"]);
    let table = Values::new(format!("{id}-table"), heads, rows.iter().map(value).collect());
    Some(Ratios {
        id,
        title: format!("Effects on {}", figure.label),
        note: "A blue disc is what was measured, an orange square what was predicted. The axis is \
               logarithmic."
            .to_owned(),
        measure: format!("{} at the second level over that at the first", figure.label),
        rows,
        table,
    })
}
