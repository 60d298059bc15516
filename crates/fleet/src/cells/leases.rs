//! Who has which cells: given out by lease, given back, and taken once.

use plimsoll_runs::experiment::Cell;
use std::collections::{BTreeMap, VecDeque};

/// A lease is as long as this at the pace of its worker, nanoseconds.
const LENGTH_NS: f64 = 2e9;
/// A lease has at most so many times the cells of the one before: the first pace says little.
const GROWS: usize = 8;
/// The most cells of a lease.
const MOST: usize = 4096;
/// So many leases a worker has at most: while one is executed, the next one is there.
const AT_ONCE: usize = 2;
/// A cell is given out so many times at most where its worker was lost each time.
const MOST_LOST: u32 = 3;

/// What somebody has been given.
#[derive(Debug)]
struct Given {
    worker: usize,
    /// The cells that nothing has come of yet.
    cells: VecDeque<Cell>,
    /// How many there were.
    of: usize,
    /// When it was given, nanoseconds.
    at_ns: u64,
}

/// How fast a worker is.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// The fewest cells that keep it busy.
    threads: usize,
    /// How many cells the last lease had.
    last: usize,
    /// How long a cell took in it, nanoseconds; 0 before one has ended.
    cell_ns: f64,
    /// When the last one ended, nanoseconds.
    ended_ns: u64,
}

/// Cells, and who has them.
#[derive(Debug)]
pub(super) struct Leases {
    waiting: VecDeque<Cell>,
    given: BTreeMap<u64, Given>,
    attempts: u64,
    paces: Vec<Pace>,
    /// How often the worker was lost that had a cell.
    lost: BTreeMap<u32, u32>,
    fenced: u64,
}

/// A cell that was given out too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TooOften {
    /// The cell's number.
    pub(super) cell: u32,
    /// How many workers were lost that had it.
    pub(super) times: u32,
}

impl Leases {
    /// Nothing is to be given out yet. Each worker needs so many cells at once to be busy.
    pub(super) fn of(threads: impl Iterator<Item = usize>) -> Self {
        let pace =
            |threads: usize| Pace { threads: threads.max(1), last: 0, cell_ns: 0.0, ended_ns: 0 };
        Self {
            waiting: VecDeque::new(),
            given: BTreeMap::new(),
            attempts: 0,
            paces: threads.map(pace).collect(),
            lost: BTreeMap::new(),
            fenced: 0,
        }
    }

    /// Further cells wait.
    pub(super) fn wait(&mut self, cells: impl Iterator<Item = Cell>) {
        self.waiting.extend(cells);
    }

    /// Gives a worker cells, where some wait and it has few: the attempt, and the cells.
    pub(super) fn give(&mut self, worker: usize, now_ns: u64) -> Option<(u64, Vec<Cell>)> {
        let has = self.given.values().filter(|of| of.worker == worker).count();
        let pace = *self.paces.get(worker)?;
        if has >= AT_ONCE || self.waiting.is_empty() {
            return None;
        }
        let size = self.size(pace).min(self.waiting.len());
        let cells: VecDeque<Cell> = self.waiting.drain(..size).collect();
        self.attempts += 1;
        self.paces[worker].last = size;
        let out = cells.iter().cloned().collect();
        self.given.insert(self.attempts, Given { worker, of: size, cells, at_ns: now_ns });
        Some((self.attempts, out))
    }

