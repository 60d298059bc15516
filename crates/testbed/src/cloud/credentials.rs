//! Credentials of a cloud: from the environment, a file of profiles, or the role of the instance
//! that this program runs on (IMDSv2). They are in no plan, no argument, no event and no run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_net::http::client::{Ask, Limits, Plain};
use plimsoll_net::url::Url;
use plimsoll_units::civil;
use plimsoll_units::secret::learn;

use super::error::CloudError;

/// How long the service of an instance may take to answer.
const METADATA: Duration = Duration::from_secs(2);
/// Where that is.
const METADATA_AT: &str = "http://169.254.169.254";
/// How long before their end credentials are asked for anew.
const BEFORE_END_S: u64 = 300;
/// The longest file of profiles.
const MOST_FILE: u64 = 1 << 20;

/// What requests are signed with.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The name of the key.
    pub(crate) id: String,
    /// The key.
    pub(crate) secret: String,
    /// What goes with a key that holds for a time.
    pub(crate) token: Option<String>,
    /// When they end, seconds since 1970, where that is known.
    pub(crate) ends_unix_s: Option<u64>,
}

/// Neither key nor token.
impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys of {}", self.id)
    }
}

impl Keys {
    /// Takes what is secret of it into the list of what is shown nowhere.
    fn known(self) -> Self {
        learn(&self.secret);
        self.token.iter().for_each(|token| learn(token));
        self
    }

    /// Whether they end soon, or have ended.
    pub(crate) fn end_soon(&self, now_s: u64) -> bool {
        self.ends_unix_s.is_some_and(|ends_s| now_s + BEFORE_END_S >= ends_s)
    }
}

/// Where credentials come from.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    /// The value of an environment variable.
    pub(crate) environment: fn(&str) -> Option<String>,
    /// The profile that a plan names.
    pub(crate) profile: Option<String>,
}

impl Credentials {
    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// The keys: of the profile that the plan names; else of the environment, else of the profile
    /// that `AWS_PROFILE` names, else of `default`, else of the instance's own role.
    ///
    /// # Errors
    /// A profile that was named and is not there; where there are no keys, with the places that
    /// were looked at.
    pub(crate) fn find(&self) -> Result<Keys, CloudError> {
        if let Some(profile) = &self.profile {
            return self.named(profile, "[testbed]");
        }
        if let Some(keys) = self.of_environment()? {
            return Ok(keys);
        }
        // Who names a profile means its account, and no other one.
        if let Some(profile) = self.variable("AWS_PROFILE") {
            return self.named(&profile, "AWS_PROFILE");
        }
        if let Some(keys) = self.of_file("default")? {
            return Ok(keys);
        }
        self.of_role()
    }

    /// The keys of a profile that was named.
    fn named(&self, profile: &str, by: &str) -> Result<Keys, CloudError> {
        let shown = |file: Option<PathBuf>| {
            file.map_or_else(|| "no file of profiles".to_owned(), |of| of.display().to_string())
        };
        self.of_file(profile)?.ok_or_else(|| {
            let mut text = format!(
                "find the profile `{profile}` of {by}: {} has no keys of it",
                shown(self.file())
            );
            if let Some(file) = self.configuration().filter(|file| has_profile(file, profile)) {
                let _ = write!(
                    text,
                    "; {} has it, as a role or a sign-in, which `aws configure export-credentials \
                     --profile {profile} --format env` makes keys of",
                    file.display()
                );
            }
            CloudError::Credentials(text)
        })
    }

    /// The file of settings, which names profiles too.
    fn configuration(&self) -> Option<PathBuf> {
        let named = self.variable("AWS_CONFIG_FILE").map(PathBuf::from);
        // tidy: allow(shared-folder, a file that its user has written is read)
        named.or_else(|| Some(Path::new(&self.variable("HOME")?).join(".aws/config")))
    }

    fn of_environment(&self) -> Result<Option<Keys>, CloudError> {
        let id = self.variable("AWS_ACCESS_KEY_ID");
        let secret = self.variable("AWS_SECRET_ACCESS_KEY");
        match (id, secret) {
            (Some(id), Some(secret)) => {
                let token = self.variable("AWS_SESSION_TOKEN");
                Ok(Some(Keys { id, secret, token, ends_unix_s: None }.known()))
            }
            (None, None) => Ok(None),
            (id, _) => Err(CloudError::Credentials(format!(
                "take the credentials of the environment: AWS_{} is not set",
                if id.is_none() { "ACCESS_KEY_ID" } else { "SECRET_ACCESS_KEY" }
            ))),
        }
    }

    /// The file of profiles.
    fn file(&self) -> Option<PathBuf> {
        let named = self.variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        // tidy: allow(shared-folder, a file that its user has written is read)
        let of_home = || Some(Path::new(&self.variable("HOME")?).join(".aws/credentials"));
        named.or_else(of_home)
    }

