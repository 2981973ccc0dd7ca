//! Ready configurations for TRL.

use std::fmt::Write;

/// Bytes that one token stands for, at the least that is usual for code and English.
const BYTES_PER_TOKEN: u64 = 3;
/// Lengths are rounded up to a multiple of this.
const ROUND: u64 = 1024;

/// Tokens that the longest row takes at most, guessed from its bytes.
fn max_length(longest_bytes: u64) -> u64 {
    longest_bytes.div_ceil(BYTES_PER_TOKEN).next_multiple_of(ROUND).max(ROUND)
}

const SHARED: &str = "\
dataset_name: .
dataset_train_split: train
";

fn length(out: &mut String, longest_bytes: u64) {
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "# A guess: the longest row has {longest_bytes} bytes of JSON, {BYTES_PER_TOKEN} to a token, rounded up.\n\
         # The trainer's own default of 1,024 tokens drops or cuts most of what is here.\n\
         max_length: {}\n",
        max_length(longest_bytes)
    );
}

/// `trl-sft.yaml`.
pub(crate) fn sft(longest_bytes: u64) -> String {
    let mut out =
        String::from("# In this folder: trl sft --config trl-sft.yaml --model_name_or_path MODEL --output_dir OUT\n");
    out.push_str(SHARED);
    out.push_str(
        "dataset_config: sft\n\
         # Mask not enforced: this holds only if the model's chat template marks what the assistant says, and then all of\n\
         # it is trained, what a row marks with \"train\": false too.\n\
         assistant_only_loss: true\n\
         packing: false\n",
    );
    length(&mut out, longest_bytes);
    out
}

/// `trl-dpo.yaml`.
pub(crate) fn dpo(longest_bytes: u64) -> String {
    let mut out = String::from(
        "# In this folder: trl dpo --config trl-dpo.yaml --model_name_or_path MODEL --output_dir OUT\n\
         # DPO has no mask: outputs of tools and later messages of the user are scored like the model's own words.\n",
    );
    out.push_str(SHARED);
    out.push_str("dataset_config: preference\n");
    length(&mut out, longest_bytes);
    out
}
