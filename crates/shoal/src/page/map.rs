//! The map: one dot for the caches of a neighbourhood.
//!
//! Caches are counted by cells of half a degree; where that gives more than 400 dots, by wider
//! ones, up to 16 degrees (12 × 23 of them). A dot stands at the mean of its caches' places.

use super::projection::{HEIGHT, WIDTH, project};
use super::rows::Row;
use super::words::{count, counted};
use crate::geo::Place;
use crate::registry::State;
use plimsoll_draw::{Attribute, Markup};

/// The most dots on a map.
const MOST_DOTS: usize = 400;
/// Cells of a degree.
const FINENESS: f64 = 2.0;
/// What cells are joined to, of them a side.
const WIDTHS: [usize; 9] = [2, 3, 4, 6, 8, 12, 16, 24, 32];

/// Cells from pole to pole, and around the Equator, with what lies on the last line.
const HIGH: usize = 361;
const WIDE: usize = 721;

/// Caches by where they are.
#[derive(Debug, Default)]
pub(super) struct Dots<'a> {
    /// By row and column, from 1: which of the cells it is. Empty until there is one.
    grid: Vec<u32>,
    cells: Vec<Cell<'a>>,
    located: usize,
    elsewhere: usize,
}

/// The caches of one cell.
#[derive(Debug, Clone, Copy)]
struct Cell<'a> {
    /// Of the grid.
    row: usize,
    column: usize,
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
    pub(super) fn add(&mut self, row: &Row<'a>) {
        let Some(place) = row.cache.place() else {
            self.elsewhere += 1;
            return;
        };
        self.located += 1;
        let (line, column) = (number(place.latitude, 90.0), number(place.longitude, 180.0));
        if self.grid.is_empty() {
            self.grid = vec![0; HIGH * WIDE];
        }
        let at = &mut self.grid[line * WIDE + column];
        if *at == 0 {
            self.cells.push(Cell::empty(line, column, place));
            *at = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        }
        let cell = &mut self.cells[*at as usize - 1];
        cell.caches += 1;
        cell.served += usize::from(matches!(row.state, State::Unverified | State::Verified));
        cell.latitude += place.latitude;
        cell.longitude += place.longitude;
        cell.share += row.share;
    }

    /// The dots, the largest first, so that none hides a smaller one.
    fn merged(&self) -> Vec<Cell<'a>> {
        let mut dots = self.cells.clone();
        for width in WIDTHS {
            if dots.len() <= MOST_DOTS {
                break;
            }
            let wide = WIDE / width + 1;
            let mut grid = vec![0_usize; (HIGH / width + 1) * wide];
            dots.clear();
            for cell in &self.cells {
                let (row, column) = (cell.row / width, cell.column / width);
                let at = &mut grid[row * wide + column];
                if *at == 0 {
                    dots.push(Cell::empty(row, column, cell.place));
                    *at = dots.len();
                }
                dots[*at - 1].take(cell);
            }
        }
        dots.sort_by_key(|cell| std::cmp::Reverse(cell.caches));
        dots
    }
}

/// Which of the cells of a side, counted from the south pole or the antimeridian.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 720")]
fn number(degrees: f64, most: f64) -> usize {
    // What is no number becomes 0 with the cast.
    ((degrees.clamp(-most, most) + most) * FINENESS) as usize
}

impl<'a> Cell<'a> {
    fn empty(row: usize, column: usize, place: &'a Place) -> Self {
        let (latitude, longitude, share) = (0.0, 0.0, 0.0);
        Self { row, column, caches: 0, served: 0, latitude, longitude, share, place }
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
pub(super) fn write(h: &mut Markup, dots: &Dots<'_>) {
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

fn dot(h: &mut Markup, cell: &Cell<'_>) {
    let (x, y) = project(cell.mean(cell.latitude), cell.mean(cell.longitude));
    let (x, y) = (format!("{x:.0}"), format!("{:.0}", y.clamp(0.0, HEIGHT)));
    let radius = format!("{:.0}", cell.radius());
    h.tag("circle", &[("class", &cell.class()), ("cx", &x), ("cy", &y), ("r", &radius)], |h| {
        h.leaf("title", &[], cell.name());
    });
    if cell.caches > 1 {
        let attributes: [Attribute<'_>; 3] = [("x", &x), ("y", &y), ("dy", &".35em")];
        h.leaf("text", &attributes, count(cell.caches));
    }
}
