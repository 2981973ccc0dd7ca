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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Assistant;

    fn trained(after_fail: TrainAfterFail) -> Vec<bool> {
        let turn = |redacted| Turn::Assistant(Assistant { train: true, redacted, ..Assistant::default() });
        let turns = vec![turn(false), turn(false), turn(false), turn(true), turn(false)];
        let mut conversation = Conversation { turns, claims: vec![1], before_last_fail: 2, ..Conversation::default() };
        mask(&mut conversation, after_fail);
        conversation.assistants().map(|assistant| assistant.train).collect()
    }

    #[test]
    fn each_way_takes_what_it_says_and_what_was_redacted() {
        assert_eq!(trained(TrainAfterFail::All), [true, true, true, false, true]);
        assert_eq!(trained(TrainAfterFail::Work), [true, false, true, false, true]);
        assert_eq!(trained(TrainAfterFail::Last), [false, false, true, false, true]);
    }
}
