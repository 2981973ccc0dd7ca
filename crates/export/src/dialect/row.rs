//! What stands before, between and after the turns of a row.

use lake_trace::json::write_str;

use super::{atif, write_member};
use crate::Dialect;

/// What a row says beside its turns.
pub(crate) struct Shared<'r> {
    pub(crate) session_id: &'r str,
    /// The other side's, in a pair.
    pub(crate) rejected_session_id: Option<&'r str>,
    pub(crate) task_id: Option<&'r str>,
    pub(crate) repo: Option<&'r str>,
    /// The tools as a JSON array, and that text as a JSON string.
    pub(crate) tools: (&'r str, &'r str),
    /// JSON text.
    pub(crate) metadata: &'r str,
    pub(crate) harness: &'r (String, String),
    pub(crate) model: Option<&'r str>,
}

/// What stands before a session's turns, and behind them.
pub(crate) fn session(dialect: Dialect, row: &Shared<'_>) -> (String, String) {
    match dialect {
        Dialect::Openai => ("{\"messages\":[".to_owned(), format!("]{}}}\n", openai_tools(row))),
        Dialect::Atif => trajectory(row),
        _ => {
            let open = if dialect == Dialect::Llamafactory { "{\"conversations\":[" } else { "{\"messages\":[" };
            let mut close = format!("],\"tools\":{}", row.tools.1);
            write_member(&mut close, "session_id", Some(row.session_id));
            write_member(&mut close, "task_id", row.task_id);
            write_member(&mut close, "repo", row.repo);
            write_member(&mut close, "metadata", Some(row.metadata));
            close.push_str("}\n");
            (open.to_owned(), close)
        }
    }
}

/// The words around the parts of a pair.
pub(crate) struct PairWords {
    /// Before the prompt, or the first whole side.
    pub(crate) open: &'static str,
    /// Between that and the chosen side; None: each side begins with the prompt.
    pub(crate) chosen: Option<String>,
    /// Before the rejected side.
    pub(crate) rejected: &'static str,
    /// Behind it.
    pub(crate) close: String,
}

/// What stands around the prompt and the sides of a pair.
pub(crate) fn pair(dialect: Dialect, row: &Shared<'_>) -> PairWords {
    let text = |text: &str| Some(text.to_owned());
    let (open, chosen, rejected, behind) = match dialect {
        Dialect::Swift => ("{\"messages\":[", None, "],\"rejected_messages\":[", "]"),
        Dialect::Axolotl => ("{\"messages\":[", text("],\"chosen\":"), ",\"rejected\":", ""),
        Dialect::Llamafactory => ("{\"conversations\":[", text("],\"chosen\":"), ",\"rejected\":", ""),
        Dialect::Openai => (
            "{\"input\":{\"messages\":[",
            Some(format!("]{}}},\"preferred_output\":[", openai_tools(row))),
            "],\"non_preferred_output\":[",
            "]",
        ),
        Dialect::Tinker => (
            "{\"comparison\":{\"prompt_conversation\":[",
            text("],\"completion_A\":["),
            "],\"completion_B\":[",
            "]},\"label\":\"A\"",
        ),
        Dialect::Trl | Dialect::Atif => ("{\"prompt\":[", text("],\"chosen\":["), "],\"rejected\":[", "]"),
    };
    let mut close = behind.to_owned();
    if dialect != Dialect::Openai {
        close.push_str(",\"tools\":");
        close.push_str(row.tools.1);
        if dialect == Dialect::Swift {
            close.push_str(",\"rejected_tools\":");
            close.push_str(row.tools.1);
        }
        write_member(&mut close, "task_id", row.task_id);
        write_member(&mut close, "chosen_session_id", Some(row.session_id));
        write_member(&mut close, "rejected_session_id", row.rejected_session_id);
        write_member(&mut close, "metadata", Some(row.metadata));
    }
    close.push_str("}\n");
    PairWords { open, chosen, rejected, close }
}

/// Without a tool the API takes neither member.
fn openai_tools(row: &Shared<'_>) -> String {
    match row.tools.0 {
        "[]" => String::new(),
        tools => format!(",\"tools\":{tools},\"parallel_tool_calls\":true"),
    }
}

fn trajectory(row: &Shared<'_>) -> (String, String) {
    let mut open = String::from("{\"schema_version\":");
    write_str(&mut open, atif::VERSION);
    write_member(&mut open, "session_id", Some(row.session_id));
    open.push_str(",\"agent\":{\"name\":");
    let (name, version) = row.harness;
    let or_unknown = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    write_str(&mut open, &or_unknown(name));
    write_member(&mut open, "version", Some(&or_unknown(version)));
    write_member(&mut open, "model_name", row.model);
    open.push_str(",\"tool_definitions\":");
    open.push_str(row.tools.0);
    open.push_str("},\"steps\":[");
    let mut close = String::from("],\"extra\":{\"verdict\":\"PASS\"");
    write_member(&mut close, "task_id", row.task_id);
    write_member(&mut close, "repo", row.repo);
    close.push_str(",\"metadata\":");
    close.push_str(row.metadata);
    close.push_str("}}\n");
    (open, close)
}
