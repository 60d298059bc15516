//! Users of a scenario: how many arrived, and how they ended. Kept for the whole run, warm-up
//! included, in the table `users` of `run.sqlite`, which is there only where there were users.

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::database::{has_table, int, uint};

/// What became of users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserCounts {
    /// Those who began.
    pub arrived: u64,
    /// Of those, who went through all steps.
    pub finished: u64,
    /// Who ended with a step that failed.
    pub failed: u64,
    /// Who were under way when the load ended.
    pub cut: u64,
    /// The most that were under way at once.
    pub active_peak: u64,
    /// Whether rows that are handed out once were used up, so that no new user arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows_used_up: bool,
    /// Whether a step failed whose failure ends the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_run: bool,
}

impl UserCounts {
    /// Adds those of another thread, or of a later stretch.
    pub fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.finished += other.finished;
        self.failed += other.failed;
        self.cut += other.cut;
        self.active_peak = self.active_peak.max(other.active_peak);
        self.rows_used_up |= other.rows_used_up;
        self.end_run |= other.end_run;
    }

    /// Whether there are none, and were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is to be said of them beside their numbers.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> + use<> {
        let used_up = "rows of a data file that are handed out once were used up: no new user \
                       arrived from then on";
        let ended = "a step failed whose failure ends the run";
        let notes = [(self.rows_used_up, used_up), (self.end_run, ended)];
        notes.into_iter().filter(|(is, _)| *is).map(|(_, text)| text.to_owned())
    }
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS users (cell INTEGER PRIMARY KEY,
    arrived INTEGER NOT NULL, finished INTEGER NOT NULL, failed INTEGER NOT NULL,
    cut INTEGER NOT NULL, active_peak INTEGER NOT NULL, rows_used_up INTEGER NOT NULL,
    end_run INTEGER NOT NULL)";

/// Stores what is known so far, in the place of what was stored before.
pub(crate) fn write(database: &Connection, cell: u32, of: &UserCounts) -> rusqlite::Result<()> {
    database.execute_batch(TABLE)?;
    let sql = "INSERT OR REPLACE INTO users VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    database.prepare_cached(sql)?.execute(params![
        cell,
        int(of.arrived),
        int(of.finished),
        int(of.failed),
        int(of.cut),
        int(of.active_peak),
        of.rows_used_up,
        of.end_run,
    ])?;
    Ok(())
}

/// The users of a run; none where it has no scenario.
pub(crate) fn read(database: &Connection) -> rusqlite::Result<Option<UserCounts>> {
    if !has_table(database, "users")? {
        return Ok(None);
    }
    let sql = "SELECT arrived, finished, failed, cut, active_peak, rows_used_up, end_run
        FROM users LIMIT 1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(UserCounts {
            arrived: row.get(0).map(uint)?,
            finished: row.get(1).map(uint)?,
            failed: row.get(2).map(uint)?,
            cut: row.get(3).map(uint)?,
            active_peak: row.get(4).map(uint)?,
            rows_used_up: row.get(5)?,
            end_run: row.get(6)?,
        })
    };
    database.query_row(sql, [], read).optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_come_back_as_they_were_stored() {
        let database = Connection::open_in_memory().unwrap();
        assert_eq!(read(&database).unwrap(), None, "a run without a scenario has no table");
        let mut users =
            UserCounts { arrived: 9, finished: 5, active_peak: 4, ..UserCounts::default() };
        write(&database, 1, &users).unwrap();
        users.add(&UserCounts { failed: 1, cut: 3, active_peak: 2, end_run: true, ..users });
        write(&database, 1, &users).unwrap();
        assert_eq!(read(&database).unwrap(), Some(users));
        assert_eq!((users.arrived, users.active_peak), (18, 4));
        assert_eq!(users.notes().count(), 1);
    }
}
