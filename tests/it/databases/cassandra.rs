//! Cassandra, where its jars are: a load on it is what it counts itself, and what it refuses is a
//! failure. One server for all, as its start takes half a minute.
//!
//! `tests/cassandra/get.sh FOLDER` brings the jars; without `PLIMSOLL_CASSANDRA_JARS=FOLDER` the
//! test is skipped, and reported so.

use super::{PASSWORD, counts, tries};
use crate::place::Place;
use crate::secrets::assert_nowhere;
use crate::stores::{assert_cut, dies, eight_hundred, prepares_by_variable, writes_two_thousand};
use plimsoll_testing::servers::{Folder, Process};
use plimsoll_testing::{Weight, program, skip};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Cassandra of one node with a user `ann`.
struct Server {
    process: Process,
}

impl AsMut<Process> for Server {
    fn as_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

impl Server {
    fn start(test: &str) -> Option<Self> {
        let Some(jars) = std::env::var_os("PLIMSOLL_CASSANDRA_JARS").map(PathBuf::from) else {
            skip(test, "cassandra: PLIMSOLL_CASSANDRA_JARS is not set (tests/cassandra/get.sh)");
            return None;
        };
        if program("java").is_none() {
            skip(test, "cassandra: no java");
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cassandra/start.sh");
        let command = |folder: &Path, ports: &[u16]| {
            let mut command = Command::new(script);
            command.arg(&jars).arg(folder).arg(ports[0].to_string());
            command.args(["authenticator: PasswordAuthenticator"]);
            // What a user may do is looked up for each request, not once in two seconds.
            command.args(["authorizer: CassandraAuthorizer", "permissions_validity: 0ms"]);
            command
        };
        // Its superuser is made on the side, before that or after.
        let ready = ["Startup complete", "Created default superuser role"];
        let is_up = move |own: &Process| ready.iter().all(|words| own.log().contains(words));
        let server = Self { process: Process::start(Folder::new(), 1, command, is_up) };
        let user = format!("CREATE ROLE ann WITH PASSWORD = '{PASSWORD}' AND LOGIN = true");
        server.cql(&user);
        server.cql("GRANT ALL ON ALL KEYSPACES TO ann");
        Some(server)
    }

    fn url(&self) -> String {
        format!("cassandra://ann:{PASSWORD}@127.0.0.1:{}/shop", self.process.port())
    }

    /// What it answers to a statement of its superuser: the body of the result.
    fn cql(&self, text: &str) -> Vec<u8> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.process.port())).unwrap();
        let mut ask = |what: u8, body: &[u8]| {
            let len = u32::try_from(body.len()).unwrap().to_be_bytes();
            socket.write_all(&[&[4, 0, 0, 0, what], &len[..], body].concat()).unwrap();
            let mut head = [0; 9];
            socket.read_exact(&mut head).unwrap();
            let len = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let mut body = vec![0; usize::try_from(len).unwrap()];
            socket.read_exact(&mut body).unwrap();
            assert_ne!(head[4], 0, "{text}: {}", body.escape_ascii());
            body
        };
        ask(0x01, b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0");
        ask(0x0f, b"\0\0\0\x14\0cassandra\0cassandra");
        let len = u32::try_from(text.len()).unwrap().to_be_bytes();
        ask(0x07, &[&len, text.as_bytes(), &[0, 1, 0]].concat())
    }

    /// The number at the end of a result: that of its only row.
    fn number(&self, text: &str) -> u64 {
        let body = self.cql(text);
        u64::from_be_bytes(*body.last_chunk().unwrap())
    }

    fn records(&self) -> u64 {
        self.number("SELECT COUNT(*) FROM shop.plimsoll")
    }

    /// How many reads or writes of the table it has counted.
    fn counted(&self, what: &str) -> u64 {
        self.number(&format!(
            "SELECT count FROM system_views.local_{what}_latency WHERE keyspace_name = 'shop' AND \
             table_name = 'plimsoll' ALLOW FILTERING"
        ))
    }
}

