//! MariaDB, shared by the tests that run at the same time, a database for each; a Redis for each;
//! and the market on both.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use plimsoll_testing::installed;
use serde_json::{Value, json};

use crate::client::Http;
use crate::program::{Running, free, wait_for};

/// The administrator's token.
pub(crate) const ADMIN: &str = "admin-7Kq2vLx9Tz4w";

/// It writes little, and waits for no disk.
const SMALL: [&str; 4] = [
    "--innodb-log-file-size=8M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=0",
    "--skip-innodb-doublewrite",
];

struct MariaDb {
    _going: Running,
    address: SocketAddr,
    socket: PathBuf,
    client: PathBuf,
    _folder: tempfile::TempDir,
}

static SHARED: Mutex<Weak<MariaDb>> = Mutex::new(Weak::new());
static DATABASES: AtomicU64 = AtomicU64::new(0);

impl MariaDb {
    fn start(test: &str, more: &[&str]) -> Option<Self> {
        let program = installed(test, "mariadbd")?;
        let install = installed(test, "mariadb-install-db")?;
        let client = installed(test, "mariadb")?;
        let folder = tempfile::tempdir().unwrap();
        let named =
            |option: &str, name: &str| format!("{option}={}", folder.path().join(name).display());
        let mut command = Command::new(install);
        command.args([
            "--no-defaults",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ]);
        command.args(SMALL).arg(named("--datadir", "data")).env("TMPDIR", folder.path());
        let made = command.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let address = free();
        let mut command = Command::new(program);
        command.args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1"]);
        command.args(["--skip-name-resolve", "--max-connections=500"]).args(SMALL).args(more);
        command.args([named("--datadir", "data"), named("--pid-file", "pid")]);
        command.args([named("--socket", "socket"), format!("--port={}", address.port())]);
        command.env("TMPDIR", folder.path()).stdout(std::process::Stdio::null());
        command.stderr(std::fs::File::create(folder.path().join("log")).unwrap());
        let mut going = Running::start(&mut command);
        going.wait_for(address);
        let socket = folder.path().join("socket");
        Some(Self { _going: going, address, socket, client, _folder: folder })
    }

