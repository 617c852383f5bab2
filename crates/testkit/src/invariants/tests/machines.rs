use super::super::{Invariant, JournalEntry, Options, Scope};
use super::objects::{adopting, claim, deleted, launched, machine};
use super::script::Script;

fn launch(id: &str, claim: &str) -> JournalEntry {
    JournalEntry::Launched {
        provider_id: id.to_owned(),
        cluster_id: "ours".to_owned(),
        claim_uid: format!("uid-{claim}"),
    }
}

#[test]
fn i1_catches_a_second_launch_for_one_claim() {
    let mut script = Script::new();
    script.add(&claim("a")).add(&machine("a", "a"));
    script.is_clean();
    script.add(&machine("again", "a"));
    script
        .is_caught(Invariant::OneMachinePerClaim, &["NodeClaim a has 2 live machines", "lab/a", "lab/again"]);
}

#[test]
fn i1_catches_a_second_launch_in_a_journal() {
    let mut script = Script::new();
    script.add(&claim("a")).journal(launch("vm-1", "a"));
    script.is_clean();
    script.journal(launch("vm-2", "a"));
    script.is_caught(Invariant::OneMachinePerClaim, &["vm-1, vm-2"]);
}

#[test]
fn i1_allows_another_machine_once_the_first_is_gone() {
    let mut script = Script::new();
    script.add(&claim("a")).add(&machine("a", "a")).remove(&machine("a", "a")).add(&machine("next", "a"));
    script.is_clean();
    let mut script = Script::new();
    let leaving = deleted(machine("a", "a"), script.now());
    script.add(&claim("a")).add(&machine("a", "a")).change(&leaving).add(&machine("next", "a"));
    script.is_clean();
}

#[test]
fn i1_catches_two_claims_with_one_machine() {
    let mut script = Script::new();
    let mut thief = launched(claim("b"), "4");
    thief.status.as_mut().unwrap().provider_id = Some("simulated://lab/a".to_owned());
    script.add(&claim("a")).add(&machine("a", "a")).change(&launched(claim("a"), "4")).add(&claim("b"));
    script.is_clean();
    script.change(&thief).change(&thief);
    script.is_caught(Invariant::OneMachinePerClaim, &["a", "b", "simulated://lab/a"]);
}

#[test]
fn i1_catches_a_launch_for_a_claim_that_adopts() {
    let mut script = Script::new();
    script.find(&machine("a", "a")).add(&adopting(claim("b"), "a"));
    script.is_clean();
    script.add(&machine("b", "b"));
    script.is_caught(Invariant::OneMachinePerClaim, &["NodeClaim b has 2 live machines"]);
}

#[test]
fn i1_tells_a_claim_from_one_that_reuses_its_name() {
    let mut second = claim("a");
    second.metadata.uid = Some("uid-second".to_owned());
    let mut script = Script::new();
    script.add(&claim("a")).add(&machine("a", "a")).remove(&claim("a")).add(&second);
    script.add(&machine("other", "second"));
    script.is_clean();
}

#[test]
fn i2_catches_a_machine_that_is_left_behind() {
    let mut script = Script::new();
    script.add(&claim("a")).add(&machine("a", "a")).remove(&claim("a")).pass(110);
    script.is_clean();
    script.pass(20).pass(500);
    script.is_caught(Invariant::NoOrphans, &["simulated://lab/a", "uid-a"]);
}

#[test]
fn i2_allows_what_is_ended_or_adopted_in_time() {
    let mut script = Script::new();
    for name in ["ended", "adopted"] {
        script.add(&claim(name)).add(&machine(name, name)).remove(&claim(name));
    }
    script.pass(60).remove(&machine("ended", "ended")).add(&adopting(claim("new"), "adopted")).pass(500);
    script.is_clean();
}

#[test]
fn i2_starts_anew_when_the_adopter_goes() {
    let mut script = Script::new();
    let adopter = adopting(claim("new"), "a");
    script.find(&machine("a", "a")).add(&adopter).pass(500).remove(&adopter).pass(110);
    script.is_clean();
    script.pass(20);
    script.is_caught(Invariant::NoOrphans, &["simulated://lab/a"]);
}

#[test]
fn machines_of_other_clusters_are_not_judged() {
    let scope = Scope { cluster_id: Some("another".to_owned()), ..Scope::default() };
    let mut script = Script::with(Options { scope, ..Options::default() });
    script.find(&machine("a", "a")).find(&machine("b", "a")).pass(1000);
    script.is_clean();
}
