//! Files that commands read and write: `-` is standard input, what is read has bounds, and a place
//! to write to is tried before the work begins.

use crate::terminal::error::{Context, Result, UsageError};
use crate::terminal::say;
use plimsoll_experiment::again;
use plimsoll_units::failure::FileError;
use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Standard input, as a file.
const STDIN: &str = "/dev/stdin";

/// The longest plan, in bytes.
const MAX_PLAN_BYTES: u64 = 16 << 20;

/// The longest token, in bytes.
const MOST_TOKEN: usize = 4096;

/// The path of a file that is read: `-` is standard input. For clap.
#[expect(clippy::unnecessary_wraps, reason = "the type that clap asks for")]
pub(crate) fn input(text: &str) -> Result<PathBuf, Infallible> {
    Ok(PathBuf::from(if text == "-" { STDIN } else { text }))
}

/// Whether a target is a plan rather than a URL.
pub(crate) fn is_plan(target: &str) -> bool {
    let file = Path::new(target);
    let named_plan = file.extension().is_some_and(|extension| extension == "toml");
    target == "-" || named_plan || !target.contains("://") && file.is_file()
}

/// The path of the file that a plan is read from, whole; empty where it is no file.
pub(crate) fn plan_file(target: Option<&str>) -> String {
    let file = target.filter(|target| *target != "-" && is_plan(target));
    let path = file.and_then(|file| std::path::absolute(file).ok());
    path.map_or_else(String::new, |path| path.display().to_string())
}

/// Refuses a plan of somebody else's that starts workers by words of its own: they are executed.
pub(crate) fn check_starts(start: &[String], plan: Option<&str>) -> Result<()> {
    let Some(plan) = plan.filter(|plan| !start.is_empty() && is_plan(plan) && *plan != "-") else {
        return Ok(());
    };
    let Ok(about) = std::fs::metadata(plan) else { return Ok(()) };
    let own = rustix::process::geteuid().as_raw();
    if about.uid() == own || about.uid() == 0 {
        return Ok(());
    }
    let text = format!(
        "start workers by `{}`, as {plan} has it: that is a file of the user {}, not yours; look \
         at it, and copy it: cp {plan} mine.toml",
        start.join(" "),
        about.uid()
    );
    Err(UsageError(text).into())
}

/// The text of a plan. Of one that a run has kept it is said what has become of its files.
pub(crate) fn plan(path: &str) -> Result<String> {
    let failed = FileError::of("read the plan", Path::new(path));
    let file = File::open(if path == "-" { STDIN } else { path }).map_err(&failed)?;
    let mut text = String::new();
    file.take(MAX_PLAN_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_PLAN_BYTES {
        let why = format!("read the plan {path}: it has more than 16 MiB");
        return Err(UsageError(why).into());
    }
    check_no_scenario(path, &text)?;
    if path == "-" {
        return Ok(text);
    }
    let again = again(Path::new(path), &text);
    again.notes.iter().for_each(|note| say(&format!("note: {note}")));
    Ok(again.text)
}

/// Refuses a scenario in the place of a plan: no plan has steps.
fn check_no_scenario(path: &str, text: &str) -> Result<(), UsageError> {
    if !text.lines().any(|line| line.trim() == "[[step]]") {
        return Ok(());
    }
    let text = format!(
        "{path} is a scenario, which is no plan: what its users do is part of a load; plimsoll \
         load URL --scenario {path} --users 10 --for 30s"
    );
    Err(UsageError(text))
}

/// Refuses a plan with factors: a command of one kind executes one combination alone. What executes
/// them all is said, with `flags` where the plan has to be simulated.
pub(crate) fn check_single(
    is_experiment: bool,
    command: &str,
    (plan, flags): (&str, &str),
) -> Result<(), UsageError> {
    if !is_experiment {
        return Ok(());
    }
    let plan = if is_plan(plan) && plan != "-" { plan } else { "PLAN" };
    let text = format!(
        "execute the plan's [experiment] and [factor] by `{command}`: it executes one combination, \
         and the plan has several; plimsoll run {plan}{flags}"
    );
    Err(UsageError(text))
}

/// Tries whether the report that is asked for can be written, before the work that it is of.
pub(crate) fn check_report(path: Option<&Path>) -> Result<(), UsageError> {
    path.map_or(Ok(()), |path| check_place("the report", path))
}

/// Tries whether a file can be written at a place, before the work whose result it is; `what` is
/// it. Nothing is left there, and a file that is there stays as it is.
pub(crate) fn check_place(what: &str, path: &Path) -> Result<(), UsageError> {
    let failed = |why: String| {
        let path = path.display();
        UsageError(format!("write {what} to {path}: {why}; choose another place"))
    };
    if path.is_dir() {
        return Err(failed("it is a folder".to_owned()));
    }
    if path.exists() {
        let opened = File::options().append(true).open(path);
        return opened.map(drop).map_err(|error| failed(error.to_string()));
    }
    let made = File::create_new(path).and_then(|_| std::fs::remove_file(path));
    made.map_err(|error| failed(error.to_string()))
}

/// The token of a file that others cannot read.
pub(crate) fn token(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let meta = std::fs::metadata(path).with_context(|| format!("read the token of {shown}"))?;
    if meta.permissions().mode() & 0o077 != 0 {
        let text = format!("read the token of {shown}: others can read it; chmod 600 {shown}");
        return Err(UsageError(text).into());
    }
    let text = std::fs::read(path).with_context(|| format!("read the token of {shown}"))?;
    let token = text.trim_ascii().to_vec();
    if !(1..=MOST_TOKEN).contains(&token.len()) {
        let text = format!("read the token of {shown}: expected 1 to {MOST_TOKEN} bytes");
        return Err(UsageError(text).into());
    }
    Ok(token)
}
