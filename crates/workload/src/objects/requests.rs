//! Which object each request asks for, and who asks.

use super::clients::ClientDraws;
use super::drift::Order;
use super::error::WorkloadError;
use super::popularity::{HotSet, Popularity};
use super::population::{Population, WorkingSet};
use super::ranks::Ranks;
use super::window::Window;
use super::workload::Workload;
use crate::random::Stream;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The number of the object that is asked for.
    pub object: u64,
    /// The number of the client that asks, from zero.
    pub client: u32,
}

/// Requests without end, each drawn as it is asked for.
///
/// *Determinism*: a function of workload and seed.
///
/// *Cost*: constant time a request. Memory: 8 bytes for each of up to four million objects whose
/// popularity is not uniform, 4 bytes for each object of a population that drifts.
///
/// # Example
/// ```
/// use plimsoll_workload::objects::{Population, Requests, Workload};
/// let workload = Workload {
///     population: Population::Closed { objects: 1000, drift: None },
///     ..Workload::default()
/// };
/// let some: Vec<u64> = Requests::new(&workload, 7)?.take(5).map(|r| r.object).collect();
/// let again: Vec<u64> = Requests::new(&workload, 7)?.take(5).map(|r| r.object).collect();
/// assert!(some == again && some.iter().all(|&object| object < 1000));
/// # Ok::<(), plimsoll_workload::objects::WorkloadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Requests {
    objects: Draws,
    draws: Stream,
    clients: ClientDraws,
}

#[derive(Debug, Clone)]
enum Draws {
    Closed { ranks: Ranks },
    Moving { ranks: Ranks, order: Order },
    Open(Open),
}

/// An open population as it grows.
#[derive(Debug, Clone)]
struct Open {
    recurrence: f64,
    working_set: WorkingSet,
    popularity: Popularity,
    hot: Option<HotSet>,
    /// How many objects have come.
    came: u64,
    /// The law over the working set, and how many objects it is of.
    ranks: Option<(u32, Ranks)>,
    window: Option<Window>,
}

impl Requests {
    /// The requests of a workload.
    ///
    /// # Errors
    /// What [`Workload::check`] finds.
    pub fn new(workload: &Workload, seed: u64) -> Result<Self, WorkloadError> {
        workload.check()?;
        let Workload { popularity, hot_set, .. } = *workload;
        let objects = match workload.population {
            Population::Closed { objects, drift } => {
                let ranks = Ranks::lasting(objects, popularity, hot_set);
                match drift {
                    None => Draws::Closed { ranks },
                    Some(drift) => Draws::Moving { ranks, order: Order::new(objects, drift, seed) },
                }
            }
            Population::Open { recurrence, working_set } => Draws::Open(Open {
                recurrence,
                working_set,
                popularity,
                hot: hot_set,
                came: 0,
                ranks: None,
                window: match working_set {
                    WorkingSet::Drifting(size) => Some(Window::new(size)),
                    WorkingSet::Growing | WorkingSet::Frozen(_) => None,
                },
            }),
        };
        let draws = Stream::named(seed, "objects.requests");
        Ok(Self { objects, draws, clients: ClientDraws::new(workload.clients, seed) })
    }
}

impl Iterator for Requests {
    type Item = Request;

    /// The next request; there always is one.
    #[inline]
    fn next(&mut self) -> Option<Request> {
        let object = match &mut self.objects {
            Draws::Closed { ranks } => u64::from(ranks.draw(&mut self.draws)),
            Draws::Moving { ranks, order } => u64::from(order.object(ranks.draw(&mut self.draws))),
            Draws::Open(open) => open.next(&mut self.draws),
        };
        Some(Request { object, client: self.clients.draw() })
    }
}

impl Open {
    fn next(&mut self, draws: &mut Stream) -> u64 {
        let is_revisit = draws.uniform() < self.recurrence;
        if self.came == 0 || !is_revisit {
            self.came += 1;
            return self.came - 1;
        }
        let most = match self.working_set {
            WorkingSet::Growing => u32::MAX,
            WorkingSet::Frozen(size) | WorkingSet::Drifting(size) => size,
        };
        let size = u32::try_from(self.came).unwrap_or(u32::MAX).min(most);
        if self.ranks.as_ref().is_none_or(|(of, _)| *of != size) {
            let (popularity, hot) = (self.popularity, self.hot);
            let ranks = if size == most {
                Ranks::lasting(size, popularity, hot)
            } else {
                Ranks::passing(size, popularity, hot)
            };
            self.ranks = Some((size, ranks));
        }
        let rank = self.ranks.as_ref().map_or(0, |(_, ranks)| ranks.draw(draws));
        match &self.window {
            Some(window) if self.came > u64::from(size) => window.object(rank, self.came),
            _ => u64::from(rank),
        }
    }
}
