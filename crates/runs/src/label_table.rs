//! The tables `label` and `label_name` of `run.sqlite`: a row a label, and a row a name by label,
//! replaced as their counts grow; there only where users have labels.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, ToSql, params_from_iter};

use crate::by_label::{LabelBook, LabelBooks};
use crate::by_name::TAGS;
use crate::database::{has_table, int, uint};
use crate::labels::OTHER;
use crate::times::{damaged, decoded, encoded};
use crate::{name_table, schema};

/// The columns of the table behind those of a book.
const OWN: [&str; 4] = ["label", "users", "others", "latency"];

/// The columns of a book, as a table is made with them.
fn definitions() -> String {
    let times = TAGS.map(|tag| format!("{} BLOB", tag.name())).join(", ");
    format!("{}{times}", schema::counter_definitions())
}

fn table() -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS label (cell INTEGER NOT NULL, number INTEGER NOT NULL,
         {}, label TEXT NOT NULL, users INTEGER NOT NULL, others INTEGER NOT NULL,
         latency BLOB, PRIMARY KEY (cell, number)) WITHOUT ROWID",
        definitions()
    )
}

/// The table of names by label.
fn pair_table() -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS label_name (cell INTEGER NOT NULL, label INTEGER NOT NULL,
         number INTEGER NOT NULL, {}, PRIMARY KEY (cell, label, number)) WITHOUT ROWID",
        definitions()
    )
}

/// Stores the books that something was added to since they were stored.
pub(crate) fn write(database: &Connection, cell: u32, of: &LabelBooks) -> rusqlite::Result<()> {
    database.execute_batch(&table())?;
    let mut columns = vec!["cell".to_owned(), "number".to_owned()];
    columns.extend(name_table::columns());
    columns.extend(OWN.map(str::to_owned));
    let marks = vec!["?"; columns.len()].join(",");
    let sql = format!("INSERT OR REPLACE INTO label ({}) VALUES ({marks})", columns.join(","));
    let mut statement = database.prepare_cached(&sql)?;
    for (number, book) in of.books.iter().filter(|(_, book)| book.changed) {
        let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(cell), Box::new(*number)];
        values.extend(name_table::values(&book.requests));
        values.push(Box::new(book.label.clone()));
        values.push(Box::new(int(book.users)));
        values.push(Box::new(int(if *number == OTHER { of.others } else { 0 })));
        values.push(Box::new(encoded(&book.latency)));
        statement.execute(params_from_iter(values))?;
    }
    write_pairs(database, cell, of)
}

