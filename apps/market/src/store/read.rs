//! What is read: lists, which a replica may tell late, and what must be true now.

use std::collections::BTreeMap;

use mysql_async::prelude::Queryable as _;
use serde::Serialize;

use super::{Store, StoreError, Stored};
use crate::metrics::Operation;
use crate::money::Cents;
use crate::pool::{Game, Pool, State};

/// The most games of a list: those begun last.
const MAX_GAMES: u64 = 100;

/// The most pools of a list: those opened last.
const MAX_POOLS: u64 = 100;

/// The most of a user's own predictions in a list: the last ones.
const MAX_OWN: u64 = 1_000;

/// One of a user's own predictions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Own {
    pub(crate) prediction: u64,
    pub(crate) pool: u64,
    pub(crate) n: u64,
    pub(crate) outcome: u32,
    pub(crate) stake: Cents,
    /// What the user had left then.
    pub(crate) balance: Cents,
    /// None before the pool has ended.
    pub(crate) payout: Option<Cents>,
    /// UTC, as `2026-11-27 18:30:05.123456`.
    pub(crate) placed_at: String,
}

/// A row of [`Own`], in the order of its fields.
type OwnRow = (u64, u64, u64, u32, Cents, Cents, Option<Cents>, String);

/// Where all money is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Ledger {
    pub(crate) users: u64,
    /// What users were given.
    pub(crate) granted: i128,
    /// What users have.
    pub(crate) balances: i128,
    /// Stakes in pools that have not ended.
    pub(crate) staked: i128,
    /// The house's, of pools that have.
    pub(crate) house: i128,
    /// Whether balances, stakes and the house have what was given, and nobody less than nothing.
    pub(crate) holds: bool,
}

/// A pool's outcomes, as they are stored.
pub(super) fn outcomes(text: &str) -> Stored<Vec<String>> {
    serde_json::from_str(text).map_err(|_| StoreError::Nonsense("pools.outcomes", text.to_owned()))
}

impl Store {
    /// The games, from the newest on.
    pub(crate) async fn games(&self) -> Stored<Vec<Game>> {
        self.timed(Operation::Games, async {
            let sql =
                format!("SELECT id, name, state FROM games ORDER BY id DESC LIMIT {MAX_GAMES}");
            let rows: Vec<(u64, String, String)> = self.reader().await?.query(sql).await?;
            Ok(rows.into_iter().map(|(game, name, state)| Game { game, name, state }).collect())
        })
        .await
    }

    /// A game's pools, from the newest on.
    pub(crate) async fn pools(&self, game: u64) -> Stored<Vec<Pool>> {
        self.timed(Operation::Pools, async {
            let sql = format!(
                "SELECT id, question, outcomes, CAST(UNIX_TIMESTAMP(closes_at) * 1000 AS UNSIGNED),
                 IF(state = 'open' AND closes_at <= SYSDATE(6), 'closed', state)
                 FROM pools WHERE game = ? ORDER BY id DESC LIMIT {MAX_POOLS}"
            );
            let rows: Vec<(u64, String, String, u64, String)> =
                self.reader().await?.exec(sql, (game,)).await?;
            let pool =
                |(pool, question, list, closes_at, state): (u64, String, String, u64, String)| {
                    let state =
                        State::of(&state).ok_or(StoreError::Nonsense("pools.state", state))?;
                    Ok(Pool { pool, question, outcomes: outcomes(&list)?, closes_at, state })
                };
            rows.into_iter().map(pool).collect()
        })
        .await
    }

    /// The user whose token has this hash. Who is not in a replica yet would be locked out by it.
    pub(crate) async fn user_of(&self, token_hash: &[u8]) -> Stored<Option<u64>> {
        self.timed(Operation::User, async {
            let sql = "SELECT id FROM users WHERE token = ?";
            Ok(self.writer().await?.exec_first(sql, (token_hash,)).await?)
        })
        .await
    }

    /// Name and balance of a user.
    pub(crate) async fn user(&self, user: u64) -> Stored<Option<(String, Cents)>> {
        self.timed(Operation::User, async {
            let sql = "SELECT name, balance FROM users WHERE id = ?";
            Ok(self.reader().await?.exec_first(sql, (user,)).await?)
        })
        .await
    }

    /// A user's own predictions that were placed, from the last on; of one game, or of all.
    pub(crate) async fn own(&self, user: u64, game: Option<u64>) -> Stored<Vec<Own>> {
        self.timed(Operation::Own, async {
            let sql = format!(
                "SELECT p.id, p.pool, p.n, p.outcome, p.stake, p.balance,
                 IF(pools.state IN ('resolved', 'void'), COALESCE(paid.amount, 0), NULL),
                 CAST(p.placed_at AS CHAR)
                 FROM predictions p JOIN pools ON pools.id = p.pool
                 LEFT JOIN payouts paid ON paid.prediction = p.id
                 WHERE p.user = ? AND pools.game = COALESCE(?, pools.game)
                 ORDER BY p.id DESC LIMIT {MAX_OWN}"
            );
            let rows: Vec<OwnRow> = self.reader().await?.exec(sql, (user, game)).await?;
            let own = |(prediction, pool, n, outcome, stake, balance, payout, placed_at)| Own {
                prediction,
                pool,
                n,
                outcome,
                stake,
                balance,
                payout,
                placed_at,
            };
            Ok(rows.into_iter().map(own).collect())
        })
        .await
    }

