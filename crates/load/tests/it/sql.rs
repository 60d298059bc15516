//! Databases of SQL: exchanges that were recorded with real servers, servers with a script, and
//! bytes that no server sends.

mod exchange;
mod mutate;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;

use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Keys, Mix, Operations, Wanted, Workload};
use std::sync::Arc;

/// Reads, updates and insertions of small values, of which few are there; or some records.
fn operations(wanted: Wanted) -> Arc<Operations> {
    let mix = Mix::of_percent(40, 30, 30).unwrap();
    let workload = Workload { mix, keys: Keys::Uniform, records: 4, value_size: Sizes::Fixed(8) };
    Arc::new(Operations::new(&workload, 5, wanted))
}
