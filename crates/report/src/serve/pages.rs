//! The list of runs and the list of a run's files, as pages and as JSON.

use std::fs;
use std::path::Path;

use plimsoll_draw::chart::unit::bytes;
use plimsoll_draw::{Markup, styled};
use plimsoll_runs::experiment::is_experiment;
use plimsoll_runs::index::{self, Entry};
use serde_json::json;

use super::encoded;
use super::files::Files;
use crate::error::ReportError;

/// The most rows of a page.
const MOST: usize = 2000;

/// The runs, the newest first.
fn entries(root: &Path) -> Result<(Vec<Entry>, usize), ReportError> {
    let listing = index::list(root).map_err(|error| ReportError::Folder(Box::new(error)))?;
    let mut runs = listing.runs;
    runs.retain(|run| lies_here(&root.join(&run.id)));
    runs.reverse();
    let unreadable = listing.unreadable.iter().filter(|(folder, _)| lies_here(folder));
    Ok((runs, unreadable.count()))
}

/// Whether a run is in the folder itself: a link may lead to what nobody meant to serve.
fn lies_here(folder: &Path) -> bool {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let databases = ["run.sqlite", "experiment.sqlite"];
    !is_link(folder) && !databases.iter().any(|name| is_link(&folder.join(name)))
}

/// The page of all runs.
pub(super) fn list(root: &Path) -> Result<String, ReportError> {
    let (runs, unreadable) = entries(root)?;
    Ok(framed("Runs", |m| {
        if runs.is_empty() {
            m.leaf("p", &[("class", &"nothing")], "There is no run yet.");
        }
        let heads = ["run", "name", "kind", "of", "began", "ended", ""];
        table(m, &heads, runs.iter().take(MOST), |m, of| {
            let place = encoded(&of.id);
            cell(m, |m| m.leaf("a", &[("href", &format!("/{place}/"))], &of.id));
            for text in [&*of.name, of.kind.name(), &*of.subject, &*of.started, &*of.ended] {
                cell(m, |m| m.text(text));
            }
            cell(m, |m| m.leaf("a", &[("href", &format!("/{place}/report"))], "report"));
        });
        let left = runs.len().saturating_sub(MOST);
        if left > 0 {
            m.leaf(
                "p",
                &[("class", &"note")],
                format_args!("{left} older ones are in /runs.json."),
            );
        }
        if unreadable > 0 {
            let text = format!("{unreadable} folders hold what cannot be read.");
            m.leaf("p", &[("class", &"note")], text);
        }
    }))
}

/// The same as JSON.
pub(super) fn list_json(root: &Path) -> Result<String, ReportError> {
    let (runs, unreadable) = entries(root)?;
    let one = |of: &Entry| {
        json!({
            "id": of.id, "name": of.name, "kind": of.kind.name(), "subject": of.subject,
            "started": of.started, "ended": of.ended,
        })
    };
    let all: Vec<_> = runs.iter().map(one).collect();
    Ok(json!({"schema": 1, "runs": all, "unreadable": unreadable}).to_string())
}

/// The page of a run's files.
pub(super) fn files(name: &str, folder: &Path, files: &Files) -> String {
    let place = encoded(name);
    framed(name, |m| {
        m.tag("p", &[("class", &"identity")], |m| {
            let kind = if is_experiment(folder) { "an experiment" } else { "a run" };
            m.leaf("span", &[], kind);
            for (href, text) in [(format!("/{place}/report"), "report"), ("/".into(), "all runs")] {
                m.tag("span", &[], |m| m.leaf("a", &[("href", &href)], text));
            }
        });
        table(m, &["file", "size"], files.all.iter().take(MOST), |m, of| {
            let path: Vec<String> = of.path.split('/').map(encoded).collect();
            let href = format!("/{place}/files/{}", path.join("/"));
            cell(m, |m| m.leaf("a", &[("href", &href)], &of.path));
            #[expect(clippy::cast_precision_loss, reason = "shown")]
            cell(m, |m| m.text(bytes(of.bytes as f64)));
        });
        if files.all.len() > MOST {
            m.leaf("p", &[("class", &"note")], "All of them are in files.json.");
        }
        if files.has_link {
            m.leaf(
                "p",
                &[("class", &"note")],
                "Links are not listed, and there is no page with one.",
            );
        }
    })
}

fn cell(m: &mut Markup, inside: impl FnOnce(&mut Markup)) {
    m.tag("td", &[], inside);
}

fn table<T>(
    m: &mut Markup,
    heads: &[&str],
    rows: impl Iterator<Item = T>,
    row: impl Fn(&mut Markup, T),
) {
    m.tag("div", &[("class", &"scroll")], |m| {
        m.tag("table", &[], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| heads.iter().for_each(|head| m.leaf("th", &[], head)));
            });
            m.tag("tbody", &[], |m| rows.for_each(|of| m.tag("tr", &[], |m| row(m, of))));
        });
    });
}

/// A page around its content.
fn framed(title: &str, content: impl FnOnce(&mut Markup)) -> String {
    let mut m = Markup::default();
    let whole = format_args!("{title} – Plimsoll");
    plimsoll_draw::page(&mut m, whole, styled, &[("class", &"one")], |m| {
        m.tag("header", &[], |m| m.leaf("h1", &[], title));
        m.tag("main", &[], |m| m.tag("section", &[], content));
    });
    m.finish()
}
