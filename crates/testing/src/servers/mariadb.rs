//! Debian's MariaDB, which writes little and waits for no disk.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Folder, Process, option, printed};
use crate::installed;

const SMALL: [&str; 5] = [
    "--no-defaults",
    "--innodb-log-file-size=8M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=0",
    "--skip-innodb-doublewrite",
];

/// A MariaDB that serves on a port and on a socket, where root needs no password.
pub struct MariaDb {
    process: Process,
    root: Root,
    next: AtomicU32,
}

/// The server's own client, as root.
#[derive(Clone)]
struct Root {
    program: PathBuf,
    socket: PathBuf,
}

impl Root {
    fn asks(&self, text: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root"]);
        command.arg(format!("--socket={}", self.socket.display())).args(["-e", text]);
        command
    }
}

impl MariaDb {
    /// One of a test's own, with more words on its command line; `None`, said by name, where it is
    /// not installed.
    pub fn own(test: &str, more: &[&str]) -> Option<Self> {
        is_installed(test)?;
        Some(Self::start(more))
    }

    /// The one that the tests of this binary share. It takes many connections, and can be
    /// replicated.
    pub fn shared(test: &str) -> Option<&'static Self> {
        static SHARED: LazyLock<MariaDb> = LazyLock::new(|| {
            MariaDb::start(&["--max-connections=500", "--server-id=1", "--log-bin=changes"])
        });
        is_installed(test)?;
        Some(&SHARED)
    }

    fn start(more: &[&str]) -> Self {
        let folder = Folder::new();
        install(folder.path());
        let program = crate::program("mariadbd").unwrap();
        let begin = |folder: &Path, ports: &[u16]| {
            let mut command = Command::new(&program);
            command.args(SMALL).args(["--user=root", "--bind-address=127.0.0.1"]);
            command.arg("--skip-name-resolve").args(more);
            let files = [("datadir", "data"), ("pid-file", "pid"), ("socket", "socket")];
            command.args(files.map(|(name, file)| option(name, folder, file)));
            command.arg(format!("--port={}", ports[0]));
            command
        };
        let process = Process::start(folder, 1, begin, |own| own.listens_on(own.port()));
        let socket = process.folder().join("socket");
        let root = Root { program: crate::program("mariadb").unwrap(), socket };
        Self { process, root, next: AtomicU32::new(1) }
    }

    /// A database of it, with a user who may do everything there and nothing elsewhere.
    pub fn schema(&self, password: &str) -> Schema {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (name, user) = (format!("shop{number}"), format!("ann{number}"));
        self.sql(&format!(
            "CREATE DATABASE {name}; \
             GRANT ALL ON {name}.* TO {user}@'127.0.0.1' IDENTIFIED BY '{password}'"
        ));
        let (root, address) = (self.root.clone(), self.address());
        Schema { root, address, name, user, password: password.to_owned() }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.process.port()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port()).into()
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.root.socket
    }

    /// What root is answered to some statements, as text without names of columns.
    pub fn sql(&self, text: &str) -> String {
        printed(&mut self.root.asks(text))
    }

    /// One of its own counters, which are of the whole server.
    pub fn status(&self, name: &str) -> u64 {
        let text = self.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        text.rsplit('\t').next().unwrap().parse().unwrap()
    }
}

impl AsMut<Process> for MariaDb {
    fn as_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// Whether all of it is here; where not, the test is skipped.
fn is_installed(test: &str) -> Option<()> {
    ["mariadbd", "mariadb-install-db", "mariadb"]
        .into_iter()
        .all(|name| installed(test, name).is_some())
        .then_some(())
}

/// Writes what a new server begins with.
fn install(folder: &Path) {
    let mut command = Command::new(crate::program("mariadb-install-db").unwrap());
    command.args(SMALL).args(["--skip-test-db", "--auth-root-authentication-method=normal"]);
    command.arg(option("datadir", folder, "data"));
    // Several that share a folder for what is temporary take each other's away.
    printed(command.env("TMPDIR", folder));
}

/// A database of a MariaDB, dropped with its user when this is.
pub struct Schema {
    root: Root,
    address: SocketAddr,
    name: String,
    user: String,
    password: String,
}

impl Schema {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who may do everything there.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Its URL.
    pub fn url(&self) -> String {
        self.url_through(self.address)
    }

    /// Its URL by another way to the server.
    pub fn url_through(&self, way: SocketAddr) -> String {
        format!("mysql://{}:{}@{way}/{}", self.user, self.password, self.name)
    }

    /// Its URL by the server's socket, as root.
    pub fn url_by_socket(&self) -> String {
        let socket = self.root.socket.display().to_string().replace('/', "%2F");
        format!("mariadb+unix://root@{socket}/{}", self.name)
    }

    /// What root is answered to some statements in it: see [`MariaDb::sql`].
    pub fn sql(&self, text: &str) -> String {
        printed(&mut self.root.asks(&format!("USE {}; {text}", self.name)))
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (name, user) = (&self.name, &self.user);
        let bound = "SET lock_wait_timeout = 60";
        let drop = format!("{bound}; DROP DATABASE {name}; DROP USER {user}@'127.0.0.1'");
        // A server that was ended has nothing left to be dropped.
        let _ = self.root.asks(&drop).output();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_share_a_mariadb_have_databases_and_users_of_their_own() {
        let test = "tests_that_share_a_mariadb_have_databases_and_users_of_their_own";
        let Some(server) = MariaDb::shared(test) else { return };
        let (one, other) = (server.schema("secret"), server.schema("other"));
        one.sql("CREATE TABLE a (b INT)");
        assert_eq!((one.sql("SHOW TABLES"), other.sql("SHOW TABLES")), ("a".into(), "".into()));
        let (name, user) = (one.name().to_owned(), one.user().to_owned());
        let url = format!("mysql://{user}:secret@127.0.0.1:{}/{name}", server.port());
        assert_eq!(one.url(), url);
        drop(one);
        let left = format!("SHOW DATABASES LIKE '{name}'; SELECT user FROM mysql.user");
        let left = server.sql(&left);
        assert!(left.contains(other.user()) && !left.contains(&user) && !left.contains(&name));
    }

    #[test]
    fn a_mariadb_keeps_its_data_over_an_end() {
        let test = "a_mariadb_keeps_its_data_over_an_end";
        let Some(mut server) = MariaDb::own(test, &["--max-connections=17"]) else { return };
        assert_eq!(server.sql("SELECT @@max_connections"), "17");
        server.sql("CREATE DATABASE kept");
        server.as_mut().end();
        server.as_mut().again();
        assert_eq!(server.sql("SHOW DATABASES LIKE 'kept'"), "kept");
        assert!(server.status("Questions") > 0);
    }
}
