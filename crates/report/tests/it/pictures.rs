//! The charts of every page as files of their own.

use crate::golden::{all, of_runs};
use crate::made::Course;
use crate::parser::{Page, parse, parse_svg};

/// Checks what holds of every file, and gives it back in parts.
fn checked(name: &str, svg: &str) -> Page {
    let parsed = parse_svg(svg);
    let (root, attributes) = &parsed.elements[0];
    assert_eq!(root, "svg", "{name}");
    let root = |key: &str| {
        let found = attributes.iter().find(|(name, _)| name == key);
        found.unwrap_or_else(|| panic!("{name}: no {key} of the root")).1.as_str()
    };
    assert_eq!(root("xmlns"), "http://www.w3.org/2000/svg", "{name}");
    assert_eq!(root("viewBox"), format!("0 0 {} {}", root("width"), root("height")), "{name}");
    assert_eq!((parsed.count("title"), parsed.count("style")), (1, 1), "{name}");
    let known = ["svg", "g", "title", "desc", "style", "rect", "line", "path", "text", "tspan"];
    for (element, attributes) in &parsed.elements {
        assert!(known.contains(&element.as_str()), "{name}: an element {element}");
        for (key, value) in attributes {
            assert!(!["style", "href", "id"].contains(&key.as_str()), "{name}: {key}={value}");
            assert!(!value.contains("NaN") && !value.contains("inf"), "{name}: {key}={value}");
        }
    }
    assert!(!svg.contains("var(") && !parsed.style.contains("--"), "{name}: variables");
    for word in ["http:", "https:", "url(", "@import", "@font-face", "@media"] {
        assert!(!parsed.style.contains(word), "{name}: {word} in the style");
    }
    parsed
}

/// The classes that get a colour or a size by a style, as `.name`.
fn is_styled(style: &str, class: &str) -> bool {
    let name = format!(".{class}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
    style.match_indices(&name).any(|(at, _)| ends(&style[at + name.len()..]))
}

#[test]
fn each_chart_of_every_page_is_a_file_that_stands_by_itself() {
    let mut seen = 0;
    for (name, document) in all() {
        let (page, pictures) = (parse(&document.html()), document.pictures());
        assert_eq!(pictures.len(), page.count("figure"), "{name}");
        let mut names: Vec<&str> = pictures.iter().map(|of| of.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), pictures.len(), "{name}: {names:?}");
        for picture in &pictures {
            seen += 1;
            let name = format!("{name}/{}", picture.name);
            let parsed = checked(&name, &picture.svg);
            assert!(parsed.text.contains(&picture.title), "{name}");
            // All that a page draws by colours of its tones has them here too.
            for class in parsed.values("class").flat_map(|classes| classes.split(' ')) {
                let is_tone = class.len() >= 2
                    && class.starts_with(['c', 'h'])
                    && class[1..].bytes().all(|byte| byte.is_ascii_digit());
                assert!(!is_tone || is_styled(&parsed.style, class), "{name}: {class}");
            }
        }
    }
    assert!(seen >= 60, "only {seen} charts");
}

#[test]
fn the_same_shapes_are_drawn_as_on_the_page() {
    for (name, document) in all() {
        let page = parse(&document.html());
        let mut on_page: Vec<&str> = page.values("d").collect();
        let pictures = document.pictures();
        let parsed: Vec<Page> = pictures.iter().map(|of| parse_svg(&of.svg)).collect();
        let mut on_sheets: Vec<&str> = parsed.iter().flat_map(|one| one.values("d")).collect();
        on_page.sort_unstable();
        on_page.dedup();
        on_sheets.sort_unstable();
        on_sheets.dedup();
        for path in &on_sheets {
            assert!(on_page.binary_search(path).is_ok(), "{name}: {path} is not on the page");
        }
        // The page has scales to choose between, and its own mark; a file has the first scale.
        assert!(on_sheets.len() * 2 + 2 >= on_page.len(), "{name}: {}", on_page.len());
    }
}

#[test]
fn what_is_not_to_be_relied_upon_says_so() {
    let root = tempfile::tempdir().unwrap();
    for (late_us, is_doubtful) in [(0.0, false), (9_000.0, true)] {
        let course = Course { late_us, ..Course::quiet(if is_doubtful { "late" } else { "good" }) };
        let pictures = of_runs(&[course.write(root.path())]).pictures();
        assert!(!pictures.is_empty());
        for picture in pictures {
            let says = picture.svg.contains("<desc>Not to be relied upon.");
            assert_eq!(
                (picture.is_doubtful, says),
                (is_doubtful, is_doubtful),
                "{}",
                picture.title
            );
        }
    }
}
