//! A table whose columns are figures of the registry, each with its label, its unit and which way
//! it is better, over rows of any kind.

use std::fmt::Display;

use plimsoll_stats::figure::{Better, Figure};

use crate::figure_text;

/// A table as it is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    /// Its class in the style sheet.
    pub(crate) class: &'static str,
    /// Its id; empty where nothing leads to it.
    pub(crate) id: String,
    /// The heads of its columns.
    pub(crate) heads: Vec<Cell>,
    /// Its rows; the first cell of each is its head.
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The letter before the text, by which the page speaks of it; may be empty.
    pub(crate) letter: String,
    /// The text.
    pub(crate) text: String,
    /// What stands below the text, in small; may be empty.
    pub(crate) small: String,
    /// A word that judges it, with its class.
    pub(crate) chip: Option<(&'static str, String)>,
    /// What follows; may be empty.
    pub(crate) after: String,
    /// The classes of the text: `strong`, `poor`, or empty.
    pub(crate) class: &'static str,
    /// Whether the figure is not to be relied upon.
    pub(crate) is_doubtful: bool,
}

impl Cell {
    /// A cell of text alone.
    pub(crate) fn of(text: impl Display) -> Self {
        Self { text: text.to_string(), ..Self::default() }
    }

    /// The same with a letter before it.
    pub(crate) fn lettered(letter: &str, text: impl Display) -> Self {
        Self { letter: letter.to_owned(), ..Self::of(text) }
    }

    /// The same with small text below it.
    pub(crate) fn with(self, small: impl Display) -> Self {
        Self { small: small.to_string(), ..self }
    }

    /// The same with a word that judges it.
    pub(crate) fn judged(self, class: &'static str, word: impl Display) -> Self {
        Self { chip: Some((class, word.to_string())), ..self }
    }
}

/// A column of a table over rows of a kind.
pub(crate) enum Column<'a, Row> {
    /// A figure of the registry.
    Figure(OfFigure<'a, Row>),
    /// Another: its head, and what stands in it.
    Plain(String, Box<dyn Fn(&Row) -> Cell + 'a>),
}

/// What a column takes from a row; `None` where the row lacks it.
type Getter<'a, Row, T> = Box<dyn Fn(&Row) -> Option<T> + 'a>;

/// A column of one figure.
pub(crate) struct OfFigure<'a, Row> {
    figure: &'static Figure,
    /// What stands at its head.
    head: &'static str,
    value: Getter<'a, Row, f64>,
    interval: Option<Getter<'a, Row, (f64, f64)>>,
    /// Whether the best of its values is marked.
    marks_best: bool,
}

impl<'a, Row> Column<'a, Row> {
    /// The column of a figure.
    pub(crate) fn figure(
        figure: &'static Figure,
        value: impl Fn(&Row) -> Option<f64> + 'a,
    ) -> Self {
        let value = Box::new(value);
        let head = figure.label;
        Self::Figure(OfFigure { figure, head, value, interval: None, marks_best: false })
    }

    /// A column of text.
    pub(crate) fn plain(head: impl Into<String>, cell: impl Fn(&Row) -> Cell + 'a) -> Self {
        Self::Plain(head.into(), Box::new(cell))
    }

    /// The same with another head than the figure's label.
    pub(crate) fn called(self, head: &'static str) -> Self {
        match self {
            Self::Figure(column) => Self::Figure(OfFigure { head, ..column }),
            plain @ Self::Plain(..) => plain,
        }
    }

    /// The same with the 95% interval of each value below it, where there is one.
    pub(crate) fn with_interval(self, of: impl Fn(&Row) -> Option<(f64, f64)> + 'a) -> Self {
        match self {
            Self::Figure(column) => {
                Self::Figure(OfFigure { interval: Some(Box::new(of)), ..column })
            }
            plain @ Self::Plain(..) => plain,
        }
    }

    /// The same with the best of its values marked.
    pub(crate) fn marking_best(self) -> Self {
        match self {
            Self::Figure(column) => Self::Figure(OfFigure { marks_best: true, ..column }),
            plain @ Self::Plain(..) => plain,
        }
    }

