//! What the columns of a table are; their names decide.
//!
//! | column | names |
//! | --- | --- |
//! | object | `object`, `obj`, `key`, `obj_id`, `object_id`, `objectid`, `id`, `url`, `uri`, `item`, `item_id`, `content_id`, `block`, `lba`, `name`, `path`, `hash`, `cs-uri-stem` |
//! | size | `size`, `bytes`, `obj_size`, `object_size`, `size_bytes`, `bytes_sent`, `body_bytes_sent`, `content_length`, `length`, `value_size`, `response_size`, `sc-bytes` |
//! | time | `time`, `timestamp`, `ts`, `t`, `date`, `datetime`, `date_time`, `clock`, `clock_time`, `epoch`, `unix_time`, `second`, `seconds`, `start_time`, `arrival_time`, with or without a unit: `_s`, `_ms`, `_us`, `_100ns`, `_ns`, `_unix` |
//! | client | `client`, `client_id`, `user`, `user_id`, `ip`, `client_ip`, `remote_addr`, `c-ip` |
//! | volume | `volume`, `volume_id`, `vol`, `disk`, `disk_id`, `disk_number`, `asu`, `lun` |
//! | host | `host`; always an object's: `cs(host)`, `cs-host`, `x-host-header`, `http_host`, `vhost`, `virtual_host`, `server_name` |
//! | query | `cs-uri-query`, `query`, `query_string` |
//! | operation | `op`, `operation`, `op_type`, `operation_type`, `verb`, `method`, `http_method`, `request_method`, `cs-method`, `command`, `cmd` |
//!
//! Of several columns that could be the same, the one counts whose name comes first here. Upper
//! case, blanks, quotes and a `#` before the first name do not matter. A `host` is the object's
//! where the object is a path or a URL, else the client. Volumes are part of the object: the same
//! block of two volumes is two objects; there may be several columns of them, as of a host and its
//! disk. Other columns are passed over, a status too, and named
//! ([`super::super::ReadSummary::passed_over`]).

use std::str::FromStr;

const OBJECT: [&str; 18] = [
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
    "cs-uri-stem",
];
const SIZE: [&str; 12] = [
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
    "sc-bytes",
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
    ["client", "client_id", "user", "user_id", "ip", "client_ip", "remote_addr", "c-ip"];

/// The first may be a client too.
const HOST: [&str; 8] = [
    "host",
    "cs(host)",
    "cs-host",
    "x-host-header",
    "http_host",
    "vhost",
    "virtual_host",
    "server_name",
];
/// Each is a part of the object.
const VOLUME: [&str; 8] =
    ["volume", "volume_id", "vol", "disk", "disk_id", "disk_number", "asu", "lun"];
const QUERY: [&str; 3] = ["cs-uri-query", "query", "query_string"];
const OPERATION: [&str; 11] = [
    "op",
    "operation",
    "op_type",
    "operation_type",
    "verb",
    "method",
    "http_method",
    "request_method",
    "cs-method",
    "command",
    "cmd",
];

/// Objects of these names are paths or URLs.
const ADDRESSES: [&str; 4] = ["url", "uri", "path", "cs-uri-stem"];

/// Units at the end of a time's name: how many make a second.
const UNITS: [(&str, Option<TimeUnit>); 10] = [
    ("_s", Some(TimeUnit::PerSecond(1))),
    ("_sec", Some(TimeUnit::PerSecond(1))),
    ("_seconds", Some(TimeUnit::PerSecond(1))),
    ("_ms", Some(TimeUnit::PerSecond(1_000))),
    ("_msec", Some(TimeUnit::PerSecond(1_000))),
    ("_us", Some(TimeUnit::PerSecond(1_000_000))),
    ("_usec", Some(TimeUnit::PerSecond(1_000_000))),
    ("_100ns", Some(TimeUnit::PerSecond(10_000_000))),
    ("_ns", Some(TimeUnit::PerSecond(1_000_000_000))),
    ("_unix", None),
];

/// Which column is what, counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Columns {
    /// What is asked for.
    pub object: usize,
    /// How large it is, in bytes.
    pub size: Option<usize>,
    /// When it is asked for.
    pub time: Option<TimeColumn>,
    /// The day, where the time is one of the day.
    pub date: Option<usize>,
    /// By whom.
    pub client: Option<usize>,
    /// Of which host.
    pub host: Option<HostColumn>,
    /// What follows the `?` of a URL.
    pub query: Option<usize>,
    /// What objects lie on: the same name on two of them is two objects.
    pub volumes: [Option<usize>; VOLUMES],
    /// What was done with the object: look-ups count.
    pub operation: Option<usize>,
    /// Whether the object's name says that it is a path or a URL.
    pub is_address: bool,
    /// How many columns were named; a table of one has a line an object.
    pub width: usize,
}

