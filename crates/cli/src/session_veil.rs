//! Hides from whoever reads a session what the rules find in it.

use lake_check::Veil;
use serde_json::Value;

use crate::session_view::BranchView;

/// Puts placeholders in place of secrets, and returns how many were hidden.
pub(crate) fn hide(view: &mut BranchView, veil: &mut Veil<'_>) -> u64 {
    let mut hidden = 0;
    for turn in &mut view.turns {
        for (text, field) in [
            (&mut turn.text, "/text"),
            (&mut turn.thinking, "/thinking"),
            (&mut turn.input, "/input"),
            (&mut turn.output, "/output"),
            (&mut turn.tool, "/tool"),
            (&mut turn.role, "/role"),
            (&mut turn.status, "/status"),
            (&mut turn.agent_id, "/agent_id"),
        ] {
            if let Some(text) = text {
                veil.hide(text, field, &mut hidden);
            }
        }
    }
    for verdict in &mut view.verdicts {
        verdict.steps.iter_mut().for_each(|step| veil.hide(&mut step.detail, "/signature", &mut hidden));
    }
    view.rejects.iter_mut().for_each(|reject| veil.hide(&mut reject.reason, "", &mut hidden));
    if let Value::Object(header) = &mut view.header {
        for (key, value) in header {
            if let Value::String(text) = value {
                veil.hide(text, &format!("/{key}"), &mut hidden);
            }
        }
    }
    hidden
}
