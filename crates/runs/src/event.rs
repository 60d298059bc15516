//! Something that happened once, at a moment of a run.

use rusqlite::Row;
use rusqlite::types::Type;

use crate::database::uint;

/// What an event is about: by this a reader picks those that matter to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The course of the run itself: it started, it is stopping.
    Run,
    /// Something failed.
    Failure,
    /// Somebody, or a policy, did something to the system under test: a server was restarted, a
    /// cache emptied, an instance started.
    Action,
    /// Something became of a part of the system under test: an instance is ready, a balancer is
    /// gone.
    Infrastructure,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::Run, Self::Failure, Self::Action, Self::Infrastructure];

    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Failure => "failure",
            Self::Action => "action",
            Self::Infrastructure => "infrastructure",
        }
    }

    /// The class of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// Something that happened once, at a moment of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since the run's first due time.
    pub at_ns: u64,
    /// The class by which a reader filters events.
    pub class: Class,
    /// A short fixed name: `started`, `interrupted`, `stopped`, `finished`, `warning`, …
    pub kind: String,
    /// One sentence for a person.
    pub text: String,
}

/// Reads an event from its columns, of which `at_ns` is at `first`.
pub(crate) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Event> {
    let class: String = row.get(first + 1)?;
    let class = Class::named(&class).ok_or_else(|| {
        let problem = format!("no class of events is `{class}`");
        rusqlite::Error::FromSqlConversionFailure(first + 1, Type::Text, problem.into())
    })?;
    Ok(Event {
        at_ns: row.get(first).map(uint)?,
        class,
        kind: row.get(first + 2)?,
        text: row.get(first + 3)?,
    })
}
