//! Whether two programs say the same: both are given the command lines of `same.txt`, and what they
//! print, how they end and when their requests are due is compared.
//!
//! A line is a script of the shell, which each program runs in an empty folder of its own; there
//! are `$EXAMPLES`, and `$SHARED` where shared data is there. `target ARGUMENTS…` starts a server
//! whose URL is in `$URL`.
//!
//! | a line begins with | what is compared |
//! | --- | --- |
//! | `shape` | the fields of the JSON that it prints, not their values: of live loads |
//! | `apart` | as without it; the programs run one after the other, as they look for what is free |
//! | `each GLOB` | as without it, once for each file that the glob finds below `$EXAMPLES`, `$SHARED`: `$FILE` |
//! | anything else | exit code, standard output; where it ends with 2, what it says of that, too |
//!
//! Identities, moments, durations of the computation and folders are no difference.

mod texts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::process::{Place, Running};
use crate::same::texts::{first_difference, plain, shape};

/// The command lines.
const LINES: &str = include_str!("same.txt");
/// How long one may take.
const LIMIT: Duration = Duration::from_secs(300);
/// What each script begins with.
const PRELUDE: &str = "\
set -o pipefail
target() {
  plimsoll target --listen 127.0.0.1:0 \"$@\" > target.out 2> target.err & server=$!
  trap 'kill $server' EXIT
  until grep -q listening target.out; do sleep 0.05; done
  URL=http://$(sed -n 's/^listening on //p' target.out | head -1)/
}
due() { plimsoll export runs/2* --format samples-csv | cut -d, -f1,8 | sort -n | sha256sum; }
";

/// A command line, ready to be run.
struct Line {
    script: String,
    /// The file that it is of.
    file: Option<PathBuf>,
    is_shape: bool,
    is_apart: bool,
}

/// What came of a command line.
#[derive(PartialEq)]
struct Outcome {
    code: Option<i32>,
    out: String,
    /// What was said of an error.
    err: String,
}

/// Compares two programs, and prints what differs and what was not compared; whether nothing
/// differs.
pub(crate) fn run(root: &Path, before: &Path, after: &Path) -> anyhow::Result<bool> {
    let shared = std::env::var_os("PLIMSOLL_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| root.join("../shared"));
    let shared = shared.canonicalize().ok();
    let scratch = std::env::temp_dir().join(format!("plimsoll-same-{}", std::process::id()));
    let places = [("before", before), ("after", after)].map(|(name, program)| {
        let folder = scratch.join(name);
        make_bin(&folder, program).map(|()| folder)
    });
    let [before, after] = places;
    let (before, after) = (before?, after?);
    let folders = Folders { examples: &root.join("examples"), shared: shared.as_deref() };
    let (mut compared, mut differ, mut absent) = (0, 0, Vec::new());
    for text in LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if text.contains("$SHARED") && shared.is_none() {
            absent.push(format!("{text}: no shared data"));
            continue;
        }
        for line in lines_of(text, &folders)? {
            let (Some(was), Some(is)) = outcomes(&line, (&before, &after), &folders)? else {
                absent.push(format!("{}: takes more than {LIMIT:?}", line.named()));
                continue;
            };
            compared += 1;
            if was != is {
                differ += 1;
                println!("{}", told(&line, &was, &is));
            }
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
    absent.iter().for_each(|line| println!("not compared: {line}"));
    println!("same: {compared} compared, {differ} differ, {} not compared", absent.len());
    Ok(differ == 0)
}

/// Where the files are that lines name.
struct Folders<'a> {
    examples: &'a Path,
    shared: Option<&'a Path>,
}

/// Makes the folder of a program's commands, in which it is called `plimsoll`.
fn make_bin(folder: &Path, program: &Path) -> anyhow::Result<()> {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).with_context(|| format!("make {}", bin.display()))?;
    let program = program.canonicalize().with_context(|| format!("find {}", program.display()))?;
    std::os::unix::fs::symlink(program, bin.join("plimsoll")).context("link the program")
}

