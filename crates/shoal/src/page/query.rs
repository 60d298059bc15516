//! What a page is asked for: the path's size and the parameters of the query.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::answer::paths::{DEFAULT_PAGE, MAX_COUNT};
use crate::answer::query::decoded;
use crate::registry::State;

/// The complaints that a page shows where nothing is said.
pub const DEFAULT_ERRORS: usize = 10;
/// The most complaints that a page shows.
pub const MOST_ERRORS: usize = 1000;
/// The value of a filter that wants what has no value.
pub const NONE: &str = "~";
/// The longest value of a filter, bytes: a host's name.
const VALUE_BYTES: usize = 253;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The host's name.
    Host,
    /// Its public or external address.
    Address,
    /// The cloud it runs in.
    Cloud,
    /// Two letters of the country.
    Country,
    /// Its agent's version.
    Version,
    /// Its state.
    State,
    /// The share of what it can send.
    Load,
    /// The age of its last heartbeat.
    Heartbeat,
}

impl Column {
    /// In the order in which they stand.
    pub const ALL: [Self; 8] = [
        Self::Host,
        Self::Address,
        Self::Cloud,
        Self::Country,
        Self::Version,
        Self::State,
        Self::Load,
        Self::Heartbeat,
    ];

    /// As it stands in a query.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Address => "address",
            Self::Cloud => "cloud",
            Self::Country => "country",
            Self::Version => "version",
            Self::State => "state",
            Self::Load => "load",
            Self::Heartbeat => "heartbeat",
        }
    }

    /// Whether the highest comes first where nothing is said: what is busy, what is silent.
    #[must_use]
    pub fn falls(self) -> bool {
        matches!(self, Self::Load | Self::Heartbeat)
    }
}

/// Every state, in order.
pub const STATES: [State; 5] =
    [State::Unverified, State::Verified, State::Failing, State::Drained, State::Banned];

/// What a page is asked for. An empty text filters nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Rows of a page, 1 to [`MAX_COUNT`].
    pub size: usize,
    /// The page, from 1.
    pub page: usize,
    /// By which the table is sorted.
    pub sort: Column,
    /// Whether the highest comes first.
    pub falling: bool,
    /// A part of a host's name or address, in lower case.
    pub host: String,
    /// A cloud's name, or [`NONE`].
    pub cloud: String,
    /// A country's two letters, or [`NONE`].
    pub country: String,
    /// A version, or [`NONE`].
    pub version: String,
    /// One state only.
    pub state: Option<State>,
    /// The least load, percent of what a cache can send.
    pub load_min: u8,
    /// The highest load, percent of what a cache can send.
    pub load_max: u8,
    /// The most complaints shown, 1 to [`MOST_ERRORS`].
    pub errors: usize,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            size: DEFAULT_PAGE,
            page: 1,
            sort: Column::Host,
            falling: false,
            host: String::new(),
            cloud: String::new(),
            country: String::new(),
            version: String::new(),
            state: None,
            load_min: 0,
            load_max: 100,
            errors: DEFAULT_ERRORS,
        }
    }
}