    fn head(&self) -> Cell {
        match self {
            Self::Figure(column) => Cell::of(column.head),
            Self::Plain(head, _) => Cell::of(head),
        }
    }
}

/// A table over rows of a kind.
pub(crate) struct Table<'a, Row> {
    /// Its class in the style sheet.
    pub(crate) class: &'static str,
    /// Its id; empty where nothing leads to it.
    pub(crate) id: String,
    /// The sign before amounts of money.
    pub(crate) currency: &'a str,
    /// The columns; the first is the head of each row.
    pub(crate) columns: Vec<Column<'a, Row>>,
}

impl<Row> Table<'_, Row> {
    /// The table of some rows.
    pub(crate) fn of(&self, rows: &[Row]) -> Grid {
        let best: Vec<Option<f64>> = self.columns.iter().map(|one| best(one, rows)).collect();
        let cells = |row: &Row| {
            let cell = |(column, best): (&Column<'_, Row>, &Option<f64>)| {
                self.cell(column, row, best.filter(|_| rows.len() > 1))
            };
            self.columns.iter().zip(&best).map(cell).collect()
        };
        Grid {
            class: self.class,
            id: self.id.clone(),
            heads: self.columns.iter().map(Column::head).collect(),
            rows: rows.iter().map(cells).collect(),
        }
    }

    fn cell(&self, column: &Column<'_, Row>, row: &Row, best: Option<f64>) -> Cell {
        let column = match column {
            Column::Plain(_, cell) => return cell(row),
            Column::Figure(column) => column,
        };
        let text = |value: f64| figure_text::text(column.figure, value, self.currency);
        let value = (column.value)(row).unwrap_or(f64::NAN);
        let mut cell = Cell::of(text(value));
        if let Some(interval) = column.interval.as_ref().and_then(|of| of(row)) {
            cell.small = figure_text::interval(interval, text);
        }
        if best.is_some_and(|best| value.total_cmp(&best).is_eq()) {
            let word = if column.figure.better == Better::Higher { "highest" } else { "lowest" };
            cell = cell.judged("good", word);
        }
        cell
    }
}

/// The best value of a column that marks it.
fn best<Row>(column: &Column<'_, Row>, rows: &[Row]) -> Option<f64> {
    let Column::Figure(column) = column else { return None };
    let values = || rows.iter().filter_map(|row| (column.value)(row)).filter(|v| v.is_finite());
    let (least, greatest) = (values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?);
    match column.figure.better {
        // Where all are equal none is better than another.
        _ if !column.marks_best || least.total_cmp(&greatest).is_eq() => None,
        Better::Lower => Some(least),
        Better::Higher => Some(greatest),
        Better::Neither => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::figure;

    #[test]
    fn a_column_has_its_figures_label_and_unit_and_marks_its_best() {
        let table: Table<'_, (&str, f64)> = Table {
            class: "",
            id: String::new(),
            currency: "$",
            columns: vec![
                Column::plain("policy", |row: &(&str, f64)| Cell::of(row.0)),
                Column::figure(figure::COST, |row: &(&str, f64)| Some(row.1))
                    .with_interval(|row| Some((row.1 - 1.0, row.1 + 1.0)))
                    .marking_best(),
            ],
        };
        let grid = table.of(&[("a", 12.0), ("b", 9.5), ("c", f64::NAN)]);
        assert_eq!(grid.heads[1].text, figure::COST.label);
        let texts: Vec<&str> = grid.rows.iter().map(|row| row[1].text.as_str()).collect();
        assert_eq!(texts, ["$12.00", "$9.50", "–"]);
        assert_eq!(grid.rows[1][1].small, "$8.50 to $10.50");
        assert_eq!(grid.rows[1][1].chip, Some(("good", "lowest".to_owned())));
        assert_eq!(grid.rows[0][1].chip, None);
        let alone = table.of(&[("a", 12.0)]);
        assert_eq!(alone.rows[0][1].chip, None, "one alone is not the best of several");
    }
}
