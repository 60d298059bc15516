//! What each factor of an experiment does: effects as a chart and a table, interactions, the
//! analysis of variance, and of unreplicated designs which effects stand out.

use plimsoll_analysis::{Analysis, EffectResult, Interaction, Sizes, Variance};
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::label::Label;
use plimsoll_draw::chart::plot::{Key, Level, Plot, Table as Values, plain_heads};
use plimsoll_draw::chart::range::Range;
use plimsoll_draw::chart::ratios::{Ratios, Row};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, per_cent, signed_per_cent, significant};
use plimsoll_stats::figure::{self, Figure};

use super::designed::is_better;
use crate::document::{Block, Cell, Grid, Section, chart, letter, note, words};
use crate::figure_text::{self, DASH};

/// Effects that are told from none have p-values no greater.
const LEVEL: f64 = 0.05;

/// The section of effects; none where no factor has one.
pub(crate) fn section(analysis: &Analysis) -> Option<Section> {
    let figures: Vec<&'static Figure> =
        analysis.experiment.respond.iter().filter_map(|name| figure::named(name)).collect();
    let charts: Vec<Box<dyn Chart>> = figures
        .iter()
        .enumerate()
        .filter_map(|(place, figure)| ratios(analysis, figure, place))
        .map(chart)
        .collect();
    if charts.is_empty() {
        return None;
    }
    let mut blocks = vec![words(
        "What a factor multiplies a figure by from its first level to another one, in the \
         geometric mean over all else. Bars are 95% intervals; p-values are corrected for how many \
         effects there are (Holm).",
    )];
    blocks.push(Block::Charts(charts));
    blocks.push(Block::Table(table(analysis)));
    blocks.push(note(below(&analysis.effects)));
    if !analysis.interactions.is_empty() {
        let table = vec![Block::Table(interactions(analysis))];
        blocks.push(Block::Folded("Interactions".to_owned(), table));
    }
    for variance in &analysis.variance {
        let label = label(variance.figure);
        let text = note(
            "Of the logarithms, as effects are ratios. η² is a row's share of the sum of squares, \
             ω² that share without what chance adds to it.",
        );
        let title = format!("Analysis of variance of {label}");
        blocks.push(Block::Folded(
            title,
            vec![Block::Table(variance_table(analysis, variance)), text],
        ));
    }
    let plots = analysis.sizes.iter().enumerate();
    let plots: Vec<Box<dyn Chart>> =
        plots.map(|(place, sizes)| chart(half_normal(sizes, place))).collect();
    if !plots.is_empty() {
        blocks.push(Block::Charts(plots));
    }
    Some(Section::new("effects", "Effects", blocks))
}

