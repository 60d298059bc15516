//! What the market does for its users, whichever way they ask: over REST or WebSocket.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;

use crate::announcer::Announcer;
use crate::hub::{Event, Hub};
use crate::metrics::Metrics;
use crate::money::{BasisPoints, Cents};
use crate::pool::{Game, Pool, Prediction};
use crate::store::{Answer, Own, Placed, StoreError};

/// How long lists are kept; who changes something forgets them.
const LISTS_FOR: Duration = Duration::from_secs(2);

/// How long it is kept whose a token is.
const TOKENS_FOR: Duration = Duration::from_secs(3_600);

/// The key of the kept list of games.
pub(crate) const GAMES: &str = "market:games";

/// The key of the kept list of a game's pools.
pub(crate) fn pools_of(game: u64) -> String {
    format!("market:pools:{game}")
}

/// Where the calls of stores wait for their answers.
#[derive(Debug, Clone)]
pub(crate) enum Calls {
    /// In the worker, which serves others meanwhile.
    Async,
    /// In this runtime, while the worker does nothing.
    Blocking(Handle),
}

impl Calls {
    async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        match self {
            Self::Async => work.await,
            Self::Blocking(runtime) => {
                let (done, answer) = std::sync::mpsc::sync_channel(1);
                runtime.spawn(async move {
                    // The worker waits for nothing else.
                    let _ = done.send(work.await);
                });
                match answer.recv() {
                    Ok(answer) => answer,
                    // The runtime has ended, and with it the process.
                    Err(_) => std::future::pending().await,
                }
            }
        }
    }
}

/// The ways to the hubs of all workers.
#[derive(Debug, Clone)]
pub(crate) struct Workers(pub(crate) Arc<[Sender<Event>]>);

impl Workers {
    /// Gives an event to the clients of every worker.
    pub(crate) async fn tell(&self, event: &Event) {
        for worker in self.0.iter() {
            // A worker that has ended has no clients.
            let _ = worker.send(event.clone()).await;
        }
    }
}

/// What holds for all of a process.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// SHA-256 of the administrator's token, where there is one.
    pub(crate) admin: Option<Vec<u8>>,
    pub(crate) list_predictions: bool,
    pub(crate) echo: bool,
    pub(crate) rake: BasisPoints,
}

/// A pool as users see it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    pub(crate) pool: Pool,
    /// The cents staked on each outcome.
    pub(crate) shares: Vec<Cents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) predictions: Option<Vec<Own>>,
}

/// A user who has come just now.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NewUser {
    pub(crate) user: u64,
    pub(crate) token: String,
    pub(crate) balance: Cents,
}

/// The market, as one worker has it.
#[derive(Clone)]
pub(crate) struct Market {
    pub(crate) announcer: Announcer,
    pub(crate) calls: Calls,
    pub(crate) hub: Arc<Hub>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) workers: Workers,
}

/// What is stored of a token.
pub(crate) fn token_hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

impl Market {
    /// Does something that waits for stores, where such calls wait.
    pub(crate) async fn call<T, F>(&self, work: impl FnOnce(Self) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.calls.run(work(self.clone())).await
    }

    /// Enters a user.
    pub(crate) async fn register(&self, name: String) -> Result<NewUser, StoreError> {
        let Announcer { store, bus, .. } = self.announcer.clone();
        self.calls
            .run(async move {
                let token = crate::random::token()
                    .map_err(|error| StoreError::Nonsense("random numbers", error.to_string()))?;
                let hash = token_hash(&token);
                let user = store.new_user(&name, &hash).await?;
                bus.keep(&token_key(&hash), &user.to_string(), TOKENS_FOR).await;
                Ok(NewUser { user, token, balance: crate::money::GRANT })
            })
            .await
    }

    /// The user whose token this is.
    pub(crate) async fn user_of(&self, token: &str) -> Result<Option<u64>, StoreError> {
        let Announcer { store, bus, .. } = self.announcer.clone();
        let hash = token_hash(token);
        self.calls
            .run(async move {
                let key = token_key(&hash);
                if let Some(user) = bus.kept(&key).await.and_then(|text| text.parse().ok()) {
                    return Ok(Some(user));
                }
                let user = store.user_of(&hash).await?;
                if let Some(user) = user {
                    bus.keep(&key, &user.to_string(), TOKENS_FOR).await;
                }
                Ok(user)
            })
            .await
    }

    /// Name and balance of a user.
    pub(crate) async fn user(&self, user: u64) -> Result<Option<(String, Cents)>, StoreError> {
        let store = self.announcer.store.clone();
        self.calls.run(async move { store.user(user).await }).await
    }

