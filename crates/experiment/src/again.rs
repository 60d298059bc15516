//! A plan that a run has kept, executed again: perhaps on another machine, or when the files that
//! it reads have changed since.
//!
//! Where every file is what it was, nothing is done. Otherwise the copies that the run keeps stand
//! for all of them, as a scenario and its data belong together, and what has changed is said.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_plan::moved;
use plimsoll_runs::experiment::INPUTS;

use crate::inputs::{Input, LIST, MAX_KEPT, Standing};

/// The longest list of files that is read, bytes.
const MAX_LIST: u64 = MAX_KEPT;

/// A plan as it is executed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// Its text, with the copies in the place of the files.
    pub text: String,
    /// What has become of the files.
    pub notes: Vec<String>,
}

/// The text of a plan of this file, where a run may have kept it.
#[must_use]
pub fn again(file: &Path, text: &str) -> Again {
    let unchanged = Again { text: text.to_owned(), notes: Vec::new() };
    let Some(kept) = Kept::beside(file) else { return unchanged };
    let notes = kept.notes();
    if notes.is_empty() {
        return unchanged;
    }
    let text = moved(text, file, &|path| kept.copy_of(path));
    Again { text, notes }
}

/// A file that is listed beside a plan, and of which there is no copy that holds what it held.
pub(crate) fn lacking(plan: &Path) -> Option<PathBuf> {
    let kept = Kept::beside(plan)?;
    let lacks = kept.list.iter().find(|of| kept.copy(of).is_none());
    lacks.map(|of| of.path.clone())
}

/// The files that a run has kept.
pub(crate) struct Kept {
    folder: PathBuf,
    list: Vec<Input>,
}

impl Kept {
    /// What is kept beside a plan: by its run, or by the experiment of which its run is a cell.
    fn beside(plan: &Path) -> Option<Self> {
        let plan = std::path::absolute(plan).ok()?;
        let folder = plan.parent()?;
        let of_cell = || Self::read(folder.parent()?.parent()?.join(INPUTS));
        Self::read(folder.join(INPUTS)).or_else(of_cell)
    }

    /// What is kept together with a file that is itself a copy, and which file it is a copy of.
    pub(crate) fn around(file: &Path) -> Option<(Self, PathBuf)> {
        let kept = Self::read(file.parent()?.to_owned())?;
        let name = file.file_name()?.to_str()?;
        let of = kept.list.iter().find(|of| of.kept_as.as_deref() == Some(name))?.path.clone();
        Some((kept, of))
    }

    fn read(folder: PathBuf) -> Option<Self> {
        let path = folder.join(LIST);
        let about = fs::metadata(&path).ok().filter(|of| of.is_file() && of.len() <= MAX_LIST)?;
        let list = (about.len() > 0).then(|| fs::read(&path).ok())??;
        let list: Vec<Input> = serde_json::from_slice(&list).ok()?;
        // What somebody else has written names nothing outside of the folder.
        let is_name = |of: &String| Path::new(of).file_name() == Some(of.as_ref());
        let is_ours = list.iter().filter_map(|of| of.kept_as.as_ref()).all(is_name);
        is_ours.then(|| Self { folder: std::path::absolute(&folder).unwrap_or(folder), list })
    }

    /// Where the copy of a file is, by its path from the root.
    pub(crate) fn copy_of(&self, path: &Path) -> Option<PathBuf> {
        let of = self.list.iter().find(|of| of.path == path)?;
        self.copy(of)
    }

    /// The copy of a file, where it is one.
    fn copy(&self, of: &Input) -> Option<PathBuf> {
        let copy = self.folder.join(of.kept_as.as_ref()?);
        (of.standing_at(&copy) == Standing::Same).then_some(copy)
    }

    /// What a reader should know of files that are not what they were.
    fn notes(&self) -> Vec<String> {
        let note = |of: &Input| {
            let has = match of.standing_at(&of.path) {
                Standing::Same => return None,
                Standing::Changed => "has changed since the run",
                Standing::Gone => "cannot be read here",
            };
            let path = of.path.display();
            Some(match (self.copy(of), &of.kept_as) {
                (Some(copy), _) => {
                    format!("{path} {has}: the copy that the run kept is read, {}", copy.display())
                }
                (None, Some(_)) => {
                    format!("{path} {has}, and the run's copy of it is damaged or gone")
                }
                (None, None) => format!("{path} {has}, and the run has no copy of it"),
            })
        };
        self.list.iter().filter_map(note).collect()
    }
}

