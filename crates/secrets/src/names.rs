//! Whether a name is the name of a secret.

/// What kind of value a name promises.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Chosen by a person, perhaps: short, with symbols.
    Password,
    /// A secret and nothing else.
    Strong,
    /// A secret often, something else as often.
    Weak,
    /// A bare `key`.
    Key,
    /// A header of pairs.
    Cookie,
}

/// Parts after the keyword that make the name one of something about a secret.
const AFTER: [&str; 88] = [
    "name",
    "names",
    "id",
    "ids",
    "path",
    "file",
    "filename",
    "url",
    "uri",
    "type",
    "length",
    "len",
    "count",
    "size",
    "field",
    "regex",
    "pattern",
    "hash",
    "hashed",
    "digest",
    "arn",
    "ref",
    "label",
    "prefix",
    "suffix",
    "expiry",
    "expires",
    "expiration",
    "expire",
    "version",
    "algorithm",
    "alg",
    "format",
    "policy",
    "hint",
    "class",
    "module",
    "address",
    "limit",
    "max",
    "min",
    "num",
    "ttl",
    "index",
    "public",
    "pub",
    "fingerprint",
    "code",
    "binding",
    "map",
    "usage",
    "provider",
    "service",
    "error",
    "message",
    "title",
    "description",
    "placeholder",
    "icon",
    "mode",
    "enabled",
    "required",
    "input",
    "output",
    "style",
    "event",
    "checksum",
    "integrity",
    "mapping",
    "timestamp",
    "at",
    "date",
    "created",
    "callback",
    "endpoint",
    "method",
    "scheme",
    "kind",
    "store",
    "column",
    "table",
    "text",
    "version1",
    "spec",
    "agreement",
    "exchange",
    "frame",
    "salt",
];

/// Parts before the keyword that make it another kind of key or token.
const BEFORE: [&str; 50] = [
    "public",
    "pub",
    "primary",
    "foreign",
    "cache",
    "sort",
    "partition",
    "object",
    "next",
    "continuation",
    "idempotency",
    "cancellation",
    "hash",
    "fingerprint",
    "dict",
    "i18n",
    "translation",
    "publishable",
    "anon",
    "site",
    "host",
    "known",
    "row",
    "group",
    "map",
    "item",
    "shortcut",
    "hot",
    "block",
    "row",
    "s3",
    "blob",
    "react",
    "event",
    "peer",
    "verify",
    "verifying",
    "verification",
    "spki",
    "sync",
    "page",
    "no",
    "without",
    "pagination",
    "cursor",
    "authorized",
    "recaptcha",
    "vapid",
    "dedupe",
    "lookup",
];

const STRONG: [&str; 34] = [
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearer",
    "credential",
    "signingkey",
    "encryptionkey",
    "encryptkey",
    "masterkey",
    "authkey",
    "sharedkey",
    "accountkey",
    "storagekey",
    "apitoken",
    "secretkey",
    "authorization",
    "bottoken",
    "deploytoken",
    "usertoken",
    "servicetoken",
    "personaltoken",
    "licensekey",
    "webhookkey",
    "integrationkey",
    "adminkey",
    "appkey",
    "writekey",
    "serverkey",
    "sessiontoken",
    "idtoken",
];