    /// A user's own predictions.
    pub(crate) async fn own(&self, user: u64) -> Result<Vec<Own>, StoreError> {
        let store = self.announcer.store.clone();
        self.calls.run(async move { store.own(user, None).await }).await
    }

    /// The games.
    pub(crate) async fn games(&self) -> Result<Vec<Game>, StoreError> {
        let market = self.clone();
        self.calls
            .run(async move {
                let store = &market.announcer.store;
                market.listed(GAMES, || store.games()).await
            })
            .await
    }

    /// A game's pools, with the predictions of this user in them if that is switched on.
    pub(crate) async fn pools(
        &self,
        game: u64,
        user: Option<u64>,
    ) -> Result<Vec<Shown>, StoreError> {
        let market = self.clone();
        self.calls.run(async move { market.shown(game, user).await }).await
    }

    async fn shown(&self, game: u64, user: Option<u64>) -> Result<Vec<Shown>, StoreError> {
        let Announcer { store, bus, .. } = &self.announcer;
        let pools: Vec<Pool> = self.listed(&pools_of(game), || store.pools(game)).await?;
        let numbers: Vec<u64> = pools.iter().map(|pool| pool.pool).collect();
        let kept = if numbers.is_empty() { Vec::new() } else { bus.stakes(&numbers).await };
        let mut own = match user {
            Some(user) if self.settings.list_predictions => {
                Some(store.own(user, Some(game)).await?)
            }
            Some(_) | None => None,
        };
        let mut all = Vec::with_capacity(pools.len());
        for (pool, kept) in pools.into_iter().zip(kept) {
            let shares = match kept {
                Some(shares) => shares,
                None => self.added_up(&pool).await?,
            };
            let predictions =
                own.as_mut().map(|own| own.extract_if(.., |one| one.pool == pool.pool).collect());
            all.push(Shown { pool, shares, predictions });
        }
        Ok(all)
    }

    /// Stakes that Redis does not have, which it has from then on.
    async fn added_up(&self, pool: &Pool) -> Result<Vec<Cents>, StoreError> {
        let Announcer { store, bus, .. } = &self.announcer;
        let Some((stakes, through)) = store.stakes(pool.pool).await? else {
            return Ok(vec![0; pool.outcomes.len()]);
        };
        // Without Redis it is added up again.
        let _ = bus.fill(pool.pool, &stakes, through).await;
        Ok(stakes)
    }

    /// A list that is kept, or read and kept.
    async fn listed<T, R>(&self, key: &str, read: impl FnOnce() -> R) -> Result<Vec<T>, StoreError>
    where
        T: Serialize + serde::de::DeserializeOwned,
        R: Future<Output = Result<Vec<T>, StoreError>>,
    {
        let bus = &self.announcer.bus;
        let kept = bus.kept(key).await.and_then(|text| serde_json::from_str(&text).ok());
        if let Some(list) = kept {
            self.metrics.cache_hits.add(1);
            return Ok(list);
        }
        self.metrics.cache_misses.add(1);
        let list = read().await?;
        if let Ok(text) = serde_json::to_string(&list) {
            bus.keep(key, &text, LISTS_FOR).await;
        }
        Ok(list)
    }

    /// Places a prediction. What has come into the pool is to be told of, after the user has the
    /// answer.
    pub(crate) async fn predict(
        &self,
        user: u64,
        prediction: Prediction,
    ) -> Result<(Answer, Option<Placed>), StoreError> {
        let store = self.announcer.store.clone();
        let done = self.calls.run(async move { store.predict(user, prediction).await }).await?;
        match done {
            (_, Some(_)) => self.metrics.predictions_placed.add(1),
            (Answer::Refused(_), None) => self.metrics.predictions_refused.add(1),
            (Answer::Ok(_), None) => {}
        }
        Ok(done)
    }

    /// Tells of what has come into a pool.
    pub(crate) async fn announce(&self, placed: Placed) {
        let announcer = self.announcer.clone();
        self.calls.run(async move { announcer.placed(&placed).await }).await;
    }

    /// The time by which broadcasts are published: Unix time in nanoseconds.
    pub(crate) async fn time(&self) -> Option<u64> {
        let bus = self.announcer.bus.clone();
        self.calls.run(async move { bus.time().await }).await
    }

    /// The number of a game's last broadcast.
    pub(crate) async fn seq(&self, game: u64) -> u64 {
        let bus = self.announcer.bus.clone();
        self.calls.run(async move { bus.seq(game).await }).await
    }
}

fn token_key(hash: &[u8]) -> String {
    format!("market:token:{}", plimsoll_units::hash::hex(hash))
}
