//! A prediction: checked, paid and written in one transaction, once for each number of its user.

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, TxOpts};

use super::{DUPLICATE, Store, StoreError, Stored, TRIES, met_others, refusal};
use crate::metrics::Operation;
use crate::money::Cents;
use crate::pool::{Prediction, Refusal, Standing, refuses};

/// What the user is told of a prediction: the same for the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is placed; what the user has left.
    Ok(Cents),
    /// Nothing was staked.
    Refused(Refusal),
}

/// A prediction that has come into a pool just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) game: u64,
    pub(crate) pool: u64,
    pub(crate) outcome: u32,
    pub(crate) stake: Cents,
    /// Numbers of predictions grow, also over processes.
    pub(crate) id: u64,
}

impl Store {
    /// Places a prediction of this user. What has come into the pool is told beside the answer:
    /// none where it was refused, or was there already.
    pub(crate) async fn predict(
        &self,
        user: u64,
        prediction: Prediction,
    ) -> Stored<(Answer, Option<Placed>)> {
        self.timed(Operation::Predict, async {
            let mut conn = self.writer().await?;
            for _ in 1..TRIES {
                match place(&mut conn, user, &prediction).await {
                    Err(error) if met_others(&error) => {}
                    done => return done,
                }
            }
            place(&mut conn, user, &prediction).await
        })
        .await
    }
}

async fn place(
    conn: &mut Conn,
    user: u64,
    prediction: &Prediction,
) -> Stored<(Answer, Option<Placed>)> {
    match write(conn, user, prediction).await {
        Err(error) if refusal(&error) == Some(DUPLICATE) => {
            Ok((answered(conn, user, prediction.n).await?, None))
        }
        done => done,
    }
}

/// The pool's row as far as a stake needs it: game, outcomes, whether it takes stakes.
type PoolRow = (u64, String, bool);

/// The lock on the pool is shared: stakes do not wait for each other, only for who ends the pool.
const POOL: &str = "SELECT game, outcomes, state = 'open' AND closes_at > SYSDATE(6) \
                    FROM pools WHERE id = ? LOCK IN SHARE MODE";
const PAY: &str = "UPDATE users SET balance = balance - ? WHERE id = ? AND balance >= ?";
const WRITE: &str = "INSERT INTO predictions (user, n, pool, outcome, stake, refused, balance) \
                     SELECT id, ?, ?, ?, ?, ?, balance FROM users WHERE id = ? \
                     RETURNING id, balance";

/// Four statements and what begins and ends them: the round trips of a prediction.
async fn write(
    conn: &mut Conn,
    user: u64,
    prediction: &Prediction,
) -> Stored<(Answer, Option<Placed>)> {
    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    let pool: Option<PoolRow> = transaction.exec_first(POOL, (prediction.pool,)).await?;
    let standing = match &pool {
        Some((_, outcomes, takes_stakes)) => {
            let outcomes = super::read::outcomes(outcomes)?.len();
            Some(Standing { takes_stakes: *takes_stakes, outcomes })
        }
        None => None,
    };
    let mut refused = refuses(standing, prediction);
    let stake = prediction.stake;
    if refused.is_none() {
        transaction.exec_drop(PAY, (stake, user, stake)).await?;
        if transaction.affected_rows() == 0 {
            refused = Some(Refusal::Funds);
        }
    }
    let into = refused.is_none().then_some(prediction.pool);
    let row = (prediction.n, into, prediction.outcome, stake, refused.map(Refusal::word), user);
    let written: Option<(u64, Cents)> = transaction.exec_first(WRITE, row).await?;
    let Some((id, balance)) = written else {
        return Err(StoreError::Nonsense("users", format!("no user {user}")));
    };
    transaction.commit().await?;
    let placed = match (refused, pool) {
        (None, Some((game, ..))) => {
            Some(Placed { game, pool: prediction.pool, outcome: prediction.outcome, stake, id })
        }
        _ => None,
    };
    Ok((refused.map_or(Answer::Ok(balance), Answer::Refused), placed))
}

/// What was answered to this number before.
async fn answered(conn: &mut Conn, user: u64, n: u64) -> Stored<Answer> {
    let sql = "SELECT refused, balance FROM predictions WHERE user = ? AND n = ?";
    let row: Option<(Option<String>, Cents)> = conn.exec_first(sql, (user, n)).await?;
    match row {
        Some((None, balance)) => Ok(Answer::Ok(balance)),
        Some((Some(word), _)) => Refusal::of(&word)
            .map(Answer::Refused)
            .ok_or(StoreError::Nonsense("predictions.refused", word)),
        None => Err(StoreError::Nonsense("predictions", format!("no {n} of user {user}"))),
    }
}
