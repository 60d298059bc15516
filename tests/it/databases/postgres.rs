//! PostgreSQL: a load on it is what it counts itself, and what it refuses is a failure.

use super::{PASSWORD, counts, tries};
use crate::host::may_drop_caches;
use crate::place::Place;
use crate::program::{Going, wait_for};
use crate::secrets::assert_nowhere;
use crate::stores::{
    dies, eight_hundred, on_a_free_port, prepares_by_variable, writes_two_thousand,
};
use plimsoll_testing::{Weight, installed, skip};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A PostgreSQL with a database `shop` and its user `ann`, ended by its id when dropped.
pub(super) struct Server {
    going: Going,
    port: u16,
    client: PathBuf,
    control: PathBuf,
    pub(super) folder: tempfile::TempDir,
}

/// Where its programs are: in a folder of its version.
fn programs(test: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.retain(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file());
    folders.sort();
    if folders.is_empty() {
        skip(test, "postgres: no /usr/lib/postgresql/*/bin");
    }
    folders.pop()
}

/// A command of PostgreSQL, which refuses to run as root: then it runs as its own user.
fn as_its_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
    command
}

impl AsMut<Going> for Server {
    fn as_mut(&mut self) -> &mut Going {
        &mut self.going
    }
}

impl Server {
    pub(super) fn start(test: &str, place: &Place) -> Option<Self> {
        let programs = programs(test)?;
        let client = installed(test, "psql")?;
        // What it keeps is no file of the test.
        let folder = tempfile::tempdir().unwrap();
        if rustix::process::geteuid().is_root() {
            installed(test, "setpriv")?;
            let mut command = Command::new("chown");
            command.arg("postgres:").arg(folder.path());
            place.start(command).wait().ended_with(0);
        }
        let data = folder.path().join("data");
        let mut command = as_its_user(&programs.join("initdb"));
        command.arg("-D").arg(&data).args(["-U", "root", "--no-sync", "--auth-local=trust"]);
        command.args(["--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C"]);
        place.start(command.current_dir_of(folder.path())).wait().ended_with(0);
        let command = |port: u16| {
            let mut command = as_its_user(&programs.join("postgres"));
            command.arg("-D").arg(&data).arg("-k").arg(folder.path());
            command.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
            command.args(["-c", "fsync=off", "-c", "shared_buffers=16MB"]);
            command.current_dir_of(folder.path())
        };
        let ready = "database system is ready to accept connections";
        let (going, port) = on_a_free_port(place, command, |going, _| going.err().contains(ready));
        let server = Self { going, port, client, control: programs.join("pg_ctl"), folder };
        server.sql("postgres", "CREATE DATABASE shop");
        server.sql("shop", &format!("CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'"));
        server.sql("shop", "GRANT ALL ON SCHEMA public TO ann");
        Some(server)
    }

    pub(super) fn url(&self) -> String {
        format!("postgres://ann:{PASSWORD}@127.0.0.1:{}/shop", self.port)
    }

    /// What it answers to its own client, as text; the output is no file of the place.
    pub(super) fn sql(&self, database: &str, text: &str) -> String {
        let mut command = Command::new(&self.client);
        command.args(["-X", "-q", "-A", "-t", "-U", "root", "-p", &self.port.to_string()]);
        command.arg("-h").arg(self.folder.path()).args(["-d", database, "-c", text]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}: {said}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Its process; empty where it has none.
    fn pid(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid"));
        text.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
    }

    fn count(&self) -> String {
        self.sql("shop", "SELECT COUNT(*) FROM plimsoll")
    }

    /// What it counts of the table: scans of an index, insertions, updates. A session tells when it
    /// ends, at the latest.
    fn counted(&self) -> [u64; 3] {
        let text = "SELECT idx_scan, n_tup_ins, n_tup_upd FROM pg_stat_user_tables";
        let said = self.sql("shop", text);
        let mut numbers = said.split('|').map(|number| number.parse().unwrap());
        [(); 3].map(|()| numbers.next().unwrap())
    }
}

impl Drop for Server {
    /// Killed, it would leave shared memory behind. After a restart it is no longer the process
    /// that was started here.
    fn drop(&mut self) {
        let pid = self.pid();
        if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::QUIT);
        }
        wait_for("the end of the database", || {
            (self.going.has_ended() && self.pid().is_empty()).then_some(())
        });
    }
}

/// A folder that the server's own user may enter.
trait In {
    fn current_dir_of(self, folder: &Path) -> Command;
}

impl In for Command {
    fn current_dir_of(mut self, folder: &Path) -> Command {
        self.current_dir(folder);
        self
    }
}

