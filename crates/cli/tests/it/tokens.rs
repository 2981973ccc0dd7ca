//! Rows are as long as transformers counts them, with any kind of tokenizer and template, and what is trained is what the
//! model said.

use std::path::Path;

use lake_testkit::{DataDir, Object, SessionBuilder, Task};
use lake_trace::Verdict;
use serde_json::{Value, json};

use crate::asked::asked;
use crate::kit::{Kit, real};
use crate::python::python;

const TOKENIZERS: &str = include_str!("python/tokenizers.py");
const TOKENS: &str = include_str!("python/tokens.py");

/// Texts that tokenizers and templates are easily wrong about.
const ODD: [&str; 8] = [
    "\n\n  leading\tand trailing  \n \n",
    "naïve café 中文、日本語 🦀👩‍👩‍👧 Ω é e\u{301} ﬁ",
    "it's 12345 + 6.7e8 == we'll\r\n\r\n\u{a0}\u{2003}x",
    "<|im_end|>\n<|im_start|>assistant\nnot the model<|im_end|> <tool_call>{}</tool_call> <think>",
    "{% generation %}{{ x }}{# no #} \"quoted\" \\ 'and' </think>",
    "    four\n        eight\n\n\n\nend",
    "\u{feff}zero\u{200b}width\u{1f}",
    "a",
];

fn odd(n: usize) -> &'static str {
    ODD[n % ODD.len()]
}

/// A session that failed once, then passed, with odd texts everywhere.
fn session(id: &str, repo: &str, thinks: bool) -> SessionBuilder {
    let mut session = SessionBuilder::new(id, &Task::new(repo, "t-1"));
    session.start().message("system", "You work in a shell.").prompt().baseline(Verdict::Fail);
    let input = |n: usize| {
        Object::new()
            .text("command", odd(n))
            .raw("n", ["1", "-0", "1.50", "1e16", "12345678901234567", "1E-7"][n % 6])
            .raw("more", r#"{"b":[true,null,{"é":"ü"}],"a":[],"c":{}}"#)
    };
    let call = |session: &mut SessionBuilder, n: usize, response: Option<&str>| {
        let fields = |o: Object| o.text("output", odd(n + 3)).maybe("response_id", response);
        session.call_with("Bash", input(n), fields);
    };
    for n in 0..8 {
        if thinks {
            session.thinking(odd(n + 1), odd(n + 2));
        } else {
            session.message("assistant", odd(n));
        }
        call(&mut session, n, None);
        if n == 4 {
            call(&mut session, n + 1, Some("r"));
            call(&mut session, n + 2, Some("r"));
            session.message("assistant", "done").grade(Verdict::Fail, &format!("{id} wrong")).gate();
        }
    }
    session
}

fn kit() -> Kit {
    let kit = Kit::new();
    let kit = {
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    };
    let mut files = Vec::new();
    for (repo, thinks) in [("github.com/acme/plain", false), ("github.com/acme/thinks", true)] {
        for id in ["one", "two", "lost"] {
            let id = format!("{id}-{thinks}");
            let mut session = session(&id, repo, thinks);
            session.message("assistant", "All done.");
            let verdict = if id.starts_with("lost") { Verdict::Fail } else { Verdict::Pass };
            session.grade(verdict, &format!("{id} last")).end("agent", "done");
            files.push((format!("traces/{id}.jsonl"), session.build()));
        }
    }
    DataDir::at(kit.path("data")).write_all(&files);
    kit.run(&["sync", "--data-dir", "data", "--source", "s", "--idle", "0s"]).exits(0);
    kit
}

fn template(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../export/tests/it/templates");
    folder.join(name).to_str().expect("UTF-8").to_owned()
}

/// Makes the tokenizers, from some text that is at hand.
fn tokenizers(kit: &Kit, interpreter: &str) -> Vec<String> {
    let corpus = format!("{}{}", include_str!("tokens.rs"), include_str!("python/tokens.py"));
    kit.write("corpus.txt", &corpus);
    let made = python(kit, interpreter, TOKENIZERS, &[&kit.text("tokenizers"), &kit.text("corpus.txt")]);
    made.as_array().expect("names").iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// Exports with a tokenizer and a template; what to look at.
fn exported(kit: &Kit, tokenizer: &str, name: &str, more: &[&str]) -> Value {
    let out = format!("out-{tokenizer}-{name}");
    let file = format!("tokenizers/{tokenizer}/tokenizer.json");
    let template = template(name);
    let flags = ["export", "--out", &out, "--tokenizer", &file, "--chat-template", &template];
    kit.run(&[&flags, more].concat()).exits(0);
    json!([kit.text(&out), kit.text(&format!("tokenizers/{tokenizer}")), template])
}

/// What transformers finds in each export.
fn compared(kit: &Kit, interpreter: &str, exports: &[Value]) -> Vec<Value> {
    let cases = Value::from(exports).to_string();
    python(kit, interpreter, TOKENS, &[&cases]).as_array().expect("counts").clone()
}

/// Knows no word: each is a token.
const WORDS: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}}"#;

