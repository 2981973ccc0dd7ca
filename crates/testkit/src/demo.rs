//! A small data dir with one of everything: the fixtures that the README's first steps and the goldens run on.

use lake_trace::Verdict;

use crate::oddities::oddities;
use crate::scenarios::{diff_of, rounds, untracked_session, work};
use crate::{Object, OracleKey, SessionBuilder, Task, trust_toml};

/// Milliseconds of 2025-06-02T09:00:00Z.
const FIRST_DAY_MS: i64 = 1_748_854_800_000;
const DAY_MS: i64 = 86_400_000;
/// Oddities above this size are made when a test needs them, and are not in the repository.
const SMALL: usize = 64 * 1024;

/// The tasks of the demo: two in one repository, one in another, one where no key has a say.
pub struct DemoTasks {
    /// Two sessions flip it and two do not: it makes a preference pair.
    pub rounding: Task,
    /// One flips it.
    pub currency: Task,
    /// One flips it, one does not.
    pub login: Task,
    /// One flips it, unsigned; no key covers its repository.
    pub parser: Task,
}

impl DemoTasks {
    /// The tasks.
    pub fn new() -> DemoTasks {
        let task = |repo: &str, id: &str, prompt: &str| Task { prompt: prompt.to_owned(), ..Task::new(repo, id) };
        let billing = "github.com/acme/billing";
        DemoTasks {
            rounding: task(
                billing,
                "billing-101",
                "Invoice totals are off by a cent. Please fix the rounding in total().",
            ),
            currency: task(billing, "billing-102", "Amounts in yen must not show decimals."),
            login: task("github.com/acme/web", "web-17", "Logging in with an upper-case address fails. Please fix it."),
            parser: task("gitlab.com/globex/tools", "tools-3", "The parser loses the last field of a line."),
        }
    }
}

impl Default for DemoTasks {
    fn default() -> DemoTasks {
        DemoTasks::new()
    }
}

/// The two oracles of the demo, one a repository.
pub fn demo_keys() -> [OracleKey; 2] {
    [OracleKey::from_seed(1), OracleKey::from_seed(2)]
}

/// The demo's trust file. No key covers `gitlab.com`, so an unsigned session may come from there.
pub fn demo_trust() -> String {
    let [billing, web] = demo_keys();
    let from = Some("2025-01-01T00:00:00Z");
    trust_toml(&[
        billing.trust_entry().repos(&["github.com/acme/billing"]).window(from, None),
        web.trust_entry().repos(&["github.com/acme/web"]).window(from, None),
    ])
}

/// A value that has the form of a GitHub token, its checksum too. It is made of a fixed text and opens nothing.
pub fn made_up_github_token() -> String {
    let random = "TraceLakeDemoTokenOpensNothing";
    let mut sum = crc32(random.as_bytes());
    let mut check = [b'0'; 6];
    for digit in check.iter_mut().rev() {
        *digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(sum % 62) as usize];
        sum /= 62;
    }
    format!("ghp_{random}{}", String::from_utf8_lossy(&check))
}

/// CRC-32 as zip files have it.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 })
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// A session under construction, its id and the day of its first line set.
fn on_day(id: &str, task: &Task, key: Option<&OracleKey>, day: i64) -> SessionBuilder {
    let mut session = SessionBuilder::new(id, task).signed(key).clock(FIRST_DAY_MS + day * DAY_MS);
    session.start().prompt();
    session
}

fn finished(id: &str, task: &Task, key: Option<&OracleKey>, day: i64, verdicts: &[Verdict]) -> Vec<u8> {
    let mut session = on_day(id, task, key, day);
    session.baseline(Verdict::Fail);
    rounds(&mut session, verdicts);
    session.end("agent", if verdicts.last() == Some(&Verdict::Pass) { "flipped" } else { "no_flip" });
    session.build()
}

