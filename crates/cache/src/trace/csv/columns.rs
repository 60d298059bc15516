//! What the columns of a table are; their names decide.
//!
//! | column | names |
//! | --- | --- |
//! | object | `object`, `obj`, `key`, `obj_id`, `object_id`, `objectid`, `id`, `url`, `uri`, `item`, `item_id`, `content_id`, `block`, `lba`, `name`, `path`, `hash` |
//! | size | `size`, `bytes`, `obj_size`, `object_size`, `size_bytes`, `bytes_sent`, `body_bytes_sent`, `content_length`, `length`, `value_size`, `response_size` |
//! | time | `time`, `timestamp`, `ts`, `t`, `date`, `datetime`, `date_time`, `clock`, `clock_time`, `epoch`, `unix_time`, `second`, `seconds`, `start_time`, `arrival_time`, with or without a unit: `_s`, `_ms`, `_us`, `_ns`, `_unix` |
//! | client | `client`, `client_id`, `user`, `user_id`, `host`, `ip`, `client_ip`, `remote_addr` |
//!
//! Of several columns that could be the same, the one counts whose name comes first here. Upper
//! case, blanks, quotes and a `#` before the first name do not matter. Other columns are left
//! alone, a status too.

use std::str::FromStr;

const OBJECT: [&str; 17] = [
    "object",
    "obj",
    "key",
    "obj_id",
    "object_id",
    "objectid",
    "id",
    "url",
    "uri",
    "item",
    "item_id",
    "content_id",
    "block",
    "lba",
    "name",
    "path",
    "hash",
];
const SIZE: [&str; 11] = [
    "size",
    "bytes",
    "obj_size",
    "object_size",
    "size_bytes",
    "bytes_sent",
    "body_bytes_sent",
    "content_length",
    "length",
    "value_size",
    "response_size",
];
const TIME: [&str; 15] = [
    "time",
    "timestamp",
    "ts",
    "t",
    "date",
    "datetime",
    "date_time",
    "clock",
    "clock_time",
    "epoch",
    "unix_time",
    "second",
    "seconds",
    "start_time",
    "arrival_time",
];
const CLIENT: [&str; 8] =
    ["client", "client_id", "user", "user_id", "host", "ip", "client_ip", "remote_addr"];

/// Units at the end of a time's name: how many make a second.
const UNITS: [(&str, Option<u64>); 9] = [
    ("_s", Some(1)),
    ("_sec", Some(1)),
    ("_seconds", Some(1)),
    ("_ms", Some(1_000)),
    ("_msec", Some(1_000)),
    ("_us", Some(1_000_000)),
    ("_usec", Some(1_000_000)),
    ("_ns", Some(1_000_000_000)),
    ("_unix", None),
];

/// Which column is what, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// What is asked for.
    pub object: usize,
    /// How large it is, in bytes.
    pub size: Option<usize>,
    /// When it is asked for.
    pub time: Option<TimeColumn>,
    /// By whom.
    pub client: Option<usize>,
}

/// Where times stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeColumn {
    /// The column.
    pub column: usize,
    /// How many of its numbers make a second. Where that is not known, the first number tells:
    /// from 10^11 on it counts milliseconds, from 10^14 microseconds, from 10^17 nanoseconds.
    pub unit: Option<u64>,
}

/// Columns that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// A word that names none.
    #[error(
        "wanted time, object, size, client, or - for a column that does not matter, found {0:?}"
    )]
    Unknown(String),
    /// None with objects.
    #[error("wanted a column with objects, such as time,object,size, found {0:?}")]
    NoObject(String),
    /// Two for the same.
    #[error("wanted each kind of column once, found {0:?} as well")]
    Twice(String),
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Object,
    Size,
    Time(Option<u64>),
    Client,
}

/// The role of a column of this name, and the name's rank among those of the role.
fn role(name: &str) -> Option<(Role, usize)> {
    let rank = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
    if let Some(rank) = rank(&OBJECT, name) {
        return Some((Role::Object, rank));
    }
    if let Some(rank) = rank(&SIZE, name) {
        return Some((Role::Size, rank));
    }
    if let Some(rank) = rank(&CLIENT, name) {
        return Some((Role::Client, rank));
    }
    if let Some(at) = rank(&TIME, name) {
        let unit = name.starts_with("second").then_some(1);
        return Some((Role::Time(unit), at));
    }
    UNITS.iter().find_map(|(suffix, unit)| {
        let base = name.strip_suffix(suffix)?;
        Some((Role::Time(*unit), rank(&TIME, base)?))
    })
}

