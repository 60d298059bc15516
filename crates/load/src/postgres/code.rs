//! The codes of PostgreSQL's errors, by their SQLSTATEs (PostgreSQL documentation, appendix A).

/// The client was idle for too long (`idle_session_timeout`), and the server closes.
pub(super) const IDLE: &[u8] = b"57P05";
/// There is no such table.
pub(super) const NO_TABLE: &[u8] = b"42P01";

/// The HTTP status with the same meaning.
pub(super) fn of(state: &[u8]) -> u16 {
    match state {
        // Invalid authorization, invalid password.
        [b'2', b'8', ..] => 401,
        // Insufficient privilege, a read-only transaction.
        b"42501" | b"25006" => 403,
        // No such database, no such table.
        b"3D000" | b"42P01" => 404,
        // A duplicate key, a serialization failure, a deadlock.
        b"23505" | b"40001" | b"40P01" => 409,
        // A value too long, a limit of the program exceeded.
        b"22001" | b"54000" => 413,
        // Too many connections, a lock not available, an operator's intervention: cancelled, shut
        // down, starting up.
        b"53300" | b"55P03" | [b'5', b'7', ..] => 503,
        // Disk or memory are full.
        b"53100" | b"53200" => 507,
        _ => 500,
    }
}
