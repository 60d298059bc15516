//! What came of WebSockets: how many there were, what was said, and how long broadcasts took.
//! Counts are kept for the whole run, warm-up included, and times for its measured phase, in the
//! table `websocket` of `run.sqlite`, which is there only where there were any.

use std::collections::BTreeMap;

use plimsoll_stats::histogram::Compact;
use plimsoll_stats::percentiles::Percentiles;
use plimsoll_units::show_count;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::database::{has_table, int, uint};
use crate::times::{decoded, encoded};

/// What is known of a server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The server's clock less this host's, nanoseconds.
    pub offset_ns: i64,
    /// By how much that may be wrong, nanoseconds: half the round trip in which it was asked.
    pub error_ns: u64,
}

/// What came of broadcasts: messages that go to many, and say of themselves when they were sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BroadcastCounts {
    /// Those that were received, each time by one client.
    pub received: u64,
    /// Those that the server says it has left out.
    pub skipped: u64,
    /// Gaps in their numbers while connected, without those that were left out.
    pub lost: u64,
    /// Those that came twice.
    pub doubled: u64,
    /// Those that came behind later ones.
    pub disorder: u64,
    /// Those that came before they were published by the server's clock, by more than a
    /// millisecond: the two clocks differ. They are in no time.
    pub ahead: u64,
    /// Those of which it is not known how long they took, as the server's clock was set between two
    /// of its answers, or told nothing. They are in no time.
    pub unknown: u64,
    /// Those that lay unread while the generator stood still, so that it is not known when they
    /// came. They are in no time.
    pub unread: u64,
    /// Those that came hours after they were published by what they say, or hours before it: that
    /// is another unit, or no time of publication. They are in no time.
    pub misdated: u64,
    /// Those of which something could not be read, by what that was. They are in no other count.
    pub unreadable: BTreeMap<String, u64>,
    /// From when it was published to its receipt, nanoseconds; by the server's clock as it is, or
    /// with its offset taken off where that is known. Of those received in the measured phase.
    pub latency: Compact,
    /// The offset of the server's clock as it was known last; `None` where nobody has asked.
    pub clock: Option<ClockOffset>,
    /// From the first to the last receipt of one broadcast, nanoseconds, over those who had it
    /// within three seconds. Of those first received in the measured phase.
    pub spread: Compact,
}

/// What came of WebSockets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WebSocketCounts {
    /// Handshakes that opened one.
    pub connected: u64,
    /// Handshakes that did not.
    pub refused: u64,
    /// Of those that opened one, how many did so in the place of one that was lost.
    pub reconnected: u64,
    /// Those that were closed on this side, by the code.
    pub closed: BTreeMap<u16, u64>,
    /// Those that the server closed while their users had not, by the code: 1006 without one.
    pub let_go: BTreeMap<u16, u64>,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were received.
    pub received: u64,
    /// Messages that neither a step nor a rule was for.
    pub unmatched: u64,
    /// How long they were open, summed up, nanoseconds.
    pub online_ns: u64,
    /// Steps that only send or only await, and have failed: they are no requests.
    pub failed_steps: u64,
    /// What came of broadcasts.
    pub broadcast: BroadcastCounts,
}

impl BroadcastCounts {
    /// Counts some of which something could not be read; beyond 16 kinds of that all are one.
    pub fn add_unreadable(&mut self, why: &str, n: u64) {
        const MOST: usize = 16;
        let is_new = !self.unreadable.contains_key(why) && self.unreadable.len() >= MOST;
        let why = if is_new { "other reasons" } else { why };
        *self.unreadable.entry(why.to_owned()).or_default() += n;
    }
}

impl WebSocketCounts {
    /// Counts one that was closed on this side, by its code.
    pub fn closed(&mut self, code: u16) {
        *self.closed.entry(told(code)).or_default() += 1;
    }

    /// Counts one that the server has closed first, by its code; 0 where none was told.
    pub fn let_go(&mut self, code: u16) {
        *self.let_go.entry(told(code)).or_default() += 1;
    }