    fn of_file(&self, profile: &str) -> Result<Option<Keys>, CloudError> {
        let Some(path) = self.file() else { return Ok(None) };
        let text = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Ok(of) if of.len() > MOST_FILE => {
                let text = format!("read {}: it is longer than 1 MiB", path.display());
                return Err(CloudError::Credentials(text));
            }
            _ => std::fs::read_to_string(&path),
        };
        let text = text.map_err(|error| {
            CloudError::Credentials(format!("read {}: {error}", path.display()))
        })?;
        Ok(keys_of(&text, profile).map(Keys::known))
    }

    /// The keys of the instance's own role, by the second version of its service.
    fn of_role(&self) -> Result<Keys, CloudError> {
        let nowhere = |why: &str| {
            CloudError::Credentials(format!(
                "find credentials: AWS_ACCESS_KEY_ID is not set, ~/.aws/credentials has none, and \
                 this host has no role of an instance ({why})"
            ))
        };
        let root = self.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        if self.variable("AWS_EC2_METADATA_DISABLED").is_some_and(|of| of == "true") {
            return Err(nowhere("AWS_EC2_METADATA_DISABLED"));
        }
        let root = root.unwrap_or_else(|| METADATA_AT.to_owned());
        let root = root.trim_end_matches('/');
        let ask = |method: &str, path: &str, header: (&str, &str)| {
            let url = Url::parse(&format!("{root}{path}")).map_err(|error| error.to_string())?;
            let headers = [header];
            let ask = Ask { method, headers: &headers, ..Ask::get(&url) };
            let answer = ask.send(&Plain, Limits::within(METADATA));
            let answer = answer.map_err(|error| plimsoll_units::failure::chain(&error))?;
            match answer.status {
                200 => String::from_utf8(answer.body).map_err(|_| "no text".to_owned()),
                status => Err(format!("the status {status}")),
            }
        };
        let read = || {
            let age = ("x-aws-ec2-metadata-token-ttl-seconds", "300");
            let token = ask("PUT", "/latest/api/token", age)?;
            let header = ("x-aws-ec2-metadata-token", token.trim());
            let all = "/latest/meta-data/iam/security-credentials/";
            let roles = ask("GET", all, header)?;
            let role = roles.lines().next().unwrap_or_default().trim().to_owned();
            ask("GET", &format!("{all}{role}"), header)
        };
        let text = read().map_err(|why: String| nowhere(&why))?;
        keys_of_role(&text).map(Keys::known).ok_or_else(|| nowhere("it told no keys"))
    }
}

/// Whether a file of settings has a profile.
fn has_profile(file: &Path, profile: &str) -> bool {
    let is_short = std::fs::metadata(file).is_ok_and(|of| of.len() <= MOST_FILE);
    let text = if is_short { std::fs::read_to_string(file) } else { return false };
    let head = [format!("[profile {profile}]"), format!("[{profile}]")];
    text.is_ok_and(|text| text.lines().any(|line| head.iter().any(|head| line.trim() == head)))
}

/// The keys of a profile in a file of profiles.
fn keys_of(text: &str, profile: &str) -> Option<Keys> {
    let (mut is_its, mut keys) = (false, [None, None, None]);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|of| of.strip_suffix(']')) {
            is_its = name.trim() == profile;
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_its) else { continue };
        let known = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
        let at = known.iter().position(|of| key.trim().eq_ignore_ascii_case(of));
        let value = value.trim();
        at.filter(|_| !value.is_empty()).into_iter().for_each(|at| {
            keys[at] = Some(value.to_owned());
        });
    }
    let [id, secret, token] = keys;
    Some(Keys { id: id?, secret: secret?, token, ends_unix_s: None })
}

/// The keys of a role, as the service of an instance tells them.
fn keys_of_role(text: &str) -> Option<Keys> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
    let ends_unix_s = text("Expiration").as_deref().and_then(seconds_of);
    let (id, secret) = (text("AccessKeyId")?, text("SecretAccessKey")?);
    Some(Keys { id, secret, token: text("Token"), ends_unix_s })
}

