//! The codes of Cassandra's errors, by their numbers (CQL binary protocol v4, section 9).

/// A statement that was prepared is not known any more.
pub(super) const UNPREPARED: u32 = 0x2500;
/// What is asked for cannot be done; why, only the words say.
const INVALID: u32 = 0x2200;

/// The HTTP status with the same meaning.
pub(super) fn of(number: u32, said: &[u8]) -> u16 {
    match number {
        // A violation of the protocol, a syntax error, a wrong setting.
        0x000a | 0x2000 | 0x2300 => 400,
        // Bad credentials.
        0x0100 => 401,
        // No permission.
        0x2100 => 403,
        // `keyspace shop does not exist`, `table plimsoll does not exist`.
        INVALID if said.ends_with(b"does not exist") => 404,
        INVALID => 400,
        // There already.
        0x2400 => 409,
        // Too few replicas alive, overloaded, starting up, a statement to be prepared again.
        0x1000..=0x1002 | UNPREPARED => 503,
        // Too few replicas have answered in time, on a write and on a read.
        0x1100 | 0x1200 => 504,
        _ => 500,
    }
}
