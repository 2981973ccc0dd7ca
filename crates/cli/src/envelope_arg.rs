//! An envelope on the command line: its JSON, its base64, or a file or stdin with either.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::context::Context;
use crate::exit::usage;

/// Longest that is read, bytes: base64 of the longest envelope, and room.
const LONGEST: u64 = 128 * 1024;

/// The envelope's JSON. `-` is stdin; a name of a file is that file's content; anything else is the text itself.
pub(crate) fn envelope(context: &Context, given: &str) -> anyhow::Result<String> {
    let path = context.env.here.join(given);
    let text = if given == "-" {
        read(std::io::stdin().lock(), "stdin")?
    } else if path.is_file() {
        let file = std::fs::File::open(&path).map_err(|error| {
            usage(format!("reading {}: {error}", path.display()), "check that this user may read it")
        })?;
        read(file, given)?
    } else {
        given.to_owned()
    };
    decoded(text.trim()).ok_or_else(|| {
        usage(
            "that is no envelope",
            "give a file, or `-` for stdin: an envelope's JSON, its base64, or a line `verdict=…` of `keys sign`",
        )
    })
}

fn read(from: impl Read, name: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = from.take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| usage(format!("reading {name}: {error}"), "an envelope is a short text"))?;
    Ok(text)
}

fn decoded(text: &str) -> Option<String> {
    if text.starts_with('{') {
        return Some(text.to_owned());
    }
    let bytes = STANDARD.decode(text.strip_prefix("verdict=").unwrap_or(text)).ok()?;
    String::from_utf8(bytes).ok().filter(|json| json.starts_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_base64_are_one_envelope() {
        let json = r#"{"payload":""}"#;
        let base64 = STANDARD.encode(json);
        for text in [json.to_owned(), base64.clone(), format!("verdict={base64}")] {
            assert_eq!(decoded(&text).as_deref(), Some(json));
        }
        for text in ["", "verdict=", "nonsense", "[]", &STANDARD.encode("nonsense")] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}