    /// Whether there was nothing of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers().all(|(_, n)| n == 0)
    }

    /// Adds those of another thread, or of a later stretch.
    pub fn add(&mut self, other: &Self) {
        self.connected += other.connected;
        self.refused += other.refused;
        self.reconnected += other.reconnected;
        for (code, n) in &other.closed {
            *self.closed.entry(*code).or_default() += n;
        }
        for (code, n) in &other.let_go {
            *self.let_go.entry(*code).or_default() += n;
        }
        self.sent += other.sent;
        self.received += other.received;
        self.unmatched += other.unmatched;
        self.online_ns += other.online_ns;
        self.failed_steps += other.failed_steps;
        let (mine, theirs) = (&mut self.broadcast, &other.broadcast);
        mine.received += theirs.received;
        mine.skipped += theirs.skipped;
        mine.lost += theirs.lost;
        mine.doubled += theirs.doubled;
        mine.disorder += theirs.disorder;
        mine.ahead += theirs.ahead;
        mine.unknown += theirs.unknown;
        mine.unread += theirs.unread;
        mine.misdated += theirs.misdated;
        for (why, n) in &theirs.unreadable {
            mine.add_unreadable(why, *n);
        }
        mine.clock = theirs.clock.or(mine.clock);
        mine.latency.add(&theirs.latency);
        mine.spread.add(&theirs.spread);
    }

    /// What is stored, by name.
    fn numbers(&self) -> impl Iterator<Item = (String, u64)> {
        let broadcast = &self.broadcast;
        let named = [
            ("connected", self.connected),
            ("refused", self.refused),
            ("reconnected", self.reconnected),
            ("sent", self.sent),
            ("received", self.received),
            ("unmatched", self.unmatched),
            ("online_ns", self.online_ns),
            ("failed_steps", self.failed_steps),
            ("broadcast.received", broadcast.received),
            ("broadcast.skipped", broadcast.skipped),
            ("broadcast.lost", broadcast.lost),
            ("broadcast.doubled", broadcast.doubled),
            ("broadcast.disorder", broadcast.disorder),
            ("broadcast.ahead", broadcast.ahead),
            ("broadcast.unknown", broadcast.unknown),
            ("broadcast.unread", broadcast.unread),
            ("broadcast.misdated", broadcast.misdated),
        ];
        let named = named.into_iter().map(|(name, n)| (name.to_owned(), n));
        let by_code = |kind, of: &BTreeMap<u16, u64>| {
            let of: Vec<_> = of.iter().map(|(code, n)| (format!("{kind}{code}"), *n)).collect();
            of
        };
        let coded = [by_code(CLOSED, &self.closed), by_code(LET_GO, &self.let_go)];
        let unreadable = broadcast.unreadable.iter();
        let unreadable = unreadable.map(|(why, n)| (format!("{UNREADABLE}{why}"), *n));
        named.chain(coded.into_iter().flatten()).chain(unreadable)
    }

    /// The place of a number that was stored.
    fn place(&mut self, name: &str) -> Option<&mut u64> {
        if let Some(code) = name.strip_prefix(CLOSED) {
            return Some(self.closed.entry(code.parse().ok()?).or_default());
        }
        if let Some(code) = name.strip_prefix(LET_GO) {
            return Some(self.let_go.entry(code.parse().ok()?).or_default());
        }
        let broadcast = &mut self.broadcast;
        if let Some(why) = name.strip_prefix(UNREADABLE) {
            return Some(broadcast.unreadable.entry(why.to_owned()).or_default());
        }
        Some(match name {
            "connected" => &mut self.connected,
            "refused" => &mut self.refused,
            "reconnected" => &mut self.reconnected,
            "sent" => &mut self.sent,
            "received" => &mut self.received,
            "unmatched" => &mut self.unmatched,
            "online_ns" => &mut self.online_ns,
            "failed_steps" => &mut self.failed_steps,
            "broadcast.received" => &mut broadcast.received,
            "broadcast.skipped" => &mut broadcast.skipped,
            "broadcast.lost" => &mut broadcast.lost,
            "broadcast.doubled" => &mut broadcast.doubled,
            "broadcast.disorder" => &mut broadcast.disorder,
            "broadcast.ahead" => &mut broadcast.ahead,
            "broadcast.unknown" => &mut broadcast.unknown,
            "broadcast.unread" => &mut broadcast.unread,
            "broadcast.misdated" => &mut broadcast.misdated,
            _ => return None,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The code that is told of one that was closed by a code; 0 without a word (RFC 6455, 7.4.1).
fn told(code: u16) -> u16 {
    const ABNORMAL: u16 = 1006;
    if code == 0 { ABNORMAL } else { code }
}

/// What a summary tells of WebSockets, over the whole run; times are those of the measured phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebSocketFigures {
    /// Handshakes that opened one.
    pub connected: u64,
    /// Handshakes that did not.
    pub refused: u64,
    /// Of those that opened one, how many did so in the place of one that was lost.
    #[serde(default)]
    pub reconnected: u64,
    /// Those that were closed on this side, by the code.
    pub closed: BTreeMap<String, u64>,
    /// Those that the server closed while their users had not, by the code: 1006 without one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub let_go: BTreeMap<String, u64>,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were received.
    pub received: u64,
    /// Messages that neither a step nor a rule was for.
    pub unmatched: u64,
    /// How long they were open, summed up, seconds.
    pub online_s: f64,
    /// Steps that only send or only await, and have failed: `errors` counts requests, and has none
    /// of them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub failed_steps: u64,
    /// Messages that a rule was for and of which something could not be read, by what that was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unreadable: BTreeMap<String, u64>,
    /// What came of broadcasts; left out where none came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<BroadcastFigures>,
}

/// What a summary tells of broadcasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BroadcastFigures {
    /// Those that were received, each time by one client.
    pub received: u64,
    /// Those that the server says it has left out.
    pub skipped: u64,
    /// Gaps in their numbers while connected, without those that were left out.
    pub lost: u64,
    /// Those that came twice.
    pub doubled: u64,
    /// Those that came behind later ones.
    pub disorder: u64,
    /// Those that came before they were published by the server's clock: in no time below.
    pub ahead: u64,
    /// Those of which it is not known how long they took: in no time below.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unknown: u64,
    /// Those that lay unread while the generator stood still: in no time below.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unread: u64,
    /// Those that came hours after they were published by what they say, or hours before: in no
    /// time below.
    #[serde(default, skip_serializing_if = "is_none")]
    pub misdated: u64,
    /// The server's clock less this host's, which is taken off; left out where nobody has asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_us: Option<f64>,
    /// By how much that may be wrong: half the round trip in which it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_error_us: Option<f64>,
    /// From when one was published, by the server's clock, to its receipt by ours, of those that
    /// were received in the measured phase.
    pub latency_us: Percentiles,
    /// From the first to the last receipt of one, over those who had it within three seconds, of
    /// those first received in the measured phase.
    pub spread_us: Percentiles,
}

impl WebSocketFigures {
    /// What is told of counts.
    #[must_use]
    pub fn of(counts: &WebSocketCounts) -> Self {
        let broadcast = &counts.broadcast;
        #[expect(clippy::cast_precision_loss, reason = "a time to be read, in seconds")]
        let online_s = counts.online_ns as f64 / 1e9;
        Self {
            connected: counts.connected,
            refused: counts.refused,
            reconnected: counts.reconnected,
            closed: counts.closed.iter().map(|(code, n)| (code.to_string(), *n)).collect(),
            let_go: counts.let_go.iter().map(|(code, n)| (code.to_string(), *n)).collect(),
            sent: counts.sent,
            received: counts.received,
            unmatched: counts.unmatched,
            online_s,
            failed_steps: counts.failed_steps,
            unreadable: broadcast.unreadable.clone(),
            broadcast: (broadcast.received > 0).then(|| BroadcastFigures {
                received: broadcast.received,
                skipped: broadcast.skipped,
                lost: broadcast.lost,
                doubled: broadcast.doubled,
                disorder: broadcast.disorder,
                ahead: broadcast.ahead,
                unknown: broadcast.unknown,
                unread: broadcast.unread,
                misdated: broadcast.misdated,
                offset_us: broadcast.clock.map(|clock| clock.offset_ns as f64 / 1e3),
                offset_error_us: broadcast.clock.map(|clock| clock.error_ns as f64 / 1e3),
                latency_us: broadcast.latency.percentiles(),
                spread_us: broadcast.spread.percentiles(),
            }),
        }
    }

    /// What is to be said of them beside their numbers.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = [
            self.have_failed(),
            self.are_let_go(),
            self.are_ahead(),
            self.are_unknown(),
            self.are_unread(),
            self.are_misdated(),
        ];
        notes.into_iter().flatten().chain(self.are_unreadable()).collect()
    }

    fn have_failed(&self) -> Option<String> {
        let failed = Some(self.failed_steps).filter(|failed| *failed > 0)?;
        Some(format!(
            "{} steps failed that only send or only await: they are no requests, and no SLO of \
             errors counts them",
            show_count(failed)
        ))
    }

    fn are_misdated(&self) -> Option<String> {
        let broadcast = self.broadcast.as_ref().filter(|broadcast| broadcast.misdated > 0)?;
        Some(format!(
            "{} broadcasts were published hours before or after they came, by what they say: is \
             that in another unit (published_s is in seconds), or of another time zone? They are \
             in no time",
            show_count(broadcast.misdated)
        ))
    }

    /// What could not be read of messages that a rule was for.
    fn are_unreadable(&self) -> impl Iterator<Item = String> {
        let note = |(why, n): (&String, &u64)| {
            format!("{} messages are in no count of broadcasts, of {why}", show_count(*n))
        };
        self.unreadable.iter().map(note)
    }

    /// That the server has closed WebSockets whose users had not.
    fn are_let_go(&self) -> Option<String> {
        let all: u64 = self.let_go.values().sum();
        if all == 0 {
            return None;
        }
        let of = |(code, n): (&String, &u64)| format!("{} with {code}", show_count(*n));
        let codes: Vec<_> = self.let_go.iter().map(of).collect();
        Some(format!(
            "the server closed {} of {} WebSockets that their users had not closed: {}",
            show_count(all),
            show_count(self.connected),
            codes.join(", ")
        ))
    }

    fn are_unknown(&self) -> Option<String> {
        let broadcast = self.broadcast.as_ref().filter(|broadcast| broadcast.unknown > 0)?;
        let unknown = show_count(broadcast.unknown);
        let why = match broadcast.offset_us {
            None => "the server did not answer what [clock] asks",
            Some(_) => "the server's clock was set meanwhile, or it answered no more",
        };
        Some(format!("it is not known how long {unknown} broadcasts took: {why}"))
    }

    fn are_unread(&self) -> Option<String> {
        let broadcast = self.broadcast.as_ref().filter(|broadcast| broadcast.unread > 0)?;
        let unread = show_count(broadcast.unread);
        Some(format!(
            "{unread} broadcasts lay unread while the generator stood still: they are in no time"
        ))
    }

    fn are_ahead(&self) -> Option<String> {
        let broadcast = self.broadcast.as_ref().filter(|broadcast| broadcast.ahead > 0)?;
        let ahead = show_count(broadcast.ahead);
        let what = match broadcast.offset_us {
            None => {
                "it differs from this host's, and latencies of broadcasts are off by that; [clock] \
                 in the scenario asks by how much"
            }
            Some(_) => "it runs unevenly, or does not tell the time that it publishes by",
        };
        Some(format!(
            "{ahead} broadcasts came before they were published by the server's clock: {what}"
        ))
    }
}

