//! The Rust code in `src/generated.rs` is made from `proto/externalgrpc.proto` and committed, so that whoever builds Windlass
//! compiles neither a compiler of protocols nor a generator.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::path::Path;

/// If it is set, the code is written instead of compared.
const WRITE: &str = "WINDLASS_WRITE_GENERATED";

#[test]
fn the_generated_code_is_that_of_the_protocol() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = home.join("src/generated.rs");
    let fresh = generate(&home.join("proto"));
    if std::env::var_os(WRITE).is_some() {
        fs::write(&committed, &fresh).unwrap();
    }
    assert!(
        fs::read_to_string(&committed).unwrap() == fresh,
        "src/generated.rs is out of date: run {WRITE}=1 cargo test -p windlass-externalgrpc --test generated"
    );
}

fn generate(protocols: &Path) -> String {
    let files = protox::compile(["externalgrpc.proto"], [protocols]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        // Maps in order: the same answer is the same bytes.
        .btree_map(".")
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .out_dir(folder.path())
        .compile_fds(files)
        .unwrap();
    let file = folder.path().join("clusterautoscaler.cloudprovider.v1.externalgrpc.rs");
    fs::read_to_string(file).unwrap()
}
