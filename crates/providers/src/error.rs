use std::time::Duration;

/// What a provider could not do. The kind decides what happens next, the message is for people.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProviderError {
    /// This offering cannot be had at present; another may.
    #[error("no capacity: {message}")]
    InsufficientCapacity {
        /// The provider's words.
        message: String,
    },
    /// The account may not have more of this.
    #[error("quota reached: {message}")]
    Quota {
        /// The provider's words.
        message: String,
    },
    /// Too many calls.
    #[error("throttled: {message}")]
    Throttled {
        /// The provider's words.
        message: String,
        /// How long to wait, where the provider says so.
        retry_after: Option<Duration>,
    },
    /// The credentials are missing, wrong or lack a permission.
    #[error("not authorized: {message}")]
    Unauthorized {
        /// The provider's words.
        message: String,
    },
    /// What was asked for makes no sense; asking again will not help.
    #[error("invalid configuration: {message}")]
    InvalidConfiguration {
        /// What is wrong and what to do.
        message: String,
    },
    /// There is no such machine. Not by itself proof that there never will be: a request may still be under way.
    #[error("no machine {provider_id}")]
    NotFound {
        /// The machine asked for.
        provider_id: String,
    },
    /// The machine exists and is not ours; it is left alone.
    #[error("machine {provider_id} is not ours: {message}")]
    NotOurs {
        /// The machine asked for.
        provider_id: String,
        /// What differs.
        message: String,
    },
    /// Anything that may pass: a timeout, a broken connection, an internal error. Whether the call had its effect is
    /// unknown.
    #[error("failed for now: {message}")]
    Transient {
        /// What happened.
        message: String,
    },
}

/// The kinds of provider errors, for conditions and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "described at `ProviderError`")]
pub enum ErrorKind {
    InsufficientCapacity,
    Quota,
    Throttled,
    Unauthorized,
    InvalidConfiguration,
    NotFound,
    NotOurs,
    Transient,
}

impl ProviderError {
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InsufficientCapacity { .. } => ErrorKind::InsufficientCapacity,
            Self::Quota { .. } => ErrorKind::Quota,
            Self::Throttled { .. } => ErrorKind::Throttled,
            Self::Unauthorized { .. } => ErrorKind::Unauthorized,
            Self::InvalidConfiguration { .. } => ErrorKind::InvalidConfiguration,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::NotOurs { .. } => ErrorKind::NotOurs,
            Self::Transient { .. } => ErrorKind::Transient,
        }
    }

    /// An error that may pass.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over an error or a text and are done with it"
    )]
    pub fn transient(message: impl ToString) -> Self {
        Self::Transient { message: message.to_string() }
    }
}

impl ErrorKind {
    /// The reason in conditions and the label in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InsufficientCapacity => "InsufficientCapacity",
            Self::Quota => "Quota",
            Self::Throttled => "Throttled",
            Self::Unauthorized => "Unauthorized",
            Self::InvalidConfiguration => "InvalidConfiguration",
            Self::NotFound => "NotFound",
            Self::NotOurs => "NotOurs",
            Self::Transient => "Transient",
        }
    }
}
