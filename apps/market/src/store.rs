//! MariaDB, which has the money: users, games, pools, predictions, payouts.
//!
//! Transactions take locks in one order, pool before user. Where the database still finds that two
//! wait for each other, it ends one, which is done again here.

mod predict;
mod read;
mod resolve;
mod schema;
mod write;

use std::future::Future;
use std::sync::Arc;

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts};

use crate::log::Log;
use crate::metrics::{Metrics, Operation};

pub(crate) use predict::{Answer, Placed};
pub(crate) use read::Own;
pub(crate) use resolve::Resolution;
pub(crate) use write::NewPool;

/// How often a transaction is tried that met others.
const TRIES: usize = 8;

/// What the database calls its refusals.
const DUPLICATE: u16 = 1062;
const WAITED_TOO_LONG: u16 = 1205;
const DEADLOCK: u16 = 1213;

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// It is not there, or refuses.
    #[error("the database does not do it: {0}")]
    Database(#[from] mysql_async::Error),
    /// What was read is nothing that is ever written.
    #[error("the database has in {0} what nothing writes there: {1:?}")]
    Nonsense(&'static str, String),
    /// A URL of a database is none.
    #[error("a URL of a database is mysql://user:password@host:port/database: {0}")]
    Url(#[from] mysql_async::UrlError),
}

/// What a store gives.
type Stored<T> = Result<T, StoreError>;

/// The database, and a replica of it where there is one.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    primary: Pool,
    replica: Option<Pool>,
    metrics: Arc<Metrics>,
    log: Arc<Log>,
}

impl Store {
    /// Of these URLs, with at most so many connections to each. Nothing is connected yet.
    pub(crate) fn new(
        primary: &str,
        replica: Option<&str>,
        connections: u16,
        metrics: Arc<Metrics>,
        log: Arc<Log>,
    ) -> Stored<Self> {
        let pool = |url: &str| -> Stored<Pool> {
            // Those above the lower bound are closed as soon as they are idle: both are the same,
            // and each is opened when it is needed first.
            let connections = usize::from(connections);
            let constraints = PoolConstraints::new(connections, connections).unwrap_or_default();
            // What a connection was told first holds for its life, so nothing is reset.
            let options =
                PoolOpts::default().with_constraints(constraints).with_reset_connection(false);
            let builder = OptsBuilder::from_opts(Opts::from_url(url)?)
                .pool_opts(options)
                .tcp_nodelay(true)
                .prefer_socket(false)
                .init(schema::SESSION.to_vec());
            Ok(Pool::new(builder))
        };
        let replica = replica.map(pool).transpose()?;
        Ok(Self { primary: pool(primary)?, replica, metrics, log })
    }

    /// Makes the tables that are not there yet.
    pub(crate) async fn make_tables(&self) -> Stored<()> {
        let mut conn = self.primary.get_conn().await?;
        for table in schema::TABLES {
            conn.query_drop(table).await?;
        }
        Ok(())
    }

    /// A connection to what is written.
    async fn writer(&self) -> Stored<Conn> {
        Ok(self.primary.get_conn().await?)
    }

    /// A connection to what may be read late: the replica, where there is one.
    async fn reader(&self) -> Stored<Conn> {
        Ok(self.replica.as_ref().unwrap_or(&self.primary).get_conn().await?)
    }

    /// Counts an operation, its time and its outcome.
    async fn timed<T>(
        &self,
        operation: Operation,
        work: impl Future<Output = Stored<T>>,
    ) -> Stored<T> {
        let start = tokio::time::Instant::now();
        let done = work.await;
        if let Err(error) = &done {
            self.log.say(&format!("{operation:?}: {error}"));
        }
        self.metrics.database(operation, start.elapsed(), done.is_err());
        done
    }
}

/// The refusal's number, where the database refused.
fn refusal(error: &StoreError) -> Option<u16> {
    match error {
        StoreError::Database(mysql_async::Error::Server(server)) => Some(server.code),
        StoreError::Database(_) | StoreError::Nonsense(..) | StoreError::Url(_) => None,
    }
}

/// Whether a transaction met others, and will do when it is done again.
fn met_others(error: &StoreError) -> bool {
    matches!(refusal(error), Some(DEADLOCK | WAITED_TOO_LONG))
}
