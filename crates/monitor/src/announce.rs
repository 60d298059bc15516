//! Instances that announce themselves: a heartbeat from each says where it serves, and who follows
//! a pool hears them.
//!
//! | asked for | means |
//! | --- | --- |
//! | `PUT /instances/NAME/AT/MS` | the instance NAME serves at the address AT, or at a port AT of the host that asks, and says so again in MS milliseconds |
//! | `DELETE /instances/NAME` | it is about to leave |
//! | `GET /instances` | those that live, as JSON |
//!
//! An instance lives while it was heard within two of its periods. This host may announce whatever
//! it likes; others need the token, and where there is none they are refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_net::http::access::{bearer, is_equal, is_for_this_host};
use plimsoll_net::http::client::{Ask, Limits, Plain};
use plimsoll_net::http::respond::{Answer, Bounds, Request, Server};
use plimsoll_net::url::Url;

use crate::sampler::Clock;

/// The most instances that are known at once.
const MOST: usize = 10_000;
/// The longest name.
const MOST_NAME: usize = 63;
/// The periods that an announcement may have, milliseconds.
const PERIODS_MS: (u64, u64) = (100, 60_000);
/// An instance that was not heard for so many of its periods is gone.
const SILENT: u64 = 2;
/// How long a heartbeat may take.
const LIMIT: Duration = Duration::from_secs(2);
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// An instance that was announced.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Announced {
    /// Its name.
    pub name: String,
    /// Where it serves.
    pub address: SocketAddr,
}

/// When an instance was heard last.
#[derive(Debug, Clone, Copy)]
struct Heartbeat {
    address: SocketAddr,
    at_ns: u64,
    every_ns: u64,
}

type List = Mutex<BTreeMap<String, Heartbeat>>;

fn lock(of: &List) -> MutexGuard<'_, BTreeMap<String, Heartbeat>> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears the heartbeats of instances; dropped, it ends.
pub struct Hearing {
    server: Server,
    list: Arc<List>,
    clock: Clock,
}

impl std::fmt::Debug for Hearing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hearing").field("address", &self.server.address()).finish_non_exhaustive()
    }
}

impl Hearing {
    /// Hears at a listening socket. `token` is asked of all that are not this host; without one
    /// only this host is heard. `clock` tells nanoseconds.
    ///
    /// # Errors
    /// Where the socket cannot be used.
    pub fn start(listener: TcpListener, token: Option<Vec<u8>>, clock: Clock) -> io::Result<Self> {
        let list: Arc<List> = Arc::default();
        let (heard, now) = (Arc::clone(&list), Arc::clone(&clock));
        let answer = move |request: &Request<'_>| respond(request, token.as_deref(), &heard, now());
        let server = Server::start(listener, "hearing", Bounds::default(), answer)?;
        Ok(Self { server, list, clock })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The instances that live, by their names. The others are forgotten.
    #[must_use]
    pub fn living(&self) -> Vec<Announced> {
        living(&mut lock(&self.list), (self.clock)())
    }

    /// The longest period of those that live: after two of them all that live were heard.
    #[must_use]
    pub fn longest_period(&self) -> Duration {
        let longest = lock(&self.list).values().map(|of| of.every_ns).max();
        Duration::from_nanos(longest.unwrap_or(0))
    }
}

fn living(list: &mut BTreeMap<String, Heartbeat>, now_ns: u64) -> Vec<Announced> {
    list.retain(|_, of| now_ns.saturating_sub(of.at_ns) <= SILENT * of.every_ns);
    let one =
        |(name, of): (&String, &Heartbeat)| Announced { name: name.clone(), address: of.address };
    list.iter().map(one).collect()
}

/// Whether a text can name an instance wherever names stand: in files and commands of balancers.
fn is_name(text: &str) -> bool {
    let is_of_one = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=MOST_NAME).contains(&text.len()) && text.chars().all(is_of_one)
}

/// Where an instance serves: an address, or a port of who asks.
fn place(text: &str, peer: IpAddr) -> Option<SocketAddr> {
    let port = || Some(SocketAddr::new(peer.to_canonical(), text.parse().ok()?));
    let at = text.parse().ok().or_else(port)?;
    (at.port() > 0).then_some(at)
}