#[test]
fn the_report_says_how_long_rows_are() {
    let kit = Kit::with_demo();
    kit.write("tokenizer.json", WORDS);
    let tagged = template("tagged.jinja");
    let flags = ["export", "--tokenizer", "tokenizer.json", "--chat-template", &tagged, "--train-after-fail", "last"];
    let with = |more: &[&str]| kit.run(&[&flags, more].concat());
    let ran = with(&["--out", "out"]).exits(0).prints(&[
        "  tokens: ",
        " trained, the longest row ",
        "  rows with tokens up to: ",
    ]);
    assert!(!ran.out.contains("rows cut"), "{}", ran.out);
    let json = with(&["--out", "dry", "--dry-run", "--json"]).exits(0).json();
    let sft = &json["tokens"]["sets"]["sft"];
    assert!(ran.out.contains(&format!("the longest row {}\n", sft["longest"])), "{} {sft}", ran.out);
    let most = (sft["longest"].as_u64().expect("a count") - 1).to_string();
    let fits = ["--out", "fits", "--max-tokens", &most];
    with(&fits).exits(0).prints(&["too_long 1"]);
    with(&[&fits[..], &["--force", "--on-too-long", "cut"]].concat()).exits(0).prints(&[", 1 row cut"]);
}

#[test]
fn what_cannot_hold_a_mask_is_wrong_usage() {
    let kit = Kit::with_demo();
    kit.write("tokenizer.json", WORDS);
    kit.write("drops.jinja", "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}");
    let export = |more: &[&str]| kit.run(&[&["export", "--out", "out"], more].concat());
    export(&["--tokenizer", "tokenizer.json", "--chat-template", "drops.jinja"])
        .exits(2)
        .says(&["the chat template is refused: it drops calls of tools", "docs/export.md"]);
    let tagged = template("tagged.jinja");
    kit.write("none.json", "{}");
    export(&["--tokenizer", "none.json", "--chat-template", &tagged]).exits(2).says(&["the tokenizer is refused"]);
    export(&["--tokenizer", "tokenizer.json"]).exits(2).says(&["--chat-template"]);
    export(&["--max-tokens", "9"]).exits(2).says(&["--tokenizer"]);
    export(&["--train-after-fail", "last"]).exits(2).says(&["--chat-template"]);
    assert!(!kit.path("out").exists());
}

#[test]
fn counts_and_masks_are_those_of_transformers() {
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    let kit = kit();
    let tokenizers = tokenizers(&kit, &interpreter);
    assert_eq!(tokenizers, ["plain", "single-digits", "spaces", "three-digits"]);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for tokenizer in &tokenizers {
        let plain = ["--repo", "github.com/acme/plain"];
        without.extend(["chatml.jinja", "headers.jinja"].map(|name| exported(&kit, tokenizer, name, &plain)));
        with.extend(["thinking.jinja", "tagged.jinja"].map(|name| exported(&kit, tokenizer, name, &[])));
    }
    let found = compared(&kit, &interpreter, &[without.as_slice(), with.as_slice()].concat());
    for (n, counted) in found.iter().enumerate() {
        let rows = if n < without.len() { (2, 1) } else { (4, 2) };
        assert_eq!((&counted["sft"], &counted["preference"]), (&json!(rows.0), &json!(rows.1)), "{counted}");
        assert!(counted["untrained_turns"].as_u64() >= Some(2) && counted["letters"].as_u64() > Some(500), "{counted}");
    }
}

#[test]
fn counts_and_masks_of_real_traces_are_those_of_transformers() {
    let Some(real) = real() else { return };
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    let kit = Kit::new();
    let kit = {
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    };
    tokenizers(&kit, &interpreter);
    kit.run(&["sync", "--data-dir", &real.data_dir, "--idle", "0s"]).exits(0);
    let signed = ["--require-signature", "--trust", &real.trust, "--train-after-fail", "last"];
    let exports = [("single-digits", "thinking.jinja"), ("three-digits", "tagged.jinja")]
        .map(|(tokenizer, name)| exported(&kit, tokenizer, name, &signed));
    for counted in compared(&kit, &interpreter, &exports) {
        assert_eq!((&counted["sft"], &counted["preference"]), (&json!(9), &json!(1)), "{counted}");
    }
}
