//! Telling of predictions: counted at once, told together.
//!
//! A game is told of when a prediction comes and the window since the last time has passed. What
//! comes within the window is told when it has passed, by whichever process is first: each that had
//! to wait looks again by then.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::args::{BatchCheck, Switch};
use crate::bus::{Bus, Step, WindowEnd};
use crate::store::{Placed, Store};

/// How often stakes are filled in for one announcement: another process may lose them meanwhile.
const TRIES: usize = 4;

/// A game to look at again after a while, with the pool that is told if no other waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Later {
    game: u64,
    pool: u64,
    after: Duration,
}

/// The games of this process that are to be looked at again, each once.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    games: Arc<Mutex<BTreeSet<u64>>>,
    // Bounded by the set.
    to: UnboundedSender<Later>,
}

impl Waiting {
    pub(crate) fn new(to: UnboundedSender<Later>) -> Self {
        Self { games: Arc::default(), to }
    }

    fn add(&self, later: Later) {
        let mut games = self.games.lock().unwrap_or_else(PoisonError::into_inner);
        if games.insert(later.game) {
            // Nobody looks again when the process ends; another one does.
            let _ = self.to.send(later);
        }
    }

    fn remove(&self, game: u64) {
        self.games.lock().unwrap_or_else(PoisonError::into_inner).remove(&game);
    }
}

/// How predictions are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) batching: Switch,
    pub(crate) check: BatchCheck,
    pub(crate) window: Duration,
}

/// Tells of predictions.
#[derive(Clone)]
pub(crate) struct Announcer {
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    pub(crate) rules: Rules,
    pub(crate) waiting: Waiting,
}

impl Announcer {
    /// Tells of a prediction that has come into a pool. Where Redis or the database fail, the next
    /// one tells.
    pub(crate) async fn placed(&self, placed: &Placed) {
        self.tell(placed.game, placed.pool, Some(placed)).await;
    }

    async fn tell(&self, game: u64, pool: u64, placed: Option<&Placed>) {
        let (first, window) = match (self.rules.batching, self.rules.check) {
            (Switch::Off, _) => (Step::Act, Duration::ZERO),
            (Switch::On, BatchCheck::Atomic) => (Step::Tell, self.rules.window),
            (Switch::On, BatchCheck::Split) => (Step::Look, self.rules.window),
        };
        let mut told = self.step(first, (game, pool), placed, window).await;
        if told == Some(WindowEnd::Free) {
            told = self.step(Step::Act, (game, pool), None, window).await;
        }
        match told {
            Some(WindowEnd::Later(after)) => self.waiting.add(Later { game, pool, after }),
            Some(WindowEnd::Done { more: true }) if self.rules.batching == Switch::On => {
                self.waiting.add(Later { game, pool, after: window });
            }
            Some(_) | None => {}
        }
    }

    async fn step(
        &self,
        step: Step,
        of: (u64, u64),
        placed: Option<&Placed>,
        window: Duration,
    ) -> Option<WindowEnd> {
        for _ in 0..TRIES {
            match self.bus.announce(step, of, placed, window).await.ok()? {
                WindowEnd::Missing(pool) => self.fill(pool).await?,
                told => return Some(told),
            }
        }
        None
    }

    /// Fills in the stakes of a pool from the database.
    pub(crate) async fn fill(&self, pool: u64) -> Option<()> {
        let (stakes, through) = self.store.stakes(pool).await.ok().flatten()?;
        self.bus.fill(pool, &stakes, through).await.ok()
    }

    /// Looks at games again, each when it is time.
    pub(crate) async fn look_again(self, mut later: UnboundedReceiver<Later>) {
        while let Some(Later { game, pool, after }) = later.recv().await {
            let announcer = self.clone();
            tokio::spawn(async move {
                // By Redis's clock the window has passed when a millisecond more has.
                tokio::time::sleep(after + Duration::from_millis(1)).await;
                announcer.waiting.remove(game);
                announcer.tell_waiting(game, pool).await;
            });
        }
    }

    async fn tell_waiting(&self, game: u64, pool: u64) {
        self.tell(game, pool, None).await;
    }
}
