//! Findings as one SARIF 2.1.0 document (OASIS, <https://docs.oasis-open.org/sarif/sarif/v2.1.0/>).

use lake_check::LooseFinding;
use lake_secrets::{RuleSet, Severity};
use serde_json::{Value, json};

/// One result. In a line of JSON the place is the line, and a logical location names the field; elsewhere it is the
/// bytes.
pub(crate) fn result(file: &str, found: &LooseFinding) -> Value {
    let at = &found.finding;
    let mut region = json!({"startLine": at.line});
    let mut location = json!({"physicalLocation": {"artifactLocation": {"uri": uri(file)}}});
    if at.field.is_empty() {
        region["byteOffset"] = json!(at.start);
        region["byteLength"] = json!(at.end.saturating_sub(at.start));
    } else {
        location["logicalLocations"] = json!([{"fullyQualifiedName": at.field, "kind": "member"}]);
    }
    location["physicalLocation"]["region"] = region;
    json!({
        "ruleId": at.rule,
        "level": level(&at.severity),
        "message": {"text": format!("a secret of the kind {}", at.rule)},
        "locations": [location],
        "partialFingerprints": {"secret/v1": at.fingerprint},
        "properties": {"start": at.start, "end": at.end, "sessionId": found.session_id, "eventId": at.event_id},
    })
}

/// The document with all results, and the rules that they are of.
pub(crate) fn document(rules: &RuleSet, results: Vec<Value>) -> Value {
    let is_named = |id: &str| results.iter().any(|result| result["ruleId"] == id);
    let named: Vec<Value> = rules
        .rules()
        .iter()
        .filter(|rule| is_named(rule.id))
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": rule.description},
                "helpUri": rule.source,
                "properties": {"severity": word(rule.severity)},
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "trace-lake",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": named,
                "properties": {"rulesDigest": rules.digest()},
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

fn level(severity: &str) -> &'static str {
    match severity {
        "low" => "note",
        "medium" => "warning",
        _ => "error",
    }
}

/// A path as a URI reference (RFC 3986).
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
