//! Links between pages: the file must be there, and so must the heading an anchor names. Pages that
//! the comments of code name, `docs/….md`, must be there too.
//!
//! Reads inline links and images, reference definitions, and `src`, `srcset` and `href` of HTML.
//! Code blocks and code spans hold no links. Addresses with a scheme are not looked up: the check
//! needs no network. Anchors are formed as GitHub forms them.

use super::{File, Remark, Tree};

pub(super) fn check(tree: &Tree, file: &File) -> Vec<Remark> {
    let faults: Vec<(usize, String)> = match &file.rust {
        Some(rust) => named_pages(&rust.comments)
            .into_iter()
            .filter(|(_, path)| !tree.paths.contains(*path))
            .map(|(line, path)| (line, format!("there is no page `{path}`")))
            .collect(),
        None if file.is_page() => targets_of(&file.text)
            .into_iter()
            .filter_map(|(line, target)| Some((line, fault_of(tree, file, &target)?)))
            .collect(),
        None => Vec::new(),
    };
    let remedy = || "mend the link, or what it points to".to_owned();
    faults.into_iter().map(|(line, what)| (line, what, remedy())).collect()
}

/// `docs/….md` wherever it stands in a text, with its line.
fn named_pages(text: &str) -> Vec<(usize, &str)> {
    let mut pages = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices("docs/") {
            let rest = &line[at..];
            let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
            let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
            let Some(end) = rest[..end].find(".md").map(|dot| dot + ".md".len()) else { continue };
            pages.push((index + 1, &rest[..end]));
        }
    }
    pages
}

fn fault_of(tree: &Tree, file: &File, target: &str) -> Option<String> {
    if has_scheme(target) {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(p, a)| (p, Some(a)));
    let path = if path.is_empty() {
        file.path.clone()
    } else {
        match resolve(&file.path, path) {
            Some(path) => path,
            None => return Some(format!("the link `{target}` leaves the repository")),
        }
    };
    if !path.is_empty() && !tree.paths.contains(&path) {
        return Some(format!("the link `{target}` leads nowhere"));
    }
    let anchor = anchor?;
    let page = tree.file(&path).filter(|page| page.is_page())?;
    let known = anchors_of(&page.text).iter().any(|known| known == anchor);
    (!known).then(|| format!("`{path}` has no heading `#{anchor}`"))
}

fn has_scheme(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+')
}

/// The path that a link in `from` means, relative to the root; `None` above the root.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if link.starts_with('/') {
        parts.clear();
    }
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Every link of a page with its line.
fn targets_of(page: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    for (number, line) in lines_outside_code(page) {
        let line = without_code_spans(line);
        let mut rest = line.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let end = rest.find([')', ' ']).unwrap_or(rest.len());
            targets.push((number, rest[..end].trim_matches(['<', '>']).to_owned()));
        }
        if let Some((label, target)) = line.split_once("]: ").filter(|_| line.starts_with('[')) {
            // A footnote's text is no address.
            if !label.starts_with("[^") {
                let target = target.split_whitespace().next().unwrap_or("");
                targets.push((number, target.to_owned()));
            }
        }
        for attribute in ["src=\"", "srcset=\"", "href=\""] {
            for (at, _) in line.match_indices(attribute) {
                let value = &line[at + attribute.len()..];
                let end = value.find(['"', ' ']).unwrap_or(value.len());
                targets.push((number, value[..end].to_owned()));
            }
        }
    }
    targets
}

/// The anchors of a page's headings: lower case, spaces to hyphens, punctuation dropped, and a
/// number where the same occurs again.
fn anchors_of(page: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in lines_outside_code(page) {
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        if !(1..=6).contains(&level) || !heading.starts_with(' ') {
            continue;
        }
        let kept = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let text = heading.trim().to_lowercase();
        let slug: String = text.chars().filter(|c| kept(*c)).collect::<String>().replace(' ', "-");
        let again = (1..).map(|n| format!("{slug}-{n}"));
        let free = std::iter::once(slug.clone()).chain(again).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

fn lines_outside_code(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    page.lines().enumerate().filter_map(move |(index, line)| {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return Some((index + 1, line)),
            _ => {}
        }
        None
    })
}

fn without_code_spans(line: &str) -> String {
    let spans = line.split('`').enumerate();
    spans.map(|(index, part)| if index % 2 == 0 { part } else { "" }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn faults(page: &str) -> Vec<usize> {
        let other = "# Two words, and `code`\n\n## Twice\n\n## Twice\n";
        let tree = Tree::of(&[
            ("docs/a.md", page),
            ("docs/b/other.md", other),
            ("docs/images/flow.svg", "<svg/>"),
            ("README.md", ""),
        ]);
        let file = tree.file("docs/a.md").expect("the page is in the tree");
        check(&tree, file).into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn a_link_leads_to_a_file_or_folder() {
        assert_eq!(
            faults("[a](b/other.md) [b](../README.md) ![c](images/flow.svg \"Flow\")\n"),
            NONE
        );
        assert_eq!(
            faults("[a](b) [b](/docs/b/other.md) [c](https://a.b/c) [d](mailto:a@b)\n"),
            NONE
        );
        assert_eq!(faults("\n[a](b/none.md)\n[b](../none.md)\n[c](../../x)\n"), [2, 3, 4]);
        assert_eq!(faults("<img src=\"images/none.svg\">\n\n[x]: none.md\n"), [1, 3]);
        assert_eq!(faults("[^1]: a footnote\n"), NONE);
    }

    #[test]
    fn an_anchor_names_a_heading() {
        assert_eq!(faults("# Here\n[a](#here) [b](b/other.md#two-words-and-code)\n"), NONE);
        assert_eq!(faults("[a](b/other.md#twice) [b](b/other.md#twice-1)\n"), NONE);
        assert_eq!(faults("[a](#there)\n[b](b/other.md#twice-2)\n"), [1, 2]);
    }

    #[test]
    fn a_page_that_code_names_is_there() {
        let text = "//! See docs/a.md.\n// And docs/none.md; not docs/ or docs/*.md.\n\
                    let a = \"docs/none.md\";\n";
        let tree = Tree::of(&[("docs/a.md", ""), ("crates/x/src/lib.rs", text)]);
        let file = tree.file("crates/x/src/lib.rs").expect("the file is in the tree");
        let lines: Vec<usize> = check(&tree, file).into_iter().map(|(line, ..)| line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn code_holds_no_links() {
        assert_eq!(
            faults("`[a](none.md)`\n\n```sh\n[a](none.md)\n```\n\n~~~\n# Here\n~~~\n"),
            NONE
        );
        assert_eq!(faults("```\n# Here\n```\n[a](#here)\n"), [4]);
    }
}
