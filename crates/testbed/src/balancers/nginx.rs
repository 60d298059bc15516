//! nginx as the balancer of a pool: its servers stand in a file, and it takes a new one by a
//! graceful reload, after `nginx -t` has found nothing wrong with it.
//!
//! How many requests there were and how many are under way says `stub_status`, on a socket of its
//! own. How they ended says its log, which is read as it is written; the place that it takes is
//! given back when it is read.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

use super::checks::Checks;
use super::tally::{Cause, How, Tally};
use super::upstream::{Server, UPSTREAM, servers_of, upstream};
use super::{Balances, Member, Newcomer, Seen, Settings};
use crate::balance::State;
use crate::command::Deadline;
use crate::error::TestbedError;
use crate::reach::Reach;
use crate::thing::{children, runs};

/// The file of its servers, in its folder.
const SERVERS: &str = "upstream.conf";
/// How long a reload may take.
const RELOAD: Duration = Duration::from_secs(20);
/// The longest file of servers, bytes.
const MOST_SERVERS: u64 = 1 << 20;
/// By then nginx has written to its log what has ended, twice of the `flush` of its configuration.
const WRITTEN: Duration = Duration::from_millis(40);
/// How long connections that were to be closed may take to go.
const LAST: Duration = Duration::from_secs(5);
/// How long the page of its status may take.
const STATUS: Duration = Duration::from_secs(5);
/// The longest page, bytes.
const MOST_STATUS: u64 = 64 * 1024;
/// So much of the log is read at once, bytes.
const BLOCK: usize = 256 * 1024;
/// nginx, in the place where it runs.
pub(super) struct Nginx<'a> {
    reach: Reach<'a>,
    settings: Settings,
    checks: Checks,
    servers: Mutex<Vec<Server>>,
    log: Mutex<Log>,
}

/// What its log has said so far.
#[derive(Debug, Default)]
struct Log {
    file: Option<File>,
    /// So many bytes were read.
    at: u64,
    /// The beginning of a line that has not come whole.
    rest: Vec<u8>,
    /// The names of servers, by their addresses; those too that are gone.
    names: BTreeMap<String, String>,
    tally: Tally,
    /// How often the status was asked for: nginx counts these requests too.
    asked: u64,
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

    /// Has nginx take these servers. Returns the workers of before, which end what they have.
    fn take_servers(&self, servers: &[Server]) -> Result<Vec<(u32, u64)>, TestbedError> {
        let deadline = Deadline::within(RELOAD);
        self.reach.write(SERVERS, &upstream(servers, &self.settings))?;
        let folder = self.reach.folder().display().to_string();
        let (conf, log) = (format!("{folder}/nginx.conf"), format!("{folder}/error.log"));
        let test = ["nginx", "-t", "-q", "-c", &conf, "-e", &log].map(str::to_owned);
        self.reach.run("test", &test, &deadline)?;
        let Some(master) = self.reach.process() else { return Err(self.reach.is_gone()) };
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

    /// Takes a server out of the file. Returns the workers of before.
    fn take_out(&self, name: &str) -> Result<Vec<(u32, u64)>, TestbedError> {
        self.checks.forget(name);
        let taken = self.change(|servers| {
            let at = servers.iter().position(|of| of.name == name).ok_or_else(|| {
                TestbedError::Wrong(format!("find the instance {name}: none has that name"))
            })?;
            servers.remove(at);
            Ok(())
        });
        taken.map(|((), before)| before)
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
        let differs = |of: &Server| self.checks.is_out(&of.name) != of.is_out;
        if !servers.iter().any(differs) {
            return Ok(servers);
        }
        self.change(|servers| {
            for of in servers.iter_mut() {
                of.is_out = self.checks.is_out(&of.name);
            }
            Ok(servers.clone())
        })
        .map(|(servers, _)| servers)
    }

    fn seen(&self, takes_times: bool) -> Result<Seen, TestbedError> {
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
            }
        };
        let instances = servers.iter().map(member).collect();
        let seen = Seen { connections, requests, active: writing, instances, ..Seen::default() };
        let times = if takes_times { log.tally.take_times() } else { Vec::new() };
        Ok(log.tally.tell(Seen { times, ..seen }))
    }
}

