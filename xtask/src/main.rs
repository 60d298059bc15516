//! The project's own checks: `cargo xtask tidy` reads every file, `cargo xtask tests` runs every
//! test and every command that the manual shows; both are part of `make test`. `cargo xtask long`
//! runs what takes long, `cargo xtask lines` counts code.
//!
//! A rule of tidy is one file in `src/tidy/` and one line in its list; words that are not the
//! field's stand in `words.txt`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command's results and errors")]

mod budget;
mod clock;
mod docs;
mod lines;
mod long;
mod process;
mod same;
mod suite;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy               check floors, lengths, headers, links, words, leftovers, the changelog
  circles            show the modules of each crate that import each other both ways
  lines              count the lines of code of crates/*/src, without tests, comments, blanks
  tests [FLAG…]      build and run all tests, pages and examples; the flags are cargo's
        [--only WORD] only tests whose names hold it
  long PART [FLAG…]  what takes long: timed, servers, docs, mutants
  docs [PAGE…]       run the commands that docs/*.md and README.md show
       [--bin PATH]  with this binary, instead of building one
       [--long]      those that take long too
  same BEFORE AFTER  give two programs the same command lines, and say where they differ
  skip STEP NEEDS    note that a step of the Makefile is not run here";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, [])) if command == "tidy" => run_tidy(),
        Some((command, [])) if command == "lines" => run_lines(),
        Some((command, [])) if command == "circles" => run_circles(),
        Some((command, [only, word, rest @ ..])) if command == "tests" && only == "--only" => {
            root().and_then(|root| suite::run(&root, &suite::Part::Named(word.clone()), rest))
        }
        Some((command, rest)) if command == "tests" => {
            root().and_then(|root| suite::run(&root, &suite::Part::All, rest))
        }
        Some((command, [part, rest @ ..])) if command == "long" => {
            root().and_then(|root| long::run(&root, part, rest))
        }
        Some((command, [step, needs])) if command == "skip" => {
            suite::skip_step(step, needs).map(|()| true)
        }
        Some((command, [before, after])) if command == "same" => {
            root().and_then(|root| same::run(&root, Path::new(before), Path::new(after)))
        }
        Some((command, rest)) if command == "docs" => run_docs(rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> anyhow::Result<bool> {
    let root = root()?;
    let tree = tidy::Tree::read(&root, process::metadata(&root)?)?;
    let findings = tidy::check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files read, {} findings", tree.files.len(), findings.len());
    Ok(findings.is_empty())
}

fn run_lines() -> anyhow::Result<bool> {
    let root = root()?;
    let tree = tidy::Tree::read(&root, process::metadata(&root)?)?;
    let lines = lines::by_crate(&tree);
    for (name, lines) in &lines {
        println!("{lines:>7}  {name}");
    }
    println!("{:>7}  in all", lines.values().sum::<usize>());
    Ok(true)
}

fn run_circles() -> anyhow::Result<bool> {
    let root = root()?;
    let tree = tidy::Tree::read(&root, process::metadata(&root)?)?;
    let circles = tidy::circles::by_crate(&tree);
    for (name, circle) in circles.iter().flat_map(|(name, of)| of.iter().map(move |of| (name, of)))
    {
        println!("{name}: {}", circle.modules.join(", "));
        for (from, to, (path, line)) in &circle.imports {
            println!("  {from} imports {to}: {path}:{line}");
        }
    }
    Ok(tidy::circles::are_kept_out(&circles))
}

fn run_docs(arguments: &[String]) -> anyhow::Result<bool> {
    let root = root()?;
    let mut pages = Vec::new();
    let (mut binary, mut is_long) = (None, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--bin" {
            binary = Some(PathBuf::from(rest.next().context("--bin needs a path")?));
        } else if argument == "--long" {
            is_long = true;
        } else {
            pages.push(argument.clone());
        }
    }
    let binary = match binary {
        Some(path) => path.canonicalize().with_context(|| format!("find {}", path.display()))?,
        None => process::build_plimsoll(&root)?,
    };
    docs::run(&root, &pages, &binary, is_long)
}

/// The workspace's folder, which holds this package.
fn root() -> anyhow::Result<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().context("find the workspace: xtask has no folder above it")?;
    Ok(root.to_owned())
}
