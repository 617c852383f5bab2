use serde_json::json;

use super::super::{Invariant, Options, Writer};
use super::objects::{claim, written};
use super::script::Script;

fn write(script: &mut Script, times: usize, seconds_apart: i64) {
    for _ in 0..times {
        script.pass(seconds_apart);
        let object = written(claim("a"), "windlass", script.now(), json!({}));
        script.change(&object);
    }
}

#[test]
fn i7_catches_a_controller_that_writes_over_and_over() {
    let mut script = Script::new();
    script.add(&written(claim("a"), "windlass", script.now(), json!({})));
    write(&mut script, 29, 1);
    script.is_clean();
    write(&mut script, 1, 1);
    script.is_caught(Invariant::NoWriteStorm, &["NodeClaim a was written 31 times within 1m"]);
}

#[test]
fn i7_catches_a_burst_within_one_second() {
    let mut script = Script::new();
    script.add(&claim("a"));
    write(&mut script, 31, 0);
    script.is_caught(Invariant::NoWriteStorm, &["NodeClaim a"]);
}

#[test]
fn i7_allows_a_controller_that_takes_its_time() {
    let mut script = Script::new();
    script.add(&claim("a"));
    write(&mut script, 300, 3);
    script.is_clean();
}

#[test]
fn i7_does_not_count_what_others_write() {
    let mut script = Script::new();
    let mut object = written(claim("a"), "windlass", script.now(), json!({}));
    script.add(&object);
    for _ in 0..100 {
        script.pass(1);
        object = written(object, "rival", script.now(), json!({}));
        script.change(&object);
    }
    script.by(Writer::Other);
    write(&mut script, 100, 0);
    script.is_clean();
}

#[test]
fn i7_catches_claims_without_end() {
    let mut script = Script::with(Options { claims_per_pool_per_hour: 5, ..Options::default() });
    for hour in 0..3 {
        for number in 0..5 {
            script.add(&claim(&format!("a-{hour}-{number}"))).pass(60);
        }
        script.pass(3600);
    }
    script.is_clean();
    for number in 0..6 {
        script.add(&claim(&format!("b-{number}")));
    }
    script.is_caught(Invariant::NoWriteStorm, &["6 claims were created for NodePool general"]);
}