/// What is wrong with a query, in words for whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A parameter that is no number in its bounds.
    #[error("`{name}` is not a whole number from {least} to {most}")]
    Number {
        /// The parameter.
        name: &'static str,
        /// Its least value.
        least: usize,
        /// Its highest value.
        most: usize,
    },
    /// A parameter that is none of a few words.
    #[error("`{0}` is none of {1}")]
    Word(&'static str, String),
    /// A filter that is longer than anything it could be compared with.
    #[error("`{0}` is longer than 253 bytes")]
    Long(&'static str),
    /// A parameter stands there twice.
    #[error("`{0}` is given twice")]
    Twice(&'static str),
}

const NAMES: [&str; 11] = [
    "page", "sort", "order", "host", "cloud", "country", "version", "state", "load_min",
    "load_max", "errors",
];

impl Query {
    /// Reads a path with its query; `size` is the path's own, 0: as many as there may be.
    ///
    /// *Shape*: `name=value` between `&`, `%XX` and `+` as forms have them (WHATWG, URL,
    /// section 5.1); a parameter without a value is as good as absent, unknown ones are ignored.
    ///
    /// # Errors
    ///
    /// A [`Fault`] that names the parameter.
    pub fn parse(size: usize, path: &str) -> Result<Self, Fault> {
        let text = path.split_once('?').map_or("", |(_, query)| query);
        let mut values: [Option<Cow<'_, str>>; NAMES.len()] = [const { None }; NAMES.len()];
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(at) = NAMES.iter().position(|known| *known == name) else { continue };
            if value.is_empty() {
                continue;
            }
            if values[at].replace(decoded(value)).is_some() {
                return Err(Fault::Twice(NAMES[at]));
            }
        }
        let [page, sort, order, host, cloud, country, version, state, least, most, errors] = values;
        let known = Column::ALL.map(|column| (column.name(), column));
        let sort = sort.map(|sort| word("sort", &sort, &known)).transpose()?;
        let sort = sort.unwrap_or(Column::Host);
        let order = order.map(|order| word("order", &order, &[("asc", false), ("desc", true)]));
        let states = STATES.map(|state| (state.name(), state));
        Ok(Self {
            size: if size == 0 { MAX_COUNT } else { size.min(MAX_COUNT) },
            page: number("page", page.as_deref(), 1, 1_000_000, 1)?,
            sort,
            falling: order.transpose()?.unwrap_or(sort.falls()),
            host: value("host", host)?.trim().to_ascii_lowercase(),
            cloud: value("cloud", cloud)?,
            country: value("country", country)?,
            version: value("version", version)?,
            state: state.map(|state| word("state", &state, &states)).transpose()?,
            load_min: percent("load_min", least.as_deref(), 0)?,
            load_max: percent("load_max", most.as_deref(), 100)?,
            errors: number("errors", errors.as_deref(), 1, MOST_ERRORS, DEFAULT_ERRORS)?,
        })
    }

    /// Whether some caches may be left out.
    #[must_use]
    pub fn filters(&self) -> bool {
        let texts = [&self.host, &self.cloud, &self.country, &self.version];
        texts.iter().any(|text| !text.is_empty())
            || self.state.is_some()
            || self.load_min > 0
            || self.load_max < 100
    }

    /// The path of this size.
    #[must_use]
    pub fn path(&self) -> String {
        if self.size == DEFAULT_PAGE { "/".to_owned() } else { format!("/{}", self.size) }
    }

    /// The path and query that ask for this, as short as may be.
    #[must_use]
    pub fn href(&self) -> String {
        let mut out = self.path();
        let mut first = true;
        let mut add = |name: &str, value: &str| {
            out.push(if first { '?' } else { '&' });
            first = false;
            out.push_str(name);
            out.push('=');
            encode(value, &mut out);
        };
        for (name, text) in [
            ("host", &self.host),
            ("cloud", &self.cloud),
            ("country", &self.country),
            ("version", &self.version),
        ] {
            if !text.is_empty() {
                add(name, text);
            }
        }
        if let Some(state) = self.state {
            add("state", state.name());
        }
        if self.load_min > 0 {
            add("load_min", &self.load_min.to_string());
        }
        if self.load_max < 100 {
            add("load_max", &self.load_max.to_string());
        }
        if self.sort != Column::Host {
            add("sort", self.sort.name());
        }
        if self.falling != self.sort.falls() {
            add("order", if self.falling { "desc" } else { "asc" });
        }
        if self.page > 1 {
            add("page", &self.page.to_string());
        }
        if self.errors != DEFAULT_ERRORS {
            add("errors", &self.errors.to_string());
        }
        out
    }

    /// The same, from its first page, by that column: the other way round where it is by it.
    #[must_use]
    pub fn sorted_by(&self, column: Column) -> Self {
        let falling = if self.sort == column { !self.falling } else { column.falls() };
        Self { sort: column, falling, page: 1, ..self.clone() }
    }

    /// The same order, nothing filtered.
    #[must_use]
    pub fn unfiltered(&self) -> Self {
        let Self { size, sort, falling, errors, .. } = *self;
        Self { size, sort, falling, errors, ..Self::default() }
    }
}

fn value(name: &'static str, text: Option<Cow<'_, str>>) -> Result<String, Fault> {
    let text = text.map_or(Cow::Borrowed(""), |text| text);
    if text.len() > VALUE_BYTES { Err(Fault::Long(name)) } else { Ok(text.into_owned()) }
}

fn word<T: Copy>(name: &'static str, text: &str, known: &[(&str, T)]) -> Result<T, Fault> {
    let found = known.iter().find(|(word, _)| *word == text);
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        Fault::Word(name, words.join(", "))
    })
}

fn percent(name: &'static str, text: Option<&str>, default: u8) -> Result<u8, Fault> {
    let percent = number(name, text, 0, 100, default.into())?;
    Ok(u8::try_from(percent).unwrap_or(default))
}

fn number(
    name: &'static str,
    text: Option<&str>,
    least: usize,
    most: usize,
    default: usize,
) -> Result<usize, Fault> {
    let Some(text) = text else { return Ok(default) };
    // `parse` would take a sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let n = text.parse().ok().filter(|n| digits && (least..=most).contains(n));
    n.ok_or(Fault::Number { name, least, most })
}

/// Writes a value so that [`decoded`] reads it back: all but letters, digits and `-._~` as `%XX`.
fn encode(value: &str, out: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
