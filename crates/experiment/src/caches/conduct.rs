//! Runs the cells of a plan over all threads.

use super::Cell;
use plimsoll_cache::cluster::{ClusterError, Counts, simulate as replay};
use plimsoll_cache::trace::Trace;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A cell that was simulated.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// What happened.
    pub counts: Counts,
    /// The processor time of its replay, seconds.
    pub cpu_s: f64,
}

/// Simulates all cells on one trace; results come in their order.
///
/// `cpu_ns` tells the processor time of the thread that asks. `step` is told of each cell that is
/// done, and says whether to go on, as `goes_on` does within a cell; `None` where they said no.
///
/// # Errors
/// A cluster that this trace does not allow.
pub fn simulate(
    trace: &Trace,
    cells: &[Cell],
    threads: NonZeroUsize,
    cpu_ns: fn() -> u64,
    goes_on: &(dyn Fn() -> bool + Sync),
    step: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<Simulated>>, ClusterError> {
    let (turn, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Vec::with_capacity(cells.len()));
    let work = || {
        while let Some((number, cell)) = next(&turn, cells) {
            let began_ns = cpu_ns();
            let counted =
                replay(trace, &cell.cluster, &|| goes_on() && !ended.load(Ordering::Relaxed));
            let cpu_s = cpu_ns().saturating_sub(began_ns) as f64 / 1e9;
            // What is wrong with one, is told at once.
            if !matches!(counted, Ok(Some(_))) || !step() {
                ended.store(true, Ordering::Relaxed);
                turn.store(cells.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, counted, cpu_s));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(cells.len()) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _, _)| *number);
    let is_whole = done.len() == cells.len();
    let mut simulated = Vec::with_capacity(done.len());
    for (_, counted, cpu_s) in done {
        match counted? {
            Some(counts) => simulated.push(Simulated { counts, cpu_s }),
            None => return Ok(None),
        }
    }
    Ok(is_whole.then_some(simulated))
}

fn next<'a>(turn: &AtomicUsize, cells: &'a [Cell]) -> Option<(usize, &'a Cell)> {
    let number = turn.fetch_add(1, Ordering::Relaxed);
    cells.get(number).map(|cell| (number, cell))
}