/// The demo's sessions: id and bytes, in the order of ids.
pub fn demo_sessions() -> Vec<(String, Vec<u8>)> {
    use Verdict::{Fail, Pass};
    let tasks = DemoTasks::new();
    let [billing, web] = demo_keys();
    let (billing, web) = (Some(&billing), Some(&web));
    let session = |id: &str, bytes: Vec<u8>| (id.to_owned(), bytes);
    vec![
        session("demo-01-flipped", finished("demo-01-flipped", &tasks.rounding, billing, 0, &[Pass])),
        session("demo-02-retried", finished("demo-02-retried", &tasks.rounding, billing, 0, &[Fail, Fail, Pass])),
        session("demo-03-flipped", finished("demo-03-flipped", &tasks.currency, billing, 1, &[Pass])),
        session("demo-04-flipped", finished("demo-04-flipped", &tasks.login, web, 1, &[Fail, Pass])),
        session("demo-05-no-flip", finished("demo-05-no-flip", &tasks.rounding, billing, 2, &[Fail])),
        session("demo-06-no-flip", finished("demo-06-no-flip", &tasks.rounding, billing, 2, &[Fail, Fail])),
        session("demo-07-no-flip", finished("demo-07-no-flip", &tasks.login, web, 2, &[Fail])),
        session("demo-08-unsigned", finished("demo-08-unsigned", &tasks.parser, None, 3, &[Pass])),
        session("demo-09-untracked", untracked_session("demo-09-untracked", "gitlab.com/globex/tools")),
        session("demo-10-secret", with_secret(&tasks.currency, billing)),
        session("demo-11-malformed", with_bad_line(&tasks.rounding, billing)),
    ]
}

/// Flipped, but a tool printed a token.
fn with_secret(task: &Task, key: Option<&OracleKey>) -> Vec<u8> {
    let id = "demo-10-secret";
    let mut session = on_day(id, task, key, 3);
    session.baseline(Verdict::Fail);
    let environment = format!("HOME=/home/dev\nGITHUB_TOKEN={}\nTERM=xterm\n", made_up_github_token());
    session.call("Bash", &[("command", "env")], &environment);
    work(&mut session, 1);
    session.grade(Verdict::Pass, &diff_of(id, 1)).end("agent", "flipped");
    session.build()
}

/// Flipped, but one line inside what was graded is no event.
fn with_bad_line(task: &Task, key: Option<&OracleKey>) -> Vec<u8> {
    let id = "demo-11-malformed";
    let mut session = on_day(id, task, key, 4);
    session.baseline(Verdict::Fail).raw("{\"v\":1,\"type\":\"tool_call\",\"session_id\":\"demo-11-malf\n");
    rounds(&mut session, &[Verdict::Pass]);
    session.end("agent", "flipped");
    session.build()
}

/// All files under `fixtures/`, by path, in order.
pub fn fixture_files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = vec![("demo/trust.toml".to_owned(), demo_trust().into_bytes())];
    for (id, bytes) in demo_sessions() {
        files.push((format!("demo/data-dir/traces/{id}.jsonl"), bytes));
    }
    for fixture in oddities() {
        if fixture.files.iter().chain(&fixture.later).any(|(_, bytes)| bytes.len() > SMALL) {
            continue;
        }
        let list = |words: &[&str]| {
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("[{}]", quoted.join(","))
        };
        let about = Object::new()
            .text("note", fixture.note)
            .number("rejects", fixture.rejects as u64)
            .raw("flags", &list(&fixture.flags))
            .number("branches", fixture.branches as u64)
            .raw("branch_flags", &list(&fixture.branch_flags));
        files.push((format!("oddities/{}/about.json", fixture.name), (about.build() + "\n").into_bytes()));
        for (folder, run) in [("first", &fixture.files), ("later", &fixture.later)] {
            for (path, bytes) in run {
                files.push((format!("oddities/{}/{folder}/{path}", fixture.name), bytes.clone()));
            }
        }
    }
    files.sort();
    files
}
