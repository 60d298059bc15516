//! `[clock]`: how the server is asked for its time.

use plimsoll_workload::scenario::{Encoding, ServerClock, Since1970};

use crate::reading::tree::Entry;
use crate::scenario::keys::{CLOCK, MESSAGE};
use crate::scenario::known::Known;
use crate::scenario::{check, exchange, one_of, refuse_unknown, table};

/// Where the answer has the time, and what it counts.
const TIMES: [(&str, Since1970); 4] = [
    ("time_ns", Since1970::Ns),
    ("time_us", Since1970::Us),
    ("time_ms", Since1970::Ms),
    ("time_s", Since1970::S),
];
/// How often it is asked where that is not said, nanoseconds.
const EVERY_NS: u64 = 10_000_000_000;

/// Reads the table, once the steps are read that connect.
pub(super) fn read(known: &mut Known<'_>, entry: &Entry) -> Option<ServerClock> {
    let reading = known.reading;
    let of = table(reading, &entry.node, "a table [clock]")?;
    refuse_unknown(reading, of, &CLOCK, "[clock]");
    let lacks = |what: &str, example: &str| {
        let message = format!("expected {what} in [clock], found none");
        reading.fault(entry.key_place, message, Some(format!("for example {example}")));
    };
    let channel = exchange::channel(known, of, entry.key_place);
    let question = match of.get("send") {
        None => {
            lacks("`send`", "send = '{\"op\":\"time\"}'");
            None
        }
        Some(entry) => {
            let text = known.text(&entry.node, Encoding::Raw)?.constant();
            if text.is_none() {
                let message = "expected a text that is the same for all users";
                let hint = "who asks is not told before: only {{env.NAME}} may stand in it";
                reading.fault(entry.node.place, message, Some(hint.to_owned()));
            }
            text
        }
    };
    let answer = match of.get("answer") {
        None => {
            lacks("`answer`", "answer = { json = { \"/op\" = \"time\" } }");
            None
        }
        Some(entry) => {
            let table = table(reading, &entry.node, "a table such as { json = { … } }")?;
            refuse_unknown(reading, table, &MESSAGE, "`answer`");
            check::of_message(known, table)
        }
    };
    let time = match one_of(reading, of, &TIMES.map(|(key, _)| key)) {
        None => {
            lacks("one of time_ns, time_us, time_ms and time_s", "time_ns = \"/at\"");
            None
        }
        Some(entry) => {
            let unit = TIMES.iter().find(|(key, _)| *key == entry.key).map(|(_, unit)| *unit);
            exchange::pointer(reading, entry).zip(unit)
        }
    };
    let every_ns = match of.get("every") {
        None => Some(EVERY_NS),
        Some(entry) => reading.parsed(&entry.node, "a duration such as 10s", exchange::wait),
    };
    let (at, unit) = time?;
    Some(ServerClock {
        channel: channel?,
        question: question?.into_bytes().into(),
        answer: answer?,
        at,
        unit,
        every_ns: every_ns?,
    })
}