fn respond(request: &Request<'_>, token: Option<&[u8]>, list: &List, now_ns: u64) -> Answer {
    let refused = |status, why: &str| Answer::new(status, TEXT, format!("{why}\n"));
    let is_here = request.peer.to_canonical().is_loopback();
    let has_token =
        || token.zip(bearer(request)).is_some_and(|(token, of)| is_equal(token, of.as_bytes()));
    if !is_here && !has_token() {
        return refused(401, "expected the header Authorization: Bearer TOKEN");
    }
    if !is_for_this_host(request, None) {
        return refused(421, "the header Host names no address of this host");
    }
    let words: Vec<&str> = request.path.split('/').skip(1).collect();
    match (request.method, words.as_slice()) {
        ("GET", ["instances"]) => {
            let all = living(&mut lock(list), now_ns);
            let one = |of: &Announced| {
                let address = of.address.to_string();
                serde_json::json!({ "name": of.name, "address": address })
            };
            let all: Vec<_> = all.iter().map(one).collect();
            Answer::new(200, JSON, format!("{}\n", serde_json::json!({ "instances": all })))
        }
        ("PUT", ["instances", name, at, every]) => {
            let at = place(at, request.peer);
            let every_ms =
                every.parse().ok().filter(|ms| (PERIODS_MS.0..=PERIODS_MS.1).contains(ms));
            let (true, Some(address), Some(every_ms)) = (is_name(name), at, every_ms) else {
                return refused(
                    400,
                    "expected /instances/NAME/AT/MS: a name of letters, digits, -, _ and ., an \
                     address or a port, and a period from 100 to 60000 ms",
                );
            };
            let mut list = lock(list);
            living(&mut list, now_ns);
            match list.get(*name) {
                Some(of) if of.address != address => {
                    return refused(409, &format!("{name} is announced at {}", of.address));
                }
                None if list.len() >= MOST => return refused(503, "too many instances"),
                _ => {}
            }
            let every_ns = every_ms * 1_000_000;
            list.insert((*name).to_owned(), Heartbeat { address, at_ns: now_ns, every_ns });
            Answer::new(200, TEXT, "heard\n")
        }
        ("DELETE", ["instances", name]) => {
            lock(list).remove(*name);
            Answer::new(200, TEXT, "forgotten\n")
        }
        (_, ["instances", ..]) => refused(405, "PUT, DELETE and GET are answered"),
        _ => refused(404, "there is /instances, /instances/NAME/AT/MS and /instances/NAME"),
    }
}

/// What is announced, and to whom.
#[derive(Debug, Clone)]
pub struct Announcement {
    /// Who hears it.
    pub to: Url,
    /// The name of the instance.
    pub name: String,
    /// Where it serves: an address, or a port of this host.
    pub at: String,
    /// How often it is said.
    pub every: Duration,
    /// The token that is given.
    pub token: Option<Vec<u8>>,
}

impl Announcement {
    /// Says once that the instance lives, or that it leaves.
    fn say(&self, leaves: bool) -> Result<(), String> {
        let mut path = format!("/instances/{}", self.name);
        if !leaves {
            // Writing to a text cannot fail.
            let _ = write!(path, "/{}/{}", self.at, self.every.as_millis());
        }
        let url = Url { path, ..self.to.clone() };
        let token = self.token.as_ref().map(|of| format!("Bearer {}", String::from_utf8_lossy(of)));
        let headers: Vec<(&str, &str)> =
            token.iter().map(|of| ("authorization", of.as_str())).collect();
        let method = if leaves { "DELETE" } else { "PUT" };
        let ask = Ask { method, headers: &headers, ..Ask::get(&url) };
        let answer = ask.send(&Plain, Limits::within(LIMIT)).map_err(|error| error.to_string())?;
        match answer.status {
            200 => Ok(()),
            status => {
                let text = String::from_utf8_lossy(&answer.body);
                let why: String =
                    text.lines().next().unwrap_or_default().chars().take(200).collect();
                Err(format!("{status} {why}"))
            }
        }
    }
}

#[derive(Debug, Default)]
struct Ending {
    is_over: Mutex<bool>,
    changed: Condvar,
}

