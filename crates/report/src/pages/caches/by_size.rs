//! Miss ratios over the size of the cache, a line a policy, sizes on a logarithmic axis.

use plimsoll_cache::bound::Bound;
use plimsoll_cache::capacity::Unit;
use plimsoll_cache::simulate::Cell;

use super::{capacity, of_unit};
use crate::document::{Block, chart, nothing};
use crate::pages::tones::{TONES, tone};
use crate::source::Caches;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{self, per_cent};

/// What is drawn: its id, its title, its share, and that of a bound beside any cell.
type Measure = (&'static str, &'static str, fn(&Cell) -> f64, fn(&Bound, &Cell) -> f64);

const OBJECTS: Measure = (
    "misses",
    "Miss ratio",
    |cell| cell.all.miss_ratio(),
    |bound, cell| bound.misses as f64 / cell.all.requests.max(1) as f64,
);
const BYTES: Measure = (
    "bytes",
    "Byte miss ratio",
    |cell| cell.all.byte_miss_ratio(),
    |bound, cell| bound.missed_bytes.unwrap_or(0) as f64 / cell.all.requested_bytes.max(1) as f64,
);

/// A plot a measure and a unit of sizes.
pub(super) fn block(caches: &Caches<'_>) -> Block {
    let measures: &[Measure] =
        if caches.trace.sizes().is_some() { &[OBJECTS, BYTES] } else { &[OBJECTS] };
    let drawn: Vec<Box<dyn Chart>> = [Unit::Bytes, Unit::Objects]
        .into_iter()
        .flat_map(|unit| measures.iter().filter_map(move |measure| draw(caches, unit, measure)))
        .map(chart)
        .collect();
    if drawn.is_empty() {
        return nothing("Nothing to draw: there is one size. The table above has its figures.");
    }
    Block::Charts(drawn)
}

/// One plot; `None` where there are not two sizes of the unit.
fn draw(caches: &Caches<'_>, unit: Unit, &(id, title, share, of_bound): &Measure) -> Option<Plot> {
    let cells = of_unit(caches, unit);
    let mut sizes: Vec<u64> = cells.iter().map(|cell| cell.capacity.amount).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let (&least, &most) = (sizes.first()?, sizes.last()?);
    if sizes.len() < 2 {
        return None;
    }
    let (suffix, shown) = match unit {
        Unit::Bytes => ("b", unit::Unit::Bytes),
        Unit::Objects => ("o", unit::Unit::Count),
    };
    let (low, high) = ((least as f64) * 0.9, (most as f64) * 1.1);
    let top = cells.iter().map(|cell| share(cell)).fold(0.0, f64::max);
    let axis = Axis::Log { low, high, unit: shown };
    let ends = (low.ln(), high.ln());
    let table = table(caches, &cells, &sizes, &format!("{id}-{suffix}-table"), share);
    let mut plot = Plot {
        id: format!("{id}-{suffix}"),
        title: title.to_owned(),
        note: "Each point is a replay of the whole trace; lines only join them.".to_owned(),
        measure: format!("{}, over the size of the cache", title.to_lowercase()),
        rows: places(&sizes, ends),
        ..Plot::empty(axis, ends, Scale::linear(top, 0.0), unit::Unit::Share)
    };
    for (number, policy) in caches.comparison.policies.iter().enumerate() {
        let mut points: Vec<(f64, f64)> = cells
            .iter()
            .filter(|cell| cell.policy == policy.text)
            .map(|cell| ((cell.capacity.amount as f64).ln(), share(cell)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let class = tone(number);
        plot.keys.push(Key::Line(format!("line {class}"), policy.text.clone()));
        let symbol = TONES[number % TONES.len()];
        plot.symbols.extend(points.iter().map(|&point| (Symbol::Disc, symbol, point)));
        plot.lines.push(Line { class, pieces: vec![points] });
    }
    let first = cells.first()?;
    let of_unit = caches.bounds.iter().filter(|bound| bound.capacity.unit == unit);
    let mut bound: Vec<(f64, f64)> = of_unit
        .map(|bound| ((bound.capacity.amount as f64).ln(), of_bound(bound, first)))
        .collect();
    if !bound.is_empty() {
        bound.sort_by(|a, b| a.0.total_cmp(&b.0));
        let class = "c7 dash".to_owned();
        plot.keys.push(Key::Line(format!("line {class}"), "no policy is below".to_owned()));
        plot.lines.push(Line { class, pieces: vec![bound] });
    }
    plot.put(table);
    Some(plot)
}

/// Where the read-out finds each size: half way to its neighbours.
pub(super) fn places(sizes: &[u64], (start, end): (f64, f64)) -> Vec<(f64, f64, f64)> {
    let at: Vec<f64> = sizes.iter().map(|&size| (size as f64).ln()).collect();
    let place = |(index, &here): (usize, &f64)| {
        let from = if index == 0 { start } else { f64::midpoint(at[index - 1], here) };
        let to = at.get(index + 1).map_or(end, |&next| f64::midpoint(here, next));
        (from, here, to)
    };
    at.iter().enumerate().map(place).collect()
}

/// A row a size, a column a policy.
fn table(
    caches: &Caches<'_>,
    cells: &[&Cell],
    sizes: &[u64],
    id: &str,
    share: fn(&Cell) -> f64,
) -> Table {
    let policies = &caches.comparison.policies;
    let mut heads = plain_heads(["size"]);
    heads.extend(policies.iter().enumerate().map(|(n, policy)| (policy.text.clone(), tone(n))));
    let row = |&size: &u64| {
        let at = |policy: &str| {
            cells.iter().find(|cell| cell.capacity.amount == size && cell.policy == policy)
        };
        let name = cells.iter().find(|cell| cell.capacity.amount == size);
        let mut row = vec![name.map_or_else(String::new, |cell| capacity(cell))];
        row.extend(policies.iter().map(|policy| {
            at(&policy.text).map_or_else(|| "–".to_owned(), |cell| per_cent(share(cell)))
        }));
        row
    };
    Table::new(id.to_owned(), heads, sizes.iter().map(row).collect())
}
