//! nginx as the balancer of a pool: its servers stand in a file, and it takes a new one by a
//! graceful reload, after `nginx -t` has found nothing wrong with it.
//!
//! How many requests there were and how many are under way says `stub_status`, on a socket of its
//! own. How they ended says its log.
//!
//! Workers of before a reload go on with the servers that they knew: they take connections for a
//! moment more, keep those on which no request has come so far, and end what they have. Nobody
//! hurries them. A server that leaves is ended when none of them has a connection to it, or its
//! time is over; and who is added where there was none is in when those are gone that know nobody.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::checks::Checks;
use super::ends::Log;
use super::upstream::{Server, servers_of, upstream};
use super::workers::{accept_no_more, are_connected, retire};
use super::{BalancerCounts, Balances, Member, Newcomer, Settings};
use crate::balance::State;
use crate::command::Deadline;
use crate::error::TestbedError;
use crate::reach::Reach;
use crate::thing::children;

/// The file of its servers, in its folder.
const SERVERS: &str = "upstream.conf";
/// How long a reload may take.
const RELOAD: Duration = Duration::from_secs(20);
/// The longest file of servers, bytes.
const MOST_SERVERS: u64 = 1 << 20;
/// By then nginx has written to its log what has ended, twice of the `flush` of its configuration.
const WRITTEN: Duration = Duration::from_millis(40);
/// How long the page of its status may take.
const STATUS: Duration = Duration::from_secs(5);
/// The longest page, bytes.
const MOST_STATUS: u64 = 64 * 1024;

/// nginx, in the place where it runs.
pub(super) struct Nginx<'a> {
    reach: Reach<'a>,
    settings: Settings,
    checks: Checks,
    servers: Mutex<Vec<Server>>,
    log: Mutex<Log>,
}

/// What its status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    /// Connections of clients that are open.
    connections: u64,
    requests: u64,
    writing: u64,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Nginx<'a> {
    pub(super) fn of(reach: Reach<'a>, settings: Settings) -> Self {
        let (servers, log) = (Mutex::default(), Mutex::default());
        Self { reach, settings, checks: Checks::default(), servers, log }
    }

    /// That which a process before has left: it takes the servers of its file anew, as that process
    /// may have ended before it told nginx of them, and what ends from now on is counted.
    #[expect(clippy::disallowed_methods, reason = "waits for another process to write")]
    pub(super) fn adopted(reach: Reach<'a>, settings: Settings) -> Result<Self, TestbedError> {
        let of = Self::of(reach, settings);
        let path = of.reach.folder().join(SERVERS);
        let text = File::open(&path).and_then(|file| {
            let mut text = String::new();
            file.take(MOST_SERVERS).read_to_string(&mut text).map(|_| text)
        });
        let text = text.map_err(TestbedError::file("read", &path))?;
        let servers = servers_of(&text, &of.settings);
        drop(of.take_servers(&servers)?);
        {
            let mut log = lock(&of.log);
            for server in &servers {
                log.names.insert(server.address.to_string(), server.name.clone());
            }
            // What has ended is written by then.
            std::thread::sleep(WRITTEN);
            log.skip(&of.reach)?;
            let status = of.status(&mut log)?;
            // What is under way ends from now on.
            log.asked += status.requests.saturating_sub(status.writing);
        }
        for Server { name, address, .. } in &servers {
            of.checks.watch(name, *address, of.settings.check.as_deref());
        }
        *lock(&of.servers) = servers;
        Ok(of)
    }

    /// The number of its master. Where that has ended, a worker that it has left answers still, and
    /// takes no servers any more.
    fn master(&self) -> Result<u32, TestbedError> {
        self.reach.process().ok_or_else(|| self.reach.is_gone())
    }

    /// Has nginx take these servers. Returns the workers of before, which end what they have.
    fn take_servers(&self, servers: &[Server]) -> Result<Vec<(u32, u64)>, TestbedError> {
        let deadline = Deadline::within(RELOAD);
        self.reach.write(SERVERS, &upstream(servers, &self.settings))?;
        let folder = self.reach.folder().display().to_string();
        let (conf, log) = (format!("{folder}/nginx.conf"), format!("{folder}/error.log"));
        let test = ["nginx", "-t", "-q", "-c", &conf, "-e", &log].map(str::to_owned);
        self.reach.run("test", &test, &deadline)?;
        let master = self.master()?;
        let before = children(master);
        self.reach.signal("HUP", &deadline)?;
        // New workers are there when it has taken the file.
        let has_taken = || children(master).iter().any(|of| !before.contains(of));
        let taken = deadline.until(|| match self.reach.process() == Some(master) {
            true => Ok(has_taken().then_some(())),
            false => Err(self.reach.is_gone()),
        })?;
        taken.map(|()| before.clone()).ok_or_else(|| self.reach.is_gone())
    }

    /// Changes the servers; where nginx does not take them, they are as before.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Server>) -> Result<T, TestbedError>,
    ) -> Result<(T, Vec<(u32, u64)>), TestbedError> {
        let mut servers = lock(&self.servers);
        let mut changed = servers.clone();
        let result = change(&mut changed)?;
        match self.take_servers(&changed) {
            Ok(before) => {
                *servers = changed;
                Ok((result, before))
            }
            Err(error) => {
                // What it runs with stays; the file says the same again.
                let _ = self.reach.write(SERVERS, &upstream(&servers, &self.settings));
                Err(error)
            }
        }
    }

    /// Takes a server out of the file. Returns it with the workers of before.
    fn take_out(&self, name: &str) -> Result<(Server, Vec<(u32, u64)>), TestbedError> {
        self.checks.forget(name);
        self.change(|servers| {
            let at = servers.iter().position(|of| of.name == name).ok_or_else(|| {
                TestbedError::Wrong(format!("find the instance {name}: none has that name"))
            })?;
            Ok(servers.remove(at))
        })
    }

    fn status(&self, log: &mut Log) -> Result<Status, TestbedError> {
        let path = self.reach.folder().join("status");
        let asked = || -> std::io::Result<String> {
            let mut stream = UnixStream::connect(&path)?;
            stream.set_read_timeout(Some(STATUS))?;
            stream.set_write_timeout(Some(STATUS))?;
            stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
            let mut page = String::new();
            stream.take(MOST_STATUS).read_to_string(&mut page)?;
            Ok(page)
        };
        let page = asked().map_err(TestbedError::file("ask nginx for its status at", &path))?;
        log.asked += 1;
        let status = status_of(&page);
        let status = status.ok_or_else(|| {
            TestbedError::Wrong(format!("read the status of nginx at {}", path.display()))
        })?;
        Ok(Status {
            // One is that which asks.
            connections: status.connections.saturating_sub(1),
            requests: status.requests.saturating_sub(log.asked),
            writing: status.writing.saturating_sub(1),
        })
    }

    /// Takes those out that are not well, and those in that are again.
    fn check(&self) -> Result<Vec<Server>, TestbedError> {
        let servers = lock(&self.servers).clone();
        let out = self.checks.out();
        let differs = |of: &Server| out.contains(&of.name) != of.is_out;
        if !servers.iter().any(differs) {
            return Ok(servers);
        }
        self.change(|servers| {
            for of in servers.iter_mut() {
                of.is_out = out.contains(&of.name);
            }
            Ok(servers.clone())
        })
        .map(|(servers, _)| servers)
    }

    fn seen(&self, takes_times: bool) -> Result<BalancerCounts, TestbedError> {
        self.master()?;
        let servers = self.check()?;
        let mut log = lock(&self.log);
        // First what is over: a request that ends in between is under way.
        log.read(&self.reach)?;
        let Status { connections, requests, writing } = self.status(&mut log)?;
        let member = |of: &Server| {
            let did = log.tally.of(&of.name);
            Member {
                name: of.name.clone(),
                state: if of.is_out { State::Out } else { State::In },
                active: None,
                answered: did.answered,
                failed: did.failed,
                ill: self.checks.ill(&of.name),
            }
        };
        let instances = servers.iter().map(member).collect();
        let seen = BalancerCounts {
            connections,
            requests,
            active: writing,
            instances,
            ..BalancerCounts::default()
        };
        let times = if takes_times { log.tally.take_times() } else { Vec::new() };
        Ok(log.tally.tell(BalancerCounts { times, ..seen }, writing))
    }
}

