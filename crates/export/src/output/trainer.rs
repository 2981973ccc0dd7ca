//! Ready configurations for the trainers.

use std::fmt::Write;

use crate::{Dialect, Set};

/// What a trainer needs beside the rows of a set: names and texts. `longest`: the longest row; the files
/// of the rows, for training and for validation.
pub(crate) fn configuration(
    dialect: Dialect,
    set: Set,
    longest: Longest,
    has_template: bool,
    (rows, validation): (&str, Option<&str>),
) -> Option<(&'static str, String)> {
    let (name, mut text) = match (dialect, set) {
        (Dialect::Trl, Set::Sft) => ("trl-sft.yaml", sft(longest, has_template)),
        (Dialect::Trl, Set::Preference) => ("trl-dpo.yaml", dpo(longest)),
        (Dialect::Axolotl, Set::Sft) => ("axolotl-sft.yaml", axolotl(longest, rows, AXOLOTL_SFT)),
        (Dialect::Axolotl, Set::Preference) => ("axolotl-dpo.yaml", axolotl(longest, rows, AXOLOTL_DPO)),
        (Dialect::Openai, Set::Sft) => ("openai-sft.json", openai(rows, "supervised")),
        (Dialect::Openai, Set::Preference) => ("openai-dpo.json", openai(rows, "dpo")),
        (Dialect::Llamafactory, Set::Sft) => ("llamafactory-sft.yaml", llamafactory(longest, "sft")),
        (Dialect::Llamafactory, Set::Preference) => ("llamafactory-dpo.yaml", llamafactory(longest, "dpo")),
        (Dialect::Swift, Set::Sft) => ("swift-sft.yaml", swift(longest, rows, "sft", "")),
        (Dialect::Swift, Set::Preference) => ("swift-dpo.yaml", swift(longest, rows, "rlhf", "rlhf_type: dpo\n")),
        (Dialect::Tinker, Set::Sft) => ("tinker_sft.py", tinker(longest, rows)),
        (Dialect::Tinker, Set::Preference) | (Dialect::Atif, _) => return None,
    };
    if let Some(validation) = validation {
        validate(dialect, set, validation, &mut text);
    }
    Some(match longest {
        Longest::Bytes(_) => (name, text),
        Longest::Tokens(_) => (name, text.replace(GUESS, COUNTED)),
    })
}

/// Names the rows for validation.
fn validate(dialect: Dialect, set: Set, rows: &str, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = match (dialect, set) {
        (Dialect::Trl, _) => write!(text, "dataset_test_split: validation\neval_strategy: epoch\n"),
        (Dialect::Axolotl, Set::Sft) => {
            write!(text, "test_datasets:\n  - path: {rows}\n    ds_type: json\n{AXOLOTL_SFT}")
        }
        (Dialect::Axolotl, Set::Preference) => {
            write!(text, "test_datasets:\n  - path: {rows}\n    ds_type: json\n{AXOLOTL_DPO}")
        }
        (Dialect::Llamafactory, set) => {
            write!(text, "eval_dataset: trace_lake_{}_validation\neval_strategy: epoch\n", short(set))
        }
        (Dialect::Swift, _) => write!(text, "val_dataset:\n  - {rows}\n"),
        (Dialect::Openai, _) => {
            let end = text.trim_end().trim_end_matches('}').trim_end().len();
            text.truncate(end);
            write!(text, ",\n  \"validation_file\": \"the id under which {rows} was uploaded\"\n}}\n")
        }
        (Dialect::Tinker, _) => write!(text, "\n\nVALIDATION_ROWS = pathlib.Path(__file__).parent / \"{rows}\"\n"),
        (Dialect::Atif, _) => Ok(()),
    };
}

