//! HAProxy as the balancer of a pool: servers come and go by its runtime socket, without a reload.
//!
//! How all stands says `show stat`. How requests ended says its log, which it keeps in a ring of a
//! bounded size; a thread reads it from there as it is written.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::settings::Since;
use super::tally::{Cause, How, Tally};
use super::{BalancerCounts, Balances, Member, Newcomer, Settings, settled};
use crate::balance::{Ill, State, fail_together};
use crate::command::Deadline;
use crate::error::TestbedError;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long connections that were to be closed may take to go.
const LAST: Duration = Duration::from_secs(5);
/// The longest answer, bytes.
const MOST_ANSWER: u64 = 16 << 20;
/// The longest line of the log, bytes.
const MOST_LINE: u64 = 4096;
/// HAProxy's greatest weight, and that of an instance of weight 1.
const WEIGHTS: (f64, f64) = (256.0, 100.0);

/// HAProxy, by its runtime socket.
pub(super) struct Haproxy {
    socket: PathBuf,
    settings: Settings,
    tally: Arc<Mutex<Tally>>,
    /// Who reads its log; nobody where it does not stand.
    reader: Mutex<Option<Reader>>,
    /// The id of the server that was added last.
    last_id: AtomicU32,
    /// Requests that it had counted when it was adopted, without those under way.
    counted: AtomicU64,
}