/// None for a name that is none of a secret.
pub(crate) fn classify(name: &str) -> Option<Kind> {
    let name = name.trim_start_matches(['-', '.', '_']);
    let mut parts = Parts::default();
    parts.split(name);
    let flat: String = parts.words.concat();
    if flat == "cookie" || flat == "setcookie" {
        return Some(Kind::Cookie);
    }
    let word = |what: &[&str]| parts.words.iter().rposition(|part| what.iter().any(|w| part.ends_with(w)));
    let pass = word(&["password", "passwd", "passphrase", "passcode", "pwd", "pass", "userpass", "pw", "passw"]);
    let secretish = word(&[
        "secret",
        "secrets",
        "token",
        "key",
        "auth",
        "credential",
        "credentials",
        "authorization",
        "bearer",
        "cookie",
        "session",
        "jwt",
        "apikey",
        "secretkey",
        "accesskey",
        "authtoken",
        "authkey",
    ]);
    let last = pass.max(secretish)?;
    if parts.words[last + 1..].iter().any(|part| AFTER.contains(&part.as_str()) || part.len() > 14) {
        return None;
    }
    if parts.words[..last].iter().any(|part| BEFORE.contains(&part.as_str())) {
        return None;
    }
    // The words of the `pass` family end many others: bypass, compass.
    let ordinary = [
        "bypass",
        "compass",
        "encompass",
        "trespass",
        "underpass",
        "overpass",
        "surpass",
        "monkey",
        "turkey",
        "donkey",
        "hockey",
        "jockey",
        "keepass",
        "multipass",
        "subpass",
        "renderpass",
        "passkey",
        "onepass",
        "pubkey",
        "hotkey",
        "publickey",
    ];
    if ordinary.contains(&parts.words[last].as_str()) {
        return None;
    }
    // `passValue`, `pass_through`: something is passed there.
    if parts.words[last] == "pass"
        && parts.words[last + 1..].iter().any(|word| !word.bytes().all(|b| b.is_ascii_digit()))
    {
        return None;
    }
    if pass == Some(last) {
        return Some(Kind::Password);
    }
    if STRONG.iter().any(|strong| flat.contains(strong)) {
        return Some(Kind::Strong);
    }
    if flat == "key" {
        return Some(Kind::Key);
    }
    // An environment variable names a token of a service: `FOO_TOKEN`, `FOO_KEY`.
    let upper = !name.bytes().any(|b| b.is_ascii_lowercase()) && parts.words.len() > 1;
    let header = name.len() > 2 && name[..2].eq_ignore_ascii_case("x-");
    Some(if upper || header { Kind::Strong } else { Kind::Weak })
}

/// Whether the name is that of a credential and of nothing else, so that even a UUID or hex digits are one.
pub(crate) fn is_sure(name: &str) -> bool {
    let mut parts = Parts::default();
    parts.split(name);
    let flat: String = parts.words.concat();
    if parts.words.iter().any(|word| OF_SOMETHING.contains(&word.as_str())) {
        return false;
    }
    let upper = !name.bytes().any(|b| b.is_ascii_lowercase()) && parts.words.len() > 1;
    let last = parts.words.last().map_or("", String::as_str);
    let several = parts.words.len() > 1 && matches!(last, "token" | "secret");
    several || SURE.iter().any(|sure| flat.contains(sure)) || upper && matches!(last, "key" | "pat")
}

/// What a token or a key may belong to that is no credential.
const OF_SOMETHING: [&str; 30] = [
    "session",
    "sessions",
    "csrf",
    "xsrf",
    "request",
    "device",
    "page",
    "cancel",
    "trace",
    "run",
    "id",
    "client",
    "lock",
    "continuation",
    "next",
    "idempotency",
    "upload",
    "fence",
    "owner",
    "resume",
    "change",
    "event",
    "cursor",
    "task",
    "job",
    "message",
    "thread",
    "conversation",
    "cache",
    "test",
];

const SURE: [&str; 15] = [
    "apikey",
    "apitoken",
    "apisecret",
    "accesstoken",
    "accesskey",
    "authtoken",
    "authkey",
    "secretkey",
    "clientsecret",
    "appsecret",
    "bearertoken",
    "privatetoken",
    "servicetoken",
    "bottoken",
    "secrettoken",
];

/// The words of an identifier in lower case: `dbPassword`, `DB_PASSWORD` and `db-password` have the same.
#[derive(Default)]
struct Parts {
    words: Vec<String>,
}

impl Parts {
    fn split(&mut self, name: &str) {
        let mut word = String::new();
        let mut lower = false;
        for c in name.chars() {
            let ends = !c.is_ascii_alphanumeric() || (lower && c.is_ascii_uppercase());
            if ends && !word.is_empty() {
                self.words.push(std::mem::take(&mut word));
            }
            if c.is_ascii_alphanumeric() {
                word.push(c.to_ascii_lowercase());
            }
            lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        }
        if !word.is_empty() {
            self.words.push(word);
        }
    }
}
