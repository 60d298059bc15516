//! `docs/testbed.md` has a table of what each recipe of the program takes, as the recipe says it.
//!
//! The tables are made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-testbed documented`.

use std::fmt::Write as _;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The parameters of a recipe, those below one comment in one row.
fn table(recipe: &str) -> String {
    let mut out = "| parameters | |\n| --- | --- |\n".to_owned();
    let (mut about, mut names) = (String::new(), Vec::new());
    let mut row = |about: &mut String, names: &mut Vec<String>| {
        if !names.is_empty() {
            writeln!(out, "| {} | {about} |", names.join(", ")).unwrap();
        }
        about.clear();
        names.clear();
    };
    let vars = recipe.lines().skip_while(|line| *line != "[vars]").skip(1);
    for line in vars.take_while(|line| !line.starts_with('[')) {
        match (line.strip_prefix("# "), line.is_empty()) {
            (Some(_), _) | (None, true) if !names.is_empty() => row(&mut about, &mut names),
            _ => {}
        }
        match line.strip_prefix("# ") {
            Some(more) if about.is_empty() => about.push_str(more),
            Some(more) => write!(about, " {more}").unwrap(),
            None if line.is_empty() => about.clear(),
            None => names.push(format!("`{line}`")),
        }
    }
    row(&mut about, &mut names);
    out
}

#[test]
fn documented_recipes_are_the_recipes() {
    let page_path = format!("{ROOT}/docs/testbed.md");
    let mut page = std::fs::read_to_string(&page_path).unwrap();
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    for file in std::fs::read_dir(format!("{ROOT}/recipes")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let wanted = table(&std::fs::read_to_string(&file).unwrap());
        let (start, end) =
            (format!("<!-- recipe: {name} -->\n"), format!("<!-- end: {name} -->\n"));
        let from = page.find(&start).unwrap_or_else(|| panic!("docs/testbed.md lacks {start}"));
        let from = from + start.len();
        let to = page[from..].find(&end).unwrap_or_else(|| panic!("docs/testbed.md lacks {end}"));
        let to = from + to;
        if bless {
            page.replace_range(from..to, &wanted);
        } else {
            let hint = "PLIMSOLL_BLESS=1 cargo test -p plimsoll-testbed documented writes it anew";
            assert_eq!(page[from..to], wanted, "{hint}");
        }
    }
    if bless {
        std::fs::write(page_path, page).unwrap();
    }
}