/// Announces an instance again and again; dropped, it says that the instance leaves.
#[derive(Debug)]
pub struct Announcer {
    ending: Arc<Ending>,
    thread: Option<JoinHandle<()>>,
}

impl Announcer {
    /// Begins to announce. `tells` is told when it is heard for the first time, and when it is not
    /// any more; who hears it may come later, and may be away.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub fn start(of: Announcement, tells: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let ending = Arc::new(Ending::default());
        let over = Arc::clone(&ending);
        let announces = move || {
            let mut was_heard = None;
            let mut is_over = over.is_over.lock().unwrap_or_else(PoisonError::into_inner);
            while !*is_over {
                drop(is_over);
                let said = of.say(false);
                if was_heard != Some(said.is_ok()) {
                    was_heard = Some(said.is_ok());
                    tells(&match said {
                        Ok(()) => format!("announced to {}", of.to),
                        Err(why) => format!("not heard by {}: {why}", of.to),
                    });
                }
                is_over = over.is_over.lock().unwrap_or_else(PoisonError::into_inner);
                if !*is_over {
                    let waited = over.changed.wait_timeout(is_over, of.every);
                    is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
            drop(is_over);
            // Where it is not heard, its silence says the same.
            let _ = of.say(true);
        };
        let thread = std::thread::Builder::new().name("announcer".to_owned()).spawn(announces)?;
        Ok(Self { ending, thread: Some(thread) })
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        *self.ending.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ending.changed.notify_all();
        // A thread that panicked has told so itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn hearing(token: Option<&str>) -> (Hearing, Arc<AtomicU64>) {
        let time = Arc::new(AtomicU64::new(1_000_000_000));
        let now = Arc::clone(&time);
        let clock: Clock = Arc::new(move || now.load(Ordering::Relaxed));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let token = token.map(|of| of.as_bytes().to_vec());
        (Hearing::start(listener, token, clock).unwrap(), time)
    }

    fn announcement(hearing: &Hearing, name: &str, at: &str) -> Announcement {
        let to = Url::parse(&format!("http://{}/", hearing.address())).unwrap();
        let every = Duration::from_secs(1);
        Announcement { to, name: name.to_owned(), at: at.to_owned(), every, token: None }
    }

    fn names(hearing: &Hearing) -> Vec<String> {
        hearing.living().into_iter().map(|of| format!("{} {}", of.name, of.address)).collect()
    }

    #[test]
    fn who_was_heard_within_two_periods_lives() {
        let (hearing, time) = hearing(None);
        let one = announcement(&hearing, "web7", "8080");
        let other = announcement(&hearing, "web-8", "10.0.0.8:80");
        one.say(false).unwrap();
        other.say(false).unwrap();
        assert_eq!(names(&hearing), ["web-8 10.0.0.8:80", "web7 127.0.0.1:8080"]);
        time.fetch_add(2_000_000_000, Ordering::Relaxed);
        one.say(false).unwrap();
        assert_eq!(names(&hearing).len(), 2, "just two periods");
        time.fetch_add(1, Ordering::Relaxed);
        assert_eq!(names(&hearing), ["web7 127.0.0.1:8080"]);
        one.say(true).unwrap();
        assert!(names(&hearing).is_empty());
    }

    #[test]
    fn what_is_no_announcement_is_refused() {
        let (hearing, _) = hearing(None);
        let says = |name: &str, at: &str| announcement(&hearing, name, at).say(false);
        says("web7", "8080").unwrap();
        for (name, at) in [("web7", "8081"), ("a;b", "80"), ("a", "0"), ("a", "x"), ("", "80")] {
            assert!(says(name, at).is_err(), "{name} {at}");
        }
        assert!(says(&"n".repeat(64), "80").is_err());
        assert_eq!(names(&hearing), ["web7 127.0.0.1:8080"]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "waits for another thread")]
    fn an_announcer_says_so_until_it_leaves() {
        let (hearing, _) = hearing(Some("secret"));
        let announcer =
            Announcer::start(announcement(&hearing, "web7", "8080"), |_: &str| ()).unwrap();
        while hearing.living().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(announcer);
        assert!(hearing.living().is_empty());
    }
}
