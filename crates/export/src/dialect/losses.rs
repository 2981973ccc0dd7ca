//! What a dialect cannot say. It is told at the export and in the card.

use crate::{Dialect, Set};

/// What is lost of a set on the way into a dialect, a sentence each.
pub(crate) fn losses(dialect: Dialect, set: Set) -> &'static [&'static str] {
    match (dialect, set) {
        (Dialect::Openai, Set::Sft) => &[
            "openai has no field for reasoning: it is left out, and a message that is nothing else has weight 0",
            "openai takes no columns beside the messages: which session a row came from stands in the view `exports` alone",
        ],
        (Dialect::Openai, Set::Preference) => &[
            "openai scores one message a side: only sessions that share everything before their last message are pairs",
            "openai has no field for reasoning: it is left out",
        ],
        (Dialect::Axolotl, Set::Preference) => &[
            "axolotl takes one message a side: only sessions that share everything before their last message are pairs",
        ],
        (Dialect::Llamafactory, Set::Sft) => &[
            "llamafactory masks by role: it trains what the rows of other dialects mark as not to be trained, claims that were \
             wrong and denied calls among them",
            "llamafactory takes turns in strict alternation: neighbours are joined, and what nothing answers is left out",
        ],
        (Dialect::Llamafactory, Set::Preference) => &[
            "llamafactory takes one message a side: only sessions that share everything before their last message are pairs",
        ],
        (Dialect::Swift, Set::Sft) => {
            &["swift has no field for reasoning: it stands in the content, between <think> and </think>"]
        }
        (Dialect::Swift, Set::Preference) => {
            &["swift has no field for reasoning: it stands in the content, between <think> and </think>"]
        }
        (Dialect::Tinker, Set::Preference) => &[
            "the cookbook's own loader of comparisons knows no calls as rows have them: give it what `openai_messages_to_tinker` makes of each side",
        ],
        (Dialect::Atif, _) => &["atif has no mask: it says what was done, not what is to be trained"],
        (Dialect::Trl, _) | (Dialect::Axolotl | Dialect::Tinker, Set::Sft) => &[],
    }
}
