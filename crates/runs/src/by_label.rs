//! Figures by label: what came of the users of a label, the table in which it is kept, and what a
//! summary tells of it.
//!
//! As by name, only totals are kept, of the requests that were due in the measured phase, in the
//! small histograms, which merge exactly. How many users there were is of the whole run.

use std::collections::BTreeMap;

use plimsoll_stats::histogram::Compact;
use plimsoll_stats::percentiles::Percentiles;
use rusqlite::{Connection, ToSql, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::by_name::{NameBook, TAGS};
use crate::database::{int, uint};
use crate::labels::{Labelled, MAX_LABELS, OTHER};
use crate::names::{NamedPart, OTHER_NAME};
use crate::times::{damaged, decoded, encoded};
use crate::{ErrorKind, Tag, name_table, schema};

/// What came of the users of one label.
#[derive(Debug, Clone, Default)]
pub struct LabelBook {
    /// The label.
    pub label: String,
    /// Users that arrived, over the whole run.
    pub users: u64,
    /// What their requests have come to.
    pub requests: NameBook,
    /// From when a broadcast was published to its receipt by one of them, nanoseconds.
    pub latency: Compact,
    changed: bool,
}

/// The books of all labels, by their numbers.
#[derive(Debug, Clone, Default)]
pub struct LabelBooks {
    books: BTreeMap<u16, LabelBook>,
    /// How many labels count under [`OTHER`].
    others: u64,
}

impl LabelBooks {
    /// Adds a stretch.
    pub fn add(&mut self, of: &Labelled) {
        for (number, label) in &of.labels {
            self.of(*number).label.clone_from(label);
        }
        if of.others > self.others {
            self.others = of.others;
            self.of(OTHER);
        }
        for (number, users) in &of.arrived {
            self.of(*number).users += users;
        }
        for event in &of.events {
            let book = self.of(event.name);
            match event.part {
                NamedPart::Message if event.response_ns > 0 => {
                    book.latency.record(event.response_ns);
                }
                NamedPart::Message => {}
                _ => book.requests.add(event),
            }
        }
    }

    /// The book of a label, made where it is not there yet.
    fn of(&mut self, number: u16) -> &mut LabelBook {
        let book = self.books.entry(number.min(OTHER)).or_default();
        book.changed = true;
        book
    }

    /// Whether something was added since they were stored.
    pub(crate) fn have_changed(&self) -> bool {
        self.books.values().any(|book| book.changed)
    }

    /// Takes them as stored.
    pub(crate) fn stored(&mut self) {
        self.books.values_mut().for_each(|book| book.changed = false);
    }

    /// What is to be said of labels that have no figures of their own.
    pub(crate) fn note(&self) -> Option<String> {
        (self.others > 0).then(|| {
            format!(
                "figures by label are kept of the first {MAX_LABELS} labels; {} more count under \
                 `{OTHER_NAME}`",
                plimsoll_units::show_count(self.others)
            )
        })
    }

    /// What is told of them: by label, `other` last.
    pub(crate) fn figures(&self) -> Vec<LabelFigures> {
        let mut own: Vec<&LabelBook> = self.books.range(..OTHER).map(|(_, book)| book).collect();
        own.sort_by(|one, other| one.label.cmp(&other.label));
        let own = own.into_iter().map(|book| LabelFigures::of(&book.label, None, book));
        let others = self.books.get(&OTHER);
        own.chain(others.map(|book| LabelFigures::of(OTHER_NAME, Some(self.others), book)))
            .collect()
    }
}

/// What came of the users of one label. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelFigures {
    /// The label.
    pub label: String,
    /// Of `other`, how many labels it stands for; left out of every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<u64>,
    /// Users that arrived, over the whole run.
    pub users: u64,
    /// Their requests that were due, and have ended.
    pub count: u64,
    /// Of those, answered as expected.
    pub succeeded: u64,
    /// Of those, not.
    pub errors: u64,
    /// The same by kind ([`ErrorKind::name`]); kinds that did not occur are left out.
    pub failures: BTreeMap<String, u64>,
    /// Answers that sent the client elsewhere: 301, 302, 303, 307 and 308.
    pub redirects: u64,
    /// Bytes of the answers.
    pub bytes_in: u64,
    /// Due to last byte.
    pub response_us: Percentiles,
    /// Sent to last byte.
    pub service_us: Percentiles,
    /// Of broadcasts, from when they were published to their receipt; left out where none came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<Percentiles>,
}

