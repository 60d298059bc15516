//! The page looks like the reports, and loads nothing from elsewhere.

use std::collections::BTreeMap;

use plimsoll_shoal::page::assets::{ASSETS, Asset};

use super::{small, written};

/// The colours of a style sheet, by scheme and name.
fn colours(style: &str) -> BTreeMap<(bool, String), String> {
    let (light, rest) = style.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (night, _) = rest.split_once("\n}\n").unwrap();
    let mut colours = BTreeMap::new();
    for (dark, block) in [(false, light), (true, night)] {
        for declaration in block.split([';', '{']) {
            let Some((name, value)) = declaration.split_once(": #") else { continue };
            let Some(name) = name.trim().strip_prefix("--") else { continue };
            colours.insert((dark, name.to_owned()), value.trim().to_owned());
        }
    }
    colours
}

/// That those of the reports can be read is tested there.
#[test]
fn the_colours_are_those_of_the_reports() {
    let ours = colours(Asset::named("page.css").unwrap().body);
    let theirs = colours(include_str!("../../../../draw/src/style.css"));
    assert!(ours.len() > 30, "{ours:?}");
    for (name, colour) in &ours {
        assert_eq!(theirs.get(name), Some(colour), "{name:?}");
    }
}

#[test]
fn nothing_comes_from_elsewhere_and_nothing_is_inline() {
    let page = written(small(), &[], "/").body;
    for part in ["<style", " style=", " onclick=", "<script>", "javascript:"] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(!page.contains("=\"http") && !page.contains("=\"//"), "{page}");
    for asset in &ASSETS {
        let body = asset.body.replace("http://www.w3.org/2000/svg", "");
        assert!(!body.contains("://") && !body.contains("@import"), "{}", asset.name);
    }
    // The script makes no HTML of text.
    let script = Asset::named("page.js").unwrap().body;
    for part in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
        assert!(!script.contains(part), "{part}");
    }
}

#[test]
fn each_id_is_there_once_and_each_label_has_its_field() {
    let page = written(small(), &[], "/").body;
    let named = |attribute: &str| -> Vec<String> {
        let start = format!(" {attribute}=\"");
        let parts = page.split(&start).skip(1);
        parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
    };
    let ids = named("id");
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "{ids:?}");
    for attribute in ["for", "aria-labelledby"] {
        for id in named(attribute) {
            assert!(ids.contains(&id), "{attribute} {id}");
        }
    }
    // Those that the script looks for.
    for id in ["list", "rows", "heads", "caption", "pages", "summary", "place", "errors", "pause"] {
        assert!(ids.contains(&id.to_owned()), "{id}");
    }
}
