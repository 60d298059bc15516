//! Names beside points: each where it covers no other point and no other name, as far as there is
//! room. In a narrow chart only the short form is shown, which the legend explains.

use super::frame::{self, HEIGHT};
use crate::{Attribute, Markup};

/// A name at a place of a plot.
#[derive(Debug, Clone)]
pub struct Label {
    /// What is always shown; empty where a point has no name, and must not be covered all the same.
    pub short: String,
    /// What follows where there is room; may be empty.
    pub name: String,
    /// Its place, in the plot's values.
    pub at: (f64, f64),
}

/// The width for which names are placed, pixels; the chart may be wider.
const WIDTH: f64 = 640.0;
/// Width of a character, and height of a line.
const CHARACTER: f64 = 6.8;
const LINE: f64 = 14.0;
/// Half the size of a point, with the space around it.
const POINT: f64 = 7.0;
/// The most characters of a name in the picture; the legend and the table have all of it.
const MOST_NAME: usize = 28;

/// Where a label stands, from its point: how it is anchored, and its shift in pixels.
type Place = (&'static str, f64, f64);

/// The places that are tried, the best first: level with a point there often runs a line.
const PLACES: [Place; 6] = [
    ("start", 7.0, -8.0),
    ("end", -7.0, -8.0),
    ("start", 9.0, 4.0),
    ("end", -9.0, 4.0),
    ("start", 7.0, 17.0),
    ("end", -7.0, 17.0),
];

/// A rectangle: left, top, right, lower edge.
type Area = (f64, f64, f64, f64);

/// A text of at most so many characters, the last of them `…` where it was longer.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Writes labels; `place` is the share of the width and of the height from the top at which the
/// point of one stands.
pub(super) fn write(m: &mut Markup, labels: &[Label], place: impl Fn(&Label) -> (f64, f64)) {
    let points: Vec<(f64, f64)> = labels.iter().map(place).collect();
    let characters =
        |label: &Label| label.short.chars().count() + 1 + label.name.chars().count().min(MOST_NAME);
    let length = |label: &Label| if label.short.is_empty() { 0 } else { characters(label) };
    let lengths: Vec<usize> = labels.iter().map(length).collect();
    let places = places(&points, &lengths);
    for ((label, (x, y)), (anchor, dx, dy)) in labels.iter().zip(points).zip(places) {
        if label.short.is_empty() {
            continue;
        }
        let (x, y) = (frame::percent(x), frame::from_top(1.0 - y));
        let attributes: &[Attribute<'_>] = &[
            ("class", &"point"),
            ("x", &x),
            ("y", &y),
            ("dx", &dx),
            ("dy", &dy),
            ("text-anchor", &anchor),
        ];
        m.tag("text", attributes, |m| {
            m.text(&label.short);
            if !label.name.is_empty() {
                let name = format!(" {}", shortened(&label.name, MOST_NAME));
                m.leaf("tspan", &[("class", &"long")], name);
            }
        });
    }
}

/// The place of each label, one after the other, by how much it would cover.
fn places(points: &[(f64, f64)], lengths: &[usize]) -> Vec<Place> {
    let points: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x * WIDTH, y * HEIGHT)).collect();
    let dots = points.iter().map(|&(x, y)| (x - POINT, y - POINT, x + POINT, y + POINT));
    let dots: Vec<Area> = dots.collect();
    let mut taken: Vec<Area> = Vec::new();
    let mut places = Vec::new();
    for (index, (&point, &length)) in points.iter().zip(lengths).enumerate() {
        let others = dots.iter().enumerate().filter(|(dot, _)| *dot != index);
        let others: Vec<Area> = others.map(|(_, &dot)| dot).chain(taken.iter().copied()).collect();
        let faults = |place: &&Place| {
            let area = area(point, length, **place);
            let outside = area.0 < 0.0 || area.2 > WIDTH || area.1 < -LINE;
            let covered = others.iter().filter(|&&other| overlap(area, other)).count();
            covered + if outside { others.len() + 1 } else { 0 }
        };
        let best = PLACES.iter().min_by_key(faults).copied().unwrap_or(PLACES[0]);
        taken.push(area(point, length, best));
        places.push(best);
    }
    places
}

fn area((x, y): (f64, f64), length: usize, (anchor, dx, dy): Place) -> Area {
    let width = length as f64 * CHARACTER;
    let left = if anchor == "end" { x + dx - width } else { x + dx };
    (left, y + dy - LINE + 3.0, left + width, y + dy + 3.0)
}

fn overlap(a: Area, b: Area) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_stands_right_of_its_point_or_left_of_it_at_the_right_end() {
        assert_eq!(places(&[(0.2, 0.5)], &[10]), [PLACES[0]]);
        assert_eq!(places(&[(0.98, 0.5)], &[10]), [PLACES[1]]);
    }

    #[test]
    fn names_of_near_points_do_not_cover_each_other() {
        let (points, lengths) = ([(0.5, 0.5), (0.52, 0.5), (0.51, 0.55)], [12, 12, 12]);
        let places = places(&points, &lengths);
        let areas: Vec<Area> = (0..3)
            .map(|n| (points[n].0 * WIDTH, points[n].1 * HEIGHT))
            .zip(&places)
            .map(|(point, &place)| area(point, 12, place))
            .collect();
        for (n, &a) in areas.iter().enumerate() {
            assert!(areas[n + 1..].iter().all(|&b| !overlap(a, b)), "{places:?}");
        }
    }

    #[test]
    fn long_names_are_cut_and_escaped() {
        let label = |name: &str| Label { short: "A".into(), name: name.into(), at: (0.5, 0.5) };
        let mut m = Markup::default();
        write(&mut m, &[label(&"<b>".repeat(30)), label("")], |label| label.at);
        let page = m.finish();
        assert!(page.contains("<tspan class=\"long\"> &lt;b&gt;") && page.contains('…'), "{page}");
        assert_eq!(page.matches("tspan class").count(), 1);
        let mut m = Markup::default();
        let (short, name) = (String::new(), String::new());
        write(&mut m, &[Label { short, name, at: (0.5, 0.5) }], |label| label.at);
        assert_eq!(m.finish(), "", "a point without a name");
        assert_eq!(shortened("four", 4), "four");
    }

    proptest! {
        #[test]
        fn every_label_has_a_place(
            points in prop::collection::vec((0.0f64..=1.0, 0.0f64..=1.0), 0..20),
            length in 0usize..60,
        ) {
            prop_assert_eq!(places(&points, &vec![length; points.len()]).len(), points.len());
        }
    }
}