/// `dataset_info.json`: where LLaMA-Factory finds the rows of each set: set, file, and the file for validation.
pub(crate) fn dataset_info(sets: &[(Set, String, Option<String>)]) -> String {
    let entry = |(set, file, name): (Set, &str, &str)| {
        let (more, ranking) = match set {
            Set::Sft => ("", ""),
            Set::Preference => (", \"chosen\": \"chosen\", \"rejected\": \"rejected\"", "    \"ranking\": true,\n"),
        };
        format!(
            "  \"trace_lake_{}{name}\": {{\n    \"file_name\": \"{file}\",\n    \"formatting\": \"sharegpt\",\n{ranking}    \
             \"columns\": {{\"messages\": \"conversations\", \"tools\": \"tools\"{more}}},\n    \"tags\": {{\n      \
             \"role_tag\": \"from\", \"content_tag\": \"value\", \"user_tag\": \"human\", \"assistant_tag\": \"gpt\",\n      \
             \"observation_tag\": \"observation\", \"function_tag\": \"function_call\", \"system_tag\": \"system\"\n    }}\n  }}",
            short(set)
        )
    };
    let entries = sets.iter().flat_map(|(set, train, validation)| {
        let validation = validation.as_deref().map(|file| entry((*set, file, "_validation")));
        std::iter::once(entry((*set, train, ""))).chain(validation)
    });
    format!("{{\n{}\n}}\n", entries.collect::<Vec<_>>().join(",\n"))
}

fn short(set: Set) -> &'static str {
    match set {
        Set::Sft => "sft",
        Set::Preference => "dpo",
    }
}

const GUESS: &str =
    "a guess from the bytes of the longest row; the trainer's own default drops or cuts most of what is here";

const COUNTED: &str =
    "the longest row, counted with the model's tokenizer; the trainer's own default drops or cuts most of what is here";

const AXOLOTL_SFT: &str = "    type: chat_template
    field_messages: messages
    # The rows say of each message whether it is trained.
    message_field_training: train
    roles_to_train: []
    train_on_eos: turn
";

const AXOLOTL_DPO: &str = "    split: train
    type: chat_template.default
    field_messages: messages
    field_chosen: chosen
    field_rejected: rejected
";

fn axolotl(longest: Longest, rows: &str, kind: &str) -> String {
    let (file, head) = if kind == AXOLOTL_DPO { ("axolotl-dpo.yaml", "rl: dpo\n") } else { ("axolotl-sft.yaml", "") };
    format!(
        "# In this folder: axolotl train {file}, with the model's name here.\nbase_model: MODEL\n{head}chat_template: \
         tokenizer_default\ndatasets:\n  - path: {rows}\n    ds_type: json\n{kind}# {GUESS}\nsequence_len: {}\nexcess_length_strategy: \
         raise\nsample_packing: false\noutput_dir: OUT\n",
        max_length(longest)
    )
}

fn openai(rows: &str, method: &str) -> String {
    format!(
        "{{\n  \"training_file\": \"the id under which {rows} was uploaded\",\n  \"model\": \"MODEL\",\n  \"method\": {{\"type\": \
         \"{method}\"}}\n}}\n"
    )
}

fn llamafactory(longest: Longest, stage: &str) -> String {
    format!(
        "# In this folder: llamafactory-cli train llamafactory-{stage}.yaml, with the model's name and its template here.\n\
         model_name_or_path: MODEL\ntemplate: TEMPLATE\nstage: {stage}\ndo_train: true\nfinetuning_type: lora\ndataset_dir: .\ndataset: \
         trace_lake_{stage}\n# {GUESS}\ncutoff_len: {}\noutput_dir: OUT\n",
        max_length(longest)
    )
}

fn swift(longest: Longest, rows: &str, command: &str, more: &str) -> String {
    let file = if command == "sft" { "swift-sft.yaml" } else { "swift-dpo.yaml" };
    format!(
        "# In this folder: swift {command} {file}, with the model's name here.\nmodel: MODEL\n{more}dataset:\n  - {rows}\n# \
         `loss` in the rows says of each message whether it is trained.\nloss_scale: default\n# {GUESS}\nmax_length: {}\ntruncation_strategy: \
         delete\noutput_dir: OUT\n",
        max_length(longest)
    )
}

