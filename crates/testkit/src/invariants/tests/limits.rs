use super::super::{Invariant, Options, Scope};
use super::objects::{claim, launched, pool};
use super::script::Script;

#[test]
fn i4_catches_a_claim_too_many() {
    let mut script = Script::new();
    script.add(&pool(&[("nodes", "2")])).add(&claim("a")).add(&claim("b"));
    script.is_clean();
    script.add(&claim("c"));
    script
        .is_caught(Invariant::LimitsHold, &["NodePool general has 3 of nodes", "limit of 2", "NodeClaim c"]);
}

#[test]
fn i4_counts_the_largest_offering_until_the_machine_is_known() {
    let mut script = Script::new();
    script.add(&pool(&[("cpu", "16")])).add(&claim("a")).add(&claim("b"));
    script.is_clean();
    script.add(&claim("c"));
    script.is_caught(Invariant::LimitsHold, &["has 24 of cpu"]);

    let mut script = Script::new();
    script.add(&pool(&[("cpu", "16")])).add(&claim("a")).add(&claim("b"));
    script.change(&launched(claim("a"), "4")).change(&launched(claim("b"), "4")).add(&claim("c"));
    script.is_clean();
}

#[test]
fn i4_counts_claims_that_are_leaving_until_they_are_gone() {
    let mut script = Script::new();
    let leaving = super::objects::deleted(claim("a"), script.now());
    script.add(&pool(&[("nodes", "1")])).add(&claim("a")).change(&leaving);
    script.remove(&leaving).add(&claim("b"));
    script.is_clean();
    let leaving = super::objects::deleted(claim("b"), script.now());
    script.change(&leaving).add(&claim("c"));
    script.is_caught(Invariant::LimitsHold, &["has 2 of nodes"]);
}

#[test]
fn i4_catches_a_machine_that_is_larger_than_any_offering() {
    let mut script = Script::new();
    script.add(&pool(&[("cpu", "8")])).add(&claim("a"));
    script.is_clean();
    script.change(&launched(claim("a"), "8500m"));
    script.is_caught(Invariant::LimitsHold, &["has 8500m of cpu"]);
}

#[test]
fn i4_allows_a_user_to_lower_a_limit() {
    let mut script = Script::new();
    script.add(&pool(&[("nodes", "2")])).add(&claim("a")).add(&claim("b"));
    script.change(&pool(&[("nodes", "1")])).change(&launched(claim("a"), "4"));
    script.is_clean();
}

#[test]
fn i4_judges_by_the_old_limit_only_for_a_moment() {
    let mut script = Script::new();
    script.add(&pool(&[("nodes", "2")])).add(&claim("a")).pass(100);
    script.change(&pool(&[("nodes", "1")])).pass(3).add(&claim("b")).remove(&claim("b"));
    script.is_clean();
    script.pass(10).add(&claim("c"));
    script.is_caught(Invariant::LimitsHold, &["limit of 1"]);
}

#[test]
fn pools_out_of_scope_and_claims_found_at_the_start_are_not_judged() {
    let scope = Scope { pool_prefix: "mine-".to_owned(), ..Scope::default() };
    let mut script = Script::with(Options { scope, ..Options::default() });
    script.add(&pool(&[("nodes", "0")])).add(&claim("a"));
    script.is_clean();
    let mut script = Script::new();
    script.find(&pool(&[("nodes", "0")])).find(&claim("a"));
    script.is_clean();
}
