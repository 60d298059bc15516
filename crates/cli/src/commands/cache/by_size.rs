//! Misses by the size of objects, as a person and as a program reads them.

use super::simulate::total;
use crate::terminal::align::align;
use crate::terminal::paint::Paint;
use plimsoll_cache::simulate::Cell;
use plimsoll_cache::size_class::SizeClass;
use plimsoll_units::{show_share, show_size};

/// What each class is part of the requests and of the bytes, and its misses: a row a cell.
pub(super) fn render(out: &mut String, cells: &[Cell], paint: Paint) {
    let Some(first) = cells.iter().find(|cell| !cell.by_size.is_empty()) else { return };
    let row = |name: String, of: &dyn Fn(&SizeClass) -> f64, cell: &Cell| {
        let shares = cell.by_size.iter().map(|class| show_share(of(class)));
        std::iter::once(name).chain(shares).collect::<Vec<_>>()
    };
    let mut heads = vec!["misses of objects by size".to_owned()];
    heads.extend(first.by_size.iter().map(range));
    let part = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let of_requests = |class: &SizeClass| part(class.total.requests, first.all.requests);
    let of_bytes = |class: &SizeClass| part(class.total.requested_bytes, first.all.requested_bytes);
    let mut rows = vec![
        heads,
        row("share of requests".to_owned(), &of_requests, first),
        row("share of bytes".to_owned(), &of_bytes, first),
    ];
    for cell in cells {
        let name = format!("{} {}", cell.policy, cell.size);
        let misses = |class: &SizeClass| match class.total.requests {
            0 => "–".to_owned(),
            _ => show_share(class.total.miss_ratio()),
        };
        rows.push(std::iter::once(name).chain(cell.by_size.iter().map(misses)).collect());
    }
    out.push('\n');
    align(out, &rows, 1, paint);
}

/// `1 kB–10 kB`, without its end.
fn range(class: &SizeClass) -> String {
    match class.least_bytes {
        0 => format!("< {}", show_size(class.below_bytes)),
        least => format!("{}–{}", show_size(least), show_size(class.below_bytes)),
    }
}

/// The same for programs.
pub(super) fn json(classes: &[SizeClass]) -> serde_json::Value {
    let class = |class: &SizeClass| {
        let mut value = total(&class.total);
        if let Some(object) = value.as_object_mut() {
            object.insert("least_bytes".to_owned(), class.least_bytes.into());
            object.insert("below_bytes".to_owned(), class.below_bytes.into());
        }
        value
    };
    classes.iter().map(class).collect()
}
