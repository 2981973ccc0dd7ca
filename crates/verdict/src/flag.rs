//! What can be wrong with a verdict or a session, by the names that reports and tables use.

macro_rules! flags {
    ($($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        /// One thing that is wrong with a verdict record or with a session.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum VerdictFlag { $($(#[$doc])* $variant),+ }

        impl VerdictFlag {
            /// The name as it stands in tables, reports and exclusions.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The flag of a name; None for any other word.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

flags!(
    /// No signature.
    Unsigned = "unsigned",
    /// Signed by a key that is not in the trust file.
    UntrustedKey = "untrusted_key",
    /// The signature does not fit the payload, or is no proper one.
    BadSignature = "bad_signature",
    /// Another payload, statement or predicate type.
    WrongType = "wrong_type",
    /// Not an envelope, or a payload that the strict reading refuses.
    Malformed = "malformed",
    /// A repository or an oracle's name that the key does not stand for.
    KeyScope = "key_scope",
    /// Finished outside the key's window.
    KeyExpired = "key_expired",
    /// The key was revoked, and the verdict is not from before that.
    KeyRevoked = "key_revoked",
    /// Finished more than ten minutes after the batch that brought it. The record still verifies.
    FinishedLate = "finished_late",
    /// Of another session.
    WrongSession = "wrong_session",
    /// Of another repository.
    WrongRepo = "wrong_repo",
    /// Of another task.
    WrongTask = "wrong_task",
    /// Of another base commit.
    WrongBase = "wrong_base",
    /// The event does not say what the payload says.
    FieldMismatch = "field_mismatch",
    /// An oracle run used twice.
    ReplayedRun = "replayed_run",
    /// An attempt is missing before this one.
    ChainGap = "chain_gap",
    /// The trace is not what the oracle was shown.
    TraceChanged = "trace_changed",
    /// Nothing, or not whole lines up to the verdict, binds it to the trace.
    TraceUnbound = "trace_unbound",
    /// The ledger lists a run that the lake lacks.
    VerdictMissing = "verdict_missing",
    /// The work was there before the session started.
    DirtyStart = "dirty_start",
    /// A PASS on the empty diff, or on a diff that had failed the same tests.
    Flaky = "flaky",
    /// Graded under other tests than the baseline.
    TestsChanged = "tests_changed",
);

impl VerdictFlag {
    /// Whether it is told and costs no flip: a record that has it still verifies. What an oracle's or a store's clock says
    /// late is not judged, and what the ledger lists beside a proven PASS takes nothing from it. A negative is one without
    /// any flag.
    pub fn is_notice(self) -> bool {
        matches!(self, VerdictFlag::FinishedLate | VerdictFlag::VerdictMissing)
    }
}

impl std::fmt::Display for VerdictFlag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
