//! The pages that passed with all their blocks, those that take long too: a page that has not
//! changed since need not run the latter every time.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The digest of each page that passed, by its path, in a file of JSON.
pub(super) struct Passed {
    file: PathBuf,
    digests: BTreeMap<String, u64>,
}

impl Passed {
    /// A file that is not there, or that cannot be read, knows no page.
    pub(super) fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        Self { file: file.to_owned(), digests: serde_json::from_str(&text).unwrap_or_default() }
    }

    pub(super) fn is_known(&self, page: &str, text: &str) -> bool {
        self.digests.get(page) == Some(&digest(text))
    }

    /// Adds pages, and writes the file.
    pub(super) fn add<'a>(
        &self,
        pages: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<()> {
        let mut digests = self.digests.clone();
        digests.extend(pages.map(|(page, text)| (page.to_owned(), digest(text))));
        let text = serde_json::to_string_pretty(&digests).context("write digests of pages")?;
        std::fs::write(&self.file, text).with_context(|| format!("write {}", self.file.display()))
    }
}

/// Of one build of the runner; another build may run a page once more.
fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_changed_is_not_known() {
        let file = std::env::temp_dir().join(format!("xtask-passed-{}", std::process::id()));
        let passed = Passed::read(&file);
        assert!(!passed.is_known("a.md", "text"));
        passed.add([("a.md", "text")].into_iter()).expect("it can be written");
        let passed = Passed::read(&file);
        assert!(passed.is_known("a.md", "text") && !passed.is_known("a.md", "other"));
        std::fs::remove_file(&file).expect("it was written");
    }
}