    /// The stakes on each outcome of a pool, and the number of the last prediction among them; none
    /// where there is no such pool. Nothing comes into the pool while they are added up.
    pub(crate) async fn stakes(&self, pool: u64) -> Stored<Option<(Vec<Cents>, u64)>> {
        self.timed(Operation::Stakes, async {
            let mut conn = self.writer().await?;
            let mut transaction = conn.start_transaction(mysql_async::TxOpts::default()).await?;
            let sql = "SELECT outcomes FROM pools WHERE id = ? FOR UPDATE";
            let Some(list) = transaction.exec_first::<String, _, _>(sql, (pool,)).await? else {
                return Ok(None);
            };
            let sql = "SELECT outcome, CAST(SUM(stake) AS SIGNED), MAX(id) FROM predictions \
                       WHERE pool = ? GROUP BY outcome";
            let rows: Vec<(u32, Cents, u64)> = transaction.exec(sql, (pool,)).await?;
            transaction.commit().await?;
            let mut stakes = vec![0; outcomes(&list)?.len()];
            for (outcome, cents, _) in &rows {
                if let Some(place) =
                    usize::try_from(*outcome).ok().and_then(|at| stakes.get_mut(at))
                {
                    *place = *cents;
                }
            }
            Ok(Some((stakes, rows.iter().map(|row| row.2).max().unwrap_or_default())))
        })
        .await
    }

    /// What each user was paid of a pool.
    pub(crate) async fn payouts(&self, pool: u64) -> Stored<BTreeMap<u64, Cents>> {
        self.timed(Operation::Payouts, async {
            let sql = "SELECT user, CAST(SUM(amount) AS SIGNED) FROM payouts WHERE pool = ? \
                       GROUP BY user";
            let rows: Vec<(u64, Cents)> = self.writer().await?.exec(sql, (pool,)).await?;
            Ok(rows.into_iter().collect())
        })
        .await
    }

    /// The pools of games of this feed that have not ended, and those games.
    pub(crate) async fn left_open(&self, feed: u64) -> Stored<(Vec<u64>, Vec<u64>)> {
        self.timed(Operation::Feed, async {
            let mut conn = self.writer().await?;
            let sql = "SELECT id FROM games WHERE feed = ? AND state = 'open' ORDER BY id";
            let games: Vec<u64> = conn.exec(sql, (feed,)).await?;
            let sql = "SELECT pools.id FROM pools JOIN games ON games.id = pools.game \
                       WHERE games.feed = ? AND pools.state IN ('open', 'closed') \
                       ORDER BY pools.id";
            Ok((conn.exec(sql, (feed,)).await?, games))
        })
        .await
    }

    /// How many games this feed has begun.
    pub(crate) async fn begun(&self, feed: u64) -> Stored<u64> {
        self.timed(Operation::Feed, async {
            let sql = "SELECT COUNT(*) FROM games WHERE feed = ?";
            let begun = self.writer().await?.exec_first(sql, (feed,)).await?;
            Ok(begun.unwrap_or_default())
        })
        .await
    }

    /// Where all money is, at one moment.
    pub(crate) async fn ledger(&self) -> Stored<Ledger> {
        self.timed(Operation::Ledger, async {
            let sql = "SELECT (SELECT COUNT(*) FROM users),
                (SELECT CAST(COALESCE(SUM(balance), 0) AS CHAR) FROM users),
                (SELECT COALESCE(MIN(balance), 0) FROM users),
                (SELECT CAST(COALESCE(SUM(stake), 0) AS CHAR) FROM predictions JOIN pools
                    ON pools.id = predictions.pool WHERE pools.state IN ('open', 'closed')),
                (SELECT CAST(COALESCE(SUM(kept), 0) AS CHAR) FROM pools)";
            let row: Option<(u64, String, Cents, String, String)> =
                self.writer().await?.query_first(sql).await?;
            let Some((users, balances, least, staked, house)) = row else {
                return Err(StoreError::Nonsense("users", "nothing".to_owned()));
            };
            let sum = |text: String| {
                text.parse::<i128>().map_err(|_| StoreError::Nonsense("a sum of money", text))
            };
            let granted = i128::from(users) * i128::from(crate::money::GRANT);
            let (balances, staked, house) = (sum(balances)?, sum(staked)?, sum(house)?);
            let holds = balances + staked + house == granted && least >= 0;
            Ok(Ledger { users, granted, balances, staked, house, holds })
        })
        .await
    }
}
