//! Asks instances again and again whether they are well, for a balancer that does not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_net::http::client::{self, Ask, Limits, Plain};
use plimsoll_net::url::Url;

use crate::balance::{Health, Ill, fail_together};
use crate::command::Deadline;

/// How often each is asked.
const EVERY: Duration = Duration::from_secs(1);
/// How long the answer may take; and that of an instance which is asked again, as it did not answer
/// in time: a host that stood still meanwhile is no reason to call its instances ill.
const WITHIN: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

/// What is known of one that is asked.
#[derive(Debug, Clone, Default)]
struct One {
    health: Health,
    /// Since when its answer is waited for.
    asked: Option<Deadline>,
}

/// What is known of those that are asked.
#[derive(Debug, Default)]
struct Known {
    /// By their names.
    all: BTreeMap<String, One>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    /// Told when somebody is not to be asked any more.
    changed: Condvar,
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks instances, each on a thread of its own.
#[derive(Debug, Default)]
pub(super) struct Checks {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Checks {
    /// Asks one more instance, for a path or whether it takes connections.
    pub(super) fn watch(&self, name: &str, address: SocketAddr, path: Option<&str>) {
        self.shared.known().all.insert(name.to_owned(), One::default());
        let (shared, name) = (Arc::clone(&self.shared), name.to_owned());
        let path = path.map(str::to_owned);
        let asks = move || {
            let mut known = shared.known();
            while !known.is_over
                && let Some(of) = known.all.get_mut(&name)
            {
                of.asked = Some(Deadline::within(Duration::MAX));
                drop(known);
                let answer = asked(address, path.as_deref(), WITHIN);
                known = shared.known();
                if let Some(of) = known.all.get_mut(&name) {
                    of.asked = None;
                    of.health.heard(answer);
                    let waited = shared.changed.wait_timeout(known, EVERY);
                    known = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        let thread = std::thread::Builder::new().name(format!("check-{address}")).spawn(asks);
        // Without a thread nobody says that it is out, and it stays in.
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.extend(thread);
    }

    /// Asks an instance no more.
    pub(super) fn forget(&self, name: &str) {
        self.shared.known().all.remove(name);
        self.shared.changed.notify_all();
    }

    /// What is wrong with an instance.
    pub(super) fn ill(&self, name: &str) -> Option<Ill> {
        let known = self.shared.known();
        let of = known.all.get(name)?;
        of.health.ill(of.asked.as_ref().map(Deadline::passed))
    }

    /// Those that take no requests for what their checks say.
    pub(super) fn out(&self) -> BTreeSet<String> {
        let known = self.shared.known();
        let ill = |of: &One| of.health.ill(of.asked.as_ref().map(Deadline::passed));
        let failing = known.all.values().filter(|of| ill(of).is_some()).count();
        let together = fail_together(failing, known.all.len());
        let out = known.all.iter().filter(|(_, of)| of.health.is_out(together));
        out.map(|(name, _)| name.clone()).collect()
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.shared.known().is_over = true;
        self.shared.changed.notify_all();
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What an instance answers. One that is late is asked again.
fn asked(address: SocketAddr, path: Option<&str>, within: [Duration; 2]) -> Result<(), Ill> {
    let mut answers = within.iter().map(|within| answer(address, path, *within));
    answers.find(|answer| *answer != Err(Ill::Late)).unwrap_or(Err(Ill::Late))
}

/// What an instance answers in time.
fn answer(address: SocketAddr, path: Option<&str>, within: Duration) -> Result<(), Ill> {
    let unconnected = |error: &Error| match error.kind() {
        ErrorKind::TimedOut => Ill::Late,
        _ => Ill::Gone,
    };
    let Some(path) = path else {
        let connected = TcpStream::connect_timeout(&address, within);
        return connected.map(drop).map_err(|error| unconnected(&error));
    };
    let url = Url::parse(&format!("http://{address}{path}")).map_err(|_| Ill::Wrong(None))?;
    match Ask::get(&url).send(&Plain, Limits::within(within)) {
        Ok(answer) if answer.status < 500 => Ok(()),
        Ok(answer) => Err(Ill::Wrong(Some(answer.status))),
        Err(client::Error::Late(_)) => Err(Ill::Late),
        Err(client::Error::Connect { source, .. }) => Err(unconnected(&source)),
        Err(_) => Err(Ill::Wrong(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Answers all requests but the first ones, so many, which it takes and keeps.
    fn answers_after(silent: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                if kept.len() < silent {
                    kept.push(stream);
                    continue;
                }
                let _ = stream.read(&mut [0; 1024]).unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
        });
        address
    }

    #[test]
    fn who_is_late_once_is_well_and_who_is_late_twice_is_not() {
        let within = [Duration::from_millis(50), plimsoll_testing::PATIENCE];
        assert_eq!(asked(answers_after(0), Some("/"), within), Ok(()));
        assert_eq!(asked(answers_after(1), Some("/"), within), Ok(()));
        let within = [Duration::from_millis(50); 2];
        assert_eq!(asked(answers_after(2), Some("/"), within), Err(Ill::Late));
    }

    #[test]
    fn who_is_gone_is_out_and_who_is_forgotten_is_not_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let checks = Checks::default();
        checks.watch("web-1", address, None);
        drop(listener);
        checks.watch("web-2", address, None);
        let names = |names: &[&str]| names.iter().map(|of| (*of).to_owned()).collect();
        let both: BTreeSet<String> = names(&["web-1", "web-2"]);
        // Both together, too: nobody can be asked anything who is gone.
        plimsoll_testing::wait_until("both are out", || checks.out() == both);
        assert_eq!(checks.ill("web-1"), Some(Ill::Gone));
        checks.forget("web-1");
        assert_eq!(checks.ill("web-1"), None);
        assert_eq!(checks.out(), names(&["web-2"]));
    }
}
