//! Events of games, by hand or by the feed: stored, and then told to everybody whom they concern.

use std::time::Duration;

use crate::bus::Bus;
use crate::market::{GAMES, pools_of};
use crate::money::Verdict;
use crate::store::{NewPool, Resolution, Store, StoreError};

/// How often it is written down which pools' time has passed. Stakes are refused by the database's
/// clock, whether that is written down or not.
const PERIOD: Duration = Duration::from_secs(1);

/// What lets games and pools begin and end.
#[derive(Clone)]
pub(crate) struct Resolver {
    pub(crate) store: Store,
    pub(crate) bus: Bus,
}

impl Resolver {
    /// Begins a game, of a feed where its seed is given.
    pub(crate) async fn begin(&self, name: &str, feed: Option<u64>) -> Result<u64, StoreError> {
        let game = self.store.new_game(name, feed).await?;
        self.bus.forget(GAMES).await;
        Ok(game)
    }

    /// Ends a game; `false` where there is none that goes on.
    pub(crate) async fn end(&self, game: u64) -> Result<bool, StoreError> {
        let ended = self.store.end_game(game).await?;
        self.bus.forget(GAMES).await;
        Ok(ended)
    }

    /// Opens a pool; none where its game does not go on.
    pub(crate) async fn open(&self, pool: &NewPool) -> Result<Option<u64>, StoreError> {
        let opened = self.store.new_pool(pool).await?;
        self.bus.forget(&pools_of(pool.game)).await;
        Ok(opened)
    }

    /// Closes a pool; `false` where there is none.
    pub(crate) async fn close(&self, pool: u64) -> Result<bool, StoreError> {
        let game = self.store.close_pool(pool).await?;
        if let Some(game) = game {
            self.bus.forget(&pools_of(game)).await;
        }
        Ok(game.is_some())
    }

    /// Ends a pool and pays, once; subscribers are told when it is paid.
    pub(crate) async fn resolve(
        &self,
        pool: u64,
        verdict: Verdict,
    ) -> Result<Resolution, StoreError> {
        let resolution = self.store.resolve(pool, verdict).await?;
        if let Resolution::Done { game, outcome, .. } = resolution {
            self.bus.forget(&pools_of(game)).await;
            self.bus.resolved(game, pool, outcome).await;
        }
        Ok(resolution)
    }

    /// Writes down which pools' time has passed, for as long as the process lives.
    pub(crate) async fn close_overdue(self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            // A database that does not answer now is asked again.
            for game in self.store.close_overdue().await.unwrap_or_default() {
                self.bus.forget(&pools_of(game)).await;
            }
        }
    }
}
