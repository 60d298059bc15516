//! The table `name` of `run.sqlite`: a row a name that something was counted of, replaced as its
//! counts grow. Runs of former versions have no such table.

use rusqlite::{Connection, Row, ToSql, params_from_iter};

use crate::by_name::{NameBook, NameBooks, TAGS};
use crate::database::{has_table, int, uint};
use crate::row;
use crate::schema;
use crate::tag::Tag;
use crate::times::{damaged, decoded, encoded};

/// The columns of a book.
pub(crate) fn columns() -> Vec<String> {
    let mut columns = schema::counter_columns();
    columns.extend(TAGS.iter().map(|tag| tag.name().to_owned()));
    columns
}

/// Their values.
pub(crate) fn values(book: &NameBook) -> impl Iterator<Item = Box<dyn ToSql>> {
    let counters = schema::counter_values(&book.counters).into_iter();
    let counters = counters.map(|value| Box::new(value) as Box<dyn ToSql>);
    counters.chain(book.times.iter().map(|of| Box::new(encoded(of)) as Box<dyn ToSql>))
}

/// Stores the books that something was added to since they were stored.
pub(crate) fn write(database: &Connection, cell: u32, books: &NameBooks) -> rusqlite::Result<()> {
    let own = self::columns();
    let columns: Vec<&str> =
        ["cell", "number"].into_iter().chain(own.iter().map(String::as_str)).collect();
    let marks = vec!["?"; columns.len()].join(",");
    let sql = format!("INSERT OR REPLACE INTO name ({}) VALUES ({marks})", columns.join(","));
    let mut statement = database.prepare_cached(&sql)?;
    for (number, book) in books.0.iter().enumerate().filter(|(_, book)| book.changed) {
        let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(cell), Box::new(int(number as u64))];
        values.extend(self::values(book));
        statement.execute(params_from_iter(values))?;
    }
    Ok(())
}

/// Reads a book, whose counters stand behind the first column.
pub(crate) fn book(row: &Row<'_>) -> rusqlite::Result<NameBook> {
    let mut book = NameBook { counters: row::counters(row, 1)?, ..NameBook::default() };
    for (slot, tag) in book.times.iter_mut().zip(TAGS.map(Tag::name)) {
        let bytes: Option<Vec<u8>> = row.get(tag)?;
        if let Some(bytes) = bytes {
            *slot = decoded(&bytes)?;
        }
    }
    Ok(book)
}

/// The books of a run; none where it has no names.
pub(crate) fn read(database: &Connection) -> rusqlite::Result<NameBooks> {
    let mut books = NameBooks::default();
    if !has_table(database, "name")? {
        return Ok(books);
    }
    let columns = self::columns();
    let columns = ["number"].into_iter().chain(columns.iter().map(String::as_str));
    let columns = schema::select(database, "name", columns)?;
    let mut statement = database.prepare(&format!("SELECT {columns} FROM name ORDER BY number"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number = u16::try_from(row.get(0).map(uint)?).map_err(|_| damaged("no number"))?;
        *books.of(number) = book(row)?;
    }
    Ok(books)
}

impl NameBooks {
    /// Whether something was added since they were stored.
    pub(crate) fn have_changed(&self) -> bool {
        self.0.iter().any(|book| book.changed)
    }

    /// Takes them as stored.
    pub(crate) fn stored(&mut self) {
        self.0.iter_mut().for_each(|book| book.changed = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NamedEvent;
    use crate::names::OTHER;

    #[test]
    fn books_come_back_as_they_were_stored() {
        let database = Connection::open_in_memory().unwrap();
        assert!(read(&database).unwrap().0.is_empty(), "a run of before has no table");
        database.execute_batch(&crate::schema::name_table()).unwrap();
        let mut books = NameBooks::default();
        let event = |name, response_ns, code| NamedEvent {
            part: crate::NamedPart::Whole,
            name,
            code: Some(code),
            error: (code >= 400).then_some(crate::ErrorKind::Status),
            is_sent: true,
            response_ns,
            service_ns: response_ns / 2,
            late_ns: 0,
            bytes: 100,
        };
        books.add(&[event(0, 1_000_001, 200), event(2, 70, 503), event(OTHER, 9, 200)]);
        write(&database, 3, &books).unwrap();
        books.stored();
        assert!(!books.have_changed());
        books.add(&[event(0, 5_000_000_000, 302)]);
        write(&database, 3, &books).unwrap();
        let back = read(&database).unwrap();
        for number in [0, 1, 2, OTHER] {
            let (was, is) = (books.get(number).unwrap(), back.get(number).unwrap());
            assert_eq!(is.counters, was.counters);
            for (is, was) in is.times.iter().zip(&was.times) {
                assert_eq!(is.exact(), was.exact());
                assert!(is.to_histogram().buckets().eq(was.to_histogram().buckets()));
            }
        }
    }
}
