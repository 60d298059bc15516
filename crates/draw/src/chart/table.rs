//! The figures of a panel as a table: for those who do not see the chart, for copying, and for the
//! read-out under the pointer, which reads its values here. So nothing is stored twice.

use super::figure::{Draw, Figure, Panel, Series};
use super::plot::Table;
use super::unit::whole;

/// The table of a panel; `id` is how the plot finds it.
pub(super) fn of(figure: &Figure, panel: &Panel, id: &str) -> Table {
    let head = |series: &Series| {
        (series.name.clone(), format!("{}{}", series.tone, series.stroke.class()))
    };
    let first = (figure.axis.heading().to_owned(), String::new());
    let heads = std::iter::once(first).chain(panel.series.iter().map(head)).collect();
    let row = |column: usize| {
        let cell = |series: &Series| {
            let value = series.values.get(column).copied().flatten().filter(|v| v.is_finite());
            value.map_or_else(String::new, |value| match figure.draw {
                Draw::Heat => whole(value),
                Draw::Lines | Draw::Stack => figure.unit.show(value),
            })
        };
        std::iter::once(figure.axis.name(column)).chain(panel.series.iter().map(cell)).collect()
    };
    Table::new(id, heads, (0..rows(figure, panel)).map(row).collect())
}

/// Up to the last column with a value: a shorter run beside a longer one has no empty tail.
fn rows(figure: &Figure, panel: &Panel) -> usize {
    let last = |values: &[Option<f64>]| values.iter().rposition(Option::is_some);
    let end = panel.series.iter().filter_map(|series| last(&series.values)).max();
    end.map_or(0, |last| last + 1).min(figure.axis.columns())
}