/// Where times stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeColumn {
    /// The column.
    pub column: usize,
    /// How its numbers count. Where that is not known, most of the first rows tell: numbers from
    /// 10^11 on are milliseconds, from 10^14 microseconds, from 10^17 nanoseconds, or 100 of them
    /// since 1601 or since the year 1 where that comes to our times; and those of fourteen digits
    /// that make a date are one.
    pub unit: Option<TimeUnit>,
}

/// How numbers count time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// So many make a second.
    PerSecond(u64),
    /// They are dates, as `20260701120000`.
    Digits,
}

/// Where hosts stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostColumn {
    /// The column.
    pub column: usize,
    /// Whose they are.
    pub of: HostOf,
}

/// Whose a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostOf {
    /// The object's.
    Object,
    /// The object's if that is a path or a URL, which its name does not say; else the client.
    Either,
}

/// Columns that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// A word that names none.
    #[error(
        "expected time (time_s, time_ms, time_us, time_ns, time_100ns), object, size, client, \
         host, volume, query, op, or - for a column that does not matter, found {0:?}"
    )]
    Unknown(String),
    /// None with objects.
    #[error("expected a column with objects, such as time,object,size, found {0:?}")]
    NoObject(String),
    /// Two for the same.
    #[error("expected each kind of column once, found {0:?} as well")]
    Twice(String),
}

/// How many columns of volumes there may be.
pub(super) const VOLUMES: usize = 3;
/// How many columns are read at most.
pub(super) const PLACES: usize = 8 + VOLUMES;

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Object,
    Size,
    Time(Option<TimeUnit>),
    Client,
    Host,
    Volume,
    Query,
    Operation,
}

/// Every name that is known, without those that end in a unit.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let all = [&OBJECT[..], &SIZE, &CLIENT, &HOST, &VOLUME, &QUERY, &OPERATION, &TIME];
    all.into_iter().flatten().copied()
}

/// The role of a column of this name, and the name's rank among those of the role.
fn role(name: &str) -> Option<(Role, usize)> {
    let rank = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
    let roles = [
        (Role::Object, &OBJECT[..]),
        (Role::Size, &SIZE),
        (Role::Client, &CLIENT),
        (Role::Host, &HOST),
        (Role::Volume, &VOLUME),
        (Role::Query, &QUERY),
        (Role::Operation, &OPERATION),
    ];
    let named = roles.into_iter().find_map(|(role, names)| Some((role, rank(names, name)?)));
    if named.is_some() {
        return named;
    }
    if let Some(at) = rank(&TIME, name) {
        let unit = name.starts_with("second").then_some(TimeUnit::PerSecond(1));
        return Some((Role::Time(unit), at));
    }
    UNITS.iter().find_map(|(suffix, unit)| {
        let base = name.strip_suffix(suffix)?;
        Some((Role::Time(*unit), rank(&TIME, base)?))
    })
}

