//! The figures of a panel as a table: for those who do not see the chart, for copying, and for the
//! read-out under the pointer, which reads its values here. So nothing is stored twice.

use super::figure::{Figure, Panel};
use crate::Markup;

/// Writes the table of a panel, closed; `id` is how the plot finds it.
pub(super) fn write(m: &mut Markup, figure: &Figure, panel: &Panel, id: &str) {
    m.tag("details", &[], |m| {
        m.leaf("summary", &[], "Table");
        m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
            m.tag("table", &[("id", &id)], |m| {
                m.tag("thead", &[], |m| write_head(m, figure, panel));
                m.tag("tbody", &[], |m| {
                    for column in 0..rows(figure, panel) {
                        write_row(m, figure, panel, column);
                    }
                });
            });
        });
    });
}

fn write_head(m: &mut Markup, figure: &Figure, panel: &Panel) {
    m.tag("tr", &[], |m| {
        m.leaf("th", &[("scope", &"col")], figure.axis.heading());
        for series in &panel.series {
            let class = format!("{}{}", series.tone, series.stroke.class());
            m.leaf("th", &[("scope", &"col"), ("class", &class)], &series.name);
        }
    });
}

/// Up to the last column with a value: a shorter run beside a longer one has no empty tail.
fn rows(figure: &Figure, panel: &Panel) -> usize {
    let last = |values: &[Option<f64>]| values.iter().rposition(Option::is_some);
    let end = panel.series.iter().filter_map(|series| last(&series.values)).max();
    end.map_or(0, |last| last + 1).min(figure.axis.columns())
}

fn write_row(m: &mut Markup, figure: &Figure, panel: &Panel, column: usize) {
    m.tag("tr", &[], |m| {
        m.leaf("th", &[], figure.axis.name(column));
        for series in &panel.series {
            let value = series.values.get(column).copied().flatten();
            let text = value.filter(|v| v.is_finite()).map(|value| match figure.draw {
                super::figure::Draw::Heat => super::unit::whole(value),
                _ => figure.unit.show(value),
            });
            m.leaf("td", &[], text.unwrap_or_default());
        }
    });
}