    /// The one that other tests use now, or a new one.
    fn shared(test: &str) -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(going) = shared.upgrade() {
            return Some(going);
        }
        // It can be replicated.
        let started = Arc::new(Self::start(test, &["--server-id=1", "--log-bin=changes"])?);
        *shared = Arc::downgrade(&started);
        Some(started)
    }

    fn sql(&self, text: &str) -> String {
        let mut command = Command::new(&self.client);
        command.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root"]);
        command.arg(format!("--socket={}", self.socket.display())).args(["-e", text]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

/// A replica of a market's database, late by so much.
pub(crate) struct Replica {
    _going: MariaDb,
    pub(crate) url: String,
}

/// Stores of a market, and what it needs to start.
pub(crate) struct Stores {
    mariadb: Arc<MariaDb>,
    database: String,
    _redis: Running,
    redis: SocketAddr,
    folder: tempfile::TempDir,
}

/// A process of the market.
pub(crate) struct Market {
    pub(crate) going: Running,
    pub(crate) http: Http,
}

/// Starts a Redis that keeps nothing on its disk.
fn redis(program: &Path, folder: &Path, more: &[&str]) -> (Running, SocketAddr) {
    let address = free();
    let mut command = Command::new(program);
    command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
    command.args(["--save", "", "--appendonly", "no", "--loglevel", "warning"]);
    command.args(["--repl-diskless-sync-delay", "0"]).args(more);
    command.arg("--dir").arg(folder).stdout(std::process::Stdio::null());
    let mut going = Running::start(&mut command);
    going.wait_for(address);
    (going, address)
}

impl Stores {
    /// Stores of their own for a test; `None`, said by name, where they are not installed.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let program = installed(test, "redis-server")?;
        let mariadb = MariaDb::shared(test)?;
        let folder = tempfile::tempdir().unwrap();
        let (going, redis) = redis(&program, folder.path(), &[]);
        let database = format!("market{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        mariadb.sql(&format!(
            "CREATE DATABASE {database}; GRANT ALL ON {database}.* TO market@'127.0.0.1' \
             IDENTIFIED BY 'market'"
        ));
        std::fs::write(folder.path().join("admin"), format!("{ADMIN}\n")).unwrap();
        Some(Self { mariadb, database, _redis: going, redis, folder })
    }

    /// A further database beside it, empty.
    pub(crate) fn another_database(&self) -> String {
        let name = format!("{}other", self.database);
        self.mariadb
            .sql(&format!("CREATE DATABASE {name}; GRANT ALL ON {name}.* TO market@'127.0.0.1'"));
        self.url_of(&name)
    }

    /// A replica of the market's database that is late by so many seconds.
    pub(crate) fn replica(&self, test: &str, late_s: u32) -> Replica {
        let only = format!("--replicate-wild-do-table={}.%", self.database);
        let going = MariaDb::start(test, &["--server-id=2", &only]).unwrap();
        self.mariadb
            .sql("GRANT REPLICATION REPLICA ON *.* TO replica@'127.0.0.1' IDENTIFIED BY 'r'");
        going.sql(&format!(
            "GRANT SELECT ON {0}.* TO market@'127.0.0.1' IDENTIFIED BY 'market'; \
             CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {1}, \
             MASTER_USER = 'replica', MASTER_PASSWORD = 'r', \
             MASTER_DELAY = {late_s}; START REPLICA",
            self.database,
            self.mariadb.address.port()
        ));
        let url = format!("mysql://market:market@{}/{}", going.address, self.database);
        Replica { _going: going, url }
    }

    /// A replica of the market's Redis that has all of it, and its URL.
    pub(crate) fn redis_replica(&self, test: &str) -> (Running, String) {
        let of = ["--replicaof", "127.0.0.1", &self.redis.port().to_string()];
        let program = installed(test, "redis-server").unwrap();
        let (going, address) = redis(&program, self.folder(), &of);
        wait_for("the replica of Redis", || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"INFO replication\r\nQUIT\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text.contains("master_link_status:up").then_some(())
        });
        (going, format!("redis://{address}/"))
    }

    fn url_of(&self, database: &str) -> String {
        format!("mysql://market:market@{}/{database}", self.mariadb.address)
    }

    /// Where MariaDB listens.
    pub(crate) fn mariadb(&self) -> SocketAddr {
        self.mariadb.address
    }

    /// The market's database by another way to it.
    pub(crate) fn url_through(&self, way: SocketAddr) -> String {
        format!("mysql://market:market@{way}/{}", self.database)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What the market's database answers to its own client.
    pub(crate) fn sql(&self, text: &str) -> String {
        self.mariadb.sql(&format!("USE {}; {text}", self.database))
    }

    /// A process of the market, with the administrator's token.
    pub(crate) fn market(&self, more: &[&str]) -> Market {
        let token = self.folder.path().join("admin").display().to_string();
        self.market_of(&self.url_of(&self.database), &[&["--admin-token", &token], more].concat())
    }

    /// A process of the market on this database.
    pub(crate) fn market_of(&self, database: &str, more: &[&str]) -> Market {
        let mut command = Command::new(env!("CARGO_BIN_EXE_market"));
        command.args(["--listen", "127.0.0.1:0", "--database", database]);
        command.arg("--redis").arg(format!("redis://{}/", self.redis)).args(more);
        let (going, address) = Running::listening(&mut command);
        Market { going, http: Http { address } }
    }
}

impl Stores {
    /// What a market says that does not start.
    pub(crate) fn refused(&self, more: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_market"));
        command.args(["--listen", "127.0.0.1:0", "--database", &self.url_of(&self.database)]);
        command.arg("--redis").arg(format!("redis://{}/", self.redis)).args(more);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    }
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
