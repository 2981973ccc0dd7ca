//! A secret that is written in another way is the same secret.

use crate::made_up::examples::{base64, expand};
use lake_secrets::{Hit, RuleSet, scan};

const PLAIN: [&str; 9] = [
    "I used {github:ghp_} for the push, it worked.",
    "AWS_ACCESS_KEY_ID=AKIA{b32:16}\nx=1\nAWS_SECRET_ACCESS_KEY={b64:40}",
    "export STRIPE=sk_live_{an:32}\n",
    "curl -H 'Authorization: Bearer {jwt}' https://api.acme.io",
    "db = postgres://app:{an:20}@db.acme.io:5432/prod",
    "password: 'P@ss-w0rd!#2026'",
    "DB_PASSWORD={an:20}\n",
    "\"api_key\": \"{an:32}\"",
    "key:\n{pem:RSA PRIVATE KEY}\n",
];

fn texts() -> impl Iterator<Item = String> {
    (0..40).flat_map(|seed| PLAIN.iter().map(move |text| expand(text, seed * 7919)))
}

fn hits(text: &str) -> Vec<Hit> {
    scan(RuleSet::builtin(), text, false)
}

/// At least 99 % of what is found plainly is found in another form.
fn kept(form: impl Fn(&str) -> String) {
    let (mut plain, mut kept) = (0, 0);
    let mut lost = String::new();
    for text in texts() {
        let before = hits(&text).len();
        let changed = form(&text);
        // What becomes one finding (one run of base 64, say) covers all of them.
        let after = hits(&changed).len();
        plain += usize::from(before > 0);
        kept += usize::from(after > 0 && before > 0);
        if after == 0 {
            lost.push_str(&changed[..changed.len().min(300)]);
            lost.push_str("\n\n");
        }
    }
    assert_eq!(plain, 360);
    assert!(kept * 100 >= plain * 99, "{kept} of {plain}, lost: {lost}");
}

fn json(text: &str) -> String {
    serde_json::json!({ "output": text }).to_string()
}

#[test]
fn json_once() {
    kept(json);
}

#[test]
fn json_twice() {
    kept(|text| json(&json(text)));
}

#[test]
fn json_five_times() {
    kept(|text| json(&json(&json(&json(&json(text))))));
}

#[test]
fn line_numbers() {
    kept(|text| text.lines().enumerate().map(|(at, line)| format!("{:6}\t{line}\n", at + 1)).collect());
    kept(|text| text.lines().enumerate().map(|(at, line)| format!("{:5}→{line}\n", at + 1)).collect());
    kept(|text| text.lines().enumerate().map(|(at, line)| format!("{}:{line}\n", at + 1)).collect());
}

#[test]
fn diff() {
    kept(|text| text.lines().map(|line| format!("+{line}\n")).collect());
    kept(|text| text.lines().map(|line| format!("-{line}\n")).collect());
}

#[test]
fn colours() {
    kept(|text| text.lines().map(|line| format!("\x1b[32m{line}\x1b[0m\n")).collect());
    // A highlighter that colours every word and every number.
    kept(|text| {
        text.split_inclusive(|c: char| c.is_ascii_digit()).map(|part| format!("\x1b[1;33m{part}\x1b[0m")).collect()
    });
}

#[test]
fn wraps() {
    for width in [20, 33, 40, 64, 76, 80] {
        let wrap = |text: &str, with: &str| {
            let lines = text.lines().map(|line| {
                line.as_bytes()
                    .chunks(width)
                    .map(|part| String::from_utf8_lossy(part).into_owned())
                    .collect::<Vec<_>>()
                    .join(with)
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        kept(|text| wrap(text, "\n"));
        kept(|text| wrap(text, "\\\n"));
    }
}

#[test]
fn wraps_with_line_numbers() {
    kept(|text| {
        let folded = text
            .as_bytes()
            .chunks(60)
            .map(|part| String::from_utf8_lossy(part).into_owned())
            .collect::<Vec<_>>()
            .join("\n");
        folded.lines().enumerate().map(|(at, line)| format!("{:6}\t{line}\n", at + 1)).collect()
    });
}

#[test]
fn encodings() {
    kept(base64);
    kept(|text| base64(&base64(text)));
    kept(|text| hex::encode(text));
    kept(|text| format!("echo {} | base64 -d", base64(text)));
    kept(|text| {
        text.bytes()
            .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
            .collect()
    });
}

#[test]
fn joined_literals() {
    let token = expand("{github:ghp_}", 5);
    let (a, b) = token.split_at(17);
    for text in [
        format!("t = \"{a}\" + \"{b}\""),
        format!("t = '{a}' . '{b}';"),
        format!("t = (\"{a}\"\n     \"{b}\")"),
        format!("t = \"{a}\" +\n    \"{b}\""),
    ] {
        let found = hits(&text);
        assert!(found.iter().any(|hit| hit.rule == "github-token" && hit.secret == token), "{text} {found:?}");
    }
}

#[test]
fn a_prefix_at_the_end_of_a_cut_value() {
    let rules = RuleSet::builtin();
    for text in ["token: ghp_Nbrn", "key=AKIA", "x xoxb-12345\n[output truncated]"] {
        assert_eq!(scan(rules, text, true).len(), 1, "{text}");
        assert!(scan(rules, text, false).is_empty(), "{text}");
    }
    assert!(scan(rules, "nothing here", true).is_empty());
}

#[test]
fn a_wrong_checksum_is_nothing_at_all() {
    assert!(hits(&expand("GITHUB_TOKEN=ghp_{an:36}", 3)).is_empty());
}

#[test]
fn nothing_of_a_token_is_left() {
    let rules = RuleSet::builtin();
    let chunks = |text: &str, width: usize, with: &str| {
        text.as_bytes()
            .chunks(width)
            .map(|part| String::from_utf8_lossy(part).into_owned())
            .collect::<Vec<_>>()
            .join(with)
    };
    for seed in 0..30 {
        for kind in ["{github:ghp_}", "{jwt}", "sk_live_{an:40}", "glpat-{an:20}"] {
            let token = expand(kind, seed);
            let text = format!("export TOKEN={token} && echo done\n");
            let forms = [
                json(&json(&text)),
                format!("aa {} bb", base64(&text)),
                hex::encode(&text),
                chunks(&text, 40, "\n"),
                chunks(&text, 24, "\\\n"),
                chunks(&text, 7, "\x1b[1m"),
                format!("+{}", chunks(&text, 50, "\n+")),
            ];
            for form in forms {
                let clean =
                    lake_secrets::redact(&form, &scan(rules, &form, false), |hit| format!("<SECRET:{}:1>", hit.rule));
                for part in [&token[..6], &token[token.len() - 6..], &token[token.len() / 2..token.len() / 2 + 6]] {
                    assert!(!clean.contains(part), "{part} of {form:?} is left in {clean:?}");
                }
            }
        }
    }
}
