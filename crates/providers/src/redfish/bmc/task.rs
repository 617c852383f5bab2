//! Waiting for what a BMC does by and by.

use reqwest::StatusCode;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::Bmc;
use super::failure::{Failure, FailureKind, said};
use super::wire::{Answer, Call};

/// How far a task has come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    Done,
    UnderWay,
    Failed(String),
}

impl Bmc {
    /// Waits until what was asked is done, if the answer says that it is done by and by.
    pub(super) async fn done(&self, answer: Answer) -> Result<(), Failure> {
        if answer.status != StatusCode::ACCEPTED {
            return Ok(());
        }
        let monitor = answer.location.or_else(|| self.door.wire.link(Some(&answer.body)));
        let Some(monitor) = monitor else { return Ok(()) };
        let until = Instant::now() + self.pace.task;
        loop {
            match self.door.send(&Call::get(monitor.clone())).await {
                Ok(answer) => match progress(answer.status, &answer.body) {
                    Progress::Done => return Ok(()),
                    Progress::Failed(words) => return Err(Failure::new(FailureKind::Refused, words)),
                    Progress::UnderWay => {}
                },
                // What is finished is forgotten after a while.
                Err(failure) if matches!(failure.status, Some(StatusCode::NOT_FOUND | StatusCode::GONE)) => {
                    return Ok(());
                }
                Err(failure) if failure.kind != FailureKind::Lost => return Err(failure),
                Err(_) => {}
            }
            if Instant::now() >= until {
                let words = format!("its task {monitor} is still under way");
                return Err(Failure::new(FailureKind::Lost, words));
            }
            sleep(self.pace.poll).await;
        }
    }
}

fn progress(status: StatusCode, body: &Value) -> Progress {
    if status == StatusCode::ACCEPTED {
        return Progress::UnderWay;
    }
    let field = |name: &str| body.get(name).and_then(Value::as_str);
    match (field("TaskState"), field("TaskStatus")) {
        (Some("Exception" | "Killed" | "Cancelled" | "Interrupted"), _)
        | (Some("Completed"), Some("Critical")) => {
            let words = said(body).unwrap_or_else(|| "it says no more".to_owned());
            Progress::Failed(format!("its task ended in vain: {words}"))
        }
        (None | Some("Completed"), _) => Progress::Done,
        _ => Progress::UnderWay,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use serde_json::json;

    use super::{Progress, progress};

    #[test]
    fn a_task_is_done_once_it_says_so() {
        let of = |body| progress(StatusCode::OK, &body);
        assert_eq!(progress(StatusCode::ACCEPTED, &json!({"TaskState": "Completed"})), Progress::UnderWay);
        assert_eq!(of(json!({"TaskState": "Running"})), Progress::UnderWay);
        assert_eq!(of(json!({"TaskState": "Completed", "TaskStatus": "OK"})), Progress::Done);
        assert_eq!(of(json!(null)), Progress::Done);
        let failed = of(json!({"TaskState": "Exception", "Messages": [{"Message": "fan missing"}]}));
        assert_eq!(failed, Progress::Failed("its task ended in vain: fan missing".to_owned()));
    }
}
