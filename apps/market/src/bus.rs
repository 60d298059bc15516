//! Redis, through which processes share what is not money: cached lists, the stakes of each outcome
//! as they grow, whether a game may be told of, and what goes to subscribers everywhere.
//!
//! Whatever is here can be lost: lists are read again, and stakes added up again, from MariaDB.

mod listen;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

// tidy: allow(words, the names of the library)
use redis::aio::{ConnectionManager as Connection, ConnectionManagerConfig as Settings};
use redis::{Client, RedisError, Script};

use crate::metrics::Metrics;
use crate::money::Cents;
use crate::store::Placed;

pub(crate) use listen::{Heard, listen};

/// On which everything is published.
const CHANNEL: &str = "market";

/// How long Redis may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// After how long stakes are added up anew.
const STAKES_FOR: Duration = Duration::from_secs(600);

/// What is done of [`Bus::announce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Look whether the window has passed, and tell.
    Tell,
    /// Only look.
    Look,
    /// Only tell.
    Act,
}

/// What came of [`Bus::announce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowEnd {
    /// The stakes of this pool have to be filled in first.
    Missing(u64),
    /// The window passes after so long.
    Later(Duration),
    /// The window has passed.
    Free,
    /// There is nothing to tell.
    Nothing,
    /// It is told; whether there is more to tell.
    Done { more: bool },
}

/// A connection to Redis, and one to its replica where there is one.
#[derive(Clone)]
pub(crate) struct Bus {
    primary: Connection,
    reader: Connection,
    announce: Arc<Script>,
    fill: Arc<Script>,
    metrics: Arc<Metrics>,
}

impl Bus {
    /// Connected to these URLs.
    ///
    /// # Errors
    ///
    /// Redis is not there.
    pub(crate) async fn connect(
        primary: &str,
        replica: Option<&str>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, RedisError> {
        let primary = connect(primary).await?;
        let reader = match replica {
            Some(url) => connect(url).await?,
            None => primary.clone(),
        };
        let announce = Arc::new(Script::new(include_str!("bus/announce.lua")));
        let fill = Arc::new(Script::new(include_str!("bus/fill.lua")));
        Ok(Self { primary, reader, announce, fill, metrics })
    }

    /// Counts what failed; without Redis, what is cached is not there.
    fn counted<T>(&self, result: Result<T, RedisError>) -> Result<T, RedisError> {
        if result.is_err() {
            self.metrics.redis_failures.add(1);
        }
        result
    }

    /// A text that was kept.
    pub(crate) async fn kept(&self, key: &str) -> Option<String> {
        let asked = redis::cmd("GET").arg(key).query_async(&mut self.reader.clone()).await;
        self.counted(asked).ok().flatten()
    }

    /// Keeps a text for a while.
    pub(crate) async fn keep(&self, key: &str, text: &str, long: Duration) {
        let mut command = redis::cmd("SET");
        command.arg(key).arg(text).arg("PX").arg(millis(long));
        let done: Result<(), _> = command.query_async(&mut self.primary.clone()).await;
        // What could not be kept is read again.
        let _ = self.counted(done);
    }

    /// Forgets a text.
    pub(crate) async fn forget(&self, key: &str) {
        let done: Result<(), _> =
            redis::cmd("DEL").arg(key).query_async(&mut self.primary.clone()).await;
        // It is forgotten by itself after a while.
        let _ = self.counted(done);
    }

    /// The stakes on each outcome of pools: none of those that are not here.
    pub(crate) async fn stakes(&self, pools: &[u64]) -> Vec<Option<Vec<Cents>>> {
        let mut pipe = redis::pipe();
        for pool in pools {
            pipe.cmd("HGETALL").arg(stakes_of(*pool));
        }
        let asked = pipe.query_async(&mut self.reader.clone()).await;
        let all: Vec<BTreeMap<String, String>> = self.counted(asked).unwrap_or_default();
        let mut stakes: Vec<_> = all.iter().map(stakes_in).collect();
        stakes.resize(pools.len(), None);
        stakes
    }

    /// Fills in the stakes of a pool, through the prediction of this number.
    pub(crate) async fn fill(
        &self,
        pool: u64,
        stakes: &[Cents],
        through: u64,
    ) -> Result<(), RedisError> {
        let mut call = self.fill.key(stakes_of(pool));
        call.arg(through).arg(STAKES_FOR.as_secs());
        for stake in stakes {
            call.arg(*stake);
        }
        self.counted(call.invoke_async(&mut self.primary.clone()).await)
    }

    /// Counts a prediction, where there is a new one, and tells of a game, where that is to be done
    /// and its window has passed. `pool` is told where no other waits.
    pub(crate) async fn announce(
        &self,
        step: Step,
        (game, pool): (u64, u64),
        placed: Option<&Placed>,
        window: Duration,
    ) -> Result<WindowEnd, RedisError> {
        let step = match step {
            Step::Tell => "tell",
            Step::Look => "look",
            Step::Act => "act",
        };
        let mut call = self.announce.arg(step);
        call.arg(game).arg(millis(window)).arg(pool);
        match placed {
            Some(placed) => call.arg(placed.outcome).arg(placed.stake).arg(placed.id),
            None => call.arg("").arg("").arg(""),
        };
        let done = call.invoke_async(&mut self.primary.clone()).await;
        let (what, number): (String, String) = self.counted(done)?;
        let number: u64 = number.parse().unwrap_or_default();
        Ok(match what.as_str() {
            "missing" => WindowEnd::Missing(number),
            "later" => WindowEnd::Later(Duration::from_millis(number)),
            "free" => WindowEnd::Free,
            "told" => {
                self.metrics.broadcasts_published.add(1);
                WindowEnd::Done { more: number > 0 }
            }
            _ => WindowEnd::Nothing,
        })
    }

    /// The number of a game's last broadcast.
    pub(crate) async fn seq(&self, game: u64) -> u64 {
        let key = format!("market:seq:{game}");
        self.kept(&key).await.and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// The time by the one clock of all processes, that of the primary: Unix time in nanoseconds;
    /// `None` without Redis.
    pub(crate) async fn time(&self) -> Option<u64> {
        let asked = redis::cmd("TIME").query_async(&mut self.primary.clone()).await;
        let (seconds, micros): (u64, u64) = self.counted(asked).ok()?;
        Some(seconds * 1_000_000_000 + micros * 1_000)
    }

    /// Tells every process that a pool has ended.
    pub(crate) async fn resolved(&self, game: u64, pool: u64, outcome: Option<u32>) {
        let outcome = outcome.map_or("-".to_owned(), |outcome| outcome.to_string());
        let mut command = redis::cmd("PUBLISH");
        command.arg(CHANNEL).arg(format!("resolved {game} {pool} {outcome}"));
        let done: Result<(), _> = command.query_async(&mut self.primary.clone()).await;
        // It is paid all the same; who asks sees it.
        let _ = self.counted(done);
    }
}

async fn connect(url: &str) -> Result<Connection, RedisError> {
    let config = Settings::new()
        .set_number_of_retries(2)
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    Connection::new_with_config(Client::open(url)?, config).await
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn stakes_of(pool: u64) -> String {
    format!("market:stakes:{pool}")
}

fn stakes_in(fields: &BTreeMap<String, String>) -> Option<Vec<Cents>> {
    let outcomes: usize = fields.get("outcomes")?.parse().ok()?;
    (0..outcomes).map(|outcome| fields.get(&outcome.to_string())?.parse().ok()).collect()
}