impl LabelFigures {
    fn of(label: &str, labels: Option<u64>, book: &LabelBook) -> Self {
        let counters = &book.requests.counters;
        let times = |tag| book.requests.times(tag).map(Compact::percentiles).unwrap_or_default();
        let failures = ErrorKind::ALL.map(|of| (of.name().to_owned(), counters.errors_of(of)));
        Self {
            label: label.to_owned(),
            labels,
            users: book.users,
            count: counters.offered,
            succeeded: counters.succeeded,
            errors: counters.offered.saturating_sub(counters.succeeded),
            failures: failures.into_iter().filter(|(_, n)| *n > 0).collect(),
            redirects: book.requests.redirects(),
            bytes_in: counters.bytes_in,
            response_us: times(Tag::Response),
            service_us: times(Tag::Service),
            latency_us: (book.latency.count() > 0).then(|| book.latency.percentiles()),
        }
    }
}

/// The columns of the table behind those of a book.
const OWN: [&str; 4] = ["label", "users", "others", "latency"];

fn table() -> String {
    let times = TAGS.map(|tag| format!("{} BLOB", tag.name())).join(", ");
    format!(
        "CREATE TABLE IF NOT EXISTS label (cell INTEGER NOT NULL, number INTEGER NOT NULL,
         {}{times}, label TEXT NOT NULL, users INTEGER NOT NULL, others INTEGER NOT NULL,
         latency BLOB, PRIMARY KEY (cell, number)) WITHOUT ROWID",
        schema::counter_definitions()
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
    Ok(())
}

/// The books of a run; none where its users have no labels.
pub(crate) fn read(database: &Connection) -> rusqlite::Result<LabelBooks> {
    let mut books = LabelBooks::default();
    let has = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'label'";
    if database.query_row(has, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(books);
    }
    let known = name_table::columns();
    let columns = ["number"].into_iter().chain(known.iter().map(String::as_str)).chain(OWN);
    let columns = schema::select(database, "label", columns)?;
    let mut statement = database.prepare(&format!("SELECT {columns} FROM label"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number = u16::try_from(row.get(0).map(uint)?).map_err(|_| damaged("no number"))?;
        let latency: Option<Vec<u8>> = row.get("latency")?;
        let book = LabelBook {
            label: row.get("label")?,
            users: row.get("users").map(uint)?,
            requests: name_table::book(row)?,
            latency: latency.map(|bytes| decoded(&bytes)).transpose()?.unwrap_or_default(),
            changed: false,
        };
        books.others = books.others.max(row.get("others").map(uint)?);
        books.books.insert(number, book);
    }
    Ok(books)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedEvent;

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
        assert!(read(&database).unwrap().figures().is_empty(), "a run without labels has no table");
        let part = Labelled {
            labels: vec![(0, "eu".to_owned()), (1, "asia".to_owned())],
            others: 2,
            arrived: [(0, 3), (1, 1), (OTHER, 5)].into(),
            events: vec![
                event(0, NamedPart::Whole, 1_000_000),
                event(1, NamedPart::Whole, 9_000_000),
                event(1, NamedPart::Message, 77_000),
                // One that came before it was published is in no time.
                event(1, NamedPart::Message, 0),
                event(OTHER, NamedPart::Whole, 5),
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
        let figures = back.figures();
        assert_eq!(figures, books.figures());
        let told: Vec<_> =
            figures.iter().map(|of| (of.label.as_str(), of.users, of.count)).collect();
        assert_eq!(told, [("asia", 2, 2), ("eu", 6, 2), ("other", 10, 2)]);
        assert_eq!(figures[2].labels, Some(2));
        let latency = figures[0].latency_us.as_ref().unwrap();
        assert_eq!((latency.count, latency.min), (2, Some(77.0)));
        assert_eq!((figures[0].response_us.max, &figures[1].latency_us), (Some(9_000.0), &None));
        assert!(back.note().unwrap().contains("2 more count under `other`"));
    }
}