impl Balances for Nginx<'_> {
    fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError> {
        let Newcomer { name, address, weight } = newcomer.clone();
        lock(&self.log).names.insert(address.to_string(), name.clone());
        let added = self.change(|servers| {
            if servers.iter().any(|of| of.name == name) {
                let text = format!("add the instance {name}: one has that name");
                return Err(TestbedError::Wrong(text));
            }
            servers.push(Server { name: name.clone(), address, weight, is_out: false });
            Ok(())
        });
        added?;
        self.checks.watch(&name, address, self.settings.check.as_deref());
        Ok(())
    }

    fn drain(&self, name: &str, within: Duration) -> Result<(), TestbedError> {
        let before = self.take_out(name)?;
        // Only workers of before can have requests of it.
        let deadline = Deadline::within(within + LAST);
        while before.iter().any(|(pid, started)| runs(*pid, *started)) && !deadline.is_over() {
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

    fn look(&self) -> Result<Seen, TestbedError> {
        self.seen(false)
    }

    fn take(&self) -> Result<Seen, TestbedError> {
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

impl Log {
    /// Leaves out what was written so far.
    fn skip(&mut self, reach: &Reach<'_>) -> Result<(), TestbedError> {
        let names = std::mem::take(&mut self.names);
        self.read(reach)?;
        // A line that has not come whole ends from now on.
        (self.names, self.tally) = (names, Tally::default());
        Ok(())
    }

    /// Reads what was written since the last time, and gives its place back.
    fn read(&mut self, reach: &Reach<'_>) -> Result<(), TestbedError> {
        let path = reach.folder().join("ends.log");
        let failed = TestbedError::file("read", &path);
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
            match options.open(&path) {
                Ok(file) => self.file = Some(file),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        let result = self.read_from(&file);
        self.file = Some(file);
        result.map_err(failed)
    }

    fn read_from(&mut self, file: &File) -> std::io::Result<()> {
        let (began, mut block) = (self.at, vec![0; BLOCK]);
        loop {
            let read = file.read_at(&mut block, self.at)?;
            if read == 0 {
                break;
            }
            self.at += read as u64;
            let mut lines = std::mem::take(&mut self.rest);
            lines.extend_from_slice(&block[..read]);
            let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.rest = lines.split_off(whole);
            for line in String::from_utf8_lossy(&lines).lines() {
                self.ended(line);
            }
        }
        if self.at > began {
            // Where the file system cannot, the file is as long as it was written.
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(file, flags, 0, self.at);
        }
        Ok(())
    }

    /// A request ended, as a line of the log has it.
    fn ended(&mut self, line: &str) {
        let Some(end) = End::of(line) else { return self.tally.ended(None, How::Unknown) };
        let name = |address: &&str| self.names.get(*address).cloned();
        for failed in end.tried.iter().filter_map(name) {
            self.tally.failed(&failed);
        }
        let instance = name(&end.last);
        if let (Some(instance), true) = (&instance, end.is_its_failure) {
            self.tally.failed(instance);
        }
        self.tally.ended(instance.as_deref(), end.how);
    }
}

/// The end of a request.
#[derive(Debug, PartialEq, Eq)]
struct End<'a> {
    /// The servers that were tried and failed before the last.
    tried: Vec<&'a str>,
    /// The last.
    last: &'a str,
    how: How,
    /// Whether the last has failed it.
    is_its_failure: bool,
}

impl<'a> End<'a> {
    /// Reads a line of the log; `None` where it is none.
    fn of(line: &'a str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [status, completion, method, addresses, heads, times, lengths, wanted] = fields[..]
        else {
            return None;
        };
        let status: u16 = status.parse().ok()?;
        let mut tried: Vec<&str> = addresses.split(", ").collect();
        let last = tried.pop()?;
        let of_last = |list: &'a str| list.rsplit(", ").next().unwrap_or_default();
        let has_head = of_last(heads).parse::<f64>().is_ok();
        let length: Option<u64> = of_last(lengths).parse().ok();
        let is_short = method != "HEAD"
            && !matches!(status, 204 | 304)
            && wanted.parse::<u64>().is_ok_and(|wanted| length.is_some_and(|of| of < wanted));
        let (how, is_its_failure) = if has_head && !(is_short || status == 499) {
            let took: f64 = of_last(times).parse().ok()?;
            (How::Answered(Duration::try_from_secs_f64(took).ok()?), false)
        } else if last == UPSTREAM || last == "-" && matches!(status, 502 | 503) {
            (How::Lost(Cause::NoSlot), false)
        } else if status == 499 || completion.is_empty() {
            (How::Lost(Cause::ClientGone), false)
        } else if status == 504 {
            (How::Lost(Cause::Timeout), true)
        } else if last == "-" {
            // What a client has sent that is no request.
            (How::Lost(Cause::ClientGone), false)
        } else {
            (How::Lost(Cause::InstanceFailed), true)
        };
        Some(Self { tried, last, how, is_its_failure })
    }
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

    #[test]
    fn how_a_request_ended_is_read() {
        let answered = |line| match End::of(line) {
            Some(End { how: How::Answered(took), .. }) => Some(took.as_millis()),
            _ => None,
        };
        assert_eq!(answered("200\tOK\tGET\t127.0.0.1:1\t0.020\t0.021\t5\t5"), Some(21));
        // Whatever the status: an instance has said it.
        assert_eq!(answered("502\tOK\tGET\t127.0.0.1:1\t0.020\t0.021\t5\t-"), Some(21));
        assert_eq!(answered("200\tOK\tHEAD\t127.0.0.1:1\t0.001\t0.001\t0\t5"), Some(1));
        let two = "200\tOK\tGET\t127.0.0.1:1, 127.0.0.1:2\t-, 0.020\t0.000, 0.021\t0, 5\t5";
        assert_eq!(answered(two), Some(21));
        let end = End::of(two).unwrap();
        assert_eq!((end.tried, end.last), (vec!["127.0.0.1:1"], "127.0.0.1:2"));
        let cases = [
            ("502\tOK\tGET\tpool\t-\t-\t0\t-", Cause::NoSlot),
            ("502\tOK\tGET\t127.0.0.1:1\t-\t0.000\t0\t-", Cause::InstanceFailed),
            ("200\tOK\tGET\t127.0.0.1:1\t0.001\t0.002\t3\t5", Cause::InstanceFailed),
            ("200\t\tGET\t127.0.0.1:1\t0.001\t0.002\t3\t5", Cause::ClientGone),
            ("499\t\tGET\t127.0.0.1:1\t-\t0.500\t0\t-", Cause::ClientGone),
            ("504\tOK\tGET\t127.0.0.1:1\t-\t60.000\t0\t-", Cause::Timeout),
            ("400\tOK\t\t-\t-\t-\t-\t-", Cause::ClientGone),
        ];
        for (line, expected) in cases {
            assert_eq!(End::of(line).unwrap().how, How::Lost(expected), "{line}");
        }
        assert_eq!(End::of("200 OK"), None);
    }
}
