//! Who opens or makes something below a folder that many share does it by `OwnFolder`, which
//! refuses what others could have put there.
//!
//! Seen are places that code names: a text that is a path below `/tmp`, `/var/tmp`, `/run` or
//! `/dev/shm`, and variables that name a folder of a user's. A file of the crates that names one
//! uses `OwnFolder`, or says in an excuse who does, or why nothing is made or obeyed there.

use super::rust::line_of;
use super::{File, Remark, Tree};

/// What names such a place, as it begins in the text.
const PLACES: [&str; 8] = [
    "\"/tmp",
    "\"/var/tmp",
    "\"/run",
    "\"/dev/shm",
    "\"HOME\"",
    "\"TMPDIR\"",
    "\"XDG_",
    "env::temp_dir()",
];

pub(super) fn check(_: &Tree, file: &File) -> Vec<Remark> {
    let is_shipped = ["crates/", "apps/"].iter().any(|of| file.path.starts_with(of))
        && file.path.contains("/src/")
        && !file.path.starts_with("crates/testing/")
        && file.stem() != "tests";
    if !is_shipped || file.rust.is_none() || file.text.contains("OwnFolder") {
        return Vec::new();
    }
    // What stands below is a test's.
    let text = file.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut lines: Vec<usize> = Vec::new();
    for place in PLACES {
        lines.extend(text.match_indices(place).map(|(at, _)| line_of(text, at)));
    }
    lines.sort_unstable();
    lines.dedup();
    let is_comment = |line: &usize| {
        text.lines().nth(line - 1).is_none_or(|line| line.trim_start().starts_with("//"))
    };
    let found = lines.into_iter().filter(|line| !is_comment(line));
    let what = "a place that many share is named";
    let remedy = "open it by `plimsoll_units::own::OwnFolder`";
    found.map(|line| (line, what.to_owned(), remedy.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = check(&Tree::default(), &File::new(path, text));
        found.into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn places_that_many_share_are_found_where_nobody_looks_whose_they_are() {
        let text = "// \"/tmp/a\" is no place.\nlet a = \"/tmp/a\";\n\
                    let b = var(\"XDG_STATE_HOME\");\n\
                    let c = std::env::temp_dir();\nlet d = \"/proc\";\n\
                    #[cfg(test)]\nmod tests {\nlet e = \"/run/b\";\n}\n";
        assert_eq!(lines("crates/a/src/b.rs", text), [2, 3, 4]);
        let none: [usize; 0] = [];
        assert_eq!(lines("crates/a/tests/it/b.rs", text), none);
        assert_eq!(lines("crates/a/src/b/tests.rs", text), none);
        assert_eq!(lines("crates/a/src/b.rs", &format!("use c::OwnFolder;\n{text}")), none);
    }
}