/// Seconds since 1970 of `2026-03-01T12:00:00Z`.
pub(crate) fn seconds_of(text: &str) -> Option<u64> {
    let (day, rest) = text.split_once('T')?;
    let numbers = |text: &str, at: char| -> Option<Vec<u32>> {
        text.split(at).map(|part| part.parse().ok()).collect()
    };
    let [year, month, day] = numbers(day, '-')?.try_into().ok()?;
    let clock = rest.get(..8)?;
    let [hour, minute, second]: [u32; 3] = numbers(clock, ':')?.try_into().ok()?;
    if !civil::is_date(year.into(), month, day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = u64::try_from(civil::days(year.into(), month, day)).ok()?;
    Some(days * 86_400 + u64::from(hour) * 3600 + u64::from(minute) * 60 + u64::from(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_in_its_section() {
        let text = "# mine\n[default]\naws_access_key_id = A\n aws_secret_access_key=B==\n\
                    [other]\naws_access_key_id = C\n[half]\naws_access_key_id=D\n";
        let keys = keys_of(text, "default").unwrap();
        assert_eq!((keys.id.as_str(), keys.secret.as_str(), keys.token), ("A", "B==", None));
        assert!(keys_of(text, "other").is_none() && keys_of(text, "absent").is_none());
        let whole = format!("{text}aws_secret_access_key = E\naws_session_token = F\n");
        assert_eq!(keys_of(&whole, "half").unwrap().token.as_deref(), Some("F"));
    }

    #[test]
    fn the_keys_of_a_role_end() {
        let text = r#"{"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "B",
            "Token": "C", "Expiration": "2015-08-30T12:36:00Z"}"#;
        let keys = keys_of_role(text).unwrap();
        assert_eq!(keys.ends_unix_s, Some(1_440_938_160));
        assert!(keys.end_soon(1_440_938_000) && !keys.end_soon(1_440_930_000));
        assert!(keys_of_role("{}").is_none() && keys_of_role("no").is_none());
        assert_eq!(seconds_of("2015-02-30T12:36:00Z"), None);
    }

    /// Where the service of the instance is that these tests pretend.
    static METADATA_OF_TEST: std::sync::OnceLock<String> = std::sync::OnceLock::new();

    fn on_an_instance(name: &str) -> Option<String> {
        let root = || METADATA_OF_TEST.get().cloned();
        (name == "AWS_EC2_METADATA_SERVICE_ENDPOINT").then(root).flatten()
    }

    /// Answers as the second version of the service does: nothing without its token.
    fn metadata(listener: &std::net::TcpListener) {
        use std::io::{Read, Write};
        for mut stream in listener.incoming().flatten() {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap().to_lowercase();
            let line = head.lines().next().unwrap_or_default().to_owned();
            let is_known = head.contains("x-aws-ec2-metadata-token: t0k3n");
            let (status, body) = match line.split(' ').take(2).collect::<Vec<_>>()[..] {
                ["put", "/latest/api/token"] => ("200 OK", "t0k3n"),
                _ if !is_known => ("401 No", ""),
                ["get", "/latest/meta-data/iam/security-credentials/"] => ("200 OK", "role-a\n"),
                ["get", "/latest/meta-data/iam/security-credentials/role-a"] => (
                    "200 OK",
                    r#"{"AccessKeyId": "A", "SecretAccessKey": "of-role", "Token": "C-of-role"}"#,
                ),
                _ => ("404 No", ""),
            };
            let length = body.len();
            let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(text.as_bytes()).unwrap();
        }
    }

    #[test]
    fn the_role_of_an_instance_comes_last() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        METADATA_OF_TEST.set(format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        std::thread::spawn(move || metadata(&listener));
        let of = |environment: fn(&str) -> Option<String>| {
            Credentials { environment, profile: None }.find().map(|keys| keys.secret)
        };
        assert_eq!(of(on_an_instance).unwrap(), "of-role");
        let first = |name: &str| match name {
            "AWS_ACCESS_KEY_ID" => Some("A".to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("of-environment".to_owned()),
            name => on_an_instance(name),
        };
        assert_eq!(of(first).unwrap(), "of-environment");
    }

    /// A file of profiles of these tests; it and the role of the instance are never gone on to.
    fn named_elsewhere(name: &str) -> Option<String> {
        let folder = || Some(PROFILES_OF_TEST.get()?.path().display().to_string());
        match name {
            "AWS_PROFILE" => Some("nowhere".to_owned()),
            "HOME" => folder(),
            name => on_an_instance(name),
        }
    }

    static PROFILES_OF_TEST: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();

    #[test]
    fn a_profile_that_is_named_and_not_there_is_no_other_account() {
        let folder = PROFILES_OF_TEST.get_or_init(|| tempfile::tempdir().unwrap()).path();
        std::fs::create_dir(folder.join(".aws")).unwrap();
        let file = folder.join(".aws/credentials");
        let keys = "aws_access_key_id = A\naws_secret_access_key = B-of-the-default\n";
        std::fs::write(&file, format!("[default]\n{keys}")).unwrap();
        let find = |profile: Option<&str>| {
            let profile = profile.map(str::to_owned);
            Credentials { environment: named_elsewhere, profile }.find()
        };
        for (profile, by) in [(None, "AWS_PROFILE"), (Some("nowhere"), "[testbed]")] {
            let told = find(profile).unwrap_err().to_string();
            let expected = format!("the profile `nowhere` of {by}: {}", file.display());
            assert!(told.contains(&expected) && !told.contains("export-credentials"), "{told}");
        }
        std::fs::write(folder.join(".aws/config"), "[profile nowhere]\nrole_arn = x\n").unwrap();
        let told = find(None).unwrap_err().to_string();
        assert!(told.contains("aws configure export-credentials --profile nowhere"), "{told}");
        std::fs::write(&file, format!("[default]\n{keys}[nowhere]\n{keys}")).unwrap();
        assert_eq!(find(None).unwrap().id, "A");
    }

    #[test]
    fn neither_key_nor_token_is_shown() {
        let keys = keys_of_role(
            r#"{"AccessKeyId": "A", "SecretAccessKey": "hidden one", "Token": "hidden two"}"#,
        );
        assert!(!format!("{keys:?}").contains("hidden"));
    }
}
