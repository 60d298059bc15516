//! Asks instances again and again whether they are well, for a balancer that does not.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_net::http::client::{self, Ask, Limits, Plain};
use plimsoll_net::url::Url;

/// How often each is asked.
const EVERY: Duration = Duration::from_secs(1);
/// How long the answer may take; and that of an instance which is asked again, as it did not answer
/// in time: a host that stood still meanwhile is no reason to call its instances ill.
const WITHIN: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

/// What is known of those that are asked.
#[derive(Debug, Default)]
struct Known {
    /// By their names: whether they are out.
    out: BTreeMap<String, bool>,
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
        self.shared.known().out.insert(name.to_owned(), false);
        let (shared, name) = (Arc::clone(&self.shared), name.to_owned());
        let path = path.map(str::to_owned);
        let asks = move || {
            let mut known = shared.known();
            while !known.is_over && known.out.contains_key(&name) {
                drop(known);
                let is_out = !is_well(address, path.as_deref(), WITHIN);
                known = shared.known();
                if let Some(of) = known.out.get_mut(&name) {
                    *of = is_out;
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
        self.shared.known().out.remove(name);
        self.shared.changed.notify_all();
    }

    /// Whether an instance has not answered in time.
    pub(super) fn is_out(&self, name: &str) -> bool {
        self.shared.known().out.get(name).copied().unwrap_or(false)
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

fn is_well(address: SocketAddr, path: Option<&str>, within: [Duration; 2]) -> bool {
    within.iter().find_map(|within| answers(address, path, *within)).unwrap_or(false)
}

fn is_late(error: &Error) -> bool {
    error.kind() == ErrorKind::TimedOut
}

/// Whether an instance answers that it is well; `None` where it does not answer in time.
fn answers(address: SocketAddr, path: Option<&str>, within: Duration) -> Option<bool> {
    let Some(path) = path else {
        let connected = TcpStream::connect_timeout(&address, within);
        return (!connected.as_ref().is_err_and(is_late)).then_some(connected.is_ok());
    };
    let Ok(url) = Url::parse(&format!("http://{address}{path}")) else { return Some(false) };
    match Ask::get(&url).send(&Plain, Limits::within(within)) {
        Ok(answer) => Some(answer.status < 500),
        Err(client::Error::Late(_)) => None,
        Err(client::Error::Connect { source, .. }) if is_late(&source) => None,
        Err(_) => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Deadline;
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
        assert!(is_well(answers_after(0), Some("/"), within));
        assert!(is_well(answers_after(1), Some("/"), within));
        let within = [Duration::from_millis(50); 2];
        assert!(!is_well(answers_after(2), Some("/"), within));
    }

    #[test]
    fn who_is_gone_is_out_and_who_is_forgotten_is_not_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let checks = Checks::default();
        checks.watch("web-1", address, None);
        drop(listener);
        checks.watch("web-2", address, None);
        let deadline = Deadline::within(Duration::from_secs(20));
        let are_out = || checks.is_out("web-1") && checks.is_out("web-2");
        while !are_out() && !deadline.is_over() {
            deadline.pause();
        }
        assert!(are_out());
        checks.forget("web-1");
        assert!(!checks.is_out("web-1"));
    }
}
