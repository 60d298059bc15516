//! Every Rust file begins with a `//!` header that says what it is.

use super::{File, Remark, Tree};

/// A name repeated is no header.
const LEAST_WORDS: usize = 3;

pub(super) fn check(_: &Tree, file: &File) -> Vec<Remark> {
    if file.rust.is_none() {
        return Vec::new();
    }
    let remedy =
        || "say in `//!` lines what the file is and where its formulas come from".to_owned();
    let header: Vec<&str> = file.text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    if header.is_empty() {
        return vec![(1, "the file does not begin with a `//!` header".to_owned(), remedy())];
    }
    if header.join(" ").split_whitespace().count() < LEAST_WORDS {
        return vec![(1, "the `//!` header says nothing".to_owned(), remedy())];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> usize {
        check(&Tree::default(), &File::new(path, text)).len()
    }

    #[test]
    fn a_header_comes_first_and_says_something() {
        assert_eq!(faults("a.rs", "//! What this file is.\n\nfn a() {}\n"), 0);
        assert_eq!(faults("build.rs", "fn main() {}\n"), 1);
        assert_eq!(faults("a.rs", "\n//! What this file is.\n"), 1);
        assert_eq!(faults("a.rs", "// What this file is.\n"), 1);
        assert_eq!(faults("a.rs", "//! units\n"), 1);
        assert_eq!(faults("a.rs", ""), 1);
        assert_eq!(faults("a.toml", ""), 0);
    }
}
