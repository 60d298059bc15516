//! A trade-off: points of which two figures are known, both better where they are smaller, and the
//! front of those that no other beats (Pareto's): as good in both, and better in one.

use super::label::Label;
use super::plot::{Key, Line, Plot};
use super::symbol::Symbol;

/// The colours of the front, and of what it beats.
const ON: &str = "c0";
const OFF: &str = "c7";
/// With more points than these only the front has names in the picture, the others letters; with
/// still more only the front has any, and an entry in the legend.
const MOST_WITH_NAMES: usize = 8;
const MOST_WITH_LETTERS: usize = 26;

/// One of those that are weighed.
#[derive(Debug, Clone)]
pub struct Spot {
    /// Its place among all, by which it is listed.
    pub index: usize,
    /// What stands beside it.
    pub short: String,
    /// What that is short for.
    pub name: String,
    /// Its two figures.
    pub at: (f64, f64),
    /// The lines of its intervals.
    pub bars: Vec<Vec<(f64, f64)>>,
    /// Which one beats it.
    pub beaten_by: Option<usize>,
}

fn beats(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 <= b.0 && a.1 <= b.1 && (a.0 < b.0 || a.1 < b.1)
}

/// For each point the first that beats it. What is no number beats nothing and is not beaten.
pub fn beaten_by(points: &[(f64, f64)]) -> Vec<Option<usize>> {
    points.iter().map(|&point| points.iter().position(|&other| beats(other, point))).collect()
}

/// Puts points into a plot, which are in the order of their first figure, those with equal first
/// by their second: symbols, names, intervals, the front, and where the read-out finds each.
pub fn put(plot: &mut Plot, spots: &[Spot]) {
    plot.keys.push(Key::Symbol(Symbol::Disc, ON, "on the front"));
    if spots.iter().any(|spot| spot.beaten_by.is_some()) {
        plot.keys.push(Key::Symbol(Symbol::Square, OFF, "not on it"));
    }
    let has_letter = |spot: &Spot| spots.len() <= MOST_WITH_LETTERS || spot.beaten_by.is_none();
    let mut listed: Vec<&Spot> = spots.iter().filter(|spot| has_letter(spot)).collect();
    listed.sort_by_key(|spot| spot.index);
    let key = |spot: &Spot| Key::Letter(spot.short.clone(), spot.name.clone());
    plot.keys.extend(listed.into_iter().map(key));
    let is_same =
        |a: &Spot, b: &Spot| a.at.0.total_cmp(&b.at.0).is_eq() && a.at.1.total_cmp(&b.at.1).is_eq();
    for equal in spots.chunk_by(is_same) {
        plot.labels.push(label(equal, spots.len()));
    }
    for spot in spots {
        let tone = if spot.beaten_by.is_some() { OFF } else { ON };
        plot.lines.push(Line { class: format!("{tone} thin"), pieces: spot.bars.clone() });
    }
    // The front stands before what it beats.
    let (front, others): (Vec<&Spot>, Vec<&Spot>) =
        spots.iter().partition(|spot| spot.beaten_by.is_none());
    plot.symbols.extend(others.iter().map(|spot| (Symbol::Square, OFF, spot.at)));
    plot.symbols.extend(front.iter().map(|spot| (Symbol::Disc, ON, spot.at)));
    plot.lines.push(Line { class: "c7 dash".to_owned(), pieces: vec![steps(spots, plot.end)] });
    plot.rows = places(spots, (plot.start, plot.end));
}

/// The label of points at one place, among so many: all their letters, and the name of one alone.
fn label(equal: &[Spot], among: usize) -> Label {
    let (first, is_front) = (&equal[0], equal[0].beaten_by.is_none());
    let mut short = String::new();
    if is_front || among <= MOST_WITH_LETTERS {
        let letters: Vec<&str> = equal.iter().map(|spot| spot.short.as_str()).collect();
        short = letters.join(", ");
    }
    let is_named = equal.len() == 1 && (is_front || among <= MOST_WITH_NAMES);
    let name = if is_named { first.name.clone() } else { String::new() };
    Label { short, name, at: first.at }
}

/// The front as steps to the right end: at each first figure, the least second that it can have.
fn steps(spots: &[Spot], end: f64) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = Vec::new();
    for spot in spots.iter().filter(|spot| spot.beaten_by.is_none()) {
        if let Some(&(_, before)) = line.last() {
            line.push((spot.at.0, before));
        }
        line.push(spot.at);
    }
    if let Some(&(_, last)) = line.last() {
        line.push((end, last));
    }
    line
}

/// Where the read-out finds each point: half way to its neighbours.
fn places(spots: &[Spot], (start, end): (f64, f64)) -> Vec<(f64, f64, f64)> {
    let place = |(index, spot): (usize, &Spot)| {
        let at = spot.at.0;
        let from = if index == 0 { start } else { f64::midpoint(spots[index - 1].at.0, at) };
        (from, at, spots.get(index + 1).map_or(end, |next| f64::midpoint(at, next.at.0)))
    };
    spots.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_front_goes_in_steps_by_the_best() {
        let points = [(1.0, 9.0), (2.0, 9.0), (3.0, 4.0), (5.0, 4.0), (f64::NAN, 0.0)];
        let beaten = beaten_by(&points);
        assert_eq!(beaten, [None, Some(0), None, Some(2), None]);
        let spot = |(index, &at): (usize, &(f64, f64))| Spot {
            index,
            short: String::new(),
            name: String::new(),
            at,
            bars: Vec::new(),
            beaten_by: beaten[index],
        };
        let spots: Vec<Spot> = points[..4].iter().enumerate().map(spot).collect();
        assert_eq!(steps(&spots, 8.0), [(1.0, 9.0), (3.0, 9.0), (3.0, 4.0), (8.0, 4.0)]);
        assert_eq!(places(&spots, (0.0, 8.0))[1], (1.5, 2.0, 2.5));
    }

    #[test]
    fn points_at_one_place_share_a_label_and_of_many_only_the_front_is_named() {
        let spot = |short: &str, beaten_by| Spot {
            index: 0,
            short: short.to_owned(),
            name: format!("name of {short}"),
            at: (1.0, 2.0),
            bars: Vec::new(),
            beaten_by,
        };
        let text = |of: Label| (of.short, of.name);
        let (on, off) = (spot("A", None), spot("B", Some(0)));
        let of = |spot: &Spot, among| text(label(std::slice::from_ref(spot), among));
        let pair = |short: &str, name: &str| (short.to_owned(), name.to_owned());
        assert_eq!([8, 9, 27].map(|n| of(&on, n)), [(); 3].map(|()| pair("A", "name of A")));
        assert_eq!(of(&off, 8), pair("B", "name of B"));
        assert_eq!((of(&off, 9), of(&off, 27)), (pair("B", ""), pair("", "")));
        assert_eq!(text(label(&[on, spot("C", None)], 8)), pair("A, C", ""));
    }

    proptest! {
        #[test]
        fn what_is_beaten_is_beaten_by_one_of_the_front(
            points in prop::collection::vec((0u8..9, 0u8..9), 1..30),
        ) {
            let points: Vec<(f64, f64)> =
                points.into_iter().map(|(x, y)| (f64::from(x), f64::from(y))).collect();
            let beaten = beaten_by(&points);
            prop_assert!(beaten.contains(&None), "some point is on the front");
            let front = || points.iter().zip(&beaten).filter(|(_, by)| by.is_none());
            for (point, by) in points.iter().zip(&beaten) {
                let found = front().any(|(of, _)| beats(*of, *point));
                prop_assert_eq!(found, by.is_some());
            }
        }
    }
}
