//! Debian's PostgreSQL, which waits for no disk.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;

use super::{Folder, Process, printed};
use crate::{installed, skip};

/// A PostgreSQL that serves on a port and on a socket, where everybody is let in without a
/// password.
pub struct Postgres {
    process: Process,
    programs: PathBuf,
    root: Root,
    next: AtomicU32,
}

/// The server's own client, as root.
#[derive(Clone)]
struct Root {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
}

impl Root {
    fn asks(&self, database: &str, text: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-X", "-q", "-A", "-t", "-U", "root", "-p", &self.port.to_string()]);
        command.arg("-h").arg(&self.folder).args(["-d", database, "-c", text]);
        command
    }
}

impl Postgres {
    /// One of a test's own; `None`, said by name, where it is not installed.
    pub fn own(test: &str) -> Option<Self> {
        is_installed(test)?;
        Some(Self::start())
    }

    /// The one that the tests of this binary share.
    pub fn shared(test: &str) -> Option<&'static Self> {
        static SHARED: LazyLock<Postgres> = LazyLock::new(Postgres::start);
        is_installed(test)?;
        Some(&SHARED)
    }

    fn start() -> Self {
        let programs = programs().unwrap();
        // Killed, it would leave shared memory behind.
        let folder = Folder::ending_by(Signal::QUIT);
        if is_root() {
            printed(Command::new("chown").arg("postgres:").arg(folder.path()));
        }
        let mut command = as_its_user(&programs.join("initdb"));
        command.arg("-D").arg(folder.path().join("data")).args(["-U", "root", "--no-sync"]);
        command.args(["--auth-local=trust", "--auth-host=scram-sha-256"]);
        printed(command.args(["--encoding=UTF8", "--locale=C"]).current_dir(folder.path()));
        let program = programs.join("postgres");
        let begin = |folder: &Path, ports: &[u16]| {
            let mut command = as_its_user(&program);
            command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
            command.args(["-p", &ports[0].to_string(), "-c", "listen_addresses=127.0.0.1"]);
            command.args(["-c", "fsync=off", "-c", "shared_buffers=16MB"]);
            command
        };
        let ready = "database system is ready to accept connections";
        let process = Process::start(folder, 1, begin, move |own| own.log().contains(ready));
        let process = process.ending_by(Signal::QUIT);
        let program = crate::program("psql").unwrap();
        let root = Root { program, folder: process.folder().to_owned(), port: process.port() };
        Self { process, programs, root, next: AtomicU32::new(1) }
    }

    /// A database of it, with a user who may make tables there.
    pub fn database(&self, password: &str) -> Database {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (name, user) = (format!("shop{number}"), format!("ann{number}"));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.sql("postgres", &format!("REVOKE ALL ON DATABASE {name} FROM PUBLIC"));
        let role = format!("CREATE ROLE {user} LOGIN PASSWORD '{password}'");
        let rights = format!("GRANT CONNECT ON DATABASE {name} TO {user}");
        self.sql(&name, &format!("{role}; {rights}; GRANT ALL ON SCHEMA public TO {user}"));
        Database { root: self.root.clone(), name, user, password: password.to_owned() }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.process.port()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port()).into()
    }

    /// Where it keeps everything: its data in `data`.
    pub fn folder(&self) -> &Path {
        self.process.folder()
    }

    /// Its process; empty where it has none. After a restart it is another one than was started.
    pub fn pid(&self) -> String {
        let text = std::fs::read_to_string(self.folder().join("data/postmaster.pid"));
        text.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
    }

    /// The command that restarts it, as words.
    pub fn restart(&self) -> Vec<String> {
        let mut command = as_its_user(&self.programs.join("pg_ctl"));
        command.arg("-D").arg(self.folder().join("data")).args(["-w", "-m", "fast"]);
        command.arg("-l").arg(self.folder().join("again.log")).arg("restart");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    /// What root is answered to a text in a database, without names of columns.
    pub fn sql(&self, database: &str, text: &str) -> String {
        printed(&mut self.root.asks(database, text))
    }
}

impl AsMut<Process> for Postgres {
    fn as_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where its programs are: in a folder of its version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.retain(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file());
    folders.sort();
    folders.pop()
}

/// Whether all of it is here; where not, the test is skipped.
fn is_installed(test: &str) -> Option<()> {
    if programs().is_none() {
        skip(test, "postgres: no /usr/lib/postgresql/*/bin");
        return None;
    }
    installed(test, "psql")?;
    if is_root() {
        installed(test, "setpriv")?;
    }
    Some(())
}

/// A command of PostgreSQL, which refuses to run as root: then it runs as its own user.
fn as_its_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
    command
}

/// A database of a PostgreSQL, dropped with its user when this is.
pub struct Database {
    root: Root,
    name: String,
    user: String,
    password: String,
}

impl Database {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who may make tables there.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let (user, password, name) = (&self.user, &self.password, &self.name);
        format!("postgres://{user}:{password}@127.0.0.1:{}/{name}", self.root.port)
    }

    /// Its URL by the server's socket.
    pub fn url_by_socket(&self) -> String {
        let socket = self.root.folder.join(format!(".s.PGSQL.{}", self.root.port));
        let socket = socket.display().to_string().replace('/', "%2F");
        format!("postgresql+unix://{}@{socket}/{}", self.user, self.name)
    }

    /// What root is answered to a text in it: see [`Postgres::sql`].
    pub fn sql(&self, text: &str) -> String {
        printed(&mut self.root.asks(&self.name, text))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (name, user) = (&self.name, &self.user);
        // A server that was ended has nothing left to be dropped.
        let _ = self.root.asks("postgres", &format!("DROP DATABASE {name} WITH (FORCE)")).output();
        let _ = self.root.asks("postgres", &format!("DROP ROLE {user}")).output();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_share_a_postgres_have_databases_and_users_of_their_own() {
        let test = "tests_that_share_a_postgres_have_databases_and_users_of_their_own";
        let Some(server) = Postgres::shared(test) else { return };
        let (one, other) = (server.database("secret"), server.database("other"));
        let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";
        one.sql("CREATE TABLE a (b INT)");
        assert_eq!((one.sql(tables), other.sql(tables)), ("a".into(), "".into()));
        let (name, user) = (one.name().to_owned(), one.user().to_owned());
        let url = format!("postgres://{user}:secret@127.0.0.1:{}/{name}", server.port());
        assert_eq!(one.url(), url);
        let may = format!(
            "SELECT has_database_privilege('{user}', '{name}', 'CONNECT'), \
             has_database_privilege('{user}', '{}', 'CONNECT')",
            other.name()
        );
        assert_eq!(one.sql(&may), "t|f");
        drop(one);
        let left = server.sql("postgres", "SELECT datname FROM pg_database");
        assert!(left.contains(other.name()) && !left.contains(&name), "{left}");
    }

    #[test]
    fn a_postgres_that_was_restarted_ends_with_its_value() {
        let Some(server) = Postgres::own("a_postgres_that_was_restarted_ends_with_its_value")
        else {
            return;
        };
        let (before, words) = (server.pid(), server.restart());
        let mut restart = Command::new(&words[0]);
        printed(restart.args(&words[1..]).current_dir(server.folder()));
        assert_ne!(server.pid(), before);
        assert_eq!(server.sql("postgres", "SELECT 1"), "1");
        let (folder, process) = (server.folder().to_owned(), format!("/proc/{}/cwd", server.pid()));
        assert!(std::fs::read_link(&process).is_ok());
        drop(server);
        assert!(!folder.exists() && std::fs::read_link(&process).is_err());
    }
}
