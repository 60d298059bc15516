//! Counts the lines of code of `crates/*/src`: without tests, comments and blank lines.
//!
//! A test is what stands in a file `tests.rs` or in a folder `tests`, or behind `#[cfg(test)]`. A
//! line with code and a comment is code.

use std::collections::BTreeMap;

use crate::tidy::{File, Tree};

/// What stands before what only tests have.
const TEST: &str = "#[cfg(test)]";

/// Lines of code by crate.
pub(crate) fn by_crate(tree: &Tree) -> BTreeMap<&str, usize> {
    let mut lines = BTreeMap::new();
    for file in &tree.files {
        let Some(name) = crate_of(&file.path) else { continue };
        *lines.entry(name).or_default() += of(file);
    }
    lines
}

/// The crate whose code a file is; `None` for what is no code, and for tests.
fn crate_of(path: &str) -> Option<&str> {
    let (name, within) = path.strip_prefix("crates/")?.split_once('/')?;
    let within = within.strip_prefix("src/")?;
    let is_test = within.split('/').any(|part| part == "tests" || part == "tests.rs");
    (path.ends_with(".rs") && !is_test).then_some(name)
}

fn of(file: &File) -> usize {
    let Some(rust) = &file.rust else { return 0 };
    let tests = rust.items_behind(TEST);
    let is_code = |number: usize, text: &str, comment: &str| {
        let is_of_test = tests.iter().any(|lines| lines.contains(&number));
        !is_of_test && !text.trim().is_empty() && text.trim() != comment.trim()
    };
    let lines = file.text.lines().zip(rust.comments.lines()).enumerate();
    lines.filter(|(index, (text, comment))| is_code(index + 1, text, comment)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_comments_and_blank_lines_do_not_count() {
        let text = "//! A file.\n\nfn a() {\n    // Why.\n    b(); // so\n    \"// no comment\";\n\
                    }\n#[cfg(test)]\nuse c;\n/* block\n*/\n#[cfg(test)]\nmod tests {\n\
                    fn d() {}\n}\nstatic E: u8 = 1;\n";
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", text),
            ("crates/a/src/b/tests.rs", "fn a() {}\n"),
            ("crates/a/tests/it/main.rs", "fn a() {}\n"),
            ("crates/b/src/c.rs", "fn a() {}\n"),
            ("crates/b/src/d.toml", "a = 1\n"),
            ("xtask/src/main.rs", "fn a() {}\n"),
        ]);
        assert_eq!(by_crate(&tree), BTreeMap::from([("a", 5), ("b", 1)]));
    }
}