/// A name without what does not matter.
fn clean(name: &str) -> String {
    shown(name).to_ascii_lowercase()
}

/// A name as it stands in a first line, without what is not part of it.
fn shown(name: &str) -> &str {
    let name = name.trim().trim_start_matches('#').trim();
    name.trim_matches(['"', '\'']).trim()
}

impl Columns {
    /// Of the names in a first line; `None` where none of them is that of objects, or one is a
    /// number, which is no name.
    pub(super) fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut columns = Self { object: usize::MAX, ..Self::default() };
        let mut ranks = [usize::MAX; 8];
        for (column, name) in names.enumerate() {
            columns.width = column + 1;
            let name = clean(name);
            if name.parse::<f64>().is_ok() {
                return None;
            }
            let Some((role, rank)) = role(&name) else { continue };
            if name == "date" && columns.date.is_none() {
                columns.date = Some(column);
            }
            let known = &mut ranks[role.place()];
            if role == Role::Volume {
                // One too many is passed over, as any column without a use.
                columns.set(role, column, &name);
            } else if rank < *known {
                *known = rank;
                columns.set(role, column, &name);
            }
        }
        // A date that is all there is of time is the time.
        columns.date =
            columns.date.filter(|date| columns.time.is_some_and(|of| of.column != *date));
        (columns.object != usize::MAX).then_some(columns)
    }

    /// Notes what a column is for, and returns whether another one was for it.
    fn set(&mut self, role: Role, column: usize, name: &str) -> bool {
        match role {
            Role::Object => {
                self.is_address = ADDRESSES.contains(&name);
                std::mem::replace(&mut self.object, column) != usize::MAX
            }
            Role::Size => self.size.replace(column).is_some(),
            Role::Client => self.client.replace(column).is_some(),
            Role::Time(unit) => self.time.replace(TimeColumn { column, unit }).is_some(),
            Role::Volume => {
                let free = self.volumes.iter_mut().find(|volume| volume.is_none());
                free.map(|volume| *volume = Some(column)).is_none()
            }
            Role::Query => self.query.replace(column).is_some(),
            Role::Operation => self.operation.replace(column).is_some(),
            Role::Host => {
                let of = if name == HOST[0] { HostOf::Either } else { HostOf::Object };
                self.host.replace(HostColumn { column, of }).is_some()
            }
        }
    }

    /// All columns that are read.
    pub(super) fn used(&self) -> [Option<usize>; PLACES] {
        let [first, second, third] = self.volumes;
        [
            Some(self.object),
            self.size,
            self.time.map(|time| time.column),
            self.client,
            self.host.map(|host| host.column),
            self.query,
            self.operation,
            self.date,
            first,
            second,
            third,
        ]
    }

    /// How many columns are read.
    pub(super) fn known(&self) -> usize {
        self.used().into_iter().flatten().count()
    }

    /// The names in a first line that no column here is for.
    pub(super) fn passed_over<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let used = self.used();
        let named = names.enumerate().filter(|(column, _)| !used.contains(&Some(*column)));
        named.map(|(_, name)| shown(name)).filter(|name| !name.is_empty()).collect()
    }

    /// The columns that are read, from which line on is needed.
    pub(super) fn last(&self) -> usize {
        self.used().into_iter().flatten().max().unwrap_or(0)
    }
}

