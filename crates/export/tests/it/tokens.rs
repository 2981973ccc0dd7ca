//! Tokens: how long rows are, which of them fit, and what a template must print.

use lake_export::{Error, OnTooLong, Request, Scans, TokenRequest, TrainAfterFail};
use lake_testkit::{SessionBuilder, Task};
use lake_trace::Verdict;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::lake::{Exported, Lake, request, run};

const CHATML: &str = include_str!("templates/chatml.jinja");
const THINKING: &str = include_str!("templates/thinking.jinja");
const TAGGED: &str = include_str!("templates/tagged.jinja");

/// A byte-level tokenizer that learned nothing: each byte is a token, and so is each special token.
fn tokenizer() -> Vec<u8> {
    let mut letters: Vec<char> = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet().into_iter().collect();
    letters.sort_unstable();
    let vocab: Vec<(String, Value)> = letters.iter().map(char::to_string).zip((0..).map(|n: u64| json!(n))).collect();
    let special = ["<|im_start|>", "<|im_end|>"].iter().enumerate().map(|(n, content)| {
        json!({"id": 256 + n, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
    });
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": special.collect::<Vec<_>>(),
        "normalizer": null, "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                  "vocab": serde_json::Map::from_iter(vocab), "merges": []}
    })
    .to_string()
    .into_bytes()
}

fn with(template: &str, most: Option<u64>, on_too_long: OnTooLong) -> Request {
    let tokens = TokenRequest {
        tokenizer: tokenizer(),
        chat_template: template.to_owned(),
        max_tokens: most,
        on_too_long,
        ..TokenRequest::default()
    };
    Request { tokens: Some(tokens), ..request() }
}

fn task() -> Task {
    Task::new("github.com/acme/billing", "bill-1")
}

/// A session with so many calls between its baseline and its end.
fn session(id: &str, calls: usize, verdict: Verdict) -> Vec<u8> {
    let mut session = SessionBuilder::new(id, &task());
    session.start().prompt().baseline(Verdict::Fail);
    for n in 0..calls {
        session.message("assistant", &format!("Step {n} of {id}")).call("Bash", &[("command", "ls")], "a\nb");
    }
    session.message("assistant", "Done.").grade(verdict, id).end("agent", "done");
    session.build()
}

fn said(row: &Value) -> Value {
    serde_json::from_str(row["metadata"].as_str().expect("text")).expect("JSON")
}

