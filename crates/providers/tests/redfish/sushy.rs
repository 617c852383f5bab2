//! The emulator of sushy-tools, with TLS and passwords on.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_testkit::{Emulator, PlaneUnavailable, eventually, venv};

use crate::lab::USERNAME;

/// What `bcrypt` makes of the password.
const HASH: &str = "$2b$04$3BN5yNJLLCd2wDc69cTPCei8q/SrpWXT7zIs9YWZSXxjiSqP1mQ4K";
const REQUIREMENTS: [&str; 2] = ["sushy-tools==2.2.0", "bcrypt==5.0.0"];

/// An emulator with a few systems that are off.
pub struct Sushy {
    pub process: Emulator,
    pub address: String,
    pub fingerprint: String,
    names: Vec<String>,
    _folder: TempDir,
}

impl Sushy {
    /// Starts it. Each change of power is announced at the URL. None says that it cannot be had here, which is printed.
    pub async fn start(names: &[&str], announce_at: &str) -> Option<Self> {
        let environment = match venv(&REQUIREMENTS) {
            Ok(environment) => environment,
            Err(
                why @ (PlaneUnavailable::PythonMissing { .. } | PlaneUnavailable::PackagesMissing { .. }),
            ) if std::env::var_os("WINDLASS_REQUIRE_PLANE").is_none() => {
                println!("skipped: {why}");
                return None;
            }
            Err(why) => panic!("{why}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| -> PathBuf { folder.path().join(name) };
        let path = |name: &str| file(name).display().to_string();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(file("tls.crt"), certified.cert.pem()).unwrap();
        fs::write(file("tls.key"), certified.signing_key.serialize_pem()).unwrap();
        fs::write(file("passwords"), format!("{USERNAME}:{HASH}\n")).unwrap();
        let systems: Vec<Value> = names.iter().map(|name| system(name)).collect();
        fs::create_dir(file("state")).unwrap();
        let config = [
            format!("SUSHY_EMULATOR_AUTH_FILE = {:?}", path("passwords")),
            format!("SUSHY_EMULATOR_STATE_DIR = {:?}", path("state")),
            format!("EXTERNAL_NOTIFICATION_URL = {announce_at:?}"),
            "import json".to_owned(),
            format!("SUSHY_EMULATOR_FAKE_SYSTEMS = json.loads({:?})", json!(systems).to_string()),
        ];
        fs::write(file("config.py"), config.join("\n")).unwrap();
        let process = Emulator::start(&environment.join("bin/sushy-emulator"), &file("log"), |port| {
            let port = port.to_string();
            let mut arguments: Vec<_> = ["--fake", "-i", "127.0.0.1", "-p", &port].map(Into::into).into();
            for (flag, name) in
                [("--config", "config.py"), ("--ssl-certificate", "tls.crt"), ("--ssl-key", "tls.key")]
            {
                arguments.extend([flag.into(), file(name).into()]);
            }
            arguments
        });
        let process = process.unwrap();
        let fingerprint: Vec<String> =
            digest(&SHA256, certified.cert.der()).as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        let sushy = Self {
            address: format!("https://127.0.0.1:{}", process.port()),
            process,
            fingerprint: fingerprint.join(":"),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            _folder: folder,
        };
        sushy.wait_until_it_listens().await;
        Some(sushy)
    }

    async fn wait_until_it_listens(&self) {
        eventually("the emulator to listen", Duration::from_secs(60), async || {
            let socket = tokio::net::TcpStream::connect(("127.0.0.1", self.process.port())).await;
            socket.map(|_| ()).map_err(|error| format!("{error}: {}", self.process.log()))
        })
        .await;
    }

    /// A specification of its hosts, which go off at once.
    pub fn spec(&self) -> Value {
        let host = |name: &String| json!({"name": name, "address": self.address, "systemID": uuid(name)});
        let hosts: Vec<Value> = self.names.iter().map(host).collect();
        let capacity = json!({"cpu": 16, "memory": "64Gi"});
        let mut spec = json!({
            "credentialsSecretRef": {"name": "bmc"},
            "tls": {"fingerprint": self.fingerprint},
            "zone": "rack-a",
            "defaultPrice": "0.35",
            "hosts": hosts,
        });
        for host in spec["hosts"].as_array_mut().unwrap() {
            host["capacity"] = capacity.clone();
        }
        spec
    }
}

fn uuid(name: &str) -> String {
    format!(
        "00000000-0000-4000-8000-{:0>12}",
        name.len() * 7919 + name.bytes().map(usize::from).sum::<usize>()
    )
}

fn system(name: &str) -> Value {
    json!({"uuid": uuid(name), "name": name, "power_state": "Off", "external_notifier": true, "nics": []})
}