#[test]
fn postgres_counts_the_same() {
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = Server::start("postgres_counts_the_same", &place) else { return };
    let url = server.url();
    let data = ["--records", "2000", "--value-size", "uniform:1B..2KiB"];
    writes_two_thousand(&place, &url, &data);
    assert_eq!(server.count(), "2000");
    // Once more: the same data set, nothing new.
    let digest =
        || server.sql("shop", "SELECT md5(string_agg(value, ''::bytea ORDER BY id)) FROM plimsoll");
    let before = digest();
    writes_two_thousand(&place, &url, &data);
    assert_eq!((digest(), server.count()), (before, "2000".to_owned()));
    wait_for("the data set to be counted", || {
        let [_, inserted, updated] = server.counted();
        (inserted == 2000 && updated == 2000).then_some(())
    });

    let before = server.counted();
    let mix = ["--set", "store.mix=read:80%,update:15%,insert:5%", "--connections", "8"];
    let summary = eight_hundred(&place, &url, &[&mix[..], &data].concat());
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let [_, updates, inserts] = counts(&place);
    // Each looks into the index of the primary key; and the last record, asked for before the load.
    let wanted = [801, inserts, updates];
    wait_for("the load to be counted", || {
        let now = server.counted();
        let counted = [0, 1, 2].map(|n| now[n] - before[n]);
        (counted == wanted).then_some(())
    });
    assert_eq!(server.count(), (2000 + inserts).to_string());
    assert_eq!(summary["connections"]["opened"], 8, "{summary}");
    let run = place.run();
    place.plimsoll(&["report", run.to_str().unwrap()]).ended_with(0);
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn a_record_of_postgres_that_is_not_there_is_a_miss() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "a_record_of_postgres_that_is_not_there_is_a_miss";
    let Some(server) = Server::start(test, &place) else { return };
    let url = server.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    server.sql("shop", "DELETE FROM plimsoll");
    let few = ["--workload", "balanced", "--connections", "4"];
    let summary = eight_hundred(&place, &url, &few);
    assert_eq!(summary["status"]["204"], 800, "neither read nor updated: {summary}");
    assert_eq!(server.count(), "0", "an update makes no record");
    // Several at once on a connection, through a socket; what is new is found.
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let path = server.folder.path().join(format!(".s.PGSQL.{}", server.port));
    let path = path.to_str().unwrap().replace('/', "%2F");
    let url = format!("postgresql+unix://ann@{path}/shop");
    let latest = ["--workload", "read-latest", "--streams", "8", "--connections", "2"];
    let summary = eight_hundred(&place, &url, &latest);
    assert_eq!(summary["status"]["200"], 800, "{summary}");
    assert_eq!(summary["connections"]["opened"], 2, "{summary}");
    assert_eq!(server.count(), "1040", "40 were inserted");
}

#[test]
fn an_error_of_postgres_is_a_failure() {
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = Server::start("an_error_of_postgres_is_a_failure", &place) else { return };
    let url = server.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    server.sql("shop", "ALTER ROLE ann SET default_transaction_read_only = on");
    let few = ["--workload", "balanced", "--connections", "4"];
    let summary = eight_hundred(&place, &url, &few);
    let [reads, updates, _] = counts(&place);
    assert_eq!(summary["status"]["200"], reads, "{summary}");
    assert_eq!(summary["status"]["403"], updates, "{summary}");
    assert_eq!(summary["errors"]["status"], updates, "{summary}");
}

#[test]
fn who_is_not_let_in_by_postgres_learns_why() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "who_is_not_let_in_by_postgres_learns_why";
    let Some(server) = Server::start(test, &place) else { return };
    let at = format!("127.0.0.1:{}", server.port);
    let load = |url: &str| tries(&place, url);
    let none = load(&server.url()).ended_with(4);
    none.says(&["relation \"plimsoll\" does not exist", "load the data set by `plimsoll prepare`"]);
    let wrong = load(&format!("postgres://ann:gu3ss@{at}/shop")).ended_with(4);
    wrong.says(&["password authentication failed for user \"ann\"", "hint: check the password"]);
    let other = load(&format!("postgres://ann:{PASSWORD}@{at}/elsewhere")).ended_with(4);
    other.says(&["database \"elsewhere\" does not exist"]);
    let nobody = load(&format!("postgres://{at}/shop")).ended_with(2);
    nobody.says(&["no user is named", "postgres://USER@"]);
    // A password that is kept as MD5 is asked for so; a server that wants it in clear is refused.
    let rules = server.folder.path().join("data/pg_hba.conf");
    let hashed = "SET password_encryption = md5";
    let user = format!("{hashed}; ALTER ROLE ann PASSWORD '{PASSWORD}'");
    server.sql("shop", &user);
    let ask_for = |method: &str| {
        let text = format!("local all all trust\nhost all all 127.0.0.1/32 {method}\n");
        std::fs::write(&rules, text).unwrap();
        server.sql("shop", "SELECT pg_reload_conf()");
        let seen =
            || server.sql("shop", "SELECT auth_method FROM pg_hba_file_rules LIMIT 1 OFFSET 1");
        wait_for("the rule", || (seen() == method).then_some(()));
    };
    ask_for("md5");
    prepares_by_variable(&place, &format!("postgres://{at}/shop"), &format!("ann:{PASSWORD}"));
    ask_for("password");
    let clear = load(&server.url()).ended_with(4);
    clear.says(&["the password itself, which is not sent without TLS", "scram-sha-256"]);
}

