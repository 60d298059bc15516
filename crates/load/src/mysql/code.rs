//! The codes of MySQL's errors, by their numbers (MySQL Error Message Reference, MariaDB Error
//! Codes).

/// The client was idle for too long (`wait_timeout`), and the server closes.
pub(super) const IDLE: u16 = 4031;

/// Whether the server closes behind this error: a packet is too large for it, it shuts down, or it
/// has killed the connection.
pub(super) fn ends_connection(number: u16) -> bool {
    matches!(number, 1053 | 1153 | 1927)
}

/// The HTTP status with the same meaning.
pub(super) fn of(number: u16) -> u16 {
    match number {
        // Access denied for a user with this password.
        1045 | 1698 => 401,
        // Access denied to a database, a table, a column, by a privilege, by a read-only server.
        1044 | 1142 | 1143 | 1227 | 1290 | 1370 | 1836 => 403,
        // No such database, no such table.
        1049 | 1146 => 404,
        // A duplicate key, a deadlock.
        1022 | 1062 | 1213 => 409,
        // A packet or a value too large.
        1153 | 1301 | 1406 => 413,
        // Too many connections or statements, a lock waited for in vain, killed, shut down.
        1040 | 1053 | 1203 | 1205 | 1226 | 1317 | 1461 | 1927 | 1969 | 3024 => 503,
        // Disk, table or memory are full.
        1021 | 1037 | 1038 | 1041 | 1114 => 507,
        _ => 500,
    }
}
