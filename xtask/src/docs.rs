//! Runs the commands that the manual shows, so that no page promises what does not work.
//!
//! Each page's ```` ```sh ```` blocks run in order, in an empty folder of the page's own, with the
//! built program first on `PATH`. One command is one line, with what its `\` or here-document adds;
//! each runs in a bash of its own and has 120 s. Two pages run side by side where they name no port
//! that both need, as most of their time is spent waiting.
//!
//! | in a page | means |
//! | --- | --- |
//! | ```` ```sh no-run ```` | shown, not run |
//! | ```` ```sh # needs: nginx, curl ```` | run where these programs are installed, else skipped |
//! | `command  # exits 3` | must end with 3 instead of 0 |
//! | – | a command that ends with 5 is run again; a second 5 leaves it unjudged |
//! | `command &` | runs until it ends with the page; awaited where it has `--listen`, `--port`, `--tls-port` or `-p` |

mod page;
mod runner;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::turns;

/// How many pages run at once.
const SIDE_BY_SIDE: usize = 2;

/// Runs the pages named, or all; says whether every command did as its page says.
#[expect(clippy::disallowed_methods, reason = "how long a page took is told, and decides nothing")]
pub(crate) fn run(root: &Path, pages: &[String], binary: &Path) -> anyhow::Result<bool> {
    let pages = if pages.is_empty() { all_pages(root)? } else { pages.to_vec() };
    let scratch = scratch(binary)?;
    let read = |path: String| {
        let text = std::fs::read_to_string(root.join(&path));
        let text = text.with_context(|| format!("read the page {path}"))?;
        Ok((path, page::blocks_of(&text)))
    };
    let pages: Vec<_> = pages.into_iter().map(read).collect::<anyhow::Result<_>>()?;
    let claims = pages.iter().map(|(_, blocks)| page::claims_of(blocks)).collect();
    let outcomes = turns::in_turns(claims, SIDE_BY_SIDE, |place| -> anyhow::Result<_> {
        let (path, blocks) = &pages[place];
        let start = Instant::now();
        let outcome = runner::run_page(path, blocks, binary, &scratch)?;
        // For whoever waits. A page that hangs ends by the limit of its command.
        let took = start.elapsed().as_secs();
        eprintln!("docs: {path}: {} commands in {took} s", outcome.commands);
        Ok(outcome)
    });
    let (mut commands, mut faults, mut skipped) = (0, Vec::new(), Vec::new());
    for outcome in outcomes {
        let outcome = outcome?;
        commands += outcome.commands;
        faults.extend(outcome.faults);
        skipped.extend(outcome.skipped);
    }
    for line in faults.iter().chain(&skipped) {
        println!("{line}");
    }
    println!(
        "docs: {commands} commands run, {} skipped or not judged, {} failed",
        skipped.len(),
        faults.len()
    );
    Ok(faults.is_empty())
}

/// README.md and every page below docs/, in order of path.
fn all_pages(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = Vec::new();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        let cannot = || format!("read the folder {}", folder.display());
        for entry in root.join(&folder).read_dir().with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            let path = folder.join(entry.file_name());
            if entry.file_type().with_context(cannot)?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.to_string_lossy().into_owned());
            }
        }
    }
    pages.sort();
    pages.insert(0, "README.md".to_owned());
    Ok(pages)
}

/// A folder beside this program, so that what a failed page left can be looked at.
fn scratch(binary: &Path) -> anyhow::Result<PathBuf> {
    if !binary.is_file() {
        bail!("there is no program at {}; build it first", binary.display());
    }
    let own = std::env::current_exe().context("find this program's own path")?;
    let folder = own.with_file_name("docs-pages");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}