/// Who reads the log.
struct Reader {
    stream: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The thread ends with what it reads.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Haproxy {
    /// That of which this is the folder.
    pub(super) fn of(
        folder: &Path,
        settings: Settings,
        since: Since,
    ) -> Result<Self, TestbedError> {
        let socket = folder.join("control");
        let (tally, last_id, counted) = (Arc::default(), AtomicU32::new(0), AtomicU64::new(0));
        let reader = Mutex::new(None);
        let of = Self { socket, settings, tally, reader, last_id, counted };
        if since != Since::Gone {
            *lock(&of.reader) = Some(of.read(since)?);
        }
        if since == Since::Before {
            of.adopt()?;
        }
        Ok(of)
    }

    fn read(&self, since: Since) -> Result<Reader, TestbedError> {
        let failed = TestbedError::file("read the log of HAProxy at", &self.socket);
        read(&self.socket, &self.tally, (self.settings.queue == 0, since)).map_err(failed)
    }

    /// Takes over what stands: it counts from now on, what was about to be forgotten is, and no
    /// server gets the id of another.
    fn adopt(&self) -> Result<(), TestbedError> {
        let table = self.table()?;
        self.counted.store(table.requests.saturating_sub(table.under_way), Ordering::Relaxed);
        let last = table.servers.iter().map(|of| of.id).max().unwrap_or(0);
        self.last_id.store(last, Ordering::Relaxed);
        for of in table.servers.iter().filter(|of| of.is_leaving && is_plain(&of.name)) {
            self.delete(&of.name);
        }
        Ok(())
    }

    /// Gives a command. Returns what is answered.
    fn ask(&self, command: &str) -> Result<String, TestbedError> {
        let answered = || -> std::io::Result<String> {
            let mut stream = UnixStream::connect(&self.socket)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            stream.write_all(format!("{command}\n").as_bytes())?;
            let mut answer = String::new();
            stream.take(MOST_ANSWER).read_to_string(&mut answer)?;
            Ok(answer)
        };
        answered().map_err(TestbedError::file("give an order to HAProxy at", &self.socket))
    }

    /// Gives a command that answers nothing, or this, where it is obeyed.
    fn order(&self, command: &str, obeyed: &str) -> Result<(), TestbedError> {
        let answer = self.ask(command)?;
        match answer.trim() {
            "" => Ok(()),
            said if said == obeyed => Ok(()),
            said => {
                let said = said.lines().next().unwrap_or_default();
                Err(TestbedError::Wrong(format!("have HAProxy `{command}`: {said}")))
            }
        }
    }

    /// Deletes a server that is in maintenance, when connections to it are closed that nobody uses.
    /// One that stays takes no requests, and has none.
    fn delete(&self, name: &str) {
        let deadline = Deadline::within(LAST);
        let delete = || self.order(&format!("del server pool/{name}"), "Server deleted.");
        while delete().is_err() && !deadline.is_over() {
            deadline.pause();
        }
    }

    fn table(&self) -> Result<Table, TestbedError> {
        let text = self.ask("show stat -1 7 -1")?;
        Table::of(&text).ok_or_else(|| {
            let path = self.socket.display();
            TestbedError::Wrong(format!("read what HAProxy tells of itself at {path}"))
        })
    }

    /// Has those take requests that HAProxy has put out, and that fail together with others.
    fn spare(&self, table: &Table) -> Result<(), TestbedError> {
        let together = table.fail_together();
        let is_spared =
            |of: &&Row| of.state == State::Out && of.state(together) == State::In && of.is_plain();
        let mut spared = table.servers.iter().filter(is_spared);
        spared.try_for_each(|of| self.order(&format!("set server pool/{} health up", of.name), ""))
    }

    fn seen(&self, takes_times: bool) -> Result<BalancerCounts, TestbedError> {
        let table = self.table()?;
        self.spare(&table)?;
        let mut tally = lock(&self.tally);
        let together = table.fail_together();
        let member = |of: &Row| {
            let did = tally.of(&of.name);
            Member {
                name: of.name.clone(),
                state: of.state(together),
                active: Some(of.active),
                answered: did.answered,
                failed: did.failed,
                ill: of.ill,
            }
        };
        let seen = BalancerCounts {
            connections: table.connections,
            requests: table.requests.saturating_sub(self.counted.load(Ordering::Relaxed)),
            waiting: table.waiting,
            active: table.servers.iter().map(|of| u64::from(of.active)).sum(),
            instances: table.servers.iter().filter(|of| !of.is_leaving).map(member).collect(),
            ..BalancerCounts::default()
        };
        let times = if takes_times { tally.take_times() } else { Vec::new() };
        Ok(tally.tell(BalancerCounts { times, ..seen }, table.under_way))
    }
}

/// Reads the log on a thread of its own: from its beginning, or of one that stood before from now.
fn read(
    socket: &Path,
    tally: &Arc<Mutex<Tally>>,
    (has_no_queue, since): (bool, Since),
) -> std::io::Result<Reader> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(match since {
        Since::Before => b"show events ends -w -n\n",
        Since::Now | Since::Gone => b"show events ends -w\n",
    })?;
    let (from, tally) = (stream.try_clone()?, Arc::clone(tally));
    let reads = move || {
        let (mut lines, mut line) = (BufReader::new(from), String::new());
        loop {
            line.clear();
            match lines.by_ref().take(MOST_LINE).read_line(&mut line) {
                Ok(1..) => {}
                _ => return,
            }
            if let Some(end) = End::of(&line, has_no_queue) {
                let mut tally = lock(&tally);
                if let (Some(instance), true) = (end.instance, end.is_its_failure) {
                    tally.failed(instance);
                }
                tally.ended(end.instance, end.how);
            }
        }
    };
    let thread = std::thread::Builder::new().name("haproxy-log".to_owned()).spawn(reads)?;
    Ok(Reader { stream, thread: Some(thread) })
}

/// Whether a name can stand in a command.
fn is_plain(name: &str) -> bool {
    let is_one = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().all(is_one)
}

impl Balances for Haproxy {
    fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError> {
        let Newcomer { name, address, weight } = newcomer;
        if !is_plain(name) {
            let text = format!("add the instance {name}: expected letters, digits, -, _ and .");
            return Err(TestbedError::Wrong(text));
        }
        let weight = if self.settings.rule.has_weights() { *weight } else { 1.0 };
        let weight = (WEIGHTS.1 * weight).round().clamp(1.0, WEIGHTS.0);
        let limit = self.settings.limit.map_or_else(String::new, |of| format!(" maxconn {of}"));
        // Without an id of its own a server has the same places on HAProxy's ring as all others
        // that were added, and most of them get no clients.
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let checks = "check inter 1s fall 3 rise 1";
        self.order(
            &format!("add server pool/{name} {address} id {id} {checks} weight {weight}{limit}"),
            "New server registered.",
        )?;
        self.order(&format!("enable health pool/{name}"), "")?;
        // Else its first check would be one of three.
        self.order(&format!("set server pool/{name} health up"), "")?;
        self.order(&format!("enable server pool/{name}"), "")
    }