/// What stands before the code in the name of a number.
const CLOSED: &str = "closed.";
const LET_GO: &str = "let_go.";
/// What stands before what could not be read.
const UNREADABLE: &str = "broadcast.unreadable.";
const LATENCY: &str = "broadcast.latency";
const SPREAD: &str = "broadcast.spread";
const OFFSET: &str = "broadcast.offset_ns";
const OFFSET_ERROR: &str = "broadcast.offset_error_ns";
const TABLE: &str = "CREATE TABLE IF NOT EXISTS websocket (cell INTEGER NOT NULL,
    name TEXT NOT NULL, value INTEGER, histogram BLOB, PRIMARY KEY (cell, name))";

/// Stores what is known so far, in the place of what was stored before.
pub(crate) fn write(
    database: &Connection,
    cell: u32,
    of: &WebSocketCounts,
) -> rusqlite::Result<()> {
    database.execute_batch(TABLE)?;
    let sql = "INSERT OR REPLACE INTO websocket VALUES (?, ?, ?, ?)";
    let mut statement = database.prepare_cached(sql)?;
    for (name, n) in of.numbers() {
        statement.execute(params![cell, name, int(n), None::<Vec<u8>>])?;
    }
    if let Some(clock) = of.broadcast.clock {
        statement.execute(params![cell, OFFSET, clock.offset_ns, None::<Vec<u8>>])?;
        statement.execute(params![cell, OFFSET_ERROR, int(clock.error_ns), None::<Vec<u8>>])?;
    }
    for (name, times) in [(LATENCY, &of.broadcast.latency), (SPREAD, &of.broadcast.spread)] {
        statement.execute(params![cell, name, None::<i64>, encoded(times)])?;
    }
    Ok(())
}

