//! What a reader noticed about an event or a session, as a small set.

/// One thing that a reader noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Flag {
    /// `v` is larger than 1.
    NewerSchema = 1 << 0,
    /// An optional field was of another kind; it stands in `ext`.
    BadField = 1 << 1,
    /// Something was replaced so that the line could be read (lone surrogate, BOM, CR, invalid UTF-8, `1e999`).
    Repaired = 1 << 2,
    /// An object had a key twice; the last one won.
    DuplicateKey = 1 << 3,
    /// The same bytes stand on an earlier line of the branch.
    DuplicateEvent = 1 << 4,
    /// The line names another session than its file does, or two sessions stand under one id.
    MixedSession = 1 << 5,
    /// The file was rewritten after it had been synced: this is another branch of the session.
    Rewritten = 1 << 6,
    /// A time stamp before an earlier line's, or more than a day after the batch.
    Clock = 1 << 7,
    /// A column value was over the cap and was cut; `ext` holds its length and hash.
    Cut = 1 << 8,
    /// The collector cut a value.
    Truncated = 1 << 9,
}

const ALL: [(Flag, &str); 10] = [
    (Flag::NewerSchema, "newer_schema"),
    (Flag::BadField, "bad_field"),
    (Flag::Repaired, "repaired"),
    (Flag::DuplicateKey, "duplicate_key"),
    (Flag::DuplicateEvent, "duplicate_event"),
    (Flag::MixedSession, "mixed_session"),
    (Flag::Rewritten, "rewritten"),
    (Flag::Clock, "clock"),
    (Flag::Cut, "cut"),
    (Flag::Truncated, "truncated"),
];

/// A set of [`Flag`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// Adds one.
    pub fn set(&mut self, flag: Flag) {
        self.0 |= flag as u32;
    }

    /// Whether it is in the set.
    pub fn has(self, flag: Flag) -> bool {
        self.0 & flag as u32 != 0
    }

    /// Both sets together.
    #[must_use]
    pub fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether nothing was noticed.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names, as they stand in tables and reports, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        ALL.iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| *name)
    }
}
