//! Runs the commands that the manual shows, so that no page promises what does not work.
//!
//! Each page's ```` ```sh ```` blocks run in order, in an empty folder of the page's own, with the
//! built program first on `PATH`. One command is one line, with what its `\` or here-document adds;
//! each runs in a bash of its own and has ten minutes. Six pages run side by side, each in a
//! network of its own and with ledgers of its own, as most of their time is spent waiting; commands
//! that measure take turns. Where this user may make no network, pages that name the same port, or
//! test-beds, take turns.
//!
//! | in a page | means |
//! | --- | --- |
//! | ```` ```sh no-run ```` | shown, not run |
//! | ```` ```sh long ```` | run by `make test-long`, and where the page has changed since it passed |
//! | ```` ```python ```` | a cell of a notebook, run with the cells before it where `.ci/notebook` has been, else skipped |
//! | ```` ```sh # needs: nginx, curl ```` | run where these programs are installed, else skipped |
//! | `command  # exits 3` | must end with 3 instead of 0 |
//! | – | a page of which a command ends with 5 is begun anew; a second 5 leaves that unjudged |
//! | `command &` | runs until it ends with the page; awaited where it has `--listen`, `--port`, `--tls-port` or `-p` |

mod page;
mod passed;
mod runner;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail};

pub(crate) use runner::Outcome;

use crate::budget::{self, Budget, Claims};
use crate::clock;
use crate::process::Apart;

/// How many pages run at once.
const SIDE_BY_SIDE: usize = 6;

/// The manual, read and ready to be run.
pub(crate) struct Manual {
    pages: Vec<Page>,
    binary: PathBuf,
    scratch: PathBuf,
    /// Whether each page has a network and ledgers of its own.
    is_apart: bool,
    passed: passed::Passed,
}

struct Page {
    path: String,
    text: String,
    blocks: Vec<page::Block>,
    is_long_wanted: bool,
}

/// How a page ended, and when.
pub(crate) struct Ended {
    pub(crate) page: String,
    pub(crate) outcome: Outcome,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

impl Manual {
    /// Reads the pages named, or all. Blocks that take long are run where `is_long` is set, and of
    /// pages that have changed since they last passed.
    pub(crate) fn read(
        root: &Path,
        pages: &[String],
        binary: &Path,
        is_long: bool,
    ) -> anyhow::Result<Self> {
        let paths = if pages.is_empty() { all_pages(root)? } else { pages.to_vec() };
        let scratch = scratch(binary)?;
        let passed = passed::Passed::read(&scratch.with_file_name("docs-passed.json"));
        let read = |path: String| {
            let text = std::fs::read_to_string(root.join(&path));
            let text = text.with_context(|| format!("read the page {path}"))?;
            let is_long_wanted = is_long || !passed.is_known(&path, &text);
            Ok(Page { blocks: page::blocks_of(&text), path, text, is_long_wanted })
        };
        let pages = paths.into_iter().map(read).collect::<anyhow::Result<_>>()?;
        let is_apart = std::thread::spawn(|| Apart::enter().is_ok()).join().unwrap_or(false);
        Ok(Self { pages, binary: binary.to_owned(), scratch, is_apart, passed })
    }