    fn drain(&self, name: &str, within: Duration) -> Result<(), TestbedError> {
        if !is_plain(name) {
            let text = format!("find the instance {name}: none has that name");
            return Err(TestbedError::Wrong(text));
        }
        self.order(&format!("set server pool/{name} state drain"), "")?;
        let has = || -> Result<u64, TestbedError> {
            let table = self.table()?;
            let of = table.servers.iter().find(|of| of.name == name);
            Ok(of.map_or(0, |of| u64::from(of.active) + of.waiting))
        };
        let deadline = Deadline::within(within);
        let mut had = has()?;
        while had > 0 && !deadline.is_over() {
            deadline.pause();
            had = has()?;
        }
        if had > 0 {
            lock(&self.tally).cuts(name, had);
            self.order(&format!("shutdown sessions server pool/{name}"), "")?;
        }
        self.order(&format!("set server pool/{name} state maint"), "")?;
        self.delete(name);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), TestbedError> {
        if !is_plain(name) {
            let text = format!("find the instance {name}: none has that name");
            return Err(TestbedError::Wrong(text));
        }
        self.order(&format!("set server pool/{name} state maint"), "")?;
        self.order(&format!("shutdown sessions server pool/{name}"), "")?;
        self.delete(name);
        Ok(())
    }

    fn forget(&self) -> Result<(), TestbedError> {
        let mut reader = lock(&self.reader);
        // The reader of before has ended with what it read.
        drop(reader.take());
        *lock(&self.tally) = Tally::default();
        self.counted.store(0, Ordering::Relaxed);
        *reader = Some(self.read(Since::Now)?);
        Ok(())
    }

    fn look(&self) -> Result<BalancerCounts, TestbedError> {
        self.seen(false)
    }

    fn take(&self) -> Result<BalancerCounts, TestbedError> {
        self.seen(true)
    }

    /// What its log has no line of by then never gets one: where a server closes a connection
    /// without an answer, and its client had asked on its own before, HAProxy closes that too, and
    /// writes nothing.
    fn settled(&self) -> Result<BalancerCounts, TestbedError> {
        let seen = settled(self)?;
        lock(&self.tally).ended_silently(seen.untold);
        self.look()
    }
}

/// What `show stat` says.
#[derive(Debug, Default, PartialEq)]
struct Table {
    /// Connections of clients that are open.
    connections: u64,
    requests: u64,
    /// Those that are not over.
    under_way: u64,
    waiting: u64,
    servers: Vec<Row>,
}

/// A server of it.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    /// Its id in HAProxy.
    id: u32,
    state: State,
    /// What is wrong with it, as its last health check has it.
    ill: Option<Ill>,
    active: u32,
    waiting: u64,
    /// Whether it has ended what it had, and is only to be forgotten.
    is_leaving: bool,
}

impl Row {
    /// Whether its name can stand in a command.
    fn is_plain(&self) -> bool {
        is_plain(&self.name)
    }

    /// Whether it takes requests: HAProxy asks one three times that cannot be connected to.
    fn state(&self, together: bool) -> State {
        match (self.state, self.ill) {
            (State::In, Some(Ill::Gone)) => State::Out,
            (State::Out, Some(Ill::Wrong(_) | Ill::Late)) if together => State::In,
            (state, _) => state,
        }
    }
}

impl Table {
    /// Whether those fail together whose checks fail.
    fn fail_together(&self) -> bool {
        let is_there = |of: &&Row| !of.is_leaving && of.state != State::Draining;
        let there = || self.servers.iter().filter(is_there);
        fail_together(there().filter(|of| of.ill.is_some()).count(), there().count())
    }

