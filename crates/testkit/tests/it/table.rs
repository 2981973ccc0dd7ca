//! The table of attacks in the documentation names every fixture, with the flag that it gets.

use std::collections::BTreeMap;

use lake_testkit::attacks::{attacks, stripped};

const DOCS: &str = include_str!("../../../../docs/verdicts.md");

/// Words in back quotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_fixture_stands_in_the_table_with_what_catches_it() {
    let from = DOCS.find("| attack | what catches it | fixtures |").expect("the table");
    let rows = DOCS[from..].lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut told: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 3, "{row}");
        for name in quoted(cells[2]) {
            assert!(told.insert(name, quoted(cells[1])).is_none(), "{name} stands in two rows");
        }
    }
    for attack in attacks() {
        let flags = told.remove(attack.name).unwrap_or_else(|| panic!("{} is not in the table", attack.name));
        match attack.expected_flag {
            Some(flag) => assert!(flags.contains(&flag), "{}: {flag}, not {flags:?}", attack.name),
            None => assert!(flags.is_empty(), "{}: {flags:?}", attack.name),
        }
    }
    for one in stripped() {
        let flags = told.remove(one.name).unwrap_or_else(|| panic!("{} is not in the table", one.name));
        assert!(flags.contains(&"verdict_missing"), "{}: {flags:?}", one.name);
    }
    assert!(told.is_empty(), "no such fixtures: {told:?}");
}

#[test]
fn each_flag_has_a_fixture() {
    let all = attacks();
    let caught: Vec<&str> = all.iter().filter_map(|attack| attack.expected_flag).collect();
    for line in DOCS.lines().skip_while(|line| !line.starts_with("| flag |")).skip(2).take_while(|l| l.starts_with('|'))
    {
        let cell = line.trim_matches('|').split('|').next().unwrap_or_default();
        for flag in quoted(cell).into_iter().filter(|flag| !matches!(*flag, "finished_late" | "verdict_missing")) {
            assert!(caught.contains(&flag), "{flag} has no fixture");
        }
    }
}
