//! The stores of a market: a database of the MariaDB that all tests share, and a Redis of its own,
//! as what one market publishes reaches all that listen to a Redis. And the market on both.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use plimsoll_testing::servers::{MariaDb, Redis, Schema};
use serde_json::{Value, json};

use crate::client::Http;
use crate::program::{Running, listening, wait_for};

/// The administrator's token.
pub(crate) const ADMIN: &str = "admin-7Kq2vLx9Tz4w";
/// The password of users of databases.
const PASSWORD: &str = "market";

/// A replica of a market's database, late by so much.
pub(crate) struct Replica {
    _server: MariaDb,
    pub(crate) url: String,
}

/// Stores of a market, and what it needs to start.
pub(crate) struct Stores {
    mariadb: &'static MariaDb,
    database: Schema,
    redis: Redis,
    folder: tempfile::TempDir,
}

/// A process of the market.
pub(crate) struct Market {
    pub(crate) going: Running,
    pub(crate) http: Http,
}

impl Stores {
    /// Stores of their own for a test; `None`, said by name, where they are not installed.
    pub(crate) fn start(test: &str) -> Option<Self> {
        // Its replica begins at once.
        let redis = Redis::own(test, &["--repl-diskless-sync-delay", "0"])?;
        let mariadb = MariaDb::shared(test)?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("admin"), format!("{ADMIN}\n")).unwrap();
        Some(Self { mariadb, database: mariadb.schema(PASSWORD), redis, folder })
    }

    /// A further database beside it, empty.
    pub(crate) fn another_database(&self) -> Schema {
        self.mariadb.schema(PASSWORD)
    }

    /// A replica of the market's database that is late by so many seconds.
    pub(crate) fn replica(&self, test: &str, late_s: u32) -> Replica {
        let (name, user) = (self.database.name(), self.database.user());
        let only = format!("--replicate-wild-do-table={name}.%");
        let server = MariaDb::own(test, &["--server-id=2", &only]).unwrap();
        self.mariadb
            .sql("GRANT REPLICATION REPLICA ON *.* TO replica@'127.0.0.1' IDENTIFIED BY 'r'");
        server.sql(&format!(
            "GRANT SELECT ON {name}.* TO {user}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, \
             MASTER_USER = 'replica', MASTER_PASSWORD = 'r', \
             MASTER_DELAY = {late_s}; START REPLICA",
            self.mariadb.port()
        ));
        let url = self.database.url_through(server.address());
        Replica { _server: server, url }
    }

    /// A replica of the market's Redis that has all of it, and its URL.
    pub(crate) fn redis_replica(&self, test: &str) -> (Redis, String) {
        let of = ["--replicaof", "127.0.0.1", &self.redis.port().to_string()];
        let replica = Redis::own(test, &of).unwrap();
        wait_for("the replica of Redis", || {
            let told = String::from_utf8(replica.says(&["INFO replication"])).unwrap();
            told.contains("master_link_status:up").then_some(())
        });
        let url = url_of(&replica);
        (replica, url)
    }

    /// Where MariaDB listens.
    pub(crate) fn mariadb(&self) -> SocketAddr {
        self.mariadb.address()
    }

    /// The market's database by another way to it.
    pub(crate) fn url_through(&self, way: SocketAddr) -> String {
        self.database.url_through(way)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What root is answered of the market's database.
    pub(crate) fn sql(&self, text: &str) -> String {
        self.database.sql(text)
    }

    /// A process of the market, with the administrator's token.
    pub(crate) fn market(&self, more: &[&str]) -> Market {
        let token = self.folder.path().join("admin").display().to_string();
        self.market_of(&self.database.url(), &[&["--admin-token", &token], more].concat())
    }

    /// A process of the market on this database.
    pub(crate) fn market_of(&self, database: &str, more: &[&str]) -> Market {
        let (going, address) = listening(&mut self.command(database, more));
        Market { going, http: Http { address } }
    }

    /// What a market says that does not start.
    pub(crate) fn refused(&self, more: &[&str]) -> String {
        let output = self.command(&self.database.url(), more).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    }

    fn command(&self, database: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_market"));
        command.args(["--listen", "127.0.0.1:0", "--database", database]);
        command.args(["--redis", &url_of(&self.redis)]).args(more);
        command
    }
}

fn url_of(redis: &Redis) -> String {
    format!("redis://{}/", redis.address())
}

impl Market {
    /// Asks as the administrator, and is given what was asked for.
    pub(crate) fn admin(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.http.ask(method, path, Some(ADMIN), body);
        assert!(status < 300, "{method} {path}: {status} {answer}");
        answer
    }

    /// A new game.
    pub(crate) fn game(&self) -> u64 {
        self.admin("POST", "/admin/games", &json!({"name": "A – B"}))["game"].as_u64().unwrap()
    }

    /// A new pool of it, with two outcomes.
    pub(crate) fn pool(&self, game: u64, open_for: &str) -> u64 {
        let pool = json!({"question": "Who wins?", "outcomes": ["A", "B"], "open_for": open_for});
        let path = format!("/admin/games/{game}/pools");
        self.admin("POST", &path, &pool)["pool"].as_u64().unwrap()
    }

    /// A new user, and the token.
    pub(crate) fn user(&self, name: &str) -> (u64, String) {
        let (status, user) = self.http.ask("POST", "/users", None, &json!({"name": name}));
        assert_eq!(status, 201, "{user}");
        (user["user"].as_u64().unwrap(), user["token"].as_str().unwrap().to_owned())
    }

    /// What a user has.
    pub(crate) fn balance(&self, (user, token): &(u64, String)) -> i64 {
        let path = format!("/users/{user}");
        let (status, answer) = self.http.ask("GET", &path, Some(token), &Value::Null);
        assert_eq!(status, 200, "{answer}");
        answer["balance"].as_i64().unwrap()
    }

    /// Where all money is, which must be as much as was given.
    pub(crate) fn assert_money_line(&self) -> Value {
        let ledger = self.admin("GET", "/admin/ledger", &Value::Null);
        assert_eq!(ledger["holds"], true, "{ledger}");
        ledger
    }

    /// One of its figures.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        let (_, text) = self.http.text("GET", "/metrics", None, "");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse().unwrap()
    }
}
