//! The end of a pool: closed, settled and paid in one transaction, once.

use std::fmt::Write as _;

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Transaction, TxOpts};

use super::{Store, StoreError, Stored, TRIES, met_others};
use crate::metrics::Operation;
use crate::money::{BasisPoints, Stake, Verdict, settle};
use crate::pool::State;

/// Payouts that one statement writes.
const ROWS: usize = 1_000;

/// What came of asking that a pool end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// It has ended now, of this game, with this outcome.
    Done { game: u64, state: State, outcome: Option<u32> },
    /// It had ended so before: nothing was paid again.
    Before { state: State, outcome: Option<u32> },
    /// It still takes stakes.
    Open,
    /// It ended otherwise before.
    Otherwise { state: State, outcome: Option<u32> },
    /// There is no such pool, or no such outcome of it.
    Unknown,
}

/// State, whether it takes stakes, outcome, outcomes, rake, game.
type Row = (String, bool, Option<u32>, String, BasisPoints, u64);

const POOL: &str = "SELECT state, state = 'open' AND closes_at > SYSDATE(6), outcome, outcomes, \
                    rake, game FROM pools WHERE id = ? FOR UPDATE";
const STAKES: &str = "SELECT id, user, outcome, stake FROM predictions WHERE pool = ? ORDER BY id";
const PAY: &str = "UPDATE users JOIN (SELECT user, SUM(amount) AS amount FROM payouts \
                   WHERE pool = ? GROUP BY user) AS paid ON paid.user = users.id \
                   SET users.balance = users.balance + paid.amount";
const END: &str = "UPDATE pools SET state = ?, outcome = ?, kept = ? WHERE id = ?";

impl Store {
    /// Ends a pool that takes no more stakes, and pays.
    pub(crate) async fn resolve(&self, pool: u64, verdict: Verdict) -> Stored<Resolution> {
        self.timed(Operation::Resolve, async {
            let mut conn = self.writer().await?;
            for _ in 1..TRIES {
                match end(&mut conn, pool, verdict).await {
                    Err(error) if met_others(&error) => {}
                    done => return done,
                }
            }
            end(&mut conn, pool, verdict).await
        })
        .await
    }
}

async fn end(conn: &mut Conn, pool: u64, verdict: Verdict) -> Stored<Resolution> {
    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    let row: Option<Row> = transaction.exec_first(POOL, (pool,)).await?;
    let Some((state, takes_stakes, outcome, outcomes, rake, game)) = row else {
        return Ok(Resolution::Unknown);
    };
    let state = State::of(&state).ok_or(StoreError::Nonsense("pools.state", state))?;
    let wanted = match verdict {
        Verdict::Outcome(outcome) => Some(outcome),
        Verdict::Void => None,
    };
    let outcomes = super::read::outcomes(&outcomes)?.len();
    if wanted.is_some_and(|wanted| usize::try_from(wanted).map_or(true, |it| it >= outcomes)) {
        return Ok(Resolution::Unknown);
    }
    if matches!(state, State::Resolved | State::Void) {
        return Ok(if outcome == wanted {
            Resolution::Before { state, outcome }
        } else {
            Resolution::Otherwise { state, outcome }
        });
    }
    if takes_stakes {
        return Ok(Resolution::Open);
    }
    let rows: Vec<(u64, u64, u32, i64)> = transaction.exec(STAKES, (pool,)).await?;
    let stakes: Vec<Stake> =
        rows.iter().map(|&(_, _, outcome, cents)| Stake { outcome, cents }).collect();
    let settled = settle(&stakes, verdict, rake);
    let mut payouts = Vec::with_capacity(rows.len());
    for ((id, user, ..), amount) in rows.iter().zip(&settled.payouts) {
        if *amount > 0 {
            payouts.push((*id, *user, *amount));
        }
    }
    write(&mut transaction, pool, &payouts).await?;
    transaction.exec_drop(PAY, (pool,)).await?;
    let state = if settled.refunded { State::Void } else { State::Resolved };
    transaction.exec_drop(END, (state.word(), wanted, settled.kept, pool)).await?;
    transaction.commit().await?;
    Ok(Resolution::Done { game, state, outcome: wanted })
}

async fn write(
    transaction: &mut Transaction<'_>,
    pool: u64,
    payouts: &[(u64, u64, i64)],
) -> Stored<()> {
    for rows in payouts.chunks(ROWS) {
        let mut sql = "INSERT INTO payouts (prediction, pool, user, amount) VALUES ".to_owned();
        for (index, (id, user, amount)) in rows.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing to a text does not fail.
            let _ = write!(sql, "{comma}({id},{pool},{user},{amount})");
        }
        transaction.query_drop(sql).await?;
    }
    Ok(())
}
