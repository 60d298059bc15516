//! memcached: its command `stats`.
//!
//! Source: memcached's `doc/protocol.txt`, "General-purpose statistics". Names are those of
//! memcached_exporter. The collector's own connection is among those that memcached counts.

use super::ask::{Conversation, limits};
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::read::number;
use crate::sample::{Group, Samples, Series, counter, gauge};

/// The collector `memcached`.
pub(crate) const KIND: Kind = Kind {
    name: "memcached",
    about: "memcached: hits, items, bytes, evictions, from `stats`",
    needs: &[Need::Address],
    groups: &[&COMMANDS, &GROUP],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let conversation = Conversation::with(address, "memcached", 11_211, limits(source.limit))?;
        Ok(Box::new(Memcached { conversation }))
    },
};

const fn commands(key: &'static str) -> Series {
    counter(key, "memcached_commands_total", "", "commands by what came of them")
        .by(&["command", "status"])
}

/// The statistics that are commands by their result. The key has both labels in it.
const COMMANDS: Group = Group {
    source: "stats",
    series: &[
        commands("get_hits"),
        commands("get_misses"),
        commands("cmd_set"),
        commands("delete_hits"),
        commands("delete_misses"),
        commands("incr_hits"),
        commands("incr_misses"),
        commands("touch_hits"),
        commands("touch_misses"),
    ],
};

const GROUP: Group = Group {
    source: "stats",
    series: &[
        gauge("uptime", "memcached_uptime_seconds", "s", "since its start"),
        gauge("curr_connections", "memcached_current_connections", "", "connections"),
        counter("total_connections", "memcached_connections_total", "", "connections accepted"),
        counter(
            "listen_disabled_num",
            "memcached_connections_listener_disabled_total",
            "",
            "times that the limit of connections was met",
        ),
        gauge("max_connections", "memcached_max_connections", "", "the limit of connections"),
        gauge("curr_items", "memcached_current_items", "", "items that it holds"),
        counter("total_items", "memcached_items_total", "", "items stored"),
        gauge("bytes", "memcached_current_bytes", "bytes", "memory of the items"),
        gauge("limit_maxbytes", "memcached_limit_bytes", "bytes", "the limit of memory"),
        counter("evictions", "memcached_items_evicted_total", "", "items given up for memory"),
        counter(
            "reclaimed",
            "memcached_items_reclaimed_total",
            "",
            "items stored over expired ones",
        ),
        counter("bytes_read", "memcached_read_bytes_total", "bytes", "received"),
        counter("bytes_written", "memcached_written_bytes_total", "bytes", "sent"),
        counter(
            "rusage_user",
            "memcached_process_user_cpu_seconds_total",
            "s",
            "its time in itself",
        ),
        counter(
            "rusage_system",
            "memcached_process_system_cpu_seconds_total",
            "s",
            "its time in the kernel",
        ),
    ],
};

struct Memcached {
    conversation: Conversation,
}

impl Collector for Memcached {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        let answer = self.conversation.ask(b"stats\r\n", is_whole)?;
        let result = parse(&String::from_utf8_lossy(&answer), out);
        if result.is_err() {
            self.conversation.hang_up();
        }
        result
    }
}

/// Whether an answer has come whole: `END`, or any other line that is no statistic, is its last.
pub(crate) fn is_whole(answer: &[u8]) -> bool {
    let is_statistic = |line: &[u8]| line.starts_with(b"STAT ");
    let whole_lines = answer.iter().rposition(|&byte| byte == b'\n');
    match whole_lines {
        Some(end) => {
            let mut lines = answer[..end].split(|&byte| byte == b'\n');
            !lines.all(is_statistic)
        }
        None => answer.len() > LINE_BYTES,
    }
}

const LINE_BYTES: usize = 1024;

/// Reads lines `STAT NAME VALUE`, up to `END`.
pub(crate) fn parse(text: &str, out: &mut Samples) -> Result<(), CollectError> {
    let garbage = || CollectError::garbage("the answer to `stats`", text);
    if !text.trim_end().ends_with("END") {
        return Err(garbage());
    }
    let before = (out.len(), out.left_out());
    for line in text.lines() {
        let Some(statistic) = line.strip_prefix("STAT ") else { continue };
        let (key, word) = statistic.split_once(' ').unwrap_or((statistic, ""));
        let is_command = COMMANDS.find(key);
        let Some(series) = is_command.or_else(|| GROUP.find(key)) else { continue };
        let Some(value) = number(word.trim_end()).filter(|value| *value >= 0.0) else {
            out.leave_out(1, format!("{key} in {}", GROUP.source));
            continue;
        };
        let labels = labels_of(key);
        out.push(series, if is_command.is_some() { &labels } else { &[] }, value);
    }
    if before == (out.len(), out.left_out()) {
        return Err(garbage());
    }
    Ok(())
}

/// The labels of a statistic: the command and its result. `set` is counted without its result.
fn labels_of(key: &str) -> [&str; 2] {
    match key.split_once('_') {
        Some((command, "hits")) => [command, "hit"],
        Some((command, "misses")) => [command, "miss"],
        _ => ["set", "any"],
    }
}