fn tinker(longest: Longest, rows: &str) -> String {
    format!(
        "\"\"\"The rows as the renderers of the Tinker cookbook take them: `data(renderer)` gives one datum a row.\"\"\"\n\n\
         import json\nimport pathlib\n\n\
         from tinker_cookbook.renderers import TrainOnWhat\n\
         from tinker_cookbook.supervised.data import conversation_to_datum\n\
         from tinker_cookbook.third_party.openai_compat import openai_messages_to_tinker\n\n\
         ROWS = pathlib.Path(__file__).parent / \"{rows}\"\n\
         # {GUESS}.\n\
         MAX_LENGTH = {}\n\n\n\
         def conversations(path=ROWS):\n    \
         with open(path, encoding=\"utf-8\") as lines:\n        \
         for line in lines:\n            \
         written = json.loads(line)[\"messages\"]\n            \
         messages = openai_messages_to_tinker(written)\n            \
         for message, row in zip(messages, written, strict=True):\n                \
         message[\"trainable\"] = row[\"trainable\"]\n            \
         yield messages\n\n\n\
         def data(renderer, path=ROWS, max_length=MAX_LENGTH):\n    \
         for messages in conversations(path):\n        \
         yield conversation_to_datum(messages, renderer, max_length, TrainOnWhat.CUSTOMIZED)\n",
        max_length(longest)
    )
}

/// Bytes that one token stands for, at the least that is usual for code and English.
const BYTES_PER_TOKEN: u64 = 3;
/// Lengths are rounded up to a multiple of this.
const ROUND: u64 = 1024;

/// How long the longest row of a set is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Longest {
    /// As JSON.
    Bytes(u64),
    /// With the tokenizer and the template of the model.
    Tokens(u64),
}

/// Tokens that the longest row takes at most: counted, or guessed from its bytes.
fn max_length(longest: Longest) -> u64 {
    match longest {
        Longest::Tokens(tokens) => tokens,
        Longest::Bytes(bytes) => bytes.div_ceil(BYTES_PER_TOKEN).next_multiple_of(ROUND).max(ROUND),
    }
}

const SHARED: &str = "\
dataset_name: .
dataset_train_split: train
";

fn length(out: &mut String, longest: Longest) {
    let how = match longest {
        Longest::Tokens(_) => "The tokens of the longest row, counted.".to_owned(),
        Longest::Bytes(bytes) => {
            format!("A guess: the longest row has {bytes} bytes of JSON, {BYTES_PER_TOKEN} to a token, rounded up.")
        }
    };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "# {how}\n\
         # The trainer's own default of 1,024 tokens drops or cuts most of what is here.\n\
         max_length: {}\n",
        max_length(longest)
    );
}

/// `trl-sft.yaml`. `has_template`: `chat_template.jinja` holds the mask.
fn sft(longest: Longest, has_template: bool) -> String {
    let mut out =
        String::from("# In this folder: trl sft --config trl-sft.yaml --model_name_or_path MODEL --output_dir OUT\n");
    out.push_str(SHARED);
    out.push_str("dataset_config: sft\n");
    out.push_str(if has_template {
        "# The template trains what a row marks with \"train\": true, and nothing else.\n\
         chat_template_path: chat_template.jinja\n\
         assistant_only_loss: true\n\
         packing: false\n"
    } else {
        "# Mask not enforced: this holds only if the model's chat template marks what the assistant says, and then all of\n\
         # it is trained, what a row marks with \"train\": false too.\n\
         assistant_only_loss: true\n\
         packing: false\n"
    });
    length(&mut out, longest);
    out
}

/// `trl-dpo.yaml`.
fn dpo(longest: Longest) -> String {
    let mut out = String::from(
        "# In this folder: trl dpo --config trl-dpo.yaml --model_name_or_path MODEL --output_dir OUT\n\
         # DPO has no mask: outputs of tools and later messages of the user are scored like the model's own words.\n",
    );
    out.push_str(SHARED);
    out.push_str("dataset_config: preference\n");
    length(&mut out, longest);
    out
}