    /// How many cells are given to somebody of this pace: so many as it is busy with for a while,
    /// but at the end so few that all end together.
    fn size(&self, pace: Pace) -> usize {
        let wanted = match pace.cell_ns {
            cell_ns if cell_ns > 0.0 => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut")]
                let wanted = (LENGTH_NS / cell_ns).min(MOST as f64) as usize;
                wanted.min(pace.last.saturating_mul(GROWS))
            }
            _ => pace.threads,
        };
        let workers = self.paces.len().max(1);
        let share = self.waiting.len().div_ceil(AT_ONCE * workers);
        wanted.max(pace.threads).min(share).max(1)
    }

    /// What came of a cell of an attempt is taken: it is done.
    pub(super) fn take(&mut self, worker: usize, attempt: u64, cell: u32) {
        if let Some(given) = self.given.get_mut(&attempt).filter(|of| of.worker == worker) {
            given.cells.retain(|one| one.number != cell);
        }
    }

    /// Something came late, twice, or of nothing that was given.
    pub(super) fn refuse(&mut self) {
        self.fenced += 1;
    }

    /// A cell of an attempt of which nothing has come yet.
    pub(super) fn cell(&self, worker: usize, attempt: u64, cell: u32) -> Option<Cell> {
        let given = self.given.get(&attempt).filter(|of| of.worker == worker)?;
        given.cells.iter().find(|one| one.number == cell).cloned()
    }

    /// A lease has ended; cells of it that nothing came of wait again. Whether there was such a
    /// lease.
    pub(super) fn end(&mut self, worker: usize, attempt: u64, now_ns: u64) -> bool {
        let is_its = self.given.get(&attempt).is_some_and(|of| of.worker == worker);
        let Some(Given { cells, of, at_ns, .. }) =
            is_its.then(|| self.given.remove(&attempt)).flatten()
        else {
            self.fenced += 1;
            return false;
        };
        if let Some(pace) = self.paces.get_mut(worker) {
            let done = of - cells.len();
            let took_ns = now_ns.saturating_sub(at_ns.max(pace.ended_ns));
            if done > 0 {
                pace.cell_ns = (took_ns as f64 / done as f64).max(1.0);
            }
            pace.ended_ns = now_ns;
        }
        self.give_back(cells);
        true
    }

    /// A worker is lost: what it has waits again. `was_killed`: whether it ended by itself, so that
    /// the cell that it was at may have been why.
    ///
    /// # Errors
    /// A cell that has ended several workers.
    pub(super) fn lose(&mut self, worker: usize, was_killed: bool) -> Result<(), TooOften> {
        let attempts: Vec<u64> =
            self.given.iter().filter(|(_, of)| of.worker == worker).map(|(of, _)| *of).collect();
        let mut result = Ok(());
        // The last first, so that those of the first are before them again.
        for attempt in attempts.iter().rev() {
            let Some(Given { cells, .. }) = self.given.remove(attempt) else { continue };
            // It had not begun those of a later lease.
            let is_first = attempts.first() == Some(attempt);
            for cell in cells.iter().filter(|_| was_killed && is_first) {
                let times = self.lost.entry(cell.number).or_default();
                *times += 1;
                // It was at the first of them, or at one beside that.
                if *times >= MOST_LOST && result.is_ok() {
                    result = Err(TooOften { cell: cell.number, times: *times });
                }
            }
            self.give_back(cells);
        }
        result
    }

    /// Cells wait again, before those that were not given out yet, in their order.
    fn give_back(&mut self, cells: VecDeque<Cell>) {
        cells.into_iter().rev().for_each(|cell| self.waiting.push_front(cell));
    }

    /// Nothing more is given out.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Whether nothing waits, and nobody has anything.
    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.given.is_empty()
    }

    /// Whether a worker has something.
    pub(super) fn has(&self, worker: usize) -> bool {
        self.given.values().any(|of| of.worker == worker)
    }

    /// Whether somebody has something.
    pub(super) fn is_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// How many results were refused.
    pub(super) fn fenced(&self) -> u64 {
        self.fenced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_runs::World;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn cells(count: u32) -> impl Iterator<Item = Cell> {
        (1..=count).map(|number| Cell {
            number,
            place: number,
            factors: BTreeMap::new(),
            replication: 0,
            block: 0,
            seed: 0,
            world: World::Simulated,
            hash: String::new(),
        })
    }

    #[test]
    fn a_lease_grows_to_two_seconds_and_shrinks_to_the_end() {
        let mut leases = Leases::of([1, 1].into_iter());
        leases.wait(cells(10_000));
        let (mut now_ns, mut sizes) = (0, Vec::new());
        while let Some((attempt, given)) = leases.give(0, now_ns) {
            sizes.push(given.len());
            // A cell takes a millisecond.
            now_ns += 1_000_000 * given.len() as u64;
            given.iter().for_each(|cell| leases.take(0, attempt, cell.number));
            assert!(leases.end(0, attempt, now_ns));
        }
        assert!(leases.is_over());
        assert_eq!(sizes[..5], [1, 8, 64, 512, 2000], "{sizes:?}");
        assert_eq!(sizes.iter().sum::<usize>(), 10_000);
        assert_eq!(sizes.last(), Some(&1));
    }

    #[test]
    fn a_worker_has_two_leases_at_most_and_as_many_cells_as_keep_it_busy() {
        let mut leases = Leases::of([4, 1].into_iter());
        leases.wait(cells(100));
        let sizes = |leases: &mut Leases, worker| -> Vec<usize> {
            std::iter::from_fn(|| leases.give(worker, 0)).map(|(_, cells)| cells.len()).collect()
        };
        assert_eq!(sizes(&mut leases, 0), [4, 4]);
        assert_eq!(sizes(&mut leases, 1), [1, 1]);
        assert!(sizes(&mut leases, 0).is_empty());
    }

    #[test]
    fn a_cell_that_ends_three_workers_ends_all() {
        let mut leases = Leases::of([1, 1, 1].into_iter());
        leases.wait(cells(9));
        for worker in 0..3 {
            assert_eq!(leases.give(worker, 0).unwrap().1[0].number, 1);
            assert_eq!(leases.give(worker, 0).unwrap().1[0].number, 2);
            let result = leases.lose(worker, true);
            let wanted = TooOften { cell: 1, times: 3 };
            assert_eq!(result, if worker == 2 { Err(wanted) } else { Ok(()) });
        }
        // Who is only silent has not been ended by it.
        let mut leases = Leases::of([1].into_iter());
        leases.wait(cells(1));
        for _ in 0..9 {
            leases.give(0, 0).unwrap();
            leases.lose(0, false).unwrap();
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Deed {
        Give(usize),
        Take(usize, usize),
        End(usize),
        Lose(usize),
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn each_cell_is_taken_once_in_any_order_of_events(
            deeds in prop::collection::vec(
                prop_oneof![
                    (0..3_usize).prop_map(Deed::Give),
                    (0..40_usize, 0..8_usize).prop_map(|(of, at)| Deed::Take(of, at)),
                    (0..40_usize).prop_map(Deed::End),
                    (0..3_usize).prop_map(Deed::Lose),
                ],
                0..200,
            ),
        ) {
            const CELLS: u32 = 50;
            let mut leases = Leases::of([1, 2, 4].into_iter());
            leases.wait(cells(CELLS));
            // All that was ever given out: late results are of any of it.
            let mut ever: Vec<(usize, u64, Vec<Cell>)> = Vec::new();
            let mut taken = BTreeSet::new();
            let mut now_ns = 0;
            let all_then = (0..500).flat_map(|of| {
                [Deed::Give(of % 3), Deed::Take(of, 0), Deed::Take(of, 1), Deed::Take(of, 2),
                 Deed::Take(of, 3), Deed::End(of)]
            });
            for deed in deeds.into_iter().chain(all_then) {
                now_ns += 1_000_000;
                match deed {
                    Deed::Give(worker) => {
                        let given = leases.give(worker, now_ns);
                        ever.extend(given.map(|(attempt, cells)| (worker, attempt, cells)));
                    }
                    Deed::Take(of, at) => {
                        let Some((worker, attempt, cells)) = ever.get(of) else { continue };
                        let Some(number) = cells.get(at).map(|cell| cell.number) else { continue };
                        if leases.cell(*worker, *attempt, number).is_some() {
                            leases.take(*worker, *attempt, number);
                            prop_assert!(taken.insert(number), "{number} twice");
                        }
                    }
                    Deed::End(of) => {
                        let Some((worker, attempt, _)) = ever.get(of) else { continue };
                        leases.end(*worker, *attempt, now_ns);
                    }
                    Deed::Lose(worker) => drop(leases.lose(worker, false)),
                }
            }
            // What is left is with somebody, or waits.
            let given: usize = leases.given.values().map(|of| of.cells.len()).sum();
            prop_assert_eq!(taken.len() + given + leases.waiting.len(), CELLS as usize);
        }
    }
}
