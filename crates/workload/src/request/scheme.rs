//! Schemes of URLs: what a connection speaks, and whether it goes over a Unix socket.

use plimsoll_units::ParseError;

/// What the connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP over plain TCP, or a Unix socket.
    Http,
    /// HTTP over TLS.
    Https,
    /// The protocol of Redis, RESP2.
    Redis,
    /// The text protocol of memcached.
    Memcached,
    /// The client/server protocol of MySQL and MariaDB.
    Mysql,
    /// The frontend/backend protocol of PostgreSQL.
    Postgres,
    /// The native protocol of Cassandra, CQL.
    Cassandra,
}

/// What a store calls its databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Databases {
    /// There is one only.
    None,
    /// Numbers; where none is given, 0.
    Numbers,
    /// Names; one has to be given.
    Names,
    /// Names of letters, digits and `_`; one has to be given.
    Words,
}

impl Scheme {
    /// The port where the URL names none.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Redis => 6379,
            Self::Memcached => 11211,
            Self::Mysql => 3306,
            Self::Postgres => 5432,
            Self::Cassandra => 9042,
        }
    }

    /// The scheme as it stands in a URL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Redis => "redis",
            Self::Memcached => "memcached",
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Cassandra => "cassandra",
        }
    }

    /// Whether its protocol has no way to authenticate.
    #[must_use]
    pub fn credentials_are_refused(self) -> bool {
        self == Self::Memcached
    }

    /// Whether nobody is let in without a user's name.
    #[must_use]
    pub fn needs_user(self) -> bool {
        self.databases() == Databases::Names
    }

    /// Whether it is that of a store, which has records instead of paths.
    #[must_use]
    pub fn is_store(self) -> bool {
        !matches!(self, Self::Http | Self::Https)
    }

    pub(super) fn databases(self) -> Databases {
        match self {
            Self::Http | Self::Https | Self::Memcached => Databases::None,
            Self::Redis => Databases::Numbers,
            Self::Mysql | Self::Postgres => Databases::Names,
            Self::Cassandra => Databases::Words,
        }
    }

    /// Reads what stands before `://`: the scheme, and whether it is spoken over a Unix socket.
    ///
    /// # Errors
    /// An unknown scheme, with the nearest known one; one that stands for TLS with a store.
    pub(super) fn parse(name: &str) -> Result<(Self, bool), ParseError> {
        let lower = name.to_ascii_lowercase();
        let (first, over_unix) = match lower.strip_suffix("+unix") {
            Some(first) if first != "https" => (first, true),
            _ => (lower.as_str(), false),
        };
        let scheme = match first {
            "http" => Self::Http,
            "https" => Self::Https,
            "redis" => Self::Redis,
            "memcached" => Self::Memcached,
            "mysql" | "mariadb" => Self::Mysql,
            "postgres" | "postgresql" => Self::Postgres,
            "cassandra" => Self::Cassandra,
            "rediss" => {
                let error = ParseError::new("a scheme without TLS", name, 0, name.len());
                let hint = "redis:// is spoken without TLS only: put a TLS proxy beside us";
                return Err(error.hint(hint));
            }
            _ => return Err(unknown(name, &lower)),
        };
        Ok((scheme, over_unix))
    }
}

fn unknown(name: &str, lower: &str) -> ParseError {
    let wanted =
        "the scheme http, https, http+unix, redis, memcached, mysql, postgres or cassandra";
    let error = ParseError::new(wanted, name, 0, name.len());
    let known = [
        "http",
        "https",
        "http+unix",
        "redis",
        "memcached",
        "mysql",
        "mariadb",
        "postgres",
        "cassandra",
    ];
    match plimsoll_units::nearest(lower, known) {
        Some(near) => error.hint(format!("write {near}")),
        None => error,
    }
}
