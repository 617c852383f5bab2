//! Test binaries whose tests share a control plane.

use std::error::Error;
use std::fmt::Write as _;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::error::{PlaneError, PlaneUnavailable};
use crate::plane::ControlPlane;

/// Most of a test's time is spent waiting for the control plane, so there are more of them than cores.
const TEST_THREADS: usize = 8;

/// Makes the `main` function of a test binary, which needs `harness = false` in `Cargo.toml`.
///
/// Each name is an `async fn(Arc<ControlPlane>)` that panics to fail, or returns a `Result`. All of them share one
/// control plane, which starts with the first of them, so each works in a namespace of its own; one that stops
/// components has to start its own plane.
///
/// ```no_run
/// use std::sync::Arc;
/// use windlass_testkit::{ControlPlane, plane_tests};
///
/// async fn the_api_server_answers(plane: Arc<ControlPlane>) -> Result<(), Box<dyn std::error::Error>> {
///     plane.client()?.apiserver_version().await?;
///     Ok(())
/// }
///
/// plane_tests![the_api_server_answers];
/// ```
///
/// Tests that need something else too name, after `with`, what finds it, and are skipped where that is not there.
#[macro_export]
macro_rules! plane_tests {
    ($($test:ident),+ $(,)?) => {
        $crate::plane_tests![with $crate::harness::nothing_else; $($test),+];
    };
    (with $needed:path; $($test:ident),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::harness::run(|| $needed().map(::std::mem::drop), ::std::vec![$((
                ::std::stringify!($test),
                |plane| ::std::boxed::Box::pin(async move {
                    $crate::harness::Verdict::verdict($test(plane).await)
                }),
            )),+])
        }
    };
}

/// What a test may return.
pub trait Verdict {
    /// Why the test failed, if it did.
    fn verdict(self) -> Result<(), String>;
}

impl Verdict for () {
    fn verdict(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Into<Box<dyn Error>>> Verdict for Result<(), E> {
    fn verdict(self) -> Result<(), String> {
        self.map_err(|error| {
            let error = error.into();
            let mut message = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                let _ = write!(message, ": {cause}");
                source = cause.source();
            }
            message
        })
    }
}

/// A test as [`plane_tests!`] hands it over: on the control plane it runs to a verdict.
pub type PlaneTest = fn(Arc<ControlPlane>) -> Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// What tests need that need no more than a control plane.
pub fn nothing_else() -> Result<(), PlaneUnavailable> {
    Ok(())
}

type SharedPlane = OnceLock<Result<Arc<ControlPlane>, PlaneError>>;

/// Runs the tests the command line asks for, as `cargo test` expects it of a test binary, if there is what they need.
#[expect(clippy::print_stderr, reason = "this is the main function of test binaries")]
pub fn run(needed: fn() -> Result<(), PlaneUnavailable>, tests: Vec<(&'static str, PlaneTest)>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(TEST_THREADS);

    let plane = Arc::new(SharedPlane::new());
    let trials = tests.into_iter().map(|(name, test)| {
        let plane = Arc::clone(&plane);
        Trial::ignorable_test(name, move || run_one(&plane, needed, test))
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    if let Some(Err(PlaneError::Unavailable(why))) = plane.get()
        && why.excuses()
    {
        eprintln!("skipped: {} tests: {why}", conclusion.num_ignored);
    }
    conclusion.exit_code()
}

fn run_one(
    plane: &SharedPlane,
    needed: fn() -> Result<(), PlaneUnavailable>,
    test: PlaneTest,
) -> Result<Completion, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let start = || {
        needed()?;
        runtime.block_on(ControlPlane::start()).map(Arc::new)
    };
    match plane.get_or_init(start) {
        Ok(plane) => {
            runtime.block_on(test(Arc::clone(plane)))?;
            Ok(Completion::Completed)
        }
        Err(PlaneError::Unavailable(why)) if why.excuses() => {
            Ok(Completion::ignored_with("what it needs is not here"))
        }
        Err(error) => Err(error.into()),
    }
}