/// What came of the WebSockets of a run; none where it had none.
pub(crate) fn read(database: &Connection) -> rusqlite::Result<Option<WebSocketCounts>> {
    if !has_table(database, "websocket")? {
        return Ok(None);
    }
    let mut counts = WebSocketCounts::default();
    let (mut offset, mut error) = (None, None);
    let mut statement = database.prepare("SELECT name, value, histogram FROM websocket")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, value): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        let times: Option<Vec<u8>> = row.get(2)?;
        match (name.as_str(), times) {
            (LATENCY, Some(bytes)) => counts.broadcast.latency = decoded(&bytes)?,
            (SPREAD, Some(bytes)) => counts.broadcast.spread = decoded(&bytes)?,
            (OFFSET, _) => offset = value,
            (OFFSET_ERROR, _) => error = value.map(uint),
            (name, _) => {
                if let (Some(place), Some(value)) = (counts.place(name), value) {
                    *place = uint(value);
                }
            }
        }
    }
    counts.broadcast.clock =
        offset.zip(error).map(|(offset_ns, error_ns)| ClockOffset { offset_ns, error_ns });
    Ok(Some(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_as_they_were_stored() {
        let database = Connection::open_in_memory().unwrap();
        assert!(read(&database).unwrap().is_none(), "a run without WebSockets has no table");
        let mut counts = WebSocketCounts { connected: 3, sent: 7, ..WebSocketCounts::default() };
        assert!(!counts.is_empty() && WebSocketCounts::default().is_empty());
        counts.closed(0);
        counts.closed(1000);
        counts.let_go(0);
        counts.broadcast.received = 2;
        counts.broadcast.latency.record(1_500_000);
        counts.failed_steps = 2;
        (0..40).for_each(|n| counts.broadcast.add_unreadable(&format!("`tick{n:02}`: it"), 2));
        counts.broadcast.misdated = 3;
        write(&database, 1, &counts).unwrap();
        let more = counts.clone();
        counts.add(&more);
        counts.broadcast.ahead = 1;
        counts.broadcast.clock = Some(ClockOffset { offset_ns: -250_000, error_ns: 1_500 });
        let later = WebSocketCounts::default();
        counts.add(&later);
        write(&database, 1, &counts).unwrap();
        let back = read(&database).unwrap().unwrap();
        assert_eq!(WebSocketFigures::of(&back), WebSocketFigures::of(&counts));
        let figures = WebSocketFigures::of(&back);
        assert_eq!((figures.connected, figures.sent, figures.closed["1006"]), (6, 14, 2));
        let notes = figures.notes();
        assert!(notes[0].starts_with("4 steps failed that only"), "{notes:?}");
        assert!(notes[1].contains("closed 2 of 6 WebSockets"), "{notes:?}");
        assert!(
            notes[1].ends_with("2 with 1006") && notes[2].contains("1 broadcasts"),
            "{notes:?}"
        );
        assert!(notes[3].contains("6 broadcasts were published hours"), "{notes:?}");
        assert_eq!(notes.len(), 4 + 17, "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("4 messages") && note.contains("tick07")));
        assert!(notes.iter().any(|note| {
            note.ends_with("96 messages are in no count of broadcasts, of other reasons")
        }));
        let broadcast = figures.broadcast.unwrap();
        assert_eq!((broadcast.offset_us, broadcast.offset_error_us), (Some(-250.0), Some(1.5)));
    }
}
