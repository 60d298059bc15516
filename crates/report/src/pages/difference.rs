//! Two results beside each other, figure by figure, with the difference of each: a prediction and
//! what was measured, or two pools.

use plimsoll_stats::figure::Figure;

use crate::document::{Cell, Grid};
use crate::figure_text::{self, DASH};
use plimsoll_draw::chart::unit::signed_per_cent;

/// A figure's value with its 95% interval, where it has one.
pub(crate) type Valued = (f64, Option<(f64, f64)>);

/// Tells the figures of one side.
pub(crate) type FigureGetter<'a> = &'a dyn Fn(&Figure) -> Option<Valued>;

/// What two results are called, and their difference.
pub(crate) struct Heads<'a> {
    pub(crate) first: &'a str,
    pub(crate) second: &'a str,
    pub(crate) difference: &'a str,
}

/// The table of those figures that both sides have: the first, the second, and the first less the
/// second.
pub(crate) fn table(
    figures: &[&'static Figure],
    (first, second): (FigureGetter<'_>, FigureGetter<'_>),
    heads: &Heads<'_>,
    currency: &str,
) -> Grid {
    let row = |figure: &&'static Figure| {
        let (a, b) = (first(figure)?, second(figure)?);
        let side = |(value, interval): Valued| {
            let show = |value: f64| figure_text::text(figure, value, currency);
            let interval = interval.map_or_else(String::new, |of| figure_text::interval(of, show));
            Cell::of(show(value)).with(interval)
        };
        Some(vec![Cell::of(figure.label), side(a), side(b), difference(figure, a, b, currency)])
    };
    let heads = ["figure", heads.first, heads.second, heads.difference];
    Grid {
        class: "sides",
        id: "difference-table".to_owned(),
        heads: heads.map(Cell::of).into(),
        rows: figures.iter().filter_map(row).collect(),
    }
}

/// The first less the second, and whether their intervals, or a value and an interval, overlap.
fn difference(figure: &Figure, a: Valued, b: Valued, currency: &str) -> Cell {
    let by = a.0 - b.0;
    if !by.is_finite() {
        return Cell::of(DASH);
    }
    let text = figure_text::difference(figure, by, currency);
    let sign = if by > 0.0 && text.contains(|c: char| ('1'..='9').contains(&c)) { "+" } else { "" };
    let share = if b.0 > 0.0 { signed_per_cent(by / b.0) } else { String::new() };
    let ends = |(value, interval): Valued| interval.unwrap_or((value, value));
    let ((low_a, high_a), (low_b, high_b)) = (ends(a), ends(b));
    let within = match (a.1, b.1) {
        (None, None) => "",
        _ if low_a <= high_b && low_b <= high_a => "; the intervals overlap",
        _ => "; outside the interval",
    };
    let cell = Cell { class: "strong", ..Cell::of(format_args!("{sign}{text}")) };
    cell.with(format_args!("{share}{within}").to_string().trim_start_matches("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::figure;

    #[test]
    fn a_difference_has_its_sign_its_share_and_whether_intervals_overlap() {
        let cell = |a, b| difference(figure::ESTIMATE_PER_S, a, b, "");
        let found = cell((110.0, Some((105.0, 115.0))), (100.0, Some((90.0, 107.0))));
        assert_eq!(
            (found.text.as_str(), found.small.as_str()),
            ("+10/s", "+10%; the intervals overlap")
        );
        let found = cell((90.0, None), (100.0, Some((95.0, 107.0))));
        assert_eq!(
            (found.text.as_str(), found.small.as_str()),
            ("−10/s", "−10%; outside the interval")
        );
        let found = cell((100.0, None), (100.0, None));
        assert_eq!((found.text.as_str(), found.small.as_str()), ("0/s", "0%"));
        assert_eq!(cell((f64::NAN, None), (1.0, None)).text, "–");
    }

    #[test]
    fn figures_that_one_side_lacks_are_left_out() {
        let heads = Heads { first: "a", second: "b", difference: "a less b" };
        let all =
            |figure: &Figure| Some((if figure.name == "rate_mean" { 2.0 } else { 1.0 }, None));
        let some = |figure: &Figure| (figure.name == "rate_mean").then_some((1.0, None));
        let of = [figure::RATE_MEAN, figure::ERRORS];
        let grid = table(&of, (&all, &some), &heads, "");
        assert_eq!(grid.rows.len(), 1);
        assert_eq!(grid.rows[0][3].text, "+1/s");
    }
}