/// A name without what does not matter.
fn clean(name: &str) -> String {
    let name = name.trim().trim_start_matches('#').trim();
    name.trim_matches(['"', '\'']).trim().to_ascii_lowercase()
}

impl Columns {
    /// Of the names in a first line; `None` where none of them is that of objects.
    pub(super) fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut best: [Option<(usize, usize)>; 4] = [None; 4];
        let mut unit = None;
        for (column, name) in names.enumerate() {
            let Some((role, rank)) = role(&clean(name)) else { continue };
            let place = match role {
                Role::Object => 0,
                Role::Size => 1,
                Role::Time(_) => 2,
                Role::Client => 3,
            };
            if best[place].is_none_or(|(known, _)| rank < known) {
                best[place] = Some((rank, column));
                if let Role::Time(of_name) = role {
                    unit = of_name;
                }
            }
        }
        let [object, size, time, client] = best.map(|found| found.map(|(_, column)| column));
        let time = time.map(|column| TimeColumn { column, unit });
        Some(Self { object: object?, size, time, client })
    }

    /// The columns that are read, from which line on is needed.
    pub(super) fn last(&self) -> usize {
        let time = self.time.map(|time| time.column);
        [Some(self.object), self.size, time, self.client].into_iter().flatten().max().unwrap_or(0)
    }
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let mut columns = Self { object: usize::MAX, size: None, time: None, client: None };
        for (column, word) in text.split(',').enumerate() {
            let word = clean(word);
            if matches!(word.as_str(), "" | "-" | "_") {
                continue;
            }
            let (role, _) = role(&word).ok_or_else(|| ColumnsError::Unknown(word.clone()))?;
            let known = match role {
                Role::Object => std::mem::replace(&mut columns.object, column) != usize::MAX,
                Role::Size => columns.size.replace(column).is_some(),
                Role::Client => columns.client.replace(column).is_some(),
                Role::Time(unit) => columns.time.replace(TimeColumn { column, unit }).is_some(),
            };
            if known {
                return Err(ColumnsError::Twice(word));
            }
        }
        if columns.object == usize::MAX {
            return Err(ColumnsError::NoObject(text.to_owned()));
        }
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &str) -> Option<Columns> {
        Columns::of_names(names.split(','))
    }

    fn time(column: usize, unit: Option<u64>) -> Option<TimeColumn> {
        Some(TimeColumn { column, unit })
    }

    #[test]
    fn names_tell() {
        let columns = of("time_unix,client,object,bytes,status").unwrap();
        let expected = Columns { object: 2, size: Some(3), time: time(0, None), client: Some(1) };
        assert_eq!(columns, expected);
        assert_eq!(columns.last(), 3);
        assert_eq!(of("# Time_ms, \"URL\" ,Obj_Size").unwrap().time, time(0, Some(1000)));
        assert_eq!(of("id,object").unwrap().object, 1);
        assert_eq!(of("object,key,id").unwrap().object, 0);
        assert_eq!(of("timestamp,time_ns,key").unwrap().time, time(1, Some(1_000_000_000)));
        assert_eq!(of("second,key").unwrap().time, time(0, Some(1)));
        for none in ["", "1,2,3", "time,size", "value"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn users_may_say_it() {
        let columns: Columns = "time,object,size".parse().unwrap();
        let expected = Columns { object: 1, size: Some(2), time: time(0, None), client: None };
        assert_eq!(columns, expected);
        let columns: Columns = "-,url,,client,time_us".parse().unwrap();
        assert_eq!((columns.object, columns.client), (1, Some(3)));
        assert_eq!(columns.time, time(4, Some(1_000_000)));
        for (text, what) in [
            ("time,size", "objects"),
            ("", "objects"),
            ("object,key", "once"),
            ("object,colour", "colour"),
        ] {
            let error = text.parse::<Columns>().unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
