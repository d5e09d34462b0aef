//! What a login comes to.

use crate::{
    Address, Charset, ConnectTarget, DEFAULT_DATABASE, Engine, EngineError, Login, PasswordKey, Tls, TlsIdentity,
    TlsMode,
};

/// The connection that a login comes to, with what the user's own files say of `engine`'s servers.
///
/// # Errors
/// A file that cannot be read, is open to others, or was asked for and is not there; no place of a server.
pub fn target_of(login: Login, engine: &dyn Engine) -> Result<ConnectTarget, EngineError> {
    let found = engine.login_files(&login)?;
    let all = login.or(found);
    // An authority that is given is there to be asked, as MySQL has it.
    let mode = all.tls.unwrap_or(if all.tls_ca.is_some() { TlsMode::VerifyCa } else { TlsMode::Off });
    // One file may hold both.
    let identity = match (all.tls_cert, all.tls_key) {
        (None, None) => None,
        (Some(both), None) | (None, Some(both)) => Some(TlsIdentity { certificate: both.clone(), key: both }),
        (Some(certificate), Some(key)) => Some(TlsIdentity { certificate, key }),
    };
    // A file takes precedence, as MySQL's client has it.
    let password_key = match (all.server_public_key, all.get_server_public_key) {
        (Some(path), _) => PasswordKey::File(path),
        (None, Some(true)) => PasswordKey::OfServer,
        (None, _) => PasswordKey::None,
    };
    let address = match (all.socket, all.host) {
        (Some(path), _) => Address::Socket(path),
        (None, Some(host)) => Address::Tcp(host, all.port.unwrap_or_else(|| engine.default_port())),
        (None, None) => return Err(EngineError::NoAddress { engine: engine.name() }),
    };
    Ok(ConnectTarget {
        address,
        user: all.user.unwrap_or_else(|| engine.default_user().to_owned()),
        password: all.password.unwrap_or_default(),
        database: Some(all.database.unwrap_or_else(|| DEFAULT_DATABASE.to_owned())),
        tls: Tls { mode, ca: all.tls_ca, identity, password_key },
        charset: Charset::default(),
    })
}
