//! What objects are called: `/o/` and their number.
//!
//! The number is all of the name: every client and the origin know class, size and bytes from it.
//! Paths are the shortest that say the number, so that one object has one URL.

/// The longest name, bytes: that of the greatest number.
pub const MAX_NAME_BYTES: usize = PREFIX.len() + 20;

const PREFIX: &[u8] = b"/o/";

/// Appends the path of an object to a text: `/o/17`.
pub fn write_name(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(PREFIX);
    out.extend_from_slice(&digits[at..]);
}

/// The number of the object of that path; `None` where it is none: another beginning, what is no
/// digit, a zero in front, a number beyond 64 bits.
///
/// Looks at [`MAX_NAME_BYTES`] and no more.
#[must_use]
pub fn number_of(path: &[u8]) -> Option<u64> {
    if path.len() > MAX_NAME_BYTES {
        return None;
    }
    let digits = path.strip_prefix(PREFIX)?;
    let plain = !digits.is_empty() && (digits.len() == 1 || digits[0] != b'0');
    let add = |number: u64, &digit: &u8| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(value)
    };
    if plain { digits.iter().try_fold(0, add) } else { None }
}
