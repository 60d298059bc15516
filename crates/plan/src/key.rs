//! What a section of a plan is made of: its keys, which of them exclude each other, and how it may
//! be shortened. The readers, the merging of flags and the manual's tables all go by these lists.

/// One key of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name within its section.
    pub name: &'static str,
    /// What it takes, in the words of the manual: `duration`, `rate`, …
    pub takes: &'static str,
    /// What holds where it is not given; `–` where nothing does.
    pub default: &'static str,
    /// A value as it stands behind the `=`.
    pub example: &'static str,
    /// What it means, in one sentence.
    pub about: &'static str,
}

/// A section of a plan: `[load]`, or the table under a key: `load.trace`.
#[derive(Debug)]
pub struct SectionKeys {
    /// Its path, `load` or `load.trace`; empty for the keys above the first section.
    pub path: &'static str,
    /// Its keys, in the order in which a plan is printed.
    pub keys: &'static [Key],
    /// The key that a plain string in the table's place stands for.
    pub(crate) shorthand: Option<&'static str>,
    /// Keys of which a flag adds one more instead of replacing the one before.
    pub(crate) lists: &'static [&'static str],
    /// Keys that hold a table with names of the user's choice.
    pub(crate) maps: &'static [&'static str],
    /// Keys that exclude each other.
    pub(crate) choices: &'static [&'static Choice],
}

/// Keys of which at most one may be given.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) among: &'static [Alternative],
}

/// One key of a choice, and the keys that make sense only with some of the alternatives.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) key: &'static str,
    pub(crate) with: &'static [&'static str],
}

impl SectionKeys {
    /// A section of nothing but keys.
    pub(crate) const fn plain(path: &'static str, keys: &'static [Key]) -> Self {
        Self { path, keys, shorthand: None, lists: &[], maps: &[], choices: &[] }
    }

    /// The section's own name: the last part of its path.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// How the section is spoken of: `[load]`, `load.trace`.
    pub(crate) fn title(&self) -> String {
        match self.path {
            "" => "a plan".into(),
            path if path.contains('.') => path.into(),
            path => format!("[{path}]"),
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known.name == key)
    }
}

impl Choice {
    pub(crate) fn alternative(&self, key: &str) -> Option<&'static Alternative> {
        self.among.iter().find(|alternative| alternative.key == key)
    }

    /// The alternatives that a companion key goes with; empty where it goes with all.
    pub(crate) fn companions_of(&self, key: &str) -> Vec<&'static str> {
        let with = self.among.iter().filter(|alternative| alternative.with.contains(&key));
        with.map(|alternative| alternative.key).collect()
    }
}

/// A short way of writing the list of keys.
pub(crate) const fn key(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    example: &'static str,
    about: &'static str,
) -> Key {
    Key { name, takes, default, example, about }
}
