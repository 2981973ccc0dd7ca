//! Corrections: one line that retracts or annotates a session.

use crate::{Event, json::Value};

/// What a correction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave the session out of every later export.
    Retract,
    /// A note; it changes nothing.
    Annotate,
}

/// A correction as it stands in a trace. Whether it counts depends on where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The session it is about.
    pub session_id: String,
    /// The event it is about, where it names one.
    pub event_id: Option<String>,
    /// What it asks for.
    pub action: Action,
    /// Why.
    pub reason: Option<String>,
    /// Who.
    pub author: Option<String>,
}

impl Correction {
    /// The correction that an event holds; None when it is none, or does not say of what.
    pub fn of(event: &Event<'_>) -> Option<Correction> {
        if event.kind != "correction" {
            return None;
        }
        let target = event.other("ref").and_then(Value::as_obj)?;
        let field = |name: &str| target.iter().find(|(k, _)| k == name).and_then(|(_, v)| v.as_str());
        Some(Correction {
            session_id: field("session_id")?.to_owned(),
            event_id: field("event_id").map(str::to_owned),
            action: match event.other_str("action")? {
                "retract" => Action::Retract,
                "annotate" => Action::Annotate,
                _ => return None,
            },
            reason: event.other_str("reason").map(str::to_owned),
            author: event.other_str("author").map(str::to_owned),
        })
    }
}
