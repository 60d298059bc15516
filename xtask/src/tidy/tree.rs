//! The files that the rules read: everything below the root but what is built, run or not text.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::rust::Masked;

/// Folders at the root that hold no source.
const NOT_SOURCE: [&str; 2] = ["target", "runs"];
/// Folders of foreign code, wherever they stand.
const FOREIGN: [&str; 3] = [".git", "node_modules", "dist"];
/// Files larger than this are data.
const MAX_BYTES: usize = 1 << 20;

/// One text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with comments and literals told apart; only of `.rs` files.
    pub(crate) rust: Option<Masked>,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let rust = path.ends_with(".rs").then(|| Masked::of(text));
        Self { path: path.to_owned(), text: text.to_owned(), rust }
    }

    pub(crate) fn is_page(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// The last component of the path, without what follows its first dot.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }
}

/// The text files in order of path, the names of all files and folders, and cargo's metadata.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    pub(crate) paths: BTreeSet<String>,
    pub(crate) metadata: Option<Value>,
}

impl Tree {
    pub(crate) fn read(root: &Path, metadata: Value) -> anyhow::Result<Self> {
        let mut tree = Self { metadata: Some(metadata), ..Self::default() };
        tree.read_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree of the files given, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.files.push(File::new(path, text));
            let mut known = String::new();
            for part in path.split('/') {
                known.push_str(part);
                tree.paths.insert(known.clone());
                known.push('/');
            }
        }
        tree
    }

    /// The text file of this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    fn read_folder(&mut self, folder: &Path, below: &str) -> anyhow::Result<()> {
        let cannot = || format!("read the folder {}", folder.display());
        for entry in folder.read_dir().with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{below}{name}");
            let kind = entry.file_type().with_context(cannot)?;
            let skipped = FOREIGN.contains(&name.as_str()) || NOT_SOURCE.contains(&path.as_str());
            if skipped || kind.is_symlink() {
                continue;
            }
            self.paths.insert(path.clone());
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else {
                self.read_file(&entry.path(), &path)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path, path: &str) -> anyhow::Result<()> {
        let bytes = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
        if bytes.len() > MAX_BYTES {
            return Ok(());
        }
        if let Ok(text) = String::from_utf8(bytes) {
            self.files.push(File::new(path, &text));
        }
        Ok(())
    }
}
