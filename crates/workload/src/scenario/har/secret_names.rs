//! Which names are of secrets: one rule for headers, queries, forms, members of JSON, parts of
//! forms, elements and attributes of XML.
//!
//! A name is taken apart into words: `X-Auth-Key`, `x_auth_key` and `xAuthKey` are `x`, `auth` and
//! `key`. A word such as `pin`, `key` or `auth` is that of a secret where it stands by itself, so
//! that `pinned`, `monkey` and `author` are ordinary names; a word such as `password` is so within
//! any other. What a name says about a secret (`token_type`, `password_length`) is none.

/// What is a secret wherever it stands in a name that is written without its bounds.
const WITHIN: [&str; 40] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "motdepasse",
    "contrasena",
    "wachtwoord",
    "secret",
    "credential",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "authkey",
    "sessionkey",
    "subscriptionkey",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "authtoken",
    "sessiontoken",
    "csrftoken",
    "xsrftoken",
    "securitytoken",
    "bearertoken",
    "usertoken",
    "sessionid",
    "sessid",
    "authorization",
    "clientassertion",
    "codeverifier",
    "samlresponse",
    "samlrequest",
    "samlassertion",
    "csrfmiddleware",
    "authenticity",
    "viewstate",
    "onetimecode",
];
/// Words that are a secret by themselves.
const WORDS: [&str; 48] = [
    "pass",
    "pwd",
    "pw",
    "passw",
    "psw",
    "passkey",
    "senha",
    "heslo",
    "haslo",
    "parola",
    "pin",
    "otp",
    "totp",
    "hotp",
    "mfa",
    "cvv",
    "cvc",
    "token",
    "tokens",
    "tok",
    "jwt",
    "jws",
    "jwe",
    "bearer",
    "saml",
    "assertion",
    "verifier",
    "csrf",
    "xsrf",
    "nonce",
    "hmac",
    "sig",
    "signature",
    "creds",
    "cred",
    "oauth",
    "auth",
    "authentication",
    "authn",
    "cookie",
    "cookies",
    "session",
    "sess",
    "sid",
    "ssid",
    "key",
    "keys",
    "apitoken",
];
/// Words that name a number or a choice as often as a secret: a short number is none there.
const WEAK: [&str; 12] = [
    "auth", "cookie", "cookies", "session", "sess", "sid", "ssid", "key", "keys", "tok", "nonce",
    "oauth",
];
/// Words behind which a name says something about a secret.
const ABOUT: [&str; 52] = [
    "action",
    "provider",
    "name",
    "user",
    "username",
    "email",
    "scheme",
    "level",
    "step",
    "view",
    "message",
    "error",
    "title",
    "description",
    "type",
    "length",
    "len",
    "count",
    "limit",
    "size",
    "timeout",
    "ttl",
    "lifetime",
    "duration",
    "expires",
    "expiry",
    "expiration",
    "expired",
    "date",
    "version",
    "method",
    "methods",
    "algorithm",
    "alg",
    "format",
    "policy",
    "strength",
    "enabled",
    "required",
    "url",
    "uri",
    "endpoint",
    "index",
    "code",
    "codes",
    "label",
    "placeholder",
    "visible",
    "status",
    "mode",
    "headers",
    "usage",
];
/// Words before `key` and `keys` whose keys everybody may know.
const OPEN_KEYS: [&str; 16] = [
    "public",
    "primary",
    "foreign",
    "sort",
    "idempotency",
    "cache",
    "partition",
    "group",
    "order",
    "hot",
    "row",
    "column",
    "field",
    "translation",
    "i18n",
    "object",
];
/// Words before `tokens` of what is counted.
const COUNTED: [&str; 8] =
    ["max", "min", "num", "total", "prompt", "completion", "input", "output"];
/// What is a secret where somebody signs in, and an ordinary name elsewhere.
const OF_SIGN_IN: [&str; 4] = ["code", "ticket", "state", "sign"];
/// Words before `code` of codes that let somebody in.
const CODES: [&str; 14] = [
    "auth",
    "authorization",
    "otp",
    "totp",
    "mfa",
    "2fa",
    "sms",
    "verification",
    "security",
    "pin",
    "login",
    "reset",
    "device",
    "recovery",
];

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// It is a secret.
    Secret,
    /// It is one, but for short numbers and switches.
    Mostly,
    /// It is one where somebody signs in, or where it looks drawn.
    OfSignIn,
    Ordinary,
}

/// What a name says of its value.
pub(super) fn secrecy(name: &str) -> Secrecy {
    let words = words(name);
    let Some(last) = words.last() else { return Secrecy::Ordinary };
    let is = |list: &[&str], word: &str| list.contains(&word);
    let before = |at: usize, list: &[&str]| at > 0 && is(list, &words[at - 1]);
    if last == "code" && before(words.len() - 1, &CODES) {
        return Secrecy::Secret;
    }
    if words.len() > 1 && is(&ABOUT, last) {
        return Secrecy::Ordinary;
    }
    let joined = words.concat().replace("secretar", "");
    if WITHIN.iter().any(|part| joined.contains(part)) {
        return Secrecy::Secret;
    }
    let mut found = Secrecy::Ordinary;
    for (at, word) in words.iter().enumerate() {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_open = word.starts_with("key") && before(at, &OPEN_KEYS)
            || word == "tokens" && before(at, &COUNTED);
        let is_token = word.ends_with("token") || word.ends_with("nonce");
        if is_open || !(is(&WORDS, word) || is_token) {
            continue;
        }
        if !is(&WEAK, word) {
            return Secrecy::Secret;
        }
        found = Secrecy::Mostly;
    }
    if found == Secrecy::Ordinary && is(&OF_SIGN_IN, &words.join("_")) {
        found = Secrecy::OfSignIn;
    }
    found
}

