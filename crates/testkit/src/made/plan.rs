//! Which sessions are made: of which task, how large, how they end.

use super::Random;
use crate::{Task, uuid_of};

const ORGANISATIONS: [&str; 6] = ["acme", "globex", "initech", "umbrella", "hooli", "stark"];
const REPOSITORIES: u64 = 36;
const TASKS: u64 = 40;
const DAYS: u64 = 10;
/// 2025-06-02T06:00:00Z.
const FIRST_MS: i64 = 1_748_844_000_000;

/// One session before it is written.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) id: String,
    pub(super) repository: u64,
    pub(super) task: u64,
    /// Bytes that it should have.
    pub(super) size: u64,
    pub(super) grades: u64,
    pub(super) flips: bool,
    pub(super) start_ms: i64,
    /// Chance for all that is left open.
    pub(super) random: Random,
}

impl Plan {
    /// Sessions until they have `bytes` together; at least two.
    pub(super) fn all(seed: u64, bytes: u64) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut sum = 0;
        // Whole pairs, so that each task that is there has both.
        while sum < bytes || plans.len() < 2 || plans.len() % 2 == 1 {
            let plan = Plan::new(seed, plans.len() as u64);
            sum += plan.size;
            plans.push(plan);
        }
        plans
    }

    fn new(seed: u64, n: u64) -> Plan {
        let mut random = Random(seed.wrapping_mul(0x0001_0000_0000).wrapping_add(n));
        let pair = n / 2;
        let of_all = pair % (REPOSITORIES * TASKS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 290,000")]
        let size = 19_000 + (random.leaning(3) * 275_000.0) as u64;
        let day = random.below(DAYS) as i64;
        let in_day = random.below(14 * 3600) as i64;
        Plan {
            id: uuid_of(&["made", &seed.to_string(), &n.to_string()]),
            repository: of_all % REPOSITORIES,
            task: of_all / REPOSITORIES,
            size,
            grades: 1 + random.below(3),
            flips: n.is_multiple_of(2),
            start_ms: FIRST_MS + (day * 86_400 + in_day) * 1000,
            random,
        }
    }

    /// Number of the organisation.
    pub(super) fn organisation(&self) -> usize {
        (self.repository % ORGANISATIONS.len() as u64) as usize
    }

    /// The task; its prompt is the caller's to set.
    pub(super) fn task(&self) -> Task {
        let organisation = ORGANISATIONS[self.organisation()];
        let repo = format!("github.com/{organisation}/service-{:02}", self.repository);
        let task = Task::new(&repo, &format!("service-{:02}-{:03}", self.repository, self.task));
        // What the remote says too: readers that know no remotes partition by it.
        Task { org: Some(organisation.to_owned()), ..task }
    }

    /// Chance that is the same for all sessions of the task.
    pub(super) fn of_task(&self) -> Random {
        Random(0x7A5C ^ (self.repository << 32) ^ (self.task << 8))
    }
}
