//! Figures whose names are made while the program runs: members of families, figures of subjects.
//! Each is made once, and kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::Figure;

/// The most that are kept: more figures than all series of a cell can make.
const MOST: usize = 100_000;

/// The figure of a name, which is like another one but for its name and label; `None` where too
/// many are kept.
pub(super) fn like(of: &Figure, name: &str, label: &str) -> Option<&'static Figure> {
    static MEMBERS: Mutex<BTreeMap<String, &'static Figure>> = Mutex::new(BTreeMap::new());
    let mut members = MEMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = members.get(name) {
        return Some(known);
    }
    if members.len() >= MOST {
        return None;
    }
    let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let Figure { unit, better, about, commands, .. } = *of;
    let (kept, label) = (keep(name), keep(label));
    let figure = Box::leak(Box::new(Figure { name: kept, label, unit, better, about, commands }));
    members.insert(name.to_owned(), figure);
    Some(figure)
}
