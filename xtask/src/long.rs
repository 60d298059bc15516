//! `make test-long`: what is too long for every change, in five parts of at most a quarter of an
//! hour. Each notes its commit when it passed, and the closing lines of `make test` say how old
//! that is.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::{docs, process, suite};

/// The parts: timed tests, all of which must be judged; every server, MediaWiki and Cassandra too,
/// and the long cases of judges of WebSocket; all blocks of all pages; what is given away; mutated
/// inputs.
const PARTS: [&str; 5] = ["timed", "servers", "docs", "release", "mutants"];

/// How long each mutator looks.
const LOOKED: &str = "60";

/// Runs a part; says whether all of it passed.
pub(crate) fn run(root: &Path, part: &str, flags: &[String]) -> anyhow::Result<bool> {
    let passed = match part {
        "timed" => suite::run(root, &suite::Part::Timed, flags)?,
        "servers" => suite::run(root, &suite::Part::Servers, flags)?,
        "docs" => docs::run(root, &[], &process::build_plimsoll(root)?, true)?,
        "release" => release(root)?,
        "mutants" => mutants(root, flags)?,
        _ => bail!("there is no long part `{part}`; it is one of {}", PARTS.join(", ")),
    };
    if passed {
        stamp(root, &process::target_folder()?, part)?;
    }
    Ok(passed)
}

/// Makes all that is given away, and tries each form where it is meant to be used.
fn release(root: &Path) -> anyhow::Result<bool> {
    let folder = process::target_folder()?.join("release-tried");
    for script in ["packaging/release.sh", "packaging/check.sh"] {
        let mut command = process::script(root, script);
        let status = command.arg(&folder).status().with_context(|| format!("run {script}"))?;
        if !status.success() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn stamp(root: &Path, target: &Path, part: &str) -> anyhow::Result<()> {
    let folder = target.join("long");
    let file = folder.join(format!("{part}.json"));
    let text = json!({ "part": part, "commit": process::commit(root) }).to_string();
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&file, text))
        .with_context(|| format!("write {}", file.display()))
}

/// When each part last passed: `timed 2 days ago (1a2b3c4), servers never, …`.
pub(crate) fn ages(target: &Path) -> String {
    let age = |part: &&str| {
        let file = target.join("long").join(format!("{part}.json"));
        let noted = std::fs::read_to_string(&file).ok();
        let noted: Option<Value> = noted.and_then(|text| serde_json::from_str(&text).ok());
        let modified = file.metadata().and_then(|file| file.modified()).ok();
        let elapsed = modified.and_then(|modified| modified.elapsed().ok());
        match (noted, elapsed) {
            (Some(noted), Some(elapsed)) => {
                let commit = noted["commit"].as_str().unwrap_or("unknown");
                let short = &commit[..commit.len().min(8)];
                format!("{part} {} ({short})", ago(elapsed))
            }
            _ => format!("{part} never"),
        }
    };
    PARTS.iter().map(age).collect::<Vec<_>>().join(", ")
}

fn ago(elapsed: Duration) -> String {
    let hours = elapsed.as_secs() / 3600;
    match hours {
        0 => "within the hour".to_owned(),
        1..48 => format!("{hours} h ago"),
        _ => format!("{} days ago", hours / 24),
    }
}

/// A program that changes inputs at random: its package, its name, and its arguments, of which the
/// last is the seed.
const MUTATORS: [(&str, &str, &[&str]); 9] = [
    ("plimsoll-target", "mutate", &["2000"]),
    ("plimsoll-shoal", "mutate_heartbeats", &["2000000"]),
    ("plimsoll-cache", "mutate_protocols", &["icp", LOOKED]),
    ("plimsoll-cache", "mutate_protocols", &["htcp", LOOKED]),
    ("plimsoll-cache", "mutate_protocols", &["digest", LOOKED]),
    ("plimsoll-cache", "mutate_traces", &["all", LOOKED]),
    ("plimsoll-load", "http1_mutate", &[LOOKED]),
    ("plimsoll-load", "http2_mutate", &[LOOKED]),
    ("plimsoll-load", "store_mutate", &[LOOKED]),
];

fn mutants(root: &Path, flags: &[String]) -> anyhow::Result<bool> {
    // Another commit looks elsewhere; the same commit finds the same again.
    let commit = process::commit(root).unwrap_or_default();
    let seed = u32::from_str_radix(commit.get(..7).unwrap_or_default(), 16).unwrap_or(0);
    let mut failed = Vec::new();
    for (package, example, arguments) in MUTATORS {
        println!("mutants: {example} {} {seed}", arguments.join(" "));
        let mut run = process::cargo(root);
        run.args(["run", "--quiet", "--package", package, "--example", example]).args(flags);
        run.arg("--").args(arguments).arg(seed.to_string());
        let status = run.status().with_context(|| format!("run {example}"))?;
        if !status.success() {
            failed.push(format!("{example} {} {seed}", arguments.join(" ")));
        }
    }
    let listed = if failed.is_empty() { "none".to_owned() } else { failed.join(", ") };
    println!("mutants: {} looked, failed: {listed}", MUTATORS.len());
    Ok(failed.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_says_how_old_it_is() {
        let folder = std::env::temp_dir().join(format!("xtask-long-{}", std::process::id()));
        assert_eq!(
            ages(&folder),
            "timed never, servers never, docs never, release never, mutants never"
        );
        stamp(Path::new("/"), &folder, "docs").expect("it can be written");
        assert!(ages(&folder).contains("docs within the hour (unknown)"), "{}", ages(&folder));
        std::fs::remove_dir_all(&folder).expect("it was made");
        assert_eq!(ago(Duration::from_secs(47 * 3600)), "47 h ago");
        assert_eq!(ago(Duration::from_secs(72 * 3600)), "3 days ago");
        assert!(run(Path::new("/"), "other", &[]).is_err());
    }
}
