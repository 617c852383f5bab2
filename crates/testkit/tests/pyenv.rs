//! Python packages for tests.

use std::process::Command;

use windlass_testkit::{PlaneUnavailable, package_file, venv};

#[test]
fn an_environment_has_its_packages_and_is_found_again() {
    let environment = match venv(&["six==1.17.0"]) {
        Ok(environment) => environment,
        Err(why @ (PlaneUnavailable::PythonMissing { .. } | PlaneUnavailable::PackagesMissing { .. })) => {
            return println!("skipped: {why}");
        }
        Err(why) => panic!("{why}"),
    };
    let output = Command::new(environment.join("bin/python")).args(["-c", "import six"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(package_file(&environment, "six.py").unwrap().exists());
    assert_eq!(venv(&["six==1.17.0"]).unwrap(), environment);
}

#[test]
fn packages_that_cannot_be_had_are_named() {
    let Err(why) = venv(&["windlass-no-such-package==0.0.0"]) else { panic!("there is no such package") };
    assert!(
        matches!(why, PlaneUnavailable::PythonMissing { .. }) || why.to_string().contains("windlass-no-such")
    );
}
