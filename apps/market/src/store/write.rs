//! What users and the feed write beside predictions: users, games, pools.

use std::time::Duration;

use mysql_async::prelude::Queryable as _;

use super::{Store, Stored};
use crate::metrics::Operation;
use crate::money::{BasisPoints, GRANT};

/// A pool to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewPool {
    pub(crate) game: u64,
    pub(crate) question: String,
    pub(crate) outcomes: Vec<String>,
    pub(crate) open_for: Duration,
    pub(crate) rake: BasisPoints,
}

impl Store {
    /// Enters a user with the money that a new one has, and gives the user's number.
    pub(crate) async fn new_user(&self, name: &str, token_hash: &[u8]) -> Stored<u64> {
        self.timed(Operation::User, async {
            let mut conn = self.writer().await?;
            let sql = "INSERT INTO users (name, token, balance) VALUES (?, ?, ?)";
            conn.exec_drop(sql, (name, token_hash, GRANT)).await?;
            Ok(conn.last_insert_id().unwrap_or_default())
        })
        .await
    }

    /// Begins a game, and gives its number.
    pub(crate) async fn new_game(&self, name: &str, feed: Option<u64>) -> Stored<u64> {
        self.timed(Operation::Feed, async {
            let mut conn = self.writer().await?;
            conn.exec_drop("INSERT INTO games (name, feed) VALUES (?, ?)", (name, feed)).await?;
            Ok(conn.last_insert_id().unwrap_or_default())
        })
        .await
    }

    /// Opens a pool of a game that goes on, and gives its number; none where no such game does.
    pub(crate) async fn new_pool(&self, pool: &NewPool) -> Stored<Option<u64>> {
        self.timed(Operation::Feed, async {
            let mut conn = self.writer().await?;
            let sql = "INSERT INTO pools (game, question, outcomes, rake, closes_at) \
                       SELECT id, ?, ?, ?, SYSDATE(6) + INTERVAL ? MICROSECOND FROM games \
                       WHERE id = ? AND state = 'open'";
            let outcomes = serde_json::Value::from(pool.outcomes.clone()).to_string();
            let open_for = u64::try_from(pool.open_for.as_micros()).unwrap_or(u64::MAX);
            let row = (&pool.question, outcomes, pool.rake, open_for, pool.game);
            conn.exec_drop(sql, row).await?;
            Ok((conn.affected_rows() > 0).then(|| conn.last_insert_id().unwrap_or_default()))
        })
        .await
    }

    /// Closes a pool that is open, and gives its game; none where there is no such pool.
    pub(crate) async fn close_pool(&self, pool: u64) -> Stored<Option<u64>> {
        self.timed(Operation::Feed, async {
            let mut conn = self.writer().await?;
            let sql = "UPDATE pools SET state = 'closed', closes_at = LEAST(closes_at, \
                       SYSDATE(6)) WHERE id = ? AND state = 'open'";
            conn.exec_drop(sql, (pool,)).await?;
            Ok(conn.exec_first("SELECT game FROM pools WHERE id = ?", (pool,)).await?)
        })
        .await
    }

    /// Writes down that the time of pools has passed, and gives their games.
    pub(crate) async fn close_overdue(&self) -> Stored<Vec<u64>> {
        self.timed(Operation::Feed, async {
            let mut conn = self.writer().await?;
            let due = "state = 'open' AND closes_at <= SYSDATE(6)";
            let games: Vec<u64> =
                conn.query(format!("SELECT DISTINCT game FROM pools WHERE {due}")).await?;
            if !games.is_empty() {
                conn.query_drop(format!("UPDATE pools SET state = 'closed' WHERE {due}")).await?;
            }
            Ok(games)
        })
        .await
    }

    /// Ends a game. Its pools are ended by themselves.
    pub(crate) async fn end_game(&self, game: u64) -> Stored<bool> {
        self.timed(Operation::Feed, async {
            let mut conn = self.writer().await?;
            let sql = "UPDATE games SET state = 'ended' WHERE id = ? AND state = 'open'";
            conn.exec_drop(sql, (game,)).await?;
            Ok(conn.affected_rows() > 0)
        })
        .await
    }
}
