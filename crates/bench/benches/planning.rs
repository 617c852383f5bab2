//! `cargo bench -p windlass-bench`: how long the first answer and a whole plan take, with criterion's statistics.
#![allow(missing_docs, reason = "made by a macro")]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use windlass_bench::measure::{SEARCH, timed};
use windlass_bench::scenario::{Scenario, few_classes, karpenter, large, many_classes};

fn planning(criterion: &mut Criterion) {
    let series: [(&str, Vec<Scenario>); 4] = [
        ("karpenter", karpenter().collect()),
        ("few classes", few_classes().collect()),
        ("5000 nodes", large().into()),
        ("many classes", many_classes().collect()),
    ];
    for (name, scenarios) in series {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).measurement_time(Duration::from_secs(3));
        for Scenario { name, snapshot } in &scenarios {
            group.bench_with_input(BenchmarkId::new("first answer", name), snapshot, |bencher, snapshot| {
                bencher.iter(|| timed(snapshot, Duration::ZERO));
            });
            group.bench_with_input(BenchmarkId::new("with search", name), snapshot, |bencher, snapshot| {
                bencher.iter(|| timed(snapshot, SEARCH));
            });
        }
    }
}

criterion_group!(benches, planning);
criterion_main!(benches);