impl Role {
    fn place(self) -> usize {
        match self {
            Self::Object => 0,
            Self::Size => 1,
            Self::Time(_) => 2,
            Self::Client => 3,
            Self::Host => 4,
            Self::Query => 5,
            Self::Operation => 6,
            Self::Volume => 7,
        }
    }
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let mut columns = Self { object: usize::MAX, ..Self::default() };
        for (column, word) in text.split(',').enumerate() {
            columns.width = column + 1;
            let word = clean(word);
            if matches!(word.as_str(), "" | "-" | "_") {
                continue;
            }
            let (role, _) = role(&word).ok_or_else(|| ColumnsError::Unknown(word.clone()))?;
            if word == "date" {
                if columns.date.replace(column).is_some() {
                    return Err(ColumnsError::Twice(word));
                }
                continue;
            }
            if columns.set(role, column, &word) {
                return Err(ColumnsError::Twice(word));
            }
        }
        if columns.object == usize::MAX {
            return Err(ColumnsError::NoObject(text.to_owned()));
        }
        if columns.time.is_none() {
            columns.time = columns.date.take().map(|column| TimeColumn { column, unit: None });
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
        Some(TimeColumn { column, unit: unit.map(TimeUnit::PerSecond) })
    }

    #[test]
    fn names_tell() {
        let columns = of("time_unix,client,object,bytes,status").unwrap();
        let expected = Columns {
            object: 2,
            size: Some(3),
            time: time(0, None),
            client: Some(1),
            width: 5,
            ..Columns::default()
        };
        assert_eq!(columns, expected);
        assert_eq!(columns.last(), 3);
        let passed_over = columns.passed_over("time_unix,client,object,bytes,status".split(','));
        assert_eq!(passed_over, ["status"]);
        assert_eq!(of("# Time_ms, \"URL\" ,Obj_Size").unwrap().time, time(0, Some(1000)));
        assert_eq!(of("id,object").unwrap().object, 1);
        assert_eq!(of("object,key,id").unwrap().object, 0);
        assert_eq!(of("timestamp,time_ns,key").unwrap().time, time(1, Some(1_000_000_000)));
        assert_eq!(of("second,key").unwrap().time, time(0, Some(1)));
        for none in ["", "1,2,3", "time,size", "value", "17,id"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn w3c_names_tell() {
        let names = "date,time,x-edge-location,sc-bytes,c-ip,cs-method,cs(Host),cs-uri-stem,\
                     sc-status,cs-uri-query";
        let columns = of(names).unwrap();
        assert_eq!((columns.object, columns.size, columns.client), (7, Some(3), Some(4)));
        assert_eq!((columns.date, columns.time), (Some(0), time(1, None)));
        assert_eq!((columns.operation, columns.query), (Some(5), Some(9)));
        assert_eq!(columns.host, Some(HostColumn { column: 6, of: HostOf::Object }));
        assert!(columns.is_address);
        let passed_over = columns.passed_over(names.split(','));
        assert_eq!(passed_over, ["x-edge-location", "sc-status"]);
        // A date alone is the time.
        let columns = of("date,key").unwrap();
        assert_eq!((columns.date, columns.time), (None, time(0, None)));
    }

    #[test]
    fn users_may_say_it() {
        let columns: Columns = "time,object,size".parse().unwrap();
        let expected = Columns {
            object: 1,
            size: Some(2),
            time: time(0, None),
            width: 3,
            ..Columns::default()
        };
        assert_eq!(columns, expected);
        let columns: Columns = "time_100ns,volume,volume,op,object,size".parse().unwrap();
        assert_eq!(columns.time, time(0, Some(10_000_000)));
        assert_eq!((columns.volumes, columns.object), ([Some(1), Some(2), None], 4));
        let columns: Columns = "date,time,key".parse().unwrap();
        assert_eq!((columns.date, columns.time), (Some(0), time(1, None)));
        let columns: Columns = "date,key".parse().unwrap();
        assert_eq!((columns.date, columns.time), (None, time(0, None)));
        let columns: Columns = "-,url,,client,time_us".parse().unwrap();
        assert_eq!((columns.object, columns.client), (1, Some(3)));
        assert_eq!(columns.time, time(4, Some(1_000_000)));
        for (text, what) in [
            ("time,size", "objects"),
            ("", "objects"),
            ("object,key", "once"),
            ("asu,lun,disk,vol,key", "once"),
            ("object,colour", "colour"),
        ] {
            let error = text.parse::<Columns>().unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
