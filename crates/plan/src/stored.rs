//! What is looked up in the plan of a run without reading all of it, so that a plan of an earlier
//! version will do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml_edit::{DocumentMut, Formatted, Item, TableLike, Value};

use crate::sections::pool::time_of_day;

/// The text of a plan of this file with other files in the place of those that it names. `to` is
/// asked by a file's path from the root. What is no plan stays as it is.
#[must_use]
pub fn moved(plan: &str, file: &Path, to: &dyn Fn(&Path) -> Option<PathBuf>) -> String {
    let Ok(mut document) = plan.parse::<DocumentMut>() else { return plan.to_owned() };
    let beside = file.parent().unwrap_or(Path::new(""));
    let folder = document.get("folder").and_then(Item::as_str).unwrap_or_default();
    let folder = beside.join(folder);
    let to = |name: &str| to(&std::path::absolute(folder.join(name)).ok()?);
    move_table(document.as_table_mut(), &to);
    document.to_string()
}

fn move_table(table: &mut dyn TableLike, to: &dyn Fn(&str) -> Option<PathBuf>) {
    for (key, item) in table.iter_mut() {
        match item {
            // It may be the name of a file by chance.
            _ if key.get() == "name" => {}
            Item::Value(value) => move_value(value, to),
            Item::Table(table) => move_table(table, to),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|of| move_table(of, to)),
            Item::None => {}
        }
    }
}

fn move_value(value: &mut Value, to: &dyn Fn(&str) -> Option<PathBuf>) {
    match value {
        Value::String(text) => {
            let path = to(text.value());
            let Some(path) = path.as_ref().and_then(|path| path.to_str()) else { return };
            let decor = text.decor().clone();
            *text = Formatted::new(path.to_owned());
            *text.decor_mut() = decor;
        }
        Value::Array(values) => values.iter_mut().for_each(|of| move_value(of, to)),
        Value::InlineTable(table) => move_table(table, to),
        _ => {}
    }
}

/// How many times faster than the time that it stands for a run was, by the text of its plan; 1
/// where that does not say.
#[must_use]
pub fn speed_of(plan: &str) -> f64 {
    let number = |plan: DocumentMut| {
        let speed = plan.get("speed")?;
        speed.as_float().or_else(|| speed.as_integer().map(|whole| whole as f64))
    };
    let speed = plan.parse().ok().and_then(number);
    speed.filter(|speed| speed.is_finite() && *speed > 0.0).unwrap_or(1.0)
}

/// The time of day at which the load of a stored plan begins, where it says one.
#[must_use]
pub fn starts_at_of(plan: &str) -> Option<Duration> {
    let plan: DocumentMut = plan.parse().ok()?;
    time_of_day(plan.get("pool")?.get("starts_at")?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{moved, speed_of, starts_at_of};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    #[test]
    fn the_time_at_which_a_plan_begins_is_found() {
        let at = |text: &str| starts_at_of(text).map(|of: Duration| of.as_secs());
        assert_eq!(at("[pool]\nmax = 3\nstarts_at = '18:30'\n"), Some(66_600));
        assert_eq!(at("pool = { starts_at = \"18:00:05\" }\n"), Some(64_805));
        for text in ["", "starts_at = '18:30'", "[pool]\nstarts_at = 'noon'", "no plan ["] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn files_are_moved_wherever_they_are_named_and_nothing_else_is() {
        let plan = "name = 'a.csv' # mine\nfolder = 'data'\n[load.trace]\nfile = [ 'a.csv', \
                    './a.csv','/plans/data/a.csv', 'b.csv' ]\n[[factor]]\nx = {y = \"a.csv\"}\n";
        let to = |path: &Path| {
            (path == Path::new("/plans/data/a.csv")).then(|| PathBuf::from("/k/1-a.csv"))
        };
        let found = moved(plan, Path::new("/plans/p.toml"), &to);
        let expected = "name = 'a.csv' # mine\nfolder = 'data'\n[load.trace]\nfile = [ \
                        \"/k/1-a.csv\", \"/k/1-a.csv\",\"/k/1-a.csv\", 'b.csv' ]\n[[factor]]\n\
                        x = {y = \"/k/1-a.csv\"}\n";
        assert_eq!(found, expected);
        for same in ["no plan [", "", "folder = 3\n[a]\nb = 1979-05-27\n"] {
            assert_eq!(moved(same, Path::new("p.toml"), &|_| None), same);
        }
    }

    #[test]
    fn the_speed_of_a_plan_is_found_wherever_it_stands() {
        let speed = |text: &str| (speed_of(text) * 10.0).round();
        assert!((speed("name = 'a'\nspeed = 60\n[load.trace]\nspeed = 7\n") - 600.0).abs() < 0.1);
        assert!((speed("speed=2.5 # faster\n") - 25.0).abs() < 0.1);
        for text in ["", "speed = 'fast'", "speed = -1", "[load.trace]\nspeed = 7", "no plan ["] {
            assert!((speed(text) - 10.0).abs() < 0.1, "{text}");
        }
    }
}
