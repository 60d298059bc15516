//! What may be absent on a host: `.ci/may-skip`, one line each, `NAME  why`. Whatever else a test
//! or a page is skipped for is a failure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};

const FILE: &str = ".ci/may-skip";

/// Names, with why each may be absent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Absent(BTreeMap<String, String>);

impl Absent {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(root.join(FILE));
        Self::parse(&text.with_context(|| format!("read {FILE}"))?)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let mut names = BTreeMap::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((name, why)) = line.split_once(char::is_whitespace) else {
                bail!("{FILE}: `{line}` has no reason; write `NAME  why it may be absent`");
            };
            names.insert(name.to_owned(), why.trim().to_owned());
        }
        Ok(Self(names))
    }

    /// Names for tests.
    #[cfg(test)]
    pub(crate) fn of(names: &[&str]) -> Self {
        Self(names.iter().map(|name| ((*name).to_owned(), String::new())).collect())
    }

    /// Leaves a name out.
    pub(crate) fn forbid(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Whether a test may be skipped for this.
    pub(crate) fn allows(&self, needs: &str) -> bool {
        self.0.contains_key(name_of(needs))
    }
}

/// The word before the details: `namespaces: no TUN device` is `namespaces`.
pub(crate) fn name_of(needs: &str) -> &str {
    needs.split([':', ' ']).next().unwrap_or(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_with_a_reason_may_be_absent() {
        let absent = Absent::parse("# why\n\nphp   120 MB of packages\n../shared  not ours\n");
        let absent = absent.expect("each line has a reason");
        assert!(absent.allows("php") && absent.allows("../shared: data/geo"));
        assert!(!absent.allows("sshd") && !absent.allows("phpx"));
        assert!(Absent::parse("php\n").is_err());
    }
}
