//! The folders of cells: under way, done, and set aside.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::RunError;
use crate::experiment::{CELLS, cell_folder, part_folder};
use crate::meta::World;

/// How the folder of a cell ends that is under way.
pub(super) const PART: &str = ".part";
/// How the folder of an attempt ends that came to nothing, before its number.
const CUT: &str = ".cut-";

/// Gives the run of a done cell its name. A cell without a run has nothing to name. Of a live one
/// the file system remembers it; what was simulated is not synced, as its files are not.
pub(super) fn keep(experiment: &Path, number: u32, world: World) -> Result<(), RunError> {
    let (from, to) = (part_folder(experiment, number), cell_folder(experiment, number));
    match world {
        World::Live | World::Shadow => rename(experiment, &from, &to),
        World::Simulated if from.exists() => {
            fs::rename(&from, &to).map_err(RunError::file("rename", &from))
        }
        World::Simulated => Ok(()),
    }
}

/// Sets a folder of a cell aside, where there is one, as `0007.cut-N`.
pub(super) fn set_aside(experiment: &Path, number: u32) -> Result<(), RunError> {
    for from in [part_folder(experiment, number), cell_folder(experiment, number)] {
        if from.exists() {
            rename(experiment, &from, &next_cut(experiment, number))?;
        }
    }
    Ok(())
}

/// The names of attempts at a cell that came to nothing, in their order.
fn cuts(experiment: &Path, number: u32) -> impl Iterator<Item = PathBuf> {
    let cells = experiment.join(CELLS);
    (1_u32..).map(move |n| cells.join(format!("{number:04}{CUT}{n}")))
}

/// The first name of its kind that is free.
fn next_cut(experiment: &Path, number: u32) -> PathBuf {
    cuts(experiment, number).find(|path| !path.exists()).unwrap_or_default()
}

/// The last attempt at a cell that came to nothing, where there is one.
pub(super) fn last_cut(experiment: &Path, number: u32) -> Option<PathBuf> {
    cuts(experiment, number).take_while(|path| path.is_dir()).last()
}

/// Renames a folder and has the file system remember it; nothing where it is not there.
fn rename(experiment: &Path, from: &Path, to: &Path) -> Result<(), RunError> {
    if !from.exists() {
        return Ok(());
    }
    fs::rename(from, to).map_err(RunError::file("rename", from))?;
    let cells = experiment.join(CELLS);
    File::open(&cells).and_then(|folder| folder.sync_all()).map_err(RunError::file("sync", &cells))
}

/// Brings the folders in line with the journal: the run of a done cell has its name, and every
/// other one is set aside.
pub(super) fn mend(experiment: &Path, done: &BTreeSet<u32>) -> Result<(), RunError> {
    let cells = experiment.join(CELLS);
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&cells).map_err(RunError::file("list", &cells))? {
        let name = entry.map_err(RunError::file("list", &cells))?.file_name();
        let name = name.to_string_lossy();
        let number = name.strip_suffix(PART).unwrap_or(&name);
        found.extend(number.parse::<u32>().ok().filter(|n| format!("{n:04}") == number));
    }
    for number in found {
        let is_kept = cell_folder(experiment, number).exists();
        match done.contains(&number) {
            true if !is_kept => keep(experiment, number, World::Live)?,
            // An attempt at a cell that was done before would be a fault of ours; it is kept apart.
            true if part_folder(experiment, number).exists() => {
                let part = part_folder(experiment, number);
                rename(experiment, &part, &next_cut(experiment, number))?;
            }
            true => {}
            false => set_aside(experiment, number)?,
        }
    }
    Ok(())
}