fn write_pairs(database: &Connection, cell: u32, of: &LabelBooks) -> rusqlite::Result<()> {
    let pairs = of.books.iter().flat_map(|(label, book)| {
        book.by_name.iter().map(move |(number, book)| (*label, *number, book))
    });
    let changed: Vec<_> = pairs.filter(|(.., book)| book.changed).collect();
    if changed.is_empty() {
        return Ok(());
    }
    database.execute_batch(&pair_table())?;
    let mut columns = ["cell", "label", "number"].map(str::to_owned).to_vec();
    columns.extend(name_table::columns());
    let marks = vec!["?"; columns.len()].join(",");
    let sql = format!("INSERT OR REPLACE INTO label_name ({}) VALUES ({marks})", columns.join(","));
    let mut statement = database.prepare_cached(&sql)?;
    for (label, number, book) in changed {
        let mut values: Vec<Box<dyn ToSql>> =
            vec![Box::new(cell), Box::new(label), Box::new(number)];
        values.extend(name_table::values(book));
        statement.execute(params_from_iter(values))?;
    }
    Ok(())
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u16> {
    u16::try_from(row.get(column).map(uint)?).map_err(|_| damaged("no number"))
}

/// Adds the books of names to those of their labels.
fn read_pairs(database: &Connection, books: &mut LabelBooks) -> rusqlite::Result<()> {
    if !has_table(database, "label_name")? {
        return Ok(());
    }
    let known = name_table::columns();
    let columns = ["number"].into_iter().chain(known.iter().map(String::as_str)).chain(["label"]);
    let columns = schema::select(database, "label_name", columns)?;
    let mut statement = database.prepare(&format!("SELECT {columns} FROM label_name"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let label: i64 = row.get("label")?;
        let label = u16::try_from(label).map_err(|_| damaged("no number"))?;
        let book = books.books.get_mut(&label).ok_or_else(|| damaged("no such label"))?;
        book.by_name.insert(number(row, 0)?, name_table::book(row)?);
    }
    Ok(())
}

/// The books of a run; none where its users have no labels.
pub(crate) fn read(database: &Connection) -> rusqlite::Result<LabelBooks> {
    let mut books = LabelBooks::default();
    if !has_table(database, "label")? {
        return Ok(books);
    }
    let known = name_table::columns();
    let columns = ["number"].into_iter().chain(known.iter().map(String::as_str)).chain(OWN);
    let columns = schema::select(database, "label", columns)?;
    let mut statement = database.prepare(&format!("SELECT {columns} FROM label"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number = number(row, 0)?;
        let latency: Option<Vec<u8>> = row.get("latency")?;
        let book = LabelBook {
            label: row.get("label")?,
            users: row.get("users").map(uint)?,
            requests: name_table::book(row)?,
            by_name: BTreeMap::new(),
            latency: latency.map(|bytes| decoded(&bytes)).transpose()?.unwrap_or_default(),
            changed: false,
        };
        books.others = books.others.max(row.get("others").map(uint)?);
        books.books.insert(number, book);
    }
    read_pairs(database, &mut books)?;
    Ok(books)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Labelled;
    use crate::names::{NO_NAME, Naming};
    use crate::{NameKind, NamedEvent, NamedPart};

    fn event(name: u16, part: NamedPart, response_ns: u64) -> NamedEvent {
        NamedEvent {
            part,
            name,
            code: (part == NamedPart::Whole).then_some(200),
            error: None,
            is_sent: true,
            response_ns,
            service_ns: response_ns / 2,
            late_ns: 0,
            bytes: 10,
        }
    }

    #[test]
    fn books_come_back_as_they_were_stored_and_add_up_over_stretches() {
        let database = Connection::open_in_memory().unwrap();
        let mut naming = Naming::default();
        for (name, kind) in [("home", NameKind::Step), ("buy", NameKind::Step)] {
            naming.number(name, kind);
        }
        naming.number("news", NameKind::Broadcast);
        let names = naming.finish();
        let of = read(&database).unwrap().figures(&names);
        assert!(of.is_empty(), "a run without labels has no table");
        let part = Labelled {
            labels: vec![(0, "eu".to_owned()), (1, "asia".to_owned())],
            others: 2,
            arrived: [(0, 3), (1, 1), (OTHER, 5)].into(),
            events: vec![
                (0, event(0, NamedPart::Whole, 1_000_000)),
                (1, event(1, NamedPart::Whole, 9_000_000)),
                (1, event(2, NamedPart::Message, 77_000)),
                // One that came before it was published is in no time.
                (1, event(2, NamedPart::Message, 0)),
                (OTHER, event(NO_NAME, NamedPart::Whole, 5)),
            ],
        };
        let mut books = LabelBooks::default();
        books.add(&part);
        write(&database, 3, &books).unwrap();
        books.stored();
        assert!(!books.have_changed());
        let later = Labelled { labels: Vec::new(), ..part };
        books.add(&later);
        write(&database, 3, &books).unwrap();
        let back = read(&database).unwrap();
        let figures = back.figures(&names);
        assert_eq!(figures, books.figures(&names));
        let pairs = |at: usize| -> Vec<(&str, u64, Option<f64>)> {
            let of = figures[at].by_name.iter();
            of.map(|of| (of.name.as_str(), of.count, of.response_us.max)).collect()
        };
        assert_eq!(pairs(0), [("buy", 2, Some(9_000.0)), ("news", 4, Some(77.0))]);
        assert_eq!(pairs(1), [("home", 2, Some(1_000.0))]);
        assert_eq!(pairs(2), []);
        let told: Vec<_> =
            figures.iter().map(|of| (of.label.as_str(), of.users, of.count)).collect();
        assert_eq!(told, [("asia", 2, 2), ("eu", 6, 2), ("other", 10, 2)]);
        assert_eq!(figures[2].labels, Some(2));
        let latency = figures[0].latency_us.as_ref().unwrap();
        assert_eq!((latency.count, latency.min), (2, Some(77.0)));
        assert_eq!((figures[0].response_us.max, &figures[1].latency_us), (Some(9_000.0), &None));
        assert!(back.notes().next().unwrap().contains("2 more count under `other`"));
    }
}