    /// Reads it; `None` where it is none.
    fn of(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next()?.strip_prefix("# ")?.split(',').collect();
        let place = |name: &str| names.iter().position(|of| *of == name);
        let (whose, what, status) = (place("pxname")?, place("svname")?, place("status")?);
        let id = place("sid")?;
        let (active, waiting) = (place("scur")?, place("qcur")?);
        // Of a backend each of them is a request. Those of a frontend are connections too that
        // were opened and closed.
        let requests = place("stot")?;
        let (check, code) = (place("check_status")?, place("check_code")?);
        let mut table = Self::default();
        for line in lines.filter(|line| !line.is_empty()) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
            match (*fields.get(whose)?, *fields.get(what)?) {
                ("clients", "FRONTEND") => table.connections = number(active)?,
                ("pool", "BACKEND") => {
                    (table.requests, table.under_way) = (number(requests)?, number(active)?);
                    table.waiting += number(waiting)?;
                }
                ("pool", name) => {
                    let waits = number(waiting)?;
                    table.waiting += waits;
                    let status = *fields.get(status)?;
                    let state = match status {
                        of if of.starts_with("UP") || of == "no check" => State::In,
                        of if of.starts_with("DRAIN") => State::Draining,
                        _ => State::Out,
                    };
                    table.servers.push(Row {
                        name: name.to_owned(),
                        id: u32::try_from(number(id)?).ok()?,
                        state,
                        ill: ill(fields.get(check)?, number(code)),
                        active: u32::try_from(number(active)?).ok()?,
                        waiting: waits,
                        is_leaving: status.starts_with("MAINT"),
                    });
                }
                _ => {}
            }
        }
        Some(table)
    }
}

/// What is wrong with a server of which the last check came out so.
fn ill(check: &str, code: Option<u64>) -> Option<Ill> {
    // One that goes on now is told with a star before it.
    match check.trim_start_matches("* ") {
        "L4CON" | "SOCKERR" => Some(Ill::Gone),
        "L4TOUT" | "L6TOUT" | "L7TOUT" => Some(Ill::Late),
        of if of.is_empty() || of.ends_with("OK") || of.ends_with("OKC") || of == "INI" => None,
        "UNK" | "CHECKED" => None,
        _ => Some(Ill::Wrong(code.and_then(|code| u16::try_from(code).ok()))),
    }
}

/// The end of a request.
#[derive(Debug, PartialEq, Eq)]
struct End<'a> {
    instance: Option<&'a str>,
    how: How,
    is_its_failure: bool,
}

