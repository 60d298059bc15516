//! Which runs are meant: by their folder, by the folder that holds them, by a group of
//! replications, by an id or a name, or by none for the last one. An experiment is meant like a
//! run, and one of its cells by `E/cells/7`.

use crate::terminal::error::{Result, UsageError};
use plimsoll_runs::experiment::{CELLS, FILE as JOURNAL, Layout, is_experiment, is_held};
use plimsoll_runs::index::list;
use plimsoll_runs::is_written;
use std::path::{Path, PathBuf};

/// The folder for runs, where no other is named.
const RUNS: &str = "runs";

/// The file that makes a folder a run.
const RUN: &str = "run.sqlite";

/// A name stands for a run, an experiment, or a cell of one.
pub(crate) enum NamedRecord {
    /// The folder of a run.
    Run(PathBuf),
    /// The folder of an experiment.
    Experiment(PathBuf),
    /// A cell, by the folder of its experiment and its number.
    Cell(PathBuf, u32),
}

/// The run, experiment or cell that is meant: of several the last, and without a name the last one
/// of all.
pub(crate) fn what(named: Option<&Path>) -> Result<NamedRecord> {
    if let Some((experiment, number)) = named.and_then(cell) {
        return Ok(NamedRecord::Cell(experiment, number));
    }
    let folder = one(named)?;
    Ok(if is_experiment(&folder) {
        NamedRecord::Experiment(folder)
    } else {
        NamedRecord::Run(folder)
    })
}

/// The cell that `E/cells/0007` or `E/cells/7` means, where E is an experiment.
fn cell(path: &Path) -> Option<(PathBuf, u32)> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let cells = path.parent().filter(|folder| folder.ends_with(CELLS))?;
    let experiment = cells.parent()?;
    let found = all(experiment).ok()?.pop()?;
    is_experiment(&found).then_some((found, number))
}

/// The experiment whose journal stands beside its runs, by its path, by the journal's, or by its id
/// in the folder for runs.
pub(crate) fn journal(named: &Path) -> Option<PathBuf> {
    let name = named.to_str()?;
    let path = PathBuf::from(name.strip_suffix(&format!(".{JOURNAL}")).unwrap_or(name));
    let all = [path.clone(), Path::new(RUNS).join(path)];
    all.into_iter().find(|path| Layout::Beside.journal(path).is_file())
}

/// The experiment that a run is a cell of, by its place: `E/cells/0007`, or `ID-2` beside the
/// journal of `ID`; `None` of a single run.
pub(crate) fn experiment_of(run: &Path, cell: u32) -> Option<PathBuf> {
    if cell > 0 {
        return run.parent()?.parent().map(Path::to_owned);
    }
    let (group, number) = run.to_str()?.rsplit_once('-')?;
    let group = PathBuf::from(group);
    let is_its = number.parse::<u32>().is_ok() && Layout::Beside.journal(&group).is_file();
    is_its.then_some(group)
}

/// The experiment or single run that is meant, by its path, or by its id or name in a folder for
/// runs; without one the last one there that goes on, else the last.
pub(crate) fn executed(named: Option<&Path>, root: &Path) -> Result<PathBuf> {
    if let Some(path) = named {
        let is_name = path.components().count() == 1 && !path.exists();
        let in_root = match journal(&root.join(path)) {
            None if is_name => called(path, root)?.pop(),
            found => found.filter(|_| is_name),
        };
        let found = in_root.or_else(|| journal(path));
        return found.map_or_else(|| one(Some(path)), Ok);
    }
    let mut all = match (is_run(root), root.is_dir()) {
        (true, _) => vec![root.to_owned()],
        (false, true) => within(root)?,
        (false, false) => Vec::new(),
    };
    let goes_on = |path: &PathBuf| match is_experiment(path) {
        true => is_held(path).unwrap_or(false),
        false => is_written(path).unwrap_or(false),
    };
    let held = all.iter().rposition(goes_on);
    let meant = held.or(all.len().checked_sub(1)).map(|place| all.swap_remove(place));
    let root = root.display();
    let text = format!("find an experiment or a run: there is none in {root}; name its folder");
    meant.ok_or_else(|| UsageError(text).into())
}

/// The run or experiment that is meant: of several the last, and without a name the last one of
/// all. A path where no run is stays what it is: opening it tells what it lacks.
pub(crate) fn one(named: Option<&Path>) -> Result<PathBuf> {
    let path = named.unwrap_or(Path::new(RUNS));
    if named.is_none() && !path.is_dir() {
        let text =
            format!("find the last run: there is no folder {RUNS} here; name a run's folder");
        return Err(UsageError(text).into());
    }
    match (all(path), named) {
        (Ok(mut runs), _) => runs.pop().ok_or_else(|| not_found(path)),
        (Err(_), Some(path)) => Ok(path.to_owned()),
        (Err(error), None) => Err(error),
    }
}

/// All the runs and experiments that are meant, in their order.
pub(crate) fn all(path: &Path) -> Result<Vec<PathBuf>> {
    if is_run(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = if path.is_dir() { within(path)? } else { group(path) };
    if found.is_empty() && !path.is_dir() {
        found = called(path, Path::new(RUNS))?;
    }
    // A folder that is no run and holds none is named for what it lacks when it is opened.
    if found.is_empty() && path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if found.is_empty() { Err(not_found(path)) } else { Ok(found) }
}

fn not_found(path: &Path) -> crate::terminal::error::Error {
    let path = path.display();
    UsageError(format!(
        "find the run or group {path}: no folder, and no run of that name in {RUNS}"
    ))
    .into()
}

fn is_run(path: &Path) -> bool {
    path.join(RUN).is_file() || is_experiment(path)
}

/// The runs in a folder, the oldest first: their names begin with the time.
fn within(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if is_run(&path) {
            runs.push(path);
        }
    }
    runs.sort_by_cached_key(|path| place_in_group(path));
    Ok(runs)
}

/// A run's name, its number in the group apart: the tenth comes after the ninth.
fn place_in_group(path: &Path) -> (String, u32) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let split = name.rsplit_once('-').and_then(|(group, n)| Some((group, n.parse::<u32>().ok()?)));
    // The last part of an id is four letters, which may be digits: a number in a group is shorter.
    match split {
        Some((group, number)) if name.len() - group.len() < 5 => (group.to_owned(), number),
        _ => (name, 0),
    }
}

/// The runs `PATH-1`, `PATH-2`, … of a group.
fn group(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten()
    {
        let file = entry.file_name().to_string_lossy().into_owned();
        let number = file.strip_prefix(&name).and_then(|rest| rest.strip_prefix('-'));
        if let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) {
            found.push((number, entry.path()));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, path)| path).filter(|path| is_run(path)).collect()
}

/// The runs with an id, of a group, or of a name, in a folder for runs.
fn called(name: &Path, root: &Path) -> Result<Vec<PathBuf>> {
    let Some(name) = name.to_str().filter(|name| !name.contains('/')) else {
        return Ok(Vec::new());
    };
    if is_run(&root.join(name)) {
        return Ok(vec![root.join(name)]);
    }
    let group = group(&root.join(name));
    if !group.is_empty() {
        return Ok(group);
    }
    let listing = list(root)?;
    Ok(listing.runs.iter().filter(|run| run.name == name).map(|run| root.join(&run.id)).collect())
}
