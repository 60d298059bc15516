//! TUN devices: what the kernel sends into one is read from its file as packets, and what is
//! written there it takes as received.

#![expect(unsafe_code, reason = "the one system call that makes a device has no other form")]

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// The file from which devices are made.
pub(crate) const SOURCE: &str = "/dev/net/tun";
/// Makes a device (linux/if_tun.h).
const TUNSETIFF: Opcode = opcode::write::<c_int>(b'T', 202);
/// Packets of IP, with nothing before them.
const IFF_TUN_NO_PI: u16 = 0x0001 | 0x1000;
/// The most bytes of a name, with the zero behind it.
const MOST_NAME: usize = 16;

/// `struct ifreq`: a name, and a union of 24 bytes that begins with the flags.
type Request = [u8; MOST_NAME + 24];

/// Makes a device of this name in the network of this thread. It is gone with its file. Reading and
/// writing do not wait.
///
/// # Errors
/// A host without such devices; a user without the rights; a name that is taken, or too long.
pub(crate) fn open(name: &str) -> io::Result<File> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(SOURCE)?;
    if name.is_empty() || name.len() >= MOST_NAME {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut request: Request = [0; MOST_NAME + 24];
    request[..name.len()].copy_from_slice(name.as_bytes());
    request[MOST_NAME..MOST_NAME + 2].copy_from_slice(&IFF_TUN_NO_PI.to_ne_bytes());
    // SAFETY: the code is that of TUNSETIFF, which copies a `struct ifreq` of 40 bytes, whatever
    // its alignment, and writes its name back; the request is of that size and lives until the
    // call returns.
    unsafe { ioctl(&file, Setter::<TUNSETIFF, Request>::new(request)) }?;
    Ok(file)
}