impl<'a> End<'a> {
    /// Reads a line of the log; `None` where it tells of something else.
    fn of(line: &'a str, has_no_queue: bool) -> Option<Self> {
        // HAProxy puts a mark of severity before lines in some formats.
        let (_, told) = line.split_once("request ")?;
        let words: Vec<&str> = told.split_whitespace().collect();
        // What is no request has reached no backend, and is not counted as one.
        if words.first() != Some(&"pool") {
            return None;
        }
        let [_, instance, how, _, request_ms, wait_ms, all_ms] = words[..] else {
            return Some(Self { instance: None, how: How::Unknown, is_its_failure: false });
        };
        let instance = Some(instance).filter(|name| is_plain(name));
        let ms = |text: &str| text.parse::<i64>().map_or(0, |ms| u64::try_from(ms).unwrap_or(0));
        let took = ms(all_ms).saturating_sub(ms(request_ms) + ms(wait_ms));
        let mut letters = how.chars();
        let (why, when) = (letters.next()?, letters.next()?);
        let (how, is_its_failure) = match (why, when) {
            ('-', _) if instance.is_some() => (How::Answered(Duration::from_millis(took)), false),
            ('C' | 'c', _) => (How::Lost(Cause::ClientGone), false),
            ('s', 'Q') if has_no_queue => (How::Lost(Cause::NoSlot), false),
            ('s', 'Q') => (How::Lost(Cause::QueueTimeout), false),
            ('S', _) if instance.is_none() => (How::Lost(Cause::NoSlot), false),
            ('s', 'H' | 'D' | 'L') => (How::Lost(Cause::Timeout), true),
            // Shut down by order, as its server has failed or its time to leave is over; or by
            // itself, as it was seen to be down.
            ('K' | 'D', _) if instance.is_some() => (How::Lost(Cause::InstanceFailed), true),
            ('s' | 'S', _) | ('P', 'H' | 'D') => (How::Lost(Cause::InstanceFailed), true),
            ('P', 'R') if !has_no_queue => (How::Lost(Cause::QueueFull), false),
            // What a client has sent that is no request.
            ('P', 'R') => (How::Lost(Cause::ClientGone), false),
            _ => (How::Unknown, false),
        };
        Some(Self { instance, how, is_its_failure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_all_stands_is_read() {
        let text = "# pxname,svname,qcur,scur,status,sid,stot,check_status,check_code,\n\
                    clients,FRONTEND,,3,OPEN,0,99,,,\n\
                    pool,web-1,1,2,UP 1/2,1,7,L7STS,503,\npool,web-2,0,1,DRAIN,2,7,L7OK,200,\n\
                    pool,web-3,0,0,MAINT,7,7,L4CON,,\npool,web-4,0,0,no check,4,7,,,\n\
                    pool,web-5,0,0,DOWN,5,7,* L7TOUT,,\npool,web-6,0,0,UP 2/3,6,7,L4CON,,\n\
                    pool,BACKEND,4,3,UP,0,41,,,\n\n";
        let table = Table::of(text).unwrap();
        assert_eq!((table.connections, table.requests, table.waiting), (3, 41, 5));
        assert_eq!(table.under_way, 3);
        assert_eq!(table.servers.iter().map(|of| of.id).max(), Some(7));
        let states: Vec<State> = table.servers.iter().map(|of| of.state).collect();
        let (are_in, draining, out) = (State::In, State::Draining, State::Out);
        assert_eq!(states, [are_in, draining, out, are_in, out, are_in]);
        let leaving: Vec<bool> = table.servers.iter().map(|of| of.is_leaving).collect();
        assert_eq!(leaving, [false, false, true, false, false, false]);
        let ill: Vec<Option<Ill>> = table.servers.iter().map(|of| of.ill).collect();
        let (wrong, gone, late) = (Ill::Wrong(Some(503)), Ill::Gone, Ill::Late);
        assert_eq!(ill, [Some(wrong), None, Some(gone), None, Some(late), Some(gone)]);
        // Of those that are to stay, three of four fail.
        assert!(table.fail_together());
        let states = |together| -> Vec<State> {
            table.servers.iter().map(|of| of.state(together)).collect()
        };
        assert_eq!(states(true), [are_in, draining, out, are_in, are_in, out]);
        assert_eq!(states(false), [are_in, draining, out, are_in, out, out]);
        assert_eq!(Table::of("Unknown command\n"), None);
    }

    #[test]
    fn how_a_request_ended_is_read() {
        let answered = End::of("<134>request pool web-1 -- 200 1 4 25\n", true).unwrap();
        assert_eq!(answered.how, How::Answered(Duration::from_millis(20)));
        assert_eq!(answered.instance, Some("web-1"));
        let cases = [
            ("request pool <NOSRV> sQ 503 0 1 1", true, Cause::NoSlot),
            ("request pool <NOSRV> sQ 503 0 50 50", false, Cause::QueueTimeout),
            ("request pool <NOSRV> PR 503 0 -1 0", false, Cause::QueueFull),
            ("request pool <NOSRV> SC 503 0 -1 0", true, Cause::NoSlot),
            ("request pool web-1 SC 503 0 0 9", true, Cause::InstanceFailed),
            ("request pool web-1 SD 200 0 0 9", true, Cause::InstanceFailed),
            ("request pool web-1 sH 504 0 0 60000", true, Cause::Timeout),
            ("request pool web-1 CD 200 0 0 9", true, Cause::ClientGone),
            ("request pool web-1 KH 502 0 0 9", true, Cause::InstanceFailed),
            ("request pool web-1 KD 200 0 0 9", false, Cause::InstanceFailed),
            ("request pool web-1 DH 503 0 0 9", true, Cause::InstanceFailed),
        ];
        for (line, has_no_queue, expected) in cases {
            let end = End::of(line, has_no_queue).unwrap();
            assert_eq!(end.how, How::Lost(expected), "{line}");
        }
        assert_eq!(End::of("Server pool/web-1 is UP/READY.", true), None);
        assert_eq!(End::of("request clients <NOSRV> PR 400 -1 -1 0", true), None);
        assert_eq!(End::of("request pool web-1 RC", true).unwrap().how, How::Unknown);
    }

    #[test]
    fn no_name_is_a_command() {
        assert!(is_plain("web-1") && !is_plain("web 1; shutdown") && !is_plain("<NOSRV>"));
    }
}
