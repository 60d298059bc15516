//! What a value may be where only a floor above knows it: names with their parameters, as data. It
//! is put together once, of the registries of higher floors, and given to the readers.

use plimsoll_units::parameter::Parameter;
use plimsoll_units::{ParseError, nearest};
use plimsoll_workload::request::{OF_HTTP, Scheme};

use crate::describe::Meant;

/// How many names a hint tells.
const MAX_SHOWN: usize = 24;

/// What higher floors know of plans.
#[derive(Debug)]
pub struct Vocabulary {
    /// The schemes of URLs; those of HTTP where it has none.
    pub schemes: Vec<&'static Scheme>,
    /// The kinds of policies of a pool.
    pub policies: Vec<Named>,
    /// The eviction policies of a cache.
    pub evictions: Vec<Named>,
    /// How the caches of a cluster find who holds an object.
    pub protocols: Vec<Named>,
    /// How the clients of a cluster spread over its caches.
    pub spreads: Vec<Named>,
    /// The figures of a simulated pool: what may be made small or great.
    pub figures: Vec<Named>,
}

impl Vocabulary {
    /// Without a name: any may be right.
    pub const EMPTY: Self = Self {
        schemes: Vec::new(),
        policies: Vec::new(),
        evictions: Vec::new(),
        protocols: Vec::new(),
        spreads: Vec::new(),
        figures: Vec::new(),
    };

    /// The schemes that a URL may have.
    pub(crate) fn schemes(&self) -> &[&'static Scheme] {
        if self.schemes.is_empty() { &OF_HTTP } else { &self.schemes }
    }

    /// The names that may be meant.
    pub(crate) fn names(&self, meant: Meant) -> &[Named] {
        match meant {
            Meant::Eviction => &self.evictions,
            Meant::Protocol => &self.protocols,
            Meant::Spread => &self.spreads,
            Meant::Figure => &self.figures,
        }
    }

    /// Whether a text is one of the names that may be meant, with parameters behind it or none.
    pub(crate) fn check(&self, meant: Meant, text: &str) -> Result<(), ParseError> {
        let names = self.names(meant);
        let wanted = match meant {
            Meant::Eviction => "an eviction policy",
            Meant::Protocol => "a protocol",
            Meant::Spread => "a spread",
            Meant::Figure => "a figure",
        };
        let name = text.split(':').next().unwrap_or(text);
        if names.is_empty() || names.iter().any(|known| known.name == name) {
            return Ok(());
        }
        let error = ParseError::new(wanted, name, 0, name.len());
        let known = || names.iter().map(|known| known.name);
        let hint = match nearest(name, known()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are {}", known().take(MAX_SHOWN).collect::<Vec<_>>().join(", ")),
        };
        Err(error.hint(hint))
    }
}

/// A name that a plan may have, and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// What it is, in a sentence or a few words.
    pub about: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}
