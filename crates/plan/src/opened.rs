//! A plan's text with the flags over it, before anything is understood of it.

use std::path::{Path, PathBuf};

use crate::error::PlanErrors;
use crate::reading::Reading;
use crate::sections::SECTIONS;
use crate::setting::{Setting, lay_over, write_out};
use crate::source::Source;
use crate::tree::{self, Table};
use crate::vocabulary::Vocabulary;

/// Reads a plan of any kind: a text that is TOML, with the flags over it, of which `read` makes the
/// plan.
pub(crate) fn plan_of<T>(
    mut file: Source,
    settings: &[Setting],
    vocabulary: Option<&'static Vocabulary>,
    read: impl FnOnce(&Reading, &Table) -> Option<T>,
) -> Result<T, PlanErrors> {
    let folder = Path::new(&file.origin).parent().unwrap_or(Path::new("")).to_path_buf();
    let root = tree::read(&mut file);
    let mut reading = Reading::new(file, &SECTIONS);
    reading.check_text = vocabulary.map(|known| known.check_text);
    let mut root = match root {
        Ok(root) => root,
        Err(fault) => {
            reading.note(*fault);
            return Err(reading.into_errors());
        }
    };
    write_out(&mut root);
    for fault in lay_over(&mut root, &mut reading.sources, settings) {
        reading.note(fault);
    }
    // A plan that is kept elsewhere says where its files are.
    let given = root.get("folder").and_then(|entry| {
        let name = reading.line(&entry.node)?;
        let is_flag = reading.is_flag(entry.node.place);
        Some(if is_flag { PathBuf::from(name) } else { folder.join(name) })
    });
    reading.set_folder(given.unwrap_or(folder));
    match read(&reading, &root) {
        Some(plan) if !reading.is_faulty() => Ok(plan),
        _ => Err(reading.into_errors()),
    }
}
