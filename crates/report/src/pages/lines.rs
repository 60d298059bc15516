//! Lines that share their places: a value of each at each place, as a plot and as the table behind
//! it.

use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};

/// A line, which is a column of the table.
pub(crate) struct Drawn {
    /// What it is called.
    pub(crate) name: String,
    /// The classes of its line; empty where it has no line and stands in the table only.
    pub(crate) class: String,
    /// Its values, place by place.
    pub(crate) values: Vec<Option<f64>>,
}

/// Where a value stands, and what a table calls that.
pub(crate) struct Place {
    /// Where the place begins, where its values stand, and where it ends.
    pub(crate) at: (f64, f64, f64),
    /// The head of its row.
    pub(crate) name: String,
    /// What stands in its row before the lines' values.
    pub(crate) beside: Vec<String>,
}

/// Lines over the same places.
pub(crate) struct Lines<'a> {
    /// The heads of the table before those of the lines; the first is of the places.
    pub(crate) heads: &'a [&'a str],
    /// The places, in order.
    pub(crate) places: Vec<Place>,
    /// The lines.
    pub(crate) all: Vec<Drawn>,
    /// Tells the value of a line at a place, by their numbers.
    pub(crate) show: &'a dyn Fn(usize, usize, f64) -> String,
}

impl Place {
    /// A place with nothing beside its name.
    pub(crate) fn new(at: (f64, f64, f64), name: impl Into<String>) -> Self {
        Self { at, name: name.into(), beside: Vec::new() }
    }
}

impl Lines<'_> {
    /// The points of a line; a place without a value has none.
    pub(crate) fn points(&self, line: &Drawn) -> Vec<(f64, f64)> {
        let all = self.places.iter().zip(&line.values);
        all.filter_map(|(place, value)| Some((place.at.1, (*value)?))).collect()
    }

    /// Puts the lines into a plot, and their table below it.
    pub(crate) fn put(&self, plot: &mut Plot, table: String) {
        let first = self.heads.len();
        let mut shown: Vec<usize> = (1..first).collect();
        for (number, line) in self.all.iter().enumerate().filter(|(_, of)| !of.class.is_empty()) {
            shown.push(first + number);
            if !line.name.is_empty() {
                plot.keys.push(Key::Line(format!("line {}", line.class), line.name.clone()));
            }
            let pieces = vec![self.points(line)];
            plot.lines.push(Line { class: line.class.clone(), pieces });
        }
        plot.rows = self.places.iter().map(|place| place.at).collect();
        plot.readout = (table.clone(), shown);
        plot.tables.push(self.table(table));
    }

    /// A row a place, a column a line.
    fn table(&self, id: String) -> Table {
        let mut heads = plain_heads(self.heads.iter().copied());
        heads.extend(self.all.iter().map(|line| (line.name.clone(), line.class.clone())));
        let row = |(number, place): (usize, &Place)| {
            let cell = |(line, of): (usize, &Drawn)| {
                let value = of.values.get(number).copied().flatten();
                value.map_or_else(|| "–".to_owned(), |value| (self.show)(line, number, value))
            };
            let cells = self.all.iter().enumerate().map(cell);
            let before = std::iter::once(place.name.clone()).chain(place.beside.iter().cloned());
            before.chain(cells).collect()
        };
        Table::new(id, heads, self.places.iter().enumerate().map(row).collect())
    }
}
