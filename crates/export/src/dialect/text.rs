//! Pieces of JSON text.

use lake_trace::json::write_str;

use crate::conversation::{TRUNCATED, Text};

/// Appends a member whose value is a string, but not if there is none: a key that does not apply is absent.
pub(crate) fn write_member(out: &mut String, key: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    out.push(',');
    write_str(out, key);
    out.push(':');
    write_str(out, value);
}

/// Appends a text as a JSON string. A value that was cut says so at its end.
pub(super) fn write_text(out: &mut String, text: &Text<'_>) {
    out.push('"');
    write_inside(out, text);
    out.push('"');
}

/// Appends a text as it stands between the quotes of a JSON string.
pub(super) fn write_inside(out: &mut String, text: &Text<'_>) {
    inside(out, |out| text.text.write(out));
    if text.cut {
        inside(out, |out| write_str(out, TRUNCATED));
    }
}

/// Appends what `write` appends, without the quotes around it.
pub(super) fn inside(out: &mut String, write: impl FnOnce(&mut String)) {
    let start = out.len();
    write(out);
    out.pop();
    out.remove(start);
}