impl Balances for Nginx<'_> {
    fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError> {
        let Newcomer { name, address, weight } = newcomer.clone();
        lock(&self.log).names.insert(address.to_string(), name.clone());
        let (had_none, before) = self.change(|servers| {
            if servers.iter().any(|of| of.name == name) {
                let text = format!("add the instance {name}: one has that name");
                return Err(TestbedError::Wrong(text));
            }
            let had_none = servers.iter().all(|of| of.is_out);
            servers.push(Server { name: name.clone(), address, weight, is_out: false });
            Ok(had_none)
        })?;
        // What comes to those that know none they would refuse.
        match had_none {
            true => retire(&before),
            false => accept_no_more(&before),
        }
        self.checks.watch(&name, address, self.settings.check.as_deref());
        Ok(())
    }

    fn drain(&self, name: &str, within: Duration) -> Result<(), TestbedError> {
        let deadline = Deadline::within(within);
        let (Server { address, .. }, before) = self.take_out(name)?;
        // Only workers of before can have requests of it, or get some.
        retire(&before);
        while are_connected(&before, address) {
            if deadline.is_over() {
                lock(&self.log).tally.cuts(name, 0);
                break;
            }
            deadline.pause();
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), TestbedError> {
        self.take_out(name).map(drop)
    }

    fn forget(&self) -> Result<(), TestbedError> {
        let mut servers = lock(&self.servers);
        servers.iter().for_each(|of| self.checks.forget(&of.name));
        servers.clear();
        *lock(&self.log) = Log::default();
        Ok(())
    }

    fn look(&self) -> Result<BalancerCounts, TestbedError> {
        self.seen(false)
    }

    fn take(&self) -> Result<BalancerCounts, TestbedError> {
        self.seen(true)
    }
}

/// Reads the page of `stub_status`.
fn status_of(page: &str) -> Option<Status> {
    const OPEN: &str = "Active connections:";
    let connections = page.lines().find_map(|line| line.strip_prefix(OPEN));
    let connections = connections?.trim().parse().ok()?;
    let mut lines = page.lines().skip_while(|line| !line.starts_with("server accepts"));
    let requests = lines.nth(1)?.split_whitespace().nth(2)?.parse().ok()?;
    let mut words = lines.next()?.split_whitespace().skip_while(|word| *word != "Writing:");
    Some(Status { connections, requests, writing: words.nth(1)?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read() {
        let page = "HTTP/1.1 200 OK\r\n\r\nActive connections: 2 \n\
                    server accepts handled requests\n 7 7 31 \nReading: 0 Writing: 3 Waiting: 1 \n";
        assert_eq!(status_of(page), Some(Status { connections: 2, requests: 31, writing: 3 }));
        assert_eq!(status_of("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }
}