fn label(name: &'static str) -> &'static str {
    figure::named(name).map_or(name, |figure| figure.label)
}

/// Whether an effect can be told from none: by its p-value, else by whether it stands out.
fn is_told(analysis: &Analysis, effect: &EffectResult) -> Option<bool> {
    if let Some(p) = effect.p_holm {
        return Some(p <= LEVEL);
    }
    let sizes = analysis.sizes.iter().find(|of| of.figure == effect.figure)?;
    Some(effect.effect.max(1.0 / effect.effect) > sizes.margin)
}

/// What an effect is of: the factor, and its two levels.
fn named(analysis: &Analysis, of: &EffectResult) -> String {
    format!("{}: {} → {}", analysis.short(&of.factor), of.levels[0], of.levels[1])
}

/// The effects on a figure, the largest first.
fn ratios(analysis: &Analysis, figure: &'static Figure, place: usize) -> Option<Ratios> {
    let mut all: Vec<&EffectResult> =
        analysis.effects.iter().filter(|of| of.figure == figure.name).collect();
    all.sort_by(|a, b| b.effect.ln().abs().total_cmp(&a.effect.ln().abs()));
    if all.is_empty() {
        return None;
    }
    let mark = |of: &EffectResult| match (is_told(analysis, of), is_better(figure, of.effect)) {
        (Some(true), Some(true)) => (Symbol::Disc, "c1"),
        (Some(true), Some(false)) => (Symbol::Triangle, "c3"),
        (Some(true), None) => (Symbol::Disc, "c0"),
        _ => (Symbol::Square, "c7"),
    };
    let row = |of: &&EffectResult| Row {
        name: named(analysis, of),
        says: format!("× {:.3}", of.effect),
        mark: mark(of),
        value: of.effect,
        interval: of.ci95.map(|[low, high]| (low, high)),
    };
    let heads = ["effect", "ratio", "from", "to"];
    let value = |of: &&EffectResult| {
        let (low, high) = of.ci95.map_or((DASH.to_owned(), DASH.to_owned()), |[low, high]| {
            (format!("{low:.3}"), format!("{high:.3}"))
        });
        vec![named(analysis, of), format!("{:.3}", of.effect), low, high]
    };
    let id = format!("effects-{place}");
    let table =
        Values::new(format!("{id}-table"), plain_heads(heads), all.iter().map(value).collect());
    let told = all.iter().any(|of| is_told(analysis, of) == Some(true));
    let colours = match told {
        true => {
            "A green disc is better, a red triangle worse; an empty square cannot be told from no \
             effect at 5%. The axis is logarithmic."
        }
        false => "None can be told from no effect at 5%. The axis is logarithmic.",
    };
    Some(Ratios {
        id,
        title: format!("Effects on {}", figure.label),
        note: colours.to_owned(),
        measure: format!("{} at the second level over that at the first", figure.label),
        rows: all.iter().map(row).collect(),
        table,
    })
}

fn p_value(p: Option<f64>) -> String {
    match p {
        None => DASH.to_owned(),
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

fn ends(of: Option<[f64; 2]>) -> String {
    of.map_or_else(String::new, |[low, high]| format!("{low:.3} to {high:.3}"))
}

fn has_aliases(effects: &[EffectResult]) -> bool {
    effects.iter().any(|of| !of.aliases.is_empty())
}

/// Every effect with the values that it is the ratio of.
fn table(analysis: &Analysis) -> Grid {
    let effects = &analysis.effects;
    let has_aliases = has_aliases(effects);
    let has_change = effects.iter().any(|of| of.change.is_some());
    let mut heads = vec!["factor", "on", "from", "to", "ratio"];
    heads.extend(has_change.then_some("change"));
    heads.push("p (Holm)");
    heads.extend(has_aliases.then_some("not told from"));
    let level = |of: &EffectResult, at: usize| {
        let value = figure::named(of.figure)
            .map_or_else(String::new, |figure| figure_text::text(figure, of.means[at], ""));
        Cell::of(&of.levels[at]).with(value)
    };
    let row = |of: &EffectResult| {
        let mut row = vec![
            Cell::of(analysis.short(&of.factor)),
            Cell::of(label(of.figure)),
            level(of, 0),
            level(of, 1),
            Cell::of(format_args!("× {:.3}", of.effect)).with(ends(of.ci95)),
        ];
        if has_change {
            row.push(of.change.map_or_else(
                || Cell::of(DASH),
                |change| Cell::of(signed_per_cent(change.value)).with(change.formula),
            ));
        }
        row.push(Cell::of(p_value(of.p_holm)));
        if has_aliases {
            row.push(Cell::of(of.aliases.join(", ")));
        }
        row
    };
    Grid {
        class: "policies",
        id: "effects-table".to_owned(),
        heads: heads.into_iter().map(Cell::of).collect(),
        rows: effects.iter().map(row).collect(),
    }
}

/// What stands below the table.
fn below(effects: &[EffectResult]) -> String {
    let mut text = "Below each level stands the figure there, as the geometric mean of what was \
                    compared."
        .to_owned();
    if effects.iter().any(|of| of.change.is_some()) {
        text.push_str(
            " A change is given as it is published: NV is the figure at the first level, V that \
             at the other.",
        );
    }
    if has_aliases(effects) {
        text.push_str(
            " A fraction of a design cannot tell an effect from those in the last column.",
        );
    }
    text
}

fn interactions(analysis: &Analysis) -> Grid {
    let all = &analysis.interactions;
    let has_aliases = all.iter().any(|of| !of.aliases.is_empty());
    let row = |of: &Interaction| {
        let mut row = vec![
            Cell::of(analysis.short_of_all(&of.factors)),
            Cell::of(label(of.figure)),
            Cell::of(format_args!("× {:.3}", of.effect)).with(ends(of.ci95)),
            Cell::of(p_value(of.p_holm)),
        ];
        row.extend(has_aliases.then(|| Cell::of(of.aliases.join(", "))));
        row
    };
    let mut heads = vec!["factors", "on", "ratio of the effects", "p (Holm)"];
    heads.extend(has_aliases.then_some("not told from"));
    Grid {
        class: "policies",
        id: String::new(),
        heads: heads.into_iter().map(Cell::of).collect(),
        rows: all.iter().map(row).collect(),
    }
}

/// A sum of squares of logarithms, to three digits however small.
fn sum(squares: f64) -> String {
    if squares < 1e-3 { format!("{squares:.2e}") } else { format!("{squares:.4}") }
}

fn variance_table(analysis: &Analysis, of: &Variance) -> Grid {
    let heads = ["source", "sum of squares", "df", "F", "p", "η²", "ω²"];
    let number = |value: f64| significant(value);
    let row = |name: String, [squares, df]: [f64; 2]| {
        vec![Cell::of(name), Cell::of(sum(squares)), Cell::of(number(df))]
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for source in &of.rows {
        let name =
            [&[analysis.short_of_all(&source.factors)][..], &source.aliases].concat().join(" or ");
        let mut cells = row(name, [source.sum_of_squares, source.df]);
        let omega =
            source.omega_squared.map_or_else(|| DASH.to_owned(), |of| per_cent(of.max(0.0)));
        cells.extend([
            Cell::of(source.f.map_or_else(|| DASH.to_owned(), number)),
            Cell::of(p_value(source.p)),
            Cell::of(per_cent(source.eta_squared)),
            Cell::of(omega),
        ]);
        rows.push(cells);
    }
    for (name, of) in [("residuals", of.residual), ("all", of.total)] {
        let mut cells = row(name.to_owned(), of);
        cells.resize(heads.len(), Cell::default());
        rows.push(cells);
    }
    Grid { class: "policies", id: String::new(), heads: heads.map(Cell::of).into(), rows }
}

/// Effects by their size against how large those of their rank are by chance: what is none lies on
/// a straight line through the origin.
fn half_normal(of: &Sizes, place: usize) -> Plot {
    let size = |ratio: f64| ratio.ln();
    let most = of.points.iter().map(|point| size(point.ratio)).fold(size(of.margin), f64::max);
    let end = of.points.last().map_or(1.0, |point| point.quantile) * 1.15;
    let range = Range::over([0.0, end].into_iter());
    let end = range.high;
    let axis = Axis::Range { range, unit: Unit::Mean };
    let mut plot = Plot::empty(axis, (0.0, end), Scale::linear(most * 1.1, 0.0), Unit::Mean);
    let id = format!("half-normal-{place}");
    plot.id.clone_from(&id);
    plot.title = format!("Which effects on {} stand out", label(of.figure));
    plot.note = "Each combination ran once, so no error is known. Effects that are none lie on a \
                 line from the corner; one above Lenth's margin is not by chance at 5%."
        .to_owned();
    plot.measure = "logarithm of the ratio, over how large one of its rank is by chance, in \
                    standard deviations"
        .to_owned();
    plot.across = vec![Level {
        name: format!("Lenth's margin, × {:.3}", of.margin),
        class: "",
        value: size(of.margin),
        interval: None,
    }];
    for point in &of.points {
        let at = (point.quantile, size(point.ratio));
        if !point.stands_out {
            plot.symbols.push((Symbol::Square, "c7", at));
            plot.labels.push(Label { short: String::new(), name: String::new(), at });
            continue;
        }
        let letter = letter(plot.keys.len());
        plot.symbols.push((Symbol::Disc, "c0", at));
        plot.labels.push(Label { short: letter.clone(), name: point.of.clone(), at });
        plot.keys.push(Key::Letter(letter, point.of.clone()));
    }
    let heads = ["effect", "ratio", "standard deviations", "stands out"];
    let row = |point: &plimsoll_analysis::Size| {
        let word = if point.stands_out { "yes" } else { "no" };
        let (ratio, quantile) = (format!("{:.3}", point.ratio), format!("{:.2}", point.quantile));
        vec![point.of.clone(), ratio, quantile, word.to_owned()]
    };
    let (heads, rows) = (plain_heads(heads), of.points.iter().map(row).collect());
    plot.put(Values::new(format!("{id}-table"), heads, rows));
    let at: Vec<f64> = of.points.iter().map(|point| point.quantile).collect();
    let middle = |left: Option<&f64>, right: Option<&f64>, edge: f64| match (left, right) {
        (Some(left), Some(right)) => f64::midpoint(*left, *right),
        _ => edge,
    };
    let row = |(place, x): (usize, &f64)| {
        let before = place.checked_sub(1).and_then(|place| at.get(place));
        (middle(before, Some(x), 0.0), *x, middle(Some(x), at.get(place + 1), end))
    };
    plot.rows = at.iter().enumerate().map(row).collect();
    plot
}
