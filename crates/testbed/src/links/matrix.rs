//! The round trips between all places of a bed, with a link between them or none.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use crate::error::TestbedError;
use crate::links::Wiring;
use crate::links::measure::{apart, ms, round_trip};

/// The most places of which all pairs are measured.
const MOST: usize = 20;
/// How long a pair without a link may take.
const OF_A_PAIR: Duration = Duration::from_millis(100);

/// How long all pairs may take that have no link, which are measured elsewhere.
pub(super) fn longest(wiring: &Wiring) -> Duration {
    match u32::try_from(wiring.places.len()) {
        Ok(places) if wiring.places.len() <= MOST => OF_A_PAIR * (places * places / 2),
        _ => Duration::ZERO,
    }
}

/// The lines of a table with a row and a column for each place: milliseconds, of pairs with a link
/// those that were found of it, of others the median of some handshakes of TCP.
///
/// # Errors
/// A network that cannot be entered, or in which nothing can be reached.
pub(super) fn of(
    wiring: &Wiring,
    mut trips: BTreeMap<(usize, usize), f64>,
) -> Result<Vec<String>, TestbedError> {
    let places = &wiring.places;
    if places.len() > MOST {
        let text = format!("{} places are too many for a table of all round trips", places.len());
        return Ok(vec![text]);
    }
    for (one, from) in places.iter().enumerate() {
        for (other, to) in places.iter().enumerate().skip(one + 1) {
            if let Entry::Vacant(trip) = trips.entry((one, other)) {
                trip.insert(ms(apart(|| round_trip(from, to))?));
            }
        }
    }
    let names: Vec<&str> = places.iter().map(|of| of.name.as_str()).collect();
    Ok(table(&names, &trips))
}

/// Their table.
fn table(names: &[&str], trips: &BTreeMap<(usize, usize), f64>) -> Vec<String> {
    let cell = |row: usize, column: usize| {
        let trip = trips.get(&(row.min(column), row.max(column)));
        trip.map_or("–".to_owned(), |ms| format!("{ms:.2}"))
    };
    let width = |column: usize| {
        let cells = (0..names.len()).map(|row| cell(row, column).chars().count());
        cells.chain([names[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let first = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let line = |name: &str, cells: Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{name:<first$}{}", cells.collect::<String>())
    };
    let head = line("", names.iter().map(|name| (*name).to_owned()).collect());
    let rows = names
        .iter()
        .enumerate()
        .map(|(row, name)| line(name, (0..names.len()).map(|column| cell(row, column)).collect()));
    ["round trips, ms:".to_owned(), head].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_told_both_ways() {
        let trips = BTreeMap::from([((0, 1), 20.04), ((0, 2), 0.05), ((1, 2), 120.5)]);
        let lines = table(&["web-1", "db-1", "the load"], &trips);
        assert_eq!(
            lines,
            [
                "round trips, ms:",
                "          web-1    db-1  the load",
                "web-1         –   20.04      0.05",
                "db-1      20.04       –    120.50",
                "the load   0.05  120.50         –",
            ]
        );
    }
}
