//! A real Squid on a port and in a folder of its own: found, probed, counted, and missed.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use plimsoll_net::http::client::{Limits, Peer, Plain, through};
use plimsoll_net::url::Url;
use plimsoll_shoal::agent::cache::{Cache, find, probe};
use plimsoll_shoal::agent::{Probe, squid};
use plimsoll_shoal::heartbeat::Kind;
use plimsoll_testing::{installed, skip};

use crate::serve::{Server, answer};

pub(crate) struct Squid {
    child: Child,
    pub(crate) port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Squid {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Squid {
    /// A running one; `None`, said by name, where the program is not installed.
    #[expect(clippy::disallowed_methods, reason = "starts the real program")]
    pub(crate) fn start(test: &str) -> Option<Self> {
        let program = installed(test, "squid")?;
        let folder = tempfile::tempdir().unwrap();
        // Squid lets go of root's rights and must still write here.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), open).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (at, file) = (folder.path().display(), folder.path().join("squid.conf"));
        let settings = format!(
            "http_port 127.0.0.1:{port}\npid_filename none\ncache_log {at}/cache.log\n\
             access_log none\ncoredump_dir {at}\ncache_mem 8 MB\nvisible_hostname test\n\
             icp_port 0\nshutdown_lifetime 0 seconds\npinger_enable off\n\
             http_access allow localhost\nhttp_access deny all\n"
        );
        fs::write(&file, settings).unwrap();
        // A service's name of its own: another Squid's shared memory is not touched.
        let name = format!("plimsoll{port}");
        let mut command = Command::new(program);
        command.args(["-N", "-n", &name, "-f"]).arg(&file);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let squid = Self { child, port, folder };
        let (_keep, never) = channel::<()>();
        for _ in 0..600 {
            if probe(&Plain, &squid.cache(), &squid.probe()).is_ok() {
                return Some(squid);
            }
            let _ = never.recv_timeout(Duration::from_millis(50));
        }
        let log = fs::read_to_string(squid.folder.path().join("cache.log")).unwrap_or_default();
        panic!("Squid does not answer: {log}");
    }

    /// Ends it at once.
    pub(crate) fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn cache(&self) -> Cache {
        let address = [127, 0, 0, 1].into();
        Cache { kind: Kind::Squid, address, port: self.port, seen: true, others: 0 }
    }

    fn probe(&self) -> Probe {
        Probe { url: None, time: Duration::from_secs(10) }
    }

    #[expect(clippy::disallowed_methods, reason = "signals a process that this test started")]
    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

#[test]
fn a_real_squid_is_asked_counted_and_missed() {
    let Some(mut squid) = Squid::start("a_real_squid_is_asked_counted_and_missed") else { return };
    let limits = Limits::within(Duration::from_secs(10));
    let peer = Peer::new("127.0.0.1", squid.port);
    let origin = Server::start(|_| {
        // Without a date Squid does not keep it.
        let date = "Date: Sun, 22 Nov 2026 12:00:00 GMT\r\nCache-Control: max-age=999999999";
        let headers = format!("{date}\r\nContent-Length: 6");
        Some(format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nobject").into_bytes())
    });
    let object = Url::parse(&origin.url()).unwrap().join("object");
    for _ in 0..4 {
        let answer = through(&Plain, peer, &object, limits).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, b"object".as_slice()));
    }
    assert_eq!(origin.seen().len(), 1, "three came from the cache");
    let counters = squid::ask(&Plain, peer, limits).unwrap();
    assert_eq!(counters.clients, Some(1));
    assert_eq!(counters.hits, Some(3));
    assert!(counters.requests.unwrap() >= 4, "{counters:?}");
    assert!(counters.hit_ratio.is_some_and(|ratio| (0.0..=1.0).contains(&ratio)), "{counters:?}");
    assert!(counters.disk_used_kib.is_some() && counters.sent_kib.is_some(), "{counters:?}");
    let with_url = Probe { url: Some(object), ..squid.probe() };
    probe(&Plain, &squid.cache(), &with_url).unwrap();
    let gone = Server::start(|_| answer("404 Not Found", ""));
    let missing = Url::parse(&gone.url()).unwrap().join("missing");
    let missing = Probe { url: Some(missing), ..squid.probe() };
    assert!(probe(&Plain, &squid.cache(), &missing).is_err());
    // Stopped: the kernel accepts for it, nobody answers.
    squid.signal("-STOP");
    let short = Probe { url: None, time: Duration::from_millis(300) };
    assert!(probe(&Plain, &squid.cache(), &short).is_err());
    squid.signal("-CONT");
    probe(&Plain, &squid.cache(), &squid.probe()).unwrap();
    squid.end();
    assert!(probe(&Plain, &squid.cache(), &squid.probe()).is_err());
}

/// Only root, or who runs it, sees a Squid's sockets; and another Squid may run on this host.
#[test]
fn a_real_squid_is_found_below_the_real_root() {
    let test = "a_real_squid_is_found_below_the_real_root";
    let Some(squid) = Squid::start(test) else { return };
    let proc = format!("/proc/{}", squid.child.id());
    if fs::read_dir(format!("{proc}/fd")).and_then(|mut fds| fds.next().unwrap()).is_err() {
        return skip(test, "root: the descriptors of a Squid cannot be read");
    }
    // A root with this process alone.
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("proc")).unwrap();
    let id = squid.child.id().to_string();
    std::os::unix::fs::symlink(&proc, root.path().join("proc").join(id)).unwrap();
    assert_eq!(find(root.path(), None, None), squid.cache());
}
