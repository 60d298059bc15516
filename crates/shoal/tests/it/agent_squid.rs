//! A real Squid on a port and in a folder of its own: found, probed, counted, and missed.

use std::fs;
use std::time::Duration;

use plimsoll_net::http::client::{Limits, Peer, Plain, through};
use plimsoll_net::url::Url;
use plimsoll_shoal::agent::cache::{Cache, find, probe};
use plimsoll_shoal::agent::{Probe, squid};
use plimsoll_shoal::heartbeat::Kind;
use plimsoll_testing::{servers, skip, wait_until};
use rustix::process::Signal;

use crate::serve::{Server, answer};

pub(crate) struct Squid {
    own: servers::Squid,
    pub(crate) port: u16,
}

impl Squid {
    /// A running one; `None`, said by name, where the program is not installed.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let settings = |_: &_| {
            "access_log none\ncache_mem 8 MB\nvisible_hostname test\nicp_port 0\n\
             http_access allow localhost\nhttp_access deny all\n"
                .to_owned()
        };
        let own = servers::Squid::own(test, settings)?;
        let squid = Self { port: own.port(), own };
        wait_until("Squid answers", || probe(&Plain, &squid.cache(), &squid.probe()).is_ok());
        Some(squid)
    }

    /// Ends it at once.
    pub(crate) fn end(&mut self) {
        self.own.as_mut().signal(Signal::KILL);
        self.own.as_mut().wait();
    }

    fn cache(&self) -> Cache {
        let address = [127, 0, 0, 1].into();
        Cache { kind: Kind::Squid, address, port: self.port, seen: true, others: 0 }
    }

    fn probe(&self) -> Probe {
        Probe { url: None, time: Duration::from_secs(10) }
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
    squid.own.as_mut().signal(Signal::STOP);
    let short = Probe { url: None, time: Duration::from_millis(300) };
    assert!(probe(&Plain, &squid.cache(), &short).is_err());
    squid.own.as_mut().signal(Signal::CONT);
    probe(&Plain, &squid.cache(), &squid.probe()).unwrap();
    squid.end();
    assert!(probe(&Plain, &squid.cache(), &squid.probe()).is_err());
}

/// Only root, or who runs it, sees a Squid's sockets; and another Squid may run on this host.
#[test]
fn a_real_squid_is_found_below_the_real_root() {
    let test = "a_real_squid_is_found_below_the_real_root";
    let Some(squid) = Squid::start(test) else { return };
    let proc = format!("/proc/{}", squid.own.id());
    if fs::read_dir(format!("{proc}/fd")).and_then(|mut fds| fds.next().unwrap()).is_err() {
        return skip(test, "root: the descriptors of a Squid cannot be read");
    }
    // A root with this process alone.
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("proc")).unwrap();
    let id = squid.own.id().to_string();
    std::os::unix::fs::symlink(&proc, root.path().join("proc").join(id)).unwrap();
    assert_eq!(find(root.path(), None, None), squid.cache());
}