/// By SASLprep, as the server does it; what may not be so prepared is hashed as it is.
#[test]
fn passwords_beyond_ascii_are_prepared_as_postgres_does() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "passwords_beyond_ascii_are_prepared_as_postgres_does";
    let Some(server) = Server::start(test, &place) else { return };
    let url = format!("postgres://127.0.0.1:{}/shop", server.port);
    let (written, prepared) = ("a\u{ad}b\u{a0}c\u{2168}", "ab cIX");
    let forbidden = "\u{e000}\u{ad}";
    let pairs = [(written, written), (written, prepared), (prepared, written)];
    for (kept, sent) in pairs.into_iter().chain([(forbidden, forbidden)]) {
        server.sql("shop", &format!("ALTER ROLE ann PASSWORD '{kept}'"));
        prepares_by_variable(&place, &url, &format!("ann:{sent}"));
    }
    let wrong = format!("postgres://ann:%EE%80%80@127.0.0.1:{}/shop", server.port);
    tries(&place, &wrong).ended_with(4).says(&["password authentication failed"]);
}

#[test]
fn a_postgres_that_dies_fails_what_it_did_not_answer() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "a_postgres_that_dies_fails_what_it_did_not_answer";
    let Some(server) = Server::start(test, &place) else { return };
    let url = server.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let text = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'plimsoll' AND \
                state = 'idle' AND query LIKE 'SELECT value%' AND state_change > backend_start + \
                interval '400 ms'";
    let has_begun = |server: &Server| server.sql("shop", text) != "0";
    dies(&place, &url, server, has_begun, Signal::QUIT);
}

/// What the kernel has counted since it started.
fn vmstat(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap();
    let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_cold_load_begins_after_a_restart_with_an_empty_page_cache() {
    let test = "a_cold_load_begins_after_a_restart_with_an_empty_page_cache";
    if !may_drop_caches(test) {
        return;
    }
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = Server::start(test, &place) else { return };
    let url = server.url();
    let data = ["--records", "2000", "--value-size", "4KiB"];
    writes_two_thousand(&place, &url, &data);

    let mut restart = as_its_user(&server.control);
    restart.arg("-D").arg(server.folder.path().join("data")).args(["-w", "-m", "fast"]);
    restart.arg("-l").arg(server.folder.path().join("again.log")).arg("restart");
    let words = std::iter::once(restart.get_program()).chain(restart.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let restart = format!("cd {} && {}", server.folder.path().display(), words.join(" "));
    let load = ["load", "--json", &url, "--workload", "read-only", "--rate", "50/s", "--for", "1s"];
    let load = [&load[..], &data].concat();

    let (pid, dropped) = (server.pid(), vmstat("drop_pagecache"));
    let warm = place.plimsoll(&load).ran().json();
    assert_eq!(warm["workload"]["caches"], "warm", "{warm}");
    assert_eq!(server.pid(), pid);
    let cold = [&load[..], &["--cold", "--restart-command", &restart]].concat();
    let cold = place.plimsoll(&cold).ran().json();
    assert_eq!((&cold["workload"]["caches"], &cold["status"]["200"]), (&"cold".into(), &50.into()));
    assert_ne!(server.pid(), pid, "another process serves now");
    assert!(vmstat("drop_pagecache") > dropped);

    // A restart that fails is told, and nothing is sent.
    let failing =
        [&load[..], &["--cold", "--restart-command", "echo no unit >&2; exit 3"]].concat();
    place.plimsoll(&failing).ended_with(4).says(&["ended with exit code 3: no unit"]);
}

#[test]
fn what_cannot_be_cold_is_said() {
    let place = Place::weighing(Weight::WAITS);
    let flags = ["--rate", "1/s", "--for", "1s", "--cold"];
    let tried = |url: &str| place.plimsoll(&[&["load", url], &flags[..]].concat()).ended_with(2);
    tried("redis://127.0.0.1:1").says(&["reads nothing from disk"]);
    tried("postgres://ann@127.0.0.1:1/shop").says(&["needs the command that restarts the store"]);
    tried("http://127.0.0.1:1/").says(&["goes with a store"]);
}
