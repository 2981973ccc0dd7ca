//! The saved queries of `queries/`, built in.

/// A question that is often asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The file's name without its ending.
    pub name: &'static str,
    /// The comment on the file's first line.
    pub question: &'static str,
    /// The whole file.
    pub sql: &'static str,
}

macro_rules! queries {
    ($($name:literal),+ $(,)?) => {
        &[$(Saved {
            name: $name,
            question: first_comment(include_str!(concat!("../../../queries/", $name, ".sql"))),
            sql: include_str!(concat!("../../../queries/", $name, ".sql")),
        }),+]
    };
}

static SAVED: &[Saved] = queries!(
    "attempts-to-flip",
    "flip-rate",
    "held-back",
    "recent-sessions",
    "rejects",
    "secrets-by-rule",
    "sync-lag",
    "tainted-exports",
    "tasks-with-pair",
    "tool-mix",
    "unverified-sessions",
    "verdicts-by-task",
);

/// All of them, by name.
pub fn saved() -> &'static [Saved] {
    SAVED
}

/// The one of that name.
pub fn saved_query(name: &str) -> Option<&'static Saved> {
    SAVED.iter().find(|query| query.name == name)
}

/// What stands on the first line after `-- `; evaluated when this is compiled, so a file without one does not build.
const fn first_comment(sql: &'static str) -> &'static str {
    let bytes = sql.as_bytes();
    assert!(bytes.len() > 3 && bytes[0] == b'-' && bytes[1] == b'-' && bytes[2] == b' ', "no comment on line one");
    let mut end = 3;
    while end < bytes.len() && bytes[end] != b'\n' {
        end += 1;
    }
    sql.split_at(end).0.split_at(3).1
}
