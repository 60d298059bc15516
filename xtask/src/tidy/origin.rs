//! Committed text speaks of the project: neither of where packages are downloaded from, nor of how
//! the text came about, nor of the machine it was written on.
//!
//! The patterns stand here in two halves each, so that this file does not contain what it looks
//! for. Lock files are cargo's, not ours.

use super::rust::line_of;
use super::{File, Remark, Tree};

/// Hosts of package registries: a mirror must do as well, so none is named.
const REGISTRIES: [(&str, &str); 12] = [
    ("crates", ".io"),
    ("npmjs", ".org"),
    ("npmjs", ".com"),
    ("yarnpkg", ".com"),
    ("pypi", ".org"),
    ("pythonhosted", ".org"),
    ("proxy.golang", ".org"),
    ("rubygems", ".org"),
    ("maven.apache", ".org"),
    ("deb.debian", ".org"),
    ("hub.docker", ".com"),
    ("ghcr", ".io"),
];

/// How a text came about is of no use to its reader.
const MAKING: [(&str, &str); 16] = [
    ("anthr", "opic"),
    ("cla", "ude"),
    ("open", "ai"),
    ("chat", "gpt"),
    ("co", "pilot"),
    ("sub", "agent"),
    ("language ", "model"),
    ("ai-", "generated"),
    ("ai-", "assisted"),
    ("ai ", "assistant"),
    ("coding ", "agent"),
    ("co-authored", "-by"),
    ("previous ", "session"),
    ("working ", "paper"),
    ("per the ", "brief"),
    ("as ", "instructed"),
];

/// Folders of one machine.
const PLACES: [(&str, &str); 3] = [("/wo", "rk/"), ("/tmp/", "work"), ("/ro", "ot/")];

pub(super) fn check(_: &Tree, file: &File) -> Vec<Remark> {
    if file.path.ends_with(".lock") || file.path.ends_with("-lock.json") {
        return Vec::new();
    }
    let text = file.text.to_ascii_lowercase();
    let mut found = Vec::new();
    let mut look = |patterns: &[(&str, &str)], what: &str, remedy: &str| {
        for (first, second) in patterns {
            let pattern = format!("{first}{second}");
            for at in places_of(&text, &pattern) {
                found.push((line_of(&text, at), format!("{what} `{pattern}`"), remedy.to_owned()));
            }
        }
    };
    look(&REGISTRIES, "a registry's host is named,", "leave the choice to the tool's settings");
    look(&MAKING, "the text speaks of how it came about,", "speak of the project only");
    look(&PLACES, "a folder of one machine is named,", "use a path relative to the repository");
    found
}

/// Where a pattern stands as words of its own, not within longer ones.
fn places_of(text: &str, pattern: &str) -> Vec<usize> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let free = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let (first, last) = (pattern.as_bytes().first(), pattern.as_bytes().last());
        let joined_before = is_word(first) && is_word(before);
        let joined_after = is_word(last) && is_word(bytes.get(at + pattern.len()));
        // A folder's name counts at the beginning of a path only.
        let within_path = pattern.starts_with('/') && (is_word(before) || before == Some(&b'.'));
        !(joined_before || joined_after || within_path)
    };
    text.match_indices(pattern).map(|(at, _)| at).filter(|at| free(*at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = File::new(path, text);
        check(&Tree::default(), &file).into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn every_pattern_is_found_whatever_its_case() {
        for (first, second) in REGISTRIES.iter().chain(&MAKING).chain(&PLACES) {
            let text = format!("one\ntwo {first}{second} three\n");
            assert_eq!(lines("docs/a.md", &text), [2], "{first}{second}");
            assert_eq!(lines("Makefile", &text.to_ascii_uppercase()), [2], "{first}{second}");
        }
    }

    #[test]
    fn longer_words_and_lock_files_are_not_meant() {
        let (first, second) = REGISTRIES[0];
        assert_eq!(lines("a.md", &format!("sub.{first}{second}/x")), [1]);
        assert_eq!(lines("a.md", &format!("{first}{second}nic and my{first}{second}")), NONE);
        assert_eq!(lines("Cargo.lock", &format!("{first}{second}")), NONE);
        let (first, second) = PLACES[0];
        assert_eq!(
            lines("a.md", &format!("a relative{first}{second}x and ..{first}{second}")),
            NONE
        );
    }
}