/// Whether a field's value is a secret; `signs_in` where somebody signs in by its request.
pub(crate) fn is_secret(name: &str, value: &str, signs_in: bool) -> bool {
    let is_switch = matches!(value, "" | "true" | "false" | "null" | "undefined");
    let is_short = value.len() < 6 && value.bytes().all(|byte| byte.is_ascii_digit());
    match secrecy(name) {
        Secrecy::Secret => !value.is_empty(),
        Secrecy::Mostly => !is_switch && !is_short,
        Secrecy::OfSignIn => !is_switch && (signs_in || is_drawn(value)),
        Secrecy::Ordinary => false,
    }
}

/// Whether a value looks drawn: long, of letters and digits, without a blank.
pub(crate) fn is_drawn(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~+/=:".contains(&byte))
}

/// Whether somebody signs in by a request, as far as its path and what it sends tell.
pub(super) fn signs_in(target: &str, body: &str) -> bool {
    const PARTS: [&str; 17] = [
        "oauth", "openid", "auth", "login", "logon", "signin", "sign-in", "sign_in", "callback",
        "/cb", "token", "sso", "saml", "verify", "2fa", "mfa", "otp",
    ];
    const FIELDS: [&str; 6] = [
        "grant_type",
        "client_id",
        "redirect_uri",
        "code_verifier",
        "response_type",
        "session_state",
    ];
    let path = target.split('?').next().unwrap_or_default().to_ascii_lowercase();
    // A path of an author is no path where somebody signs in.
    let path = path.replace("author", "");
    let has = |field: &&str| target.contains(*field) || body.contains(*field);
    PARTS.iter().any(|part| path.contains(part)) || FIELDS.iter().any(has)
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut before) = (String::new(), ' ');
    let mut letters = name.chars().take(256).peekable();
    while let Some(c) = letters.next() {
        let is_begun = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_ascii_digit()
                || before.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase()));
        if (is_begun || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "password",
            "userPassword",
            "wpPassword",
            "user[pass_pwd]",
            "pass",
            "pwd",
            "PIN",
            "newPassword2",
            "password_confirmation",
            "j_password",
            "passwd",
            "secret",
            "client_secret",
            "clientSecret",
            "refresh_token",
            "access-token",
            "id_token",
            "code_verifier",
            "client_assertion",
            "Authorization",
            "proxy-authorization",
            "X-API-Key",
            "apikey",
            "APIKey",
            "Ocp-Apim-Subscription-Key",
            "x-functions-key",
            "X-Goog-Api-Key",
            "X-Amz-Security-Token",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "Private-Token",
            "X-Vault-Token",
            "X-Auth-Key",
            "Token",
            "JWT",
            "sid",
            "JSESSIONID",
            "PHPSESSID",
            "otp",
            "otp1",
            "X-Cookie",
            "sig",
            "_wpnonce",
            "authenticity_token",
            "XSRF-TOKEN",
            "csrfmiddlewaretoken",
            "SAMLResponse",
            "wsse:Password",
            "stripeToken",
            "cvv",
            "sms_code",
            "db.passwd",
            "AWSSecretKey",
            "api_keys",
        ] {
            assert_ne!(secrecy(name), Secrecy::Ordinary, "{name}");
            assert!(is_secret(name, "LEAK0001", false), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_so() {
        for name in [
            "compass",
            "pinned",
            "spin",
            "shipping",
            "tokenizer",
            "tokenize",
            "keyboard",
            "keyword",
            "monkey",
            "turkey",
            "author",
            "authority",
            "authors",
            "design",
            "assignee",
            "signal",
            "considered",
            "reside",
            "passenger",
            "bypass",
            "secretary_id",
            "max_tokens",
            "token_type",
            "password_length",
            "key_type",
            "sort_key",
            "Idempotency-Key",
            "public_key",
            "obsession",
            "zip_code",
            "country_code",
            "X-Amz-Date",
            "X-Amz-Target",
            "grant_type",
            "user",
            "email",
            "",
            "___",
            "Content-Type",
            "announce",
            "authAction",
            "X-Auth-User",
            "session_name",
            "cookiecutter",
        ] {
            assert_eq!(secrecy(name), Secrecy::Ordinary, "{name}");
        }
    }

    #[test]
    fn what_a_value_says_and_where_it_is_sent() {
        assert!(is_secret("pin", "1", false) && !is_secret("pin", "", false));
        assert!(!is_secret("key", "5", false) && !is_secret("session", "true", false));
        assert!(!is_secret("code", "SUMMER", false) && is_secret("code", "SUMMER", true));
        assert!(is_secret("code", "4/0AX4XfWh-abcdefgh1", false));
        assert!(signs_in("/oauth2/cb?x=1", "") && signs_in("/x", "grant_type=code"));
        assert!(!signs_in("/authors/7", "") && !signs_in("/shop?q=login", ""));
    }
}
