//! What an instance executes when it starts: first a timer that ends it, then what the plan says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The longest that a cloud takes, bytes before their coding.
const MOST: usize = 16 << 10;
/// What separates the parts.
const BOUNDARY: &str = "plimsoll-4f9d2c";

/// The text for an instance that ends by itself after so many minutes, whatever becomes of the
/// program that has started it; and what the plan has for it.
///
/// Images with cloud-init execute each part by what it begins with: a script by `#!`, settings by
/// `#cloud-config`. Without a part of the plan it is a script alone, which simpler images execute
/// too.
///
/// # Errors
/// What is longer than a cloud takes.
pub(crate) fn user_data(own: Option<&str>, minutes: u64) -> Result<String, String> {
    let timer =
        format!("#!/bin/sh\nshutdown -P +{minutes} || (sleep {}; poweroff) &\n", minutes * 60);
    let text = match own {
        None => timer,
        Some(own) => {
            let kind = match own {
                of if of.starts_with("#cloud-config") => "text/cloud-config",
                of if of.starts_with("#!") => "text/x-shellscript",
                _ => return Err("it begins neither with `#!` nor with `#cloud-config`".to_owned()),
            };
            let part = |kind: &str, text: &str| {
                format!(
                    "--{BOUNDARY}\nContent-Type: {kind}; charset=\"utf-8\"\nMIME-Version: 1.0\n\n\
                     {text}\n"
                )
            };
            format!(
                "Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\nMIME-Version: 1.0\n\n\
                 {}{}--{BOUNDARY}--\n",
                part("text/x-shellscript", &timer),
                part(kind, own)
            )
        }
    };
    match text.len() <= MOST && !own.is_some_and(|own| own.contains(BOUNDARY)) {
        true => Ok(text),
        false => Err(format!("with the timer it is longer than {MOST} bytes")),
    }
}

/// As a request has it.
pub(crate) fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_comes_first() {
        let alone = user_data(None, 45).unwrap();
        assert!(alone.starts_with("#!/bin/sh\nshutdown -P +45 "), "{alone}");
        let both = user_data(Some("#cloud-config\nruncmd: []"), 45).unwrap();
        let (timer, own) = (both.find("shutdown -P +45"), both.find("runcmd: []"));
        assert!(timer.is_some() && timer < own, "{both}");
        assert!(both.contains("text/cloud-config"));
    }

    #[test]
    fn what_no_instance_would_execute_is_refused() {
        assert!(user_data(Some("echo hello"), 45).is_err());
        let long = format!("#!/bin/sh\n{}", "x".repeat(MOST));
        assert!(user_data(Some(&long), 45).is_err());
    }
}
