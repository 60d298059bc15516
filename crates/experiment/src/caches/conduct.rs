//! Runs the cells of a plan over all threads, replication by replication.

use super::{Cell, Figures};
use plimsoll_cache::cluster::{Cluster, ClusterError, Counts, Life, simulate as replay};
use plimsoll_cache::trace::Trace;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A cell that was simulated.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// What happened in the first replication.
    pub counts: Counts,
    /// The figures of all replications.
    pub replications: Vec<Figures>,
    /// The processor time of all replays, seconds.
    pub cpu_s: f64,
}

/// How cells are run.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Threads.
    pub threads: NonZeroUsize,
    /// Tells the processor time of the thread that asks, nanoseconds.
    pub cpu_ns: fn() -> u64,
    /// Asked within a cell whether to go on.
    pub goes_on: &'a (dyn Fn() -> bool + Sync),
    /// Told of each cell that is done, by its place among all; says whether to go on.
    pub step: &'a (dyn Fn(usize, &Counts) -> bool + Sync),
}

/// Simulates all cells on one trace; results come in their order. `None` where the world said not
/// to go on.
///
/// # Errors
/// A cluster that this trace does not allow.
pub fn simulate(
    trace: &Trace,
    life: Option<&Life>,
    cells: &[Cell],
    world: World<'_>,
) -> Result<Option<Vec<Simulated>>, ClusterError> {
    let (turn, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Vec::with_capacity(cells.len()));
    let goes_on = || (world.goes_on)() && !ended.load(Ordering::Relaxed);
    let work = || {
        while let Some((number, cell)) = next(&turn, cells) {
            let began_ns = (world.cpu_ns)();
            let cluster = Cluster { life: life.cloned(), ..cell.cluster.clone() };
            let counted = replay(trace, &cluster, &goes_on);
            let cpu_s = (world.cpu_ns)().saturating_sub(began_ns) as f64 / 1e9;
            // What is wrong with one, is told at once.
            let goes_on = matches!(&counted, Ok(Some(counts)) if (world.step)(number, counts));
            if !goes_on {
                ended.store(true, Ordering::Relaxed);
                turn.store(cells.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, counted, cpu_s));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..world.threads.get().min(cells.len()) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _, _)| *number);
    let is_whole = done.len() == cells.len();
    let mut simulated = Vec::with_capacity(done.len());
    for (_, counted, cpu_s) in done {
        let Some(counts) = counted? else { return Ok(None) };
        let replications = vec![Figures::of(&counts)];
        simulated.push(Simulated { counts, replications, cpu_s });
    }
    Ok(is_whole.then_some(simulated))
}

/// Adds a further replication to what was simulated; says whether it was completed.
///
/// # Errors
/// As for [`simulate`].
pub fn replicate(
    simulated: &mut [Simulated],
    trace: &Trace,
    life: Option<&Life>,
    cells: &[Cell],
    world: World<'_>,
) -> Result<bool, ClusterError> {
    let Some(more) = simulate(trace, life, cells, world)? else { return Ok(false) };
    for (of, more) in simulated.iter_mut().zip(more) {
        of.replications.extend(more.replications);
        of.cpu_s += more.cpu_s;
    }
    Ok(true)
}

fn next<'a>(turn: &AtomicUsize, cells: &'a [Cell]) -> Option<(usize, &'a Cell)> {
    let number = turn.fetch_add(1, Ordering::Relaxed);
    cells.get(number).map(|cell| (number, cell))
}