/// The lines that a text stands for: one for each file of its glob.
fn lines_of(text: &str, folders: &Folders<'_>) -> anyhow::Result<Vec<Line>> {
    let without = |text, word| match str::strip_prefix(text, word) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (is_shape, text) = without(text, "shape ");
    let (is_apart, text) = without(text, "apart ");
    let Some(rest) = text.strip_prefix("each ") else {
        return Ok(vec![Line { script: text.to_owned(), file: None, is_shape, is_apart }]);
    };
    let (glob, script) = rest.split_once(' ').context("`each GLOB COMMAND`")?;
    let glob = expanded(glob, folders);
    let (top, ends) = glob.split_once("**").context("a glob is FOLDER/**END")?;
    let mut found = Vec::new();
    files(Path::new(top), ends, &mut found);
    found.sort();
    anyhow::ensure!(!found.is_empty(), "no file is {glob}");
    let line = |file| Line { script: script.to_owned(), file: Some(file), is_shape, is_apart };
    Ok(found.into_iter().map(line).collect())
}

fn expanded(text: &str, folders: &Folders<'_>) -> String {
    let shared = folders.shared.unwrap_or_else(|| Path::new(""));
    text.replace("$EXAMPLES", &folders.examples.display().to_string())
        .replace("$SHARED", &shared.display().to_string())
}

/// The files below a folder whose names end so.
fn files(folder: &Path, ends: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, ends, found),
            false if path.to_string_lossy().ends_with(ends) => found.push(path),
            false => {}
        }
    }
}

impl Line {
    fn named(&self) -> String {
        let file = self.file.as_ref().map(|of| format!("  ({})", of.display()));
        format!("{}{}", self.script, file.unwrap_or_default())
    }
}

/// What comes of a line with each of two programs.
fn outcomes(
    line: &Line,
    (before, after): (&Path, &Path),
    folders: &Folders<'_>,
) -> anyhow::Result<(Option<Outcome>, Option<Outcome>)> {
    if line.is_apart {
        return Ok((outcome(line, before, folders)?, outcome(line, after, folders)?));
    }
    std::thread::scope(|scope| {
        let was = scope.spawn(|| outcome(line, before, folders));
        let is = outcome(line, after, folders)?;
        let was = was.join().unwrap_or_else(|_| anyhow::bail!("a thread ended"))?;
        Ok((was, is))
    })
}

/// Runs a line with the program of a folder; `None` where it takes too long.
fn outcome(line: &Line, own: &Path, folders: &Folders<'_>) -> anyhow::Result<Option<Outcome>> {
    let work = own.join("work");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).with_context(|| format!("make {}", work.display()))?;
    let host = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{}:{}", own.join("bin").display(), host.to_string_lossy());
    let place = Place { folder: &work, runtime: own, path: &path, mounts: None };
    let file = line.file.as_deref().unwrap_or_else(|| Path::new(""));
    let set = format!(
        "EXAMPLES='{}' SHARED='{}' FILE='{}'\n",
        folders.examples.display(),
        folders.shared.unwrap_or_else(|| Path::new("")).display(),
        file.display()
    );
    let script = format!("{set}{PRELUDE}{{ {}; }} 2> {}/err", line.script, own.display());
    let out = own.join("out");
    let mut running = Running::bash(&script, &place, &out)?;
    let Some(status) = running.wait(LIMIT)? else { return Ok(None) };
    let program = own.join("bin/plimsoll").canonicalize().context("find the program")?;
    let read = |path: &Path| -> anyhow::Result<String> {
        let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
        let text =
            String::from_utf8_lossy(&bytes).replace(&program.display().to_string(), "PROGRAM");
        Ok(plain(&text, own))
    };
    let (code, out) = (status.code(), read(&out)?);
    let out = if line.is_shape { shape(&out) } else { out };
    let err = if code == Some(2) { read(&own.join("err"))? } else { String::new() };
    Ok(Some(Outcome { code, out, err }))
}

/// What differs between two outcomes of a line.
fn told(line: &Line, was: &Outcome, is: &Outcome) -> String {
    let mut told = format!("differs: {}", line.named());
    if was.code != is.code {
        told += &format!("\n  exit code: {:?} before, {:?} after", was.code, is.code);
    }
    for (what, was, is) in [("output", &was.out, &is.out), ("errors", &was.err, &is.err)] {
        if let Some((at, was, is)) = first_difference(was, is) {
            told += &format!("\n  {what}, line {at}\n    before: {was}\n    after:  {is}");
        }
    }
    told
}
