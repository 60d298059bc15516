//! Redis: its command `INFO`.
//!
//! Source: the manual of `INFO` and of the protocol (RESP 2: a bulk string is `$LENGTH`, a line
//! end, the bytes, a line end). Names are those of redis_exporter. The collector's own connection
//! and its commands are among those that Redis counts.

use super::ask::{Conversation, limits};
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::read::{count, number};
use crate::sample::{Group, Samples, counter, gauge};

/// The collector `redis`.
pub(crate) const KIND: Kind = Kind {
    name: "redis",
    about: "Redis: hits, keys, memory, commands, from `INFO`",
    needs: &[Need::Address],
    groups: &[&GROUP],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let conversation = Conversation::with(address, "redis", 6379, limits(source.limit))?;
        Ok(Box::new(Redis { conversation }))
    },
};

const GROUP: Group = Group {
    source: "INFO",
    series: &[
        gauge("uptime_in_seconds", "redis_uptime_in_seconds", "s", "since its start"),
        gauge("connected_clients", "redis_connected_clients", "", "connections"),
        gauge("blocked_clients", "redis_blocked_clients", "", "connections that wait in a command"),
        gauge("used_memory", "redis_memory_used_bytes", "bytes", "memory that it allocated"),
        gauge("used_memory_rss", "redis_memory_used_rss_bytes", "bytes", "its resident memory"),
        gauge("maxmemory", "redis_memory_max_bytes", "bytes", "its limit of memory; 0: none"),
        counter(
            "total_connections_received",
            "redis_connections_received_total",
            "",
            "connections accepted",
        ),
        counter(
            "rejected_connections",
            "redis_rejected_connections_total",
            "",
            "connections refused at its limit",
        ),
        counter("total_commands_processed", "redis_commands_processed_total", "", "commands"),
        counter("total_net_input_bytes", "redis_net_input_bytes_total", "bytes", "received"),
        counter("total_net_output_bytes", "redis_net_output_bytes_total", "bytes", "sent"),
        counter("expired_keys", "redis_expired_keys_total", "", "keys whose time was over"),
        counter("evicted_keys", "redis_evicted_keys_total", "", "keys given up for memory"),
        counter("keyspace_hits", "redis_keyspace_hits_total", "", "look-ups that found a key"),
        counter("keyspace_misses", "redis_keyspace_misses_total", "", "look-ups that found none"),
        counter("used_cpu_sys", "redis_cpu_sys_seconds_total", "s", "its time in the kernel"),
        counter("used_cpu_user", "redis_cpu_user_seconds_total", "s", "its time in itself"),
        gauge("db keys", "redis_db_keys", "", "keys of a database").by(&["db"]),
        gauge("db expires", "redis_db_keys_expiring", "", "those of them that expire").by(&["db"]),
    ],
};

struct Redis {
    conversation: Conversation,
}

impl Collector for Redis {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        let answer = self.conversation.ask(b"*1\r\n$4\r\nINFO\r\n", is_whole)?;
        let result = text_of(&answer).and_then(|text| parse(text, out));
        if result.is_err() {
            self.conversation.hang_up();
        }
        result
    }
}

/// Whether an answer has come whole, or cannot become one.
pub(crate) fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.iter().position(|&byte| byte == b'\n') else {
        // No first line is as long as that.
        return answer.len() > LINE_BYTES;
    };
    match length_of(answer) {
        Some(length) => answer.len() >= (end + 1).saturating_add(length).saturating_add(2),
        None => true,
    }
}

const LINE_BYTES: usize = 1024;

/// The length that the first line announces, where it announces one.
fn length_of(answer: &[u8]) -> Option<usize> {
    let line = answer.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix('$')?;
    line.trim_end().parse().ok()
}

fn text_of(answer: &[u8]) -> Result<&str, CollectError> {
    let garbage = || CollectError::garbage("the answer to INFO", &String::from_utf8_lossy(answer));
    length_of(answer).ok_or_else(garbage)?;
    let start = answer.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    std::str::from_utf8(&answer[start..]).map_err(|_| garbage())
}

/// Reads lines `NAME:VALUE`; a database's is `db0:keys=1,expires=0,avg_ttl=0`.
pub(crate) fn parse(text: &str, out: &mut Samples) -> Result<(), CollectError> {
    let before = (out.len(), out.left_out());
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        if value.starts_with("keys=") {
            parse_database(key, value, out);
        } else if let Some(series) = GROUP.find(key) {
            match number(value).filter(|value| *value >= 0.0) {
                Some(value) => out.push(series, &[], value),
                None => out.leave_out(1, format!("{key} in {}", GROUP.source)),
            }
        }
    }
    if before == (out.len(), out.left_out()) {
        return Err(CollectError::garbage("the answer to INFO", text));
    }
    Ok(())
}

fn parse_database(name: &str, value: &str, out: &mut Samples) {
    for pair in value.split(',') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(series) = GROUP.find(&format!("db {key}")) else { continue };
        match count(value) {
            Some(value) => out.push(series, &[name], value),
            None => out.leave_out(1, format!("{name} in {}", GROUP.source)),
        }
    }
}
