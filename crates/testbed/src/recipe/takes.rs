//! What values of a recipe's parameters look like.

use regex::Regex;

use super::{Recipe, Scalar};

/// Whether a parameter of a recipe takes a value; else what it takes. The value is in no message:
/// it may be a secret.
pub(crate) fn takes(recipe: &Recipe, name: &str, value: &Scalar) -> Result<(), String> {
    let text = match value {
        // It is looked at when it is there.
        Scalar::Secret(_) => return Ok(()),
        Scalar::Switch(is_on) => is_on.to_string(),
        Scalar::Number(number) => number.to_string(),
        Scalar::Text(text) => text.clone(),
    };
    match recipe.vars.get(name) {
        Some(Scalar::Number(_)) if text.parse::<i64>().is_err() => {
            return Err("expected a whole number".to_owned());
        }
        Some(Scalar::Switch(_)) if text.parse::<bool>().is_err() => {
            return Err("expected true or false".to_owned());
        }
        _ => {}
    }
    let Some(pattern) = recipe.takes.get(name) else { return Ok(()) };
    let whole = Regex::new(&format!("^(?:{pattern})$"));
    let whole = whole.map_err(|_| format!("`{pattern}` in `takes` is no regular expression"))?;
    if whole.is_match(&text) { Ok(()) } else { Err(format!("expected {pattern}")) }
}

#[cfg(test)]
mod tests {
    use super::super::{SHIPPED, parse};
    use super::*;

    #[test]
    fn a_parameter_takes_what_its_recipe_means() {
        let whole = "about = 'A'\nport = 1\nstart = ['a']\ncheck = {}\n[vars]\nworkers = 1\n\
                     on = true\nsize = '64M'\n";
        let with = |more: &str| parse("a", &format!("{whole}{more}"));
        let recipe = with("[takes]\nsize = '[0-9]+[KMG]?|none'\n").unwrap();
        let text = |of: &str| Scalar::Text(of.to_owned());
        for (name, good, bad) in [
            ("workers", text("7"), text("7; id")),
            ("workers", Scalar::Number(-1), Scalar::Switch(true)),
            ("on", text("false"), text("yes")),
            ("size", Scalar::Number(5), text("64M\n")),
            ("size", text("none"), text("$(id)")),
            ("size", text("1K"), text("x1K")),
        ] {
            takes(&recipe, name, &good).unwrap();
            takes(&recipe, name, &bad).unwrap_err();
        }
        for wrong in ["[takes]\nother = 'a'", "[takes]\nsize = '('", "[takes]\nsize = '[a-z]*'"] {
            assert!(with(wrong).is_err(), "{wrong}");
        }
    }

    /// What a shell, SQL, PHP and configurations would read as more than a value.
    #[test]
    fn no_value_of_a_shipped_recipe_is_read_as_more_than_that() {
        let hostile =
            ["$(id)", "`id`", "1 --skip-grant-tables", "a'; b", "a\\", "a\nb", "a;b", "a}b"];
        for (name, text) in SHIPPED {
            let recipe = parse(name, text).unwrap();
            // Files beside the plan, words of commands that no shell reads, and the page to warm.
            let files: Vec<&String> = recipe.copy.values().collect();
            for (var, default) in &recipe.vars {
                takes(&recipe, var, default).unwrap();
                if files.contains(&var) || name == "target" {
                    continue;
                }
                for value in hostile {
                    let is_plain = var == "password" && !value.contains(['\'', '\\', '\n']);
                    let is_path = var == "warm" && !value.starts_with('/');
                    let taken = takes(&recipe, var, &Scalar::Text(value.to_owned())).is_ok();
                    assert!(!taken || is_plain || is_path, "{name}: {var} = {value:?}");
                }
            }
        }
    }
}
