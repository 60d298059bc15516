//! The map: one dot for the caches of a neighbourhood.
//!
//! Caches are counted by cells of half a degree; where that gives more than 400 dots, by wider
//! ones, up to 16 degrees (12 × 23 of them). A dot stands at the mean of its caches' places.

use indexmap::IndexMap;

use super::html::Html;
use super::projection::{HEIGHT, WIDTH, project};
use super::rows::Row;
use super::words::{count, counted};
use crate::geo::Place;
use crate::registry::State;

/// The most dots on a map.
const MOST_DOTS: usize = 400;
/// Cells of a degree.
const FINENESS: f64 = 2.0;
/// What cells are joined to, of them a side.
const WIDTHS: [i16; 9] = [2, 3, 4, 6, 8, 12, 16, 24, 32];

/// Caches by where they are.
#[derive(Debug, Default)]
pub(super) struct Dots<'a> {
    cells: IndexMap<(i16, i16), Cell<'a>>,
    /// The cell of the cache before: the next one is often there, too.
    latest: Option<((i16, i16), usize)>,
    located: usize,
    elsewhere: usize,
}

/// The caches of one cell.
#[derive(Debug, Clone, Copy)]
struct Cell<'a> {
    caches: usize,
    served: usize,
    /// Sums of degrees.
    latitude: f64,
    longitude: f64,
    /// Sum of the shares of what each can send.
    share: f64,
    /// Of the first of them.
    place: &'a Place,
}

impl<'a> Dots<'a> {
    #[expect(clippy::cast_possible_truncation, reason = "degrees, doubled")]
    pub(super) fn add(&mut self, row: &Row<'a>) {
        let Some(place) = row.cache.place.as_deref() else {
            self.elsewhere += 1;
            return;
        };
        self.located += 1;
        let number = |degrees: f64| (degrees * FINENESS).floor() as i16;
        let key = (number(place.latitude), number(place.longitude));
        let at = match self.latest {
            Some((latest, at)) if latest == key => at,
            _ => {
                let entry = self.cells.entry(key);
                let at = entry.index();
                entry.or_insert_with(|| Cell::empty(place));
                at
            }
        };
        self.latest = Some((key, at));
        let cell = &mut self.cells[at];
        cell.caches += 1;
        cell.served += usize::from(matches!(row.state, State::Unverified | State::Verified));
        cell.latitude += place.latitude;
        cell.longitude += place.longitude;
        cell.share += row.share;
    }

    /// The dots, the largest first, so that none hides a smaller one.
    fn merged(&self) -> Vec<Cell<'a>> {
        let mut dots: Vec<_> = self.cells.values().copied().collect();
        for width in WIDTHS {
            if dots.len() <= MOST_DOTS {
                break;
            }
            let mut wider: IndexMap<(i16, i16), Cell<'a>> = IndexMap::new();
            for ((latitude, longitude), cell) in &self.cells {
                let key = (latitude.div_euclid(width), longitude.div_euclid(width));
                wider.entry(key).or_insert_with(|| Cell::empty(cell.place)).take(cell);
            }
            dots = wider.into_values().collect();
        }
        dots.sort_by_key(|cell| std::cmp::Reverse(cell.caches));
        dots
    }
}

impl<'a> Cell<'a> {
    fn empty(place: &'a Place) -> Self {
        Self { caches: 0, served: 0, latitude: 0.0, longitude: 0.0, share: 0.0, place }
    }

    fn take(&mut self, other: &Self) {
        self.caches += other.caches;
        self.served += other.served;
        self.latitude += other.latitude;
        self.longitude += other.longitude;
        self.share += other.share;
    }

    #[expect(clippy::cast_precision_loss, reason = "200,000 caches at most")]
    fn mean(&self, sum: f64) -> f64 {
        sum / self.caches as f64
    }

    /// How busy its caches are, as a class of the style sheet.
    fn class(&self) -> &'static str {
        match self.mean(self.share) {
            _ if self.served == 0 => "off",
            share if share < 0.5 => "easy",
            share if share < 0.8 => "busy",
            _ => "full",
        }
    }

    /// Units: its area grows with the caches, up to a bound.
    #[expect(clippy::cast_precision_loss, reason = "200,000 caches at most")]
    fn radius(&self) -> f64 {
        (6.0 * (self.caches as f64).powf(0.27)).min(36.0)
    }

    fn name(&self) -> String {
        let caches = counted(self.caches, "cache", "caches");
        let country = self.place.country_name.as_deref().or(self.place.country_code.as_deref());
        let names = [self.place.city.as_deref(), country];
        let place = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let near = if place.is_empty() {
            let (latitude, longitude) = (self.mean(self.latitude), self.mean(self.longitude));
            format!("{latitude:.1}°, {longitude:.1}°")
        } else {
            place
        };
        let busy = self.mean(self.share) * 100.0;
        format!("{near}: {caches}, load {busy:.0}%")
    }
}

/// Writes the map.
pub(super) fn write(h: &mut Html, dots: &Dots<'_>) {
    let merged = dots.merged();
    let says = format!(
        "{} in {}",
        counted(dots.located, "cache", "caches"),
        counted(merged.len(), "place", "places")
    );
    h.tag("figure", &[("class", &"fig map")], |h| {
        let view = format!("0 0 {WIDTH:.0} {HEIGHT:.0}");
        h.tag(
            "svg",
            &[("viewBox", &view), ("role", &"img"), ("aria-labelledby", &"places")],
            |h| {
                let world = super::assets::href("world.svg");
                let land = format!("{world}#land");
                h.tag("use", &[("class", &"land"), ("href", &land)], |_| {});
                h.tag("g", &[("id", &"dots")], |h| {
                    for cell in &merged {
                        dot(h, cell);
                    }
                });
            },
        );
        h.tag("figcaption", &[("class", &"legend")], |h| {
            h.tag("span", &[("id", &"places"), ("class", &"measure")], |h| {
                h.text(&says);
                if dots.elsewhere > 0 {
                    h.text(format_args!("; {} not located", count(dots.elsewhere)));
                }
            });
            for (class, means) in [
                ("easy", "load below 50%"),
                ("busy", "50% to 80%"),
                ("full", "80% and more"),
                ("off", "failing, drained or banned"),
            ] {
                h.tag("span", &[], |h| {
                    h.tag("i", &[("class", &format_args!("key dot {class}"))], |_| {});
                    h.text(means);
                });
            }
        });
    });
}

fn dot(h: &mut Html, cell: &Cell<'_>) {
    let (x, y) = project(cell.mean(cell.latitude), cell.mean(cell.longitude));
    let (x, y) = (format!("{x:.0}"), format!("{:.0}", y.clamp(0.0, HEIGHT)));
    let radius = format!("{:.0}", cell.radius());
    h.tag("circle", &[("class", &cell.class()), ("cx", &x), ("cy", &y), ("r", &radius)], |h| {
        h.leaf("title", &[], cell.name());
    });
}
