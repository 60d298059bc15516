//! The project's own checks: `cargo xtask tidy` reads every file, `cargo xtask tests` runs every
//! test, `cargo xtask docs` every command that the manual shows; all are part of `make test`.
//! `cargo xtask lines` counts code.
//!
//! A rule of tidy is one file in `src/tidy/` and one line in its list; words that are not the
//! field's stand in `words.txt`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command's results and errors")]

mod docs;
mod lines;
mod process;
mod suite;
mod tidy;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy               check floors, lengths, headers, links, words, leftovers, the changelog
  circles            show the modules of each crate that import each other both ways
  lines              count the lines of code of crates/*/src, without tests, comments, blanks
  tests [FLAG…]      build and run all tests, whatever fails; the flags are cargo's
  docs [PAGE…]       run the commands that docs/*.md and README.md show
       [--bin PATH]  with this binary, instead of building one";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, [])) if command == "tidy" => run_tidy(),
        Some((command, [])) if command == "lines" => run_lines(),
        Some((command, [])) if command == "circles" => run_circles(),
        Some((command, rest)) if command == "tests" => {
            root().and_then(|root| suite::run(&root, rest))
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
    let mut binary = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--bin" {
            binary = Some(PathBuf::from(rest.next().context("--bin needs a path")?));
        } else {
            pages.push(argument.clone());
        }
    }
    let binary = match binary {
        Some(path) => path.canonicalize().with_context(|| format!("find {}", path.display()))?,
        None => process::build_plimsoll(&root)?,
    };
    docs::run(&root, &pages, &binary)
}

/// The workspace's folder, which holds this package.
fn root() -> anyhow::Result<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().context("find the workspace: xtask has no folder above it")?;
    Ok(root.to_owned())
}
