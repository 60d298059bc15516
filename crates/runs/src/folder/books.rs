//! What a run has come to by names, labels and users, and over WebSockets: books that are stored
//! whole, again and again, so that a run that was killed has them too.

use rusqlite::Connection;

use super::RunWriter;
use crate::schema::{self, Statements};
use crate::{SinkError, facts, label_table, name_table, users, websocket};

/// They are stored at least once in so many seconds, and at the end.
const EVERY_S: u64 = 10;
/// Books of so many names cost too little to wait for a second more.
const NAMES_A_SECOND: u64 = 32;

impl RunWriter {
    /// Whether books are stored behind so many seconds: each second where they are few.
    pub(super) fn is_time_for_books(&self, second: u64) -> bool {
        let each = self.names.0.len() as u64 / NAMES_A_SECOND + 1;
        second.is_multiple_of(each.min(EVERY_S))
    }

    /// Stores the books as they are at this moment of the run, and that they are of then.
    pub(super) fn store_books(&mut self, at_ns: u64) -> Result<(), SinkError> {
        if self.names.0.is_empty() && self.users.is_empty() {
            return Ok(());
        }
        self.store_names()?;
        self.store_users()?;
        self.store.store("until when figures by name are", "", |database, _| {
            schema::set_meta(database, facts::BOOKS_NS, &crate::database::int(at_ns))
        })
    }

    /// Stores the books of names that have changed.
    pub(super) fn store_names(&mut self) -> Result<(), SinkError> {
        if !self.names.have_changed() {
            return Ok(());
        }
        let (cell, names) = (self.cell, &self.names);
        let write =
            |database: &Connection, _: &Statements| name_table::write(database, cell, names);
        self.store.store("figures by name", "", write)?;
        self.names.stored();
        Ok(())
    }

    /// Stores what became of users and their WebSockets, where there are any.
    pub(super) fn store_users(&mut self) -> Result<(), SinkError> {
        if self.users.is_empty() {
            return Ok(());
        }
        let (cell, users) = (self.cell, &self.users);
        let write = |database: &Connection, _: &Statements| users::write(database, cell, users);
        self.store.store("users", "", write)?;
        if self.labels.have_changed() {
            let of = &self.labels;
            let write =
                |database: &Connection, _: &Statements| label_table::write(database, cell, of);
            self.store.store("figures by label", "", write)?;
            self.labels.stored();
        }
        if self.websocket.is_empty() {
            return Ok(());
        }
        let of = &self.websocket;
        let write = |database: &Connection, _: &Statements| websocket::write(database, cell, of);
        self.store.store("WebSockets", "", write)
    }
}
