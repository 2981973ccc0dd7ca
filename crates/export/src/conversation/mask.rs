//! What the model may learn.

use super::{Conversation, Turn};
use crate::TrainAfterFail;

/// Takes `train` from the turns that `after_fail` or a replaced secret asks for. Denied calls never had it.
pub(crate) fn mask(conversation: &mut Conversation<'_>, after_fail: TrainAfterFail) {
    let Conversation { turns, claims, before_last_fail, .. } = conversation;
    let mut untrain = |turn: usize| {
        if let Some(Turn::Assistant(assistant)) = turns.get_mut(turn) {
            assistant.train = false;
        }
    };
    match after_fail {
        TrainAfterFail::All => {}
        TrainAfterFail::Work => claims.iter().for_each(|turn| untrain(*turn)),
        TrainAfterFail::Last => (0..*before_last_fail).for_each(untrain),
    }
    for turn in turns.iter_mut() {
        if let Turn::Assistant(assistant) = turn {
            assistant.train &= !assistant.redacted;
        }
    }
}
