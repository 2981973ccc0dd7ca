//! What stands where a secret would and is none: placeholders, documents' examples, references.

use crate::judge::surprise;

const PLACEHOLDERS: [&str; 52] = [
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "dummy",
    "xxxx",
    "****",
    "....",
    "your",
    "replace",
    "insert",
    "todo",
    "fixme",
    "foobar",
    "secret:",
    "password",
    "passwd",
    "default",
    "sample",
    "undefined",
    "abcdef",
    "123456",
    "qwerty",
    "<secret",
    "not_real",
    "notreal",
    "not-real",
    "fake",
    "mock",
    "lorem",
    "ipsum",
    "hunter2",
    "letmein",
    "admin",
    "correct",
    "invalid",
    "1111",
    "0000",
    "deadbeef",
    "localhost",
    "asdf",
    "my_",
    "my-",
    "the_",
    "some_",
    "secretkey",
    "secret_key",
    "secret-key",
    "secretaccess",
    "teststring",
];

/// A stand-in that someone is to replace, or that says what it is.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word)) || is_sequence(&lower)
}

/// Documents' own example keys: words that a random value has by chance once in a billion.
pub(crate) fn is_sample_token(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    ["example", "xxxxx", "*****", ".....", "placeholder", "redacted", "changeme", "your_", "your-"]
        .iter()
        .any(|word| lower.contains(word))
        || is_run(&lower)
}

/// Five equal characters, or seven that count up, make no random value.
fn is_sequence(lower: &str) -> bool {
    let bytes = lower.as_bytes();
    let (mut equal, mut rising) = (1, 1);
    for pair in bytes.windows(2) {
        equal = if pair[0] == pair[1] { equal + 1 } else { 1 };
        rising = if pair[1] == pair[0].wrapping_add(1) { rising + 1 } else { 1 };
        if equal >= 5 || rising >= 6 {
            return true;
        }
    }
    false
}

/// A third of the value or more is one character again and again.
fn is_run(lower: &str) -> bool {
    let mut equal = 1usize;
    lower.as_bytes().windows(2).any(|pair| {
        equal = if pair[0] == pair[1] { equal + 1 } else { 1 };
        equal >= 8
    })
}

/// Something that stands for a value that is elsewhere, or that is no value: `${X}`, `a.b.c`, `f(x)`, `%s`, a type.
pub(crate) fn is_reference(value: &str) -> bool {
    let pairs = [("{", "}"), ("<", ">"), ("(", ")"), ("[", "]")];
    let sigil = value.strip_prefix(['$', '%', '@', '&', '*', '#', '\\']);
    sigil.is_some_and(is_name_like)
        || pairs.iter().any(|(open, close)| value.find(open).is_some_and(|at| value[at + 1..].contains(close)))
        || value.contains("${")
        || value.contains("{{")
        || value.contains("()")
        || value.contains("::")
        || value.contains("->")
        || value.contains("&&")
        || value.contains("%s")
        || value.contains("sha-256:")
        || value.contains("thumbprint")
        || value.contains("...")
        || value.contains('…')
        || starts_with_any(
            value,
            &[
                "arn:",
                "env:",
                "vault:",
                "ref+",
                "file:",
                "sha256",
                "sha512",
                "sha1",
                "sha384",
                "md5",
                "ssh-",
                "data:",
                "os.",
                "process.",
                "self.",
                "this.",
                "urn:",
                "http:",
                "https:",
                "secrets.",
                "op://",
                "projects/",
                "refs/",
                "git@",
                "0x",
                "AAAAB3Nza",
                "AAAAC3Nza",
                "AAAAE2V",
                "var.",
                "local.",
                "config.",
                "settings.",
                "bcrypt",
                "pbkdf2",
                "argon2",
                "scrypt",
                "age1",
                "ENC[",
                "req_",
                "test_",
                "msg_",
            ],
        )
}

/// What may stand after a `$`: a name, or the bracket of an expression.
fn is_name_like(rest: &str) -> bool {
    rest.starts_with(['{', '(', '['])
        || rest.trim_end_matches('%').bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
            && surprise(rest) < 4.6
}

/// Whether the value starts with one of these.
pub(crate) fn starts_with_any(value: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| value.starts_with(start))
}