    /// Runs all pages, those that took longest the last time first, and hands each outcome to
    /// `ended` as it is there.
    pub(crate) fn run(
        &self,
        budget: &Budget,
        expected: &BTreeMap<String, f64>,
        ended: &(impl Fn(&Ended) + Sync),
    ) -> anyhow::Result<Vec<Ended>> {
        let mut order: Vec<&Page> = self.pages.iter().collect();
        let seconds = |page: &&Page| expected.get(&page.path).copied().unwrap_or(0.0);
        order.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
        let waiting = Mutex::new(VecDeque::from(order));
        let work = || -> anyhow::Result<Vec<Ended>> {
            let mut done = Vec::new();
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            while let Some(page) = next() {
                let of_page = self.run_page(page, budget)?;
                ended(&of_page);
                done.push(of_page);
            }
            Ok(done)
        };
        let mut done = Vec::new();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..SIDE_BY_SIDE).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                done.extend(worker.join().unwrap_or_else(|it| std::panic::resume_unwind(it))?);
            }
            anyhow::Ok(())
        })?;
        done.sort_by(|a, b| a.page.cmp(&b.page));
        self.remember(&done)?;
        Ok(done)
    }

    /// Runs one page once more.
    pub(crate) fn run_again(&self, path: &str, budget: &Budget) -> anyhow::Result<Ended> {
        let page = self.pages.iter().find(|page| page.path == path);
        let page = page.with_context(|| format!("{path} was not run"))?;
        // The thread's network is left behind with it.
        std::thread::scope(|scope| scope.spawn(|| self.run_page(page, budget)).join())
            .unwrap_or_else(|it| std::panic::resume_unwind(it))
    }

    fn run_page(&self, page: &Page, budget: &Budget) -> anyhow::Result<Ended> {
        let claims = if self.is_apart { Claims::new() } else { page::claims_of(&page.blocks) };
        let turn = budget.take(&page.path, budget::WAITS, claims.clone());
        let from = turn.began();
        let mut outcome = self.try_page(page, Some(budget), false)?;
        drop(turn);
        if let Some(line) = outcome.begun_anew {
            // Beside little else, and in a network of its own: servers of the first time may still
            // be ending.
            let name = format!("{}, once more", page.path);
            let measuring = Claims::from([runner::MEASURING.to_owned()]);
            let turn = budget.take(&name, budget::CALM, &claims | &measuring);
            outcome = self.try_page(page, None, true)?;
            outcome.begun_anew = Some(line);
            drop(turn);
        }
        let page = page.path.clone();
        Ok(Ended { page, outcome, from, to: clock::now() })
    }

    fn try_page(
        &self,
        page: &Page,
        budget: Option<&Budget>,
        is_second: bool,
    ) -> anyhow::Result<Outcome> {
        let apart = if self.is_apart { Some(Apart::enter()?) } else { None };
        let mounts = apart.as_ref().map(Apart::mounts);
        let means = runner::Means {
            binary: &self.binary,
            scratch: &self.scratch,
            budget,
            is_long: page.is_long_wanted,
            mounts: mounts.as_deref(),
        };
        runner::run_page(&page.path, &page.blocks, &means, is_second)
    }

    /// Notes the pages that passed with all their blocks.
    fn remember(&self, ended: &[Ended]) -> anyhow::Result<()> {
        let is_whole = |page: &&Page| {
            let of_page = ended.iter().find(|of| of.page == page.path);
            page.is_long_wanted && of_page.is_some_and(|of| of.outcome.faults.is_empty())
        };
        let whole = self.pages.iter().filter(is_whole);
        self.passed.add(whole.map(|page| (&*page.path, &*page.text)))
    }
}

/// Runs the pages named, or all; says whether every command did as its page says.
pub(crate) fn run(
    root: &Path,
    pages: &[String],
    binary: &Path,
    is_long: bool,
) -> anyhow::Result<bool> {
    let manual = Manual::read(root, pages, binary, is_long)?;
    let budget = Budget::new(BTreeMap::new());
    let show = |ended: &Ended| eprintln!("docs: {}", ended.line());
    let ended = manual.run(&budget, &BTreeMap::new(), &show)?;
    let (mut commands, mut others, mut faults) = (0, 0, Vec::new());
    for Ended { page, outcome, .. } in &ended {
        commands += outcome.commands;
        others += outcome.skipped.len() + outcome.not_judged.len();
        faults.extend(&outcome.faults);
        for (line, needs) in &outcome.skipped {
            println!("{page}:{line}: skipped: needs {needs}");
        }
        for line in &outcome.not_judged {
            println!("{page}:{line}: not judged: this host was too busy, twice");
        }
    }
    for fault in &faults {
        println!("{fault}");
    }
    let failed = faults.len();
    println!("docs: {commands} commands run, {others} skipped or not judged, {failed} failed");
    Ok(faults.is_empty())
}

impl Ended {
    /// For whoever waits.
    pub(crate) fn line(&self) -> String {
        let (seconds, outcome) = ((self.to - self.from).as_secs(), &self.outcome);
        let anew = outcome.begun_anew.map_or("", |_| ", begun anew as this host was busy");
        let faults = if outcome.faults.is_empty() { "" } else { ", FAILED" };
        format!("{}: {} commands in {seconds} s{anew}{faults}", self.page, outcome.commands)
    }
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
