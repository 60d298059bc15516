//! Style as a test: what the compiler, rustfmt and clippy do not know about this project.
//!
//! Every rule reads the same [`Tree`] and names what it found as `path:line: what, what to do`.
//! A finding is excused by a comment on its line, or on the comment and attribute lines directly
//! above: `// tidy: allow(function-length, one table, read from top to bottom)`; in a page
//! `<!-- tidy: allow(words, quoted from the format's text) -->`. For `file-length` it may stand
//! anywhere in the file. An excuse needs a reason, and one that excuses nothing is a finding.

mod changelog;
pub(crate) mod circles;
mod excuses;
mod floors;
mod hash_order;
mod header;
mod leftovers;
mod length;
mod links;
mod origin;
mod rust;
mod shared_folder;
mod tree;
mod waits;
mod words;

pub(crate) use tree::{File, Tree};

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) remedy: String,
    pub(crate) rule: &'static str,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, line, what, remedy, rule } = self;
        write!(f, "{path}:{line}: {what}, {remedy} [{rule}]")
    }
}

/// What a rule found: the line, what is wrong, what to do.
type Remark = (usize, String, String);

/// A rule that looks at one file at a time, or at the tree as a whole.
enum Check {
    File(fn(&Tree, &File) -> Vec<Remark>),
    Tree(fn(&Tree) -> Vec<(String, Remark)>),
}

/// Every rule, by the name that an excuse uses.
const RULES: &[(&str, Check)] = &[
    ("changelog", Check::File(changelog::check)),
    ("circles", Check::Tree(circles::check)),
    ("file-length", Check::File(length::files)),
    ("floors", Check::Tree(floors::check)),
    ("function-length", Check::File(length::functions)),
    ("hash-order", Check::File(hash_order::check)),
    ("header", Check::File(header::check)),
    ("leftovers", Check::File(leftovers::check)),
    ("line-length", Check::File(length::lines)),
    ("links", Check::File(links::check)),
    ("origin", Check::File(origin::check)),
    ("shared-folder", Check::File(shared_folder::check)),
    ("waits", Check::Tree(waits::check)),
    ("words", Check::File(words::check)),
];

/// Everything that every rule finds and no comment excuses, in order of path and line.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rule, check) in RULES {
        match check {
            Check::File(check) => {
                for file in &tree.files {
                    let found = check(tree, file);
                    findings
                        .extend(found.into_iter().map(|found| finding(rule, &file.path, found)));
                }
            }
            Check::Tree(check) => {
                let found = check(tree);
                findings.extend(found.into_iter().map(|(path, found)| finding(rule, &path, found)));
            }
        }
    }
    let mut findings = excuses::apply(tree, findings);
    findings.sort();
    findings
}

fn finding(rule: &'static str, path: &str, (line, what, remedy): Remark) -> Finding {
    Finding { path: path.to_owned(), line, what, remedy, rule }
}
