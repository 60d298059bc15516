//! Flags of the command line that set keys of a plan. Each stands with its key; what it means is
//! the key's sentence, where the command line has no better one.

/// A flag that sets a key.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Its name, without the hyphens before it.
    pub long: &'static str,
    /// Its letter, where it has one.
    pub short: Option<char>,
    /// What its value is called; empty for a switch.
    pub value: &'static str,
    /// What it means, where the key's sentence does not fit.
    pub help: Option<&'static str>,
    /// Whether a value may begin with a hyphen.
    pub may_be_hyphened: bool,
    /// With which others it goes.
    pub group: Group,
}

/// Flags that a command has together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// How much is asked over time, of a load and of a simulation alike.
    Shape,
    /// What else there is to a load.
    Load,
    /// What is asked.
    Asked,
    /// What a store is asked.
    Store,
    /// With what a load of a store begins.
    Cold,
    /// How it is sent.
    Sent,
    /// Which processes send it.
    Fleet,
    /// What is measured.
    Measured,
    /// How a capacity is searched for.
    Search,
    /// A series of searches, and what its target costs.
    Series,
    /// Which parameters of a policy are looked for.
    Tune,
    /// Single caches that are compared.
    Cache,
}

impl Group {
    /// What stands above them in a help.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Shape | Self::Load => "How much",
            Self::Asked => "What is asked",
            Self::Store | Self::Cold => "What a store is asked",
            Self::Sent => "How it is sent",
            Self::Fleet => "Who sends it",
            Self::Measured => "What is measured",
            Self::Search => "How to search",
            Self::Series => "A series, and cost",
            Self::Tune => "What is looked for",
            Self::Cache => "What is simulated",
        }
    }

    /// A flag of this group, whose value is called `value`.
    pub(crate) const fn flag(self, long: &'static str, value: &'static str) -> Flag {
        Flag { long, short: None, value, help: None, may_be_hyphened: false, group: self }
    }

    /// A flag without a value.
    pub(crate) const fn switch(self, long: &'static str) -> Flag {
        self.flag(long, "")
    }
}

impl Flag {
    /// The same with a letter.
    pub(crate) const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    /// The same with a sentence of its own.
    pub(crate) const fn says(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    /// The same, whose value may begin with a hyphen: its reader says what is wrong with it.
    pub(crate) const fn hyphened(self) -> Self {
        Self { may_be_hyphened: true, ..self }
    }
}