fn refused(lake: &Lake, request: Request) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let request = Request { out: lake_export::Out::Folder(folder.path().join("out")), ..request };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let result = lake_export::export(&lake.catalog, &Scans::new(), lake, &request, &|_| (), &stop);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    match result {
        Err(error @ (Error::ChatTemplate(_) | Error::Tokenizer(_))) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_are_counted_and_the_mask_is_the_templates() {
    let lake =
        Lake::of([session("a", 1, Verdict::Pass), session("b", 40, Verdict::Pass), session("c", 2, Verdict::Fail)]);
    let done = run(&lake, with(CHATML, None, OnTooLong::Exclude));
    let rows = done.sft();
    let text = "<|im_start|>assistant\nStep 0 of a\n<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call><|im_end|>";
    let trained = text.len() - "<|im_start|>assistant\n".len() - "<|im_end|>".len() + 1 + "Done.".len() + 1;
    assert_eq!(said(&rows[0])["trained_tokens"], trained);
    assert_eq!(said(&rows[0])["trained_runs"].as_array().map(Vec::len), Some(2));
    let manifest = &done.report.manifest;
    assert_eq!(manifest.mask, "chat_template");
    let tokens = &manifest.tokens.as_ref().expect("tokens").sets;
    let sft = &tokens["sft"];
    let sum: u64 = rows.iter().map(|row| said(row)["tokens"].as_u64().expect("a count")).sum();
    assert_eq!((sft.sequences, sft.tokens, sft.environment_trained), (2, sum, Some(0)));
    assert_eq!(sft.least_trained, Some(trained as u64));
    assert_eq!(sft.longest, said(&rows[1])["tokens"].as_u64().expect("a count"));
    assert_eq!(sft.histogram.iter().map(|bin| bin.sequences).collect::<Vec<_>>(), [1, 1]);
    // Both sides of the pair, each with its prompt; the closest in what the model said.
    let pair = said(&done.pairs()[0]);
    assert_eq!((tokens["preference"].sequences, done.pairs()[0]["chosen_session_id"].as_str()), (2, Some("a")));
    assert_eq!(
        tokens["preference"].tokens,
        pair["chosen"]["tokens"].as_u64().expect("a count") + pair["rejected"]["tokens"].as_u64().expect("a count")
    );
    let config = done.text("trl-sft.yaml");
    for line in [
        "chat_template_path: chat_template.jinja\n",
        "assistant_only_loss: true\n",
        &format!("max_length: {}\n", sft.longest),
    ] {
        assert!(config.contains(line), "{line} in {config}");
    }
    assert!(done.text("chat_template.jinja").contains("{% if message.train %}{% generation %}"));
    let card = done.text("README.md");
    assert!(!card.contains("not enforced") && !card.contains("guess") && card.contains("| tokens up to |"), "{card}");
}

#[test]
fn a_row_that_does_not_fit_is_left_out_or_ends_at_a_turn() {
    let lake =
        Lake::of([session("a", 1, Verdict::Pass), session("b", 40, Verdict::Pass), session("c", 41, Verdict::Fail)]);
    let whole = run(&lake, with(CHATML, None, OnTooLong::Exclude)).sft();
    let most = said(&whole[0])["tokens"].as_u64().expect("a count") + 500;
    let done = run(&lake, with(CHATML, Some(most), OnTooLong::Exclude));
    assert_eq!(done.excluded("sft"), [("b".to_owned(), "too_long".to_owned()), ("c".to_owned(), "no_flip".to_owned())]);
    let pairs = [("a", "no_partner"), ("b", "too_long"), ("c", "too_long")];
    assert_eq!(done.excluded("preference"), pairs.map(|(id, why)| (id.to_owned(), why.to_owned())));

    let done = run(&lake, with(CHATML, Some(most), OnTooLong::Cut));
    let rows = done.sft();
    assert_eq!((rows.len(), &rows[0]), (2, &whole[0]));
    let messages = rows[1]["messages"].as_array().expect("messages");
    let all = whole[1]["messages"].as_array().expect("messages");
    assert!(messages.len() > 3 && messages.len() < all.len() && messages[..] == all[..messages.len()]);
    crate::whole::assert_well_formed(&rows[1], true, &["messages"]);
    let said = said(&rows[1]);
    assert_eq!(said["cut_after_messages"], messages.len());
    let tokens = said["tokens"].as_u64().expect("a count");
    assert!(tokens <= most && tokens > most - 200, "{tokens} of {most}");
    let sft = &done.report.manifest.tokens.as_ref().expect("tokens").sets["sft"];
    assert_eq!((sft.cut, sft.longest), (1, tokens));
    assert_eq!(done.excluded("preference"), pairs.map(|(id, why)| (id.to_owned(), why.to_owned())));
}

#[test]
fn only_what_follows_the_last_fail_is_trained_where_a_template_holds_it() {
    let mut session = SessionBuilder::new("s", &task());
    session
        .start()
        .prompt()
        .baseline(Verdict::Fail)
        .message("assistant", "wrong work")
        .grade(Verdict::Fail, "d1")
        .gate();
    session.message("assistant", "right work").grade(Verdict::Pass, "d2");
    let lake = Lake::of([session.build()]);
    let last = |request| Request { train_after_fail: TrainAfterFail::Last, ..request };
    let done = run(&lake, last(with(CHATML, None, OnTooLong::Exclude)));
    assert_eq!(said(&done.sft()[0])["trained_tokens"], "right work".len() + 1);
    let all = Request { train_after_fail: TrainAfterFail::All, ..with(CHATML, None, OnTooLong::Exclude) };
    assert_eq!(said(&run(&lake, all).sft()[0])["trained_tokens"], "wrong work".len() + "right work".len() + 2);
}

#[test]
fn reasoning_must_come_out_of_the_template() {
    let mut session = SessionBuilder::new("s", &task());
    session.start().prompt().baseline(Verdict::Fail).thinking("text", "a thought").call("Bash", &[], "");
    session.message("assistant", "Done.").grade(Verdict::Pass, "d");
    let lake = Lake::of([session.build()]);
    let said = refused(&lake, with(CHATML, None, OnTooLong::Exclude));
    assert!(said.contains("it drops reasoning") && said.contains("such as s:"), "{said}");
    for template in [THINKING, TAGGED] {
        assert_eq!(run(&lake, with(template, None, OnTooLong::Exclude)).sft().len(), 1);
    }
}

#[test]
fn what_is_no_template_or_no_tokenizer_is_refused() {
    let lake = Lake::default();
    assert!(refused(&lake, with("{% for %}", None, OnTooLong::Exclude)).contains("(in chat:1)"));
    let mut request = with(CHATML, None, OnTooLong::Exclude);
    request.tokens.as_mut().expect("tokens").tokenizer = b"{}".to_vec();
    assert!(refused(&lake, request).starts_with("the tokenizer is refused: "));
}

#[test]
fn a_text_that_the_template_changes_is_left_out() {
    let strips = CHATML.replace("'\\n' + message.content }}", "'\\n' + message.content.replace('odd', '') }}");
    let mut odd = SessionBuilder::new("odd", &task());
    odd.start().prompt().baseline(Verdict::Fail).message("assistant", "odd work").call("Bash", &[], "");
    odd.message("assistant", "Done.").grade(Verdict::Pass, "d");
    let lake = Lake::of([odd.build(), session("even", 1, Verdict::Pass)]);
    let done = run(&lake, with(&strips, None, OnTooLong::Exclude));
    assert_eq!(done.excluded("sft"), [("odd".to_owned(), "unrenderable".to_owned())]);
}

#[test]
fn neither_threads_nor_a_dry_run_change_a_count() {
    let lake = Lake::of((0..6).map(|n| session(&format!("s{n}"), n, Verdict::Pass)));
    let on = |threads: usize, dry_run: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let request = Request { dry_run, ..with(TAGGED, Some(2_000), OnTooLong::Cut) };
        pool.install(|| run(&lake, request))
    };
    let files = |done: Exported| done.files();
    assert!(files(on(1, false)) == files(on(3, false)));
    let json = |done: Exported| serde_json::to_string(&done.report.manifest.tokens).expect("JSON");
    assert_eq!(json(on(1, false)), json(on(2, true)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn no_word_of_others_is_trained_and_every_word_of_the_model_is(
        turns in proptest::collection::vec((0u8..4, 0usize..8, "[\\PC\n]{0,12}"), 0..12)
    ) {
        // Who said a letter is seen in it, and each byte is a token: the trained ones are counted.
        let mut session = SessionBuilder::new("s", &task());
        session.start().message("user", "ø").baseline(Verdict::Fail);
        let mut model = 0;
        let mut calls = 0;
        for (kind, n, odd) in turns {
            let odd: String = odd.chars().filter(|c| *c != 'λ' && !c.is_whitespace()).collect();
            match kind {
                0 => { session.message("user", &format!("{odd}{}", "ø".repeat(n + 1))); }
                1 => { session.call("Bash", &[("k", &"λ".repeat(n))], &format!("{}{odd}", "ø".repeat(n))); model += n; calls += 1; }
                _ => { session.message("assistant", &"λ".repeat(n + 1)); model += n + 1; }
            }
        }
        session.message("assistant", "λ").grade(Verdict::Pass, "d");
        let done = run(&Lake::of([session.build()]), with(TAGGED, None, OnTooLong::Exclude));
        // Made-up texts may look like secrets.
        for row in done.sft() {
            let turns = row["messages"].as_array().expect("messages").iter().filter(|m| m["role"] == "assistant").count();
            let call = r#"<tool_call>{"arguments": {"k": ""}, "name": "Bash"}</tool_call>"#.len();
            let expected = (model + 1) * "λ".len() + turns + calls * call;
            prop_assert_eq!(&said(&row)["trained_tokens"], &json!(expected));
        }
    }
}

#[test]
fn other_dialects_are_counted_in_the_same_form() {
    let lake = Lake::of([session("a", 2, Verdict::Pass), session("b", 9, Verdict::Pass)]);
    let of = |dialect| {
        let request = Request { dialect, preference: false, ..with(CHATML, Some(3_000), OnTooLong::Cut) };
        let done = run(&lake, request);
        let tokens = serde_json::to_value(done.report.manifest.tokens.as_ref().expect("tokens")).expect("JSON");
        (tokens, done.report.manifest.mask, done.files())
    };
    let (trl, mask, _) = of(lake_export::Dialect::Trl);
    assert_eq!(mask, "chat_template");
    for dialect in [lake_export::Dialect::Axolotl, lake_export::Dialect::Swift, lake_export::Dialect::Llamafactory] {
        let (tokens, mask, files) = of(dialect);
        assert_eq!(tokens, trl, "{dialect:?}");
        assert_ne!(mask, "chat_template");
        let config = files.iter().find(|(name, _)| name.ends_with("-sft.yaml")).expect("a configuration");
        let text = String::from_utf8_lossy(&config.1).into_owned();
        assert!(
            text.contains(&format!(": {}\n", tokens["sets"]["sft"]["longest"])) && !text.contains("guess"),
            "{text}"
        );
        assert!(!files.iter().any(|(name, _)| name == "chat_template.jinja"));
    }
}