#[test]
fn cassandra_counts_the_same() {
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = Server::start("cassandra_counts_the_same") else { return };
    let url = server.url();
    refuses_who_is_not_let_in(&place, &server);
    let data = ["--records", "2000", "--value-size", "uniform:1B..2KiB"];
    writes_two_thousand(&place, &url, &data);
    assert_eq!((server.records(), server.counted("write")), (2000, 2000));
    // Once more: the same data set, nothing new.
    writes_two_thousand(&place, &url, &data);
    assert_eq!(server.records(), 2000);

    let now = || [server.counted("read"), server.counted("write")];
    let before = now();
    let mix = ["--set", "store.mix=read:80%,update:15%,insert:5%", "--connections", "8"];
    // Several at once on a connection, and answered in any order.
    let all = [&mix[..], &["--streams", "8"], &data].concat();
    let summary = eight_hundred(&place, &url, &all);
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    assert_eq!(summary["workload"]["consistency"], "one", "{summary}");
    let [reads, updates, inserts] = counts(&place);
    let after = now();
    // And the last record, asked for before the load.
    let wanted = [reads + 1, updates + inserts];
    assert_eq!([after[0] - before[0], after[1] - before[1]], wanted, "{summary}");
    assert_eq!(server.records(), 2000 + inserts);
    assert_eq!(summary["connections"]["opened"], 8, "{summary}");
    let run = place.run();
    place.plimsoll(&["report", run.to_str().unwrap()]).ended_with(0);

    // A read of what is not there is a miss; an update writes it.
    server.cql("TRUNCATE shop.plimsoll");
    let summary = eight_hundred(&place, &url, &["--workload", "read-only"]);
    assert_eq!(summary["status"]["204"], 800, "{summary}");
    let summary = eight_hundred(&place, &url, &["--workload", "write-only"]);
    assert_eq!(summary["status"]["200"], 800, "{summary}");
    assert!((1..=1000).contains(&server.records()));
    refuses_what_it_cannot_do(&place, &server);

    prepares_by_variable(&place, &url.replace(&format!("ann:{PASSWORD}@"), ""), &pair());
    let before = server.counted("read");
    let has_begun = |server: &Server| server.counted("read") > before + 100;
    assert_cut(&dies(&place, &url, server, has_begun, Signal::KILL));
    assert_nowhere(&place, &[PASSWORD]);
}

fn pair() -> String {
    format!("ann:{PASSWORD}")
}

fn refuses_who_is_not_let_in(place: &Place, server: &Server) {
    let at = format!("127.0.0.1:{}", server.process.port());
    let load = |url: &str| tries(place, url);
    let none = load(&server.url()).ended_with(4);
    none.says(&["keyspace shop does not exist", "load the data set by `plimsoll prepare`"]);
    let wrong = load(&format!("cassandra://ann:gu3ss@{at}/shop")).ended_with(4);
    wrong.says(&["Provided username ann and/or password are incorrect", "check the password"]);
    let nobody = load(&format!("cassandra://{at}/shop")).ended_with(4);
    nobody.says(&["it asks for a user and a password", "--basic-env"]);
    let nothing = load(&format!("cassandra://{at}")).ended_with(2);
    nothing.says(&["a keyspace as the path"]);
    let stranger = load(&format!("redis://{at}")).ended_with(4);
    stranger.says(&["it does not speak RESP2"]);
    let level = ["prepare", &format!("redis://{at}"), "--consistency", "quorum"];
    place.plimsoll(&level).ended_with(2).says(&["`consistency` goes with Cassandra"]);
}

/// More replicas than there are nodes, a user who may only read, a table that is another one.
fn refuses_what_it_cannot_do(place: &Place, server: &Server) {
    let url = server.url();
    server.cql(
        "ALTER KEYSPACE shop WITH replication = \
                {'class': 'SimpleStrategy', 'replication_factor': 3}",
    );
    let load = ["load", "--quiet", &url, "--rate", "9/s", "--for", "1s", "--consistency", "quorum"];
    place.plimsoll(&load).ended_with(4).says(&["Cannot achieve consistency level QUORUM"]);
    let summary = eight_hundred(place, &url, &["--workload", "read-only"]);
    assert_eq!(summary["completed"], 800, "one replica is there: {summary}");
    // Who makes a keyspace or a table may do everything with it.
    for what in ["ALL KEYSPACES", "KEYSPACE shop", "TABLE shop.plimsoll"] {
        server.cql(&format!("REVOKE ALL ON {what} FROM ann"));
    }
    server.cql("GRANT SELECT ON KEYSPACE shop TO ann");
    let few = ["--workload", "balanced", "--connections", "4"];
    let summary = eight_hundred(place, &url, &few);
    let [reads, updates, _] = counts(place);
    let status = &summary["status"];
    let read = ["200", "204"].map(|code| status[code].as_u64().unwrap_or(0));
    assert_eq!(read[0] + read[1], reads, "{summary}");
    assert_eq!(summary["status"]["403"], updates, "{summary}");
    server.cql("GRANT ALL ON ALL KEYSPACES TO ann");
    server.cql(
        "CREATE KEYSPACE other WITH replication = \
                {'class': 'SimpleStrategy', 'replication_factor': 1}",
    );
    server.cql("CREATE TABLE other.plimsoll (id text PRIMARY KEY, value int)");
    let other = url.replace("/shop", "/other");
    tries(place, &other).ended_with(4).says(&["other columns than ours"]);
}
