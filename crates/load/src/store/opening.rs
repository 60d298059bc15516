//! How a connection to a store begins: who logs in, and what of a database is made ready before the
//! first request.

use super::{Replicas, Store};
use plimsoll_workload::store::Kind;

/// Who logs in, and where. `Debug` shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// User and password; either may be empty.
    pub credentials: Option<(Vec<u8>, Vec<u8>)>,
    /// The number or the name of the database; empty for the first, or the only one.
    pub database: String,
}

impl Login {
    /// User and password, empty where none are given.
    #[must_use]
    pub fn user(&self) -> (&[u8], &[u8]) {
        self.credentials.as_ref().map_or((&[], &[]), |(user, password)| (user, password))
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let credentials = self.credentials.as_ref().map(|_| "redacted");
        f.debug_struct("Login")
            .field("credentials", &credentials)
            .field("database", &self.database)
            .finish()
    }
}

/// What carries the bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP, which others on the way can read.
    Tcp,
    /// A Unix socket.
    Unix,
    /// TLS over TCP.
    Tls,
}

impl Transport {
    /// Whether nobody on the way can hear what is said, so that a password may be.
    #[must_use]
    pub fn is_private(self) -> bool {
        self != Self::Tcp
    }
}

/// What comes after the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// A load; nothing is changed.
    Load,
    /// The data set is written; a database makes the table for it where there is none.
    DataSet,
}

/// What a database does for a connection before the first request.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Who logs in.
    pub login: Login,
    /// Whether the table is made where there is none.
    pub makes_table: bool,
    /// Whose statements are prepared.
    pub prepares: Vec<Kind>,
    /// How its nodes share the records.
    pub replicas: Replicas,
}

impl Store {
    /// For connections that execute what a load asks for.
    #[must_use]
    pub fn opening(&self) -> Opening {
        let asked = Kind::ALL.into_iter().filter(|kind| self.operations.asks(*kind));
        let (login, prepares) = (self.login.clone(), asked.collect());
        Opening { login, makes_table: false, prepares, replicas: self.replicas }
    }

    /// For one that reads before anything else is done.
    #[must_use]
    pub fn first_opening(&self, before: Before) -> Opening {
        let makes_table = before == Before::DataSet;
        Opening { makes_table, prepares: vec![Kind::Read], ..self.opening() }
    }
}