/// How files that a scenario names are found: one that a run has kept names them by where it was.
pub(crate) fn files_of_scenario(file: &Path) -> impl Fn(&Path) -> PathBuf + use<> {
    let around = Kept::around(file);
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    move |path: &Path| {
        let Some((kept, original)) = &around else { return path.to_owned() };
        let name = path.strip_prefix(&folder).unwrap_or(path);
        let path = original.parent().unwrap_or(Path::new("/")).join(name);
        let path = std::path::absolute(&path).unwrap_or(path);
        kept.copy_of(&path).unwrap_or(path)
    }
}

impl Input {
    /// What has become of the file at a path.
    fn standing_at(&self, path: &Path) -> Standing {
        match self.is_at(path) {
            Ok(true) => Standing::Same,
            Ok(false) => Standing::Changed,
            Err(_) => Standing::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::{inputs, keep};

    /// A run that keeps `week.csv` and `steps.toml`, with `people.csv` that this names.
    fn kept() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let files = [file("week.csv", "week"), file("s/steps.toml", "steps"), file("p.csv", "p")];
        let run = place.path().join("run");
        fs::create_dir(&run).unwrap();
        keep(&inputs(&files).unwrap(), &run).unwrap();
        (place, run)
    }

    fn text(place: &Path) -> String {
        let folder = place.display();
        format!("folder = \"{folder}\"\nname = \"week.csv\"\n[load.trace]\nfile = 'week.csv' # w\n")
    }

    #[test]
    fn copies_are_read_where_a_file_is_not_what_it_was() {
        let (place, run) = kept();
        let (plan, text) = (run.join("plan.toml"), text(place.path()));
        assert_eq!(again(&plan, &text), Again { text: text.clone(), notes: Vec::new() });
        fs::write(place.path().join("week.csv"), "weak").unwrap();
        let changed = again(&plan, &text);
        assert!(changed.notes[0].contains("has changed since"), "{:?}", changed.notes);
        let copy = run.join("inputs/1-week.csv").display().to_string();
        assert!(changed.text.contains(&format!("\"{copy}\" # w")), "{}", changed.text);
        assert!(changed.text.contains("name = \"week.csv\""), "{}", changed.text);
        fs::remove_file(place.path().join("week.csv")).unwrap();
        let cell = again(&run.join("cells/0001/plan.toml"), &text);
        assert!(cell.notes[0].contains("cannot be read here"), "{:?}", cell.notes);
        fs::write(run.join("inputs/1-week.csv"), "w").unwrap();
        let damaged = again(&plan, &text);
        assert!(damaged.notes[0].contains("damaged"), "{:?}", damaged.notes);
        assert_eq!(damaged.text, text);
    }

    #[test]
    fn a_kept_scenario_finds_its_data_by_where_it_was() {
        let (place, run) = kept();
        let scenario = run.join("inputs/2-steps.toml");
        let find = files_of_scenario(&scenario);
        let from = |name: &str| find(&run.join("inputs").join(name));
        assert_eq!(from("../p.csv"), place.path().join("s/../p.csv"));
        let list = fs::read_to_string(run.join("inputs").join(LIST)).unwrap();
        let (whole, climbing) = ("/p.csv\"", "/s/../p.csv\"");
        fs::write(run.join("inputs").join(LIST), list.replace(whole, climbing)).unwrap();
        let find = files_of_scenario(&scenario);
        assert_eq!(find(&run.join("inputs/../p.csv")), run.join("inputs/3-p.csv"));
        let beside = files_of_scenario(&place.path().join("s/steps.toml"));
        assert_eq!(beside(Path::new("p.csv")), Path::new("p.csv"));
    }

    #[test]
    fn a_list_that_leads_out_of_its_folder_is_none() {
        let (_place, run) = kept();
        for name in ["../plan.toml", "/etc/hostname", "a/b", ".."] {
            let one = "\"path\":\"/a\",\"bytes\":1,\"sha256\":null,\"changed_ns\":1";
            let list = format!("[{{{one},\"kept_as\":\"{name}\"}}]");
            fs::write(run.join("inputs").join(LIST), list).unwrap();
            assert!(Kept::beside(&run.join("plan.toml")).is_none(), "{name}");
        }
    }
}
