//! Why this host let no connection be opened: failures of ours, or of the host's own rules, that
//! say nothing of the target.

use crate::Blame;

/// Why a connection could not even be tried, by the error of `socket(2)`, `connect(2)` or
/// `epoll_ctl(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LocalCause {
    /// `EADDRNOTAVAIL`: every local port towards the target is in use, or held back after one.
    Ports = 0,
    /// `EMFILE`: this process has as many descriptors as it may have.
    Descriptors = 1,
    /// `ENFILE`: the whole system has as many open files as it may have.
    Files = 2,
    /// `ENOBUFS`: the kernel had no buffer for another socket.
    Buffers = 3,
    /// `ENOMEM`: the kernel had no memory for another socket.
    Memory = 4,
    /// `ENOSPC`: this user watches as many descriptors by epoll as it may.
    Watches = 5,
    /// `EACCES`: a rule of this host, or the mode of a Unix socket, forbids the connection.
    Access = 6,
    /// `EPERM`: a rule of this host's firewall forbids the connection.
    Permission = 7,
}

impl LocalCause {
    /// Every cause, in the order of its discriminant.
    pub const ALL: [Self; 8] = [
        Self::Ports,
        Self::Descriptors,
        Self::Files,
        Self::Buffers,
        Self::Memory,
        Self::Watches,
        Self::Access,
        Self::Permission,
    ];

    /// The name in files: that of the error in `errno(3)`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ports => "EADDRNOTAVAIL",
            Self::Descriptors => "EMFILE",
            Self::Files => "ENFILE",
            Self::Buffers => "ENOBUFS",
            Self::Memory => "ENOMEM",
            Self::Watches => "ENOSPC",
            Self::Access => "EACCES",
            Self::Permission => "EPERM",
        }
    }

    /// Who is answerable: what the host forbids is none of the generator's doing.
    #[must_use]
    pub fn blame(self) -> Blame {
        match self {
            Self::Access | Self::Permission => Blame::Environment,
            _ => Blame::Generator,
        }
    }

    /// What happened, as the end of a sentence.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::Ports => "this host ran out of local ports towards the target",
            Self::Descriptors => "this process ran out of descriptors",
            Self::Files => "this host ran out of open files",
            Self::Buffers => "the kernel ran out of buffers for sockets",
            Self::Memory => "the kernel ran out of memory for sockets",
            Self::Watches => "this user ran out of epoll watches",
            Self::Access | Self::Permission => "this host does not permit the connection",
        }
    }

    /// How to have more of what ran out.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Ports => {
                "keep connections open, widen net.ipv4.ip_local_port_range, or set \
                 net.ipv4.tcp_tw_reuse=1"
            }
            Self::Descriptors => "raise the limit (ulimit -n, LimitNOFILE= in a systemd unit)",
            Self::Files => "raise fs.file-max",
            Self::Buffers => "raise net.ipv4.tcp_mem, or ask for fewer connections at once",
            Self::Memory => "give this host more memory, or ask for fewer connections at once",
            Self::Watches => "raise fs.epoll.max_user_watches",
            Self::Access | Self::Permission => {
                "look at this host's firewall rules and at the mode of the socket"
            }
        }
    }
}
