//! From what a user asked for to a connection: modes, authorities, the client's own certificate.

use super::believe::{Believe, Chain};
use crate::{Tls, TlsMode};
use rustls::client::{ClientConnection, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Bits of a key file's mode with which others may read or change it: those of everybody, and writing by the group.
const OPEN_TO_OTHERS: u32 = 0o027;

/// The most that is read of a file with certificates or a key, bytes: all authorities of a system are a quarter of one.
const LARGEST: u64 = 4 << 20;

/// A connection of which nothing has been said yet.
///
/// # Errors
/// The file that cannot be used and why, or that no authority is known; in words.
pub(super) fn connection(tls: &Tls, host: &str) -> Result<ClientConnection, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let believe = Believe { chain: chain(tls, &provider)?, algorithms: provider.signature_verification_algorithms };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(believe));
    let config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(own) => builder
            .with_client_auth_cert(certificates(&own.certificate)?, key(&own.key)?)
            .map_err(|error| format!("{}: {error}", own.certificate.display()))?,
    };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| format!("{host} is no name that a certificate has"))?;
    ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())
}

/// Who must have signed the server's certificate; none where anybody may be the server.
fn chain(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Option<Chain>, String> {
    let names = match tls.mode {
        TlsMode::Off | TlsMode::Preferred | TlsMode::Required => return Ok(None),
        TlsMode::VerifyCa => false,
        TlsMode::VerifyFull => true,
    };
    let (mut roots, mut own) = (RootCertStore::empty(), Vec::new());
    match &tls.ca {
        Some(path) => {
            own = certificates(path)?;
            for certificate in &own {
                roots.add(certificate.clone()).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        // Where names do not count, any certificate that one of the system's authorities ever signed would do.
        None if !names => {
            let what = "verify-ca needs the certificate of the authority that is believed";
            return Err(format!("{what}: give it as tls_ca (ssl-ca, sslrootcert)"));
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    let verifier = verifier.map_err(|error| {
        format!("no authority is known here ({error}): install ca-certificates, or give tls_ca (ssl-ca, sslrootcert)")
    })?;
    Ok(Some(Chain { verifier, own, names }))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |what: String| format!("certificate file {}: {what}", path.display());
    let bytes = tare_files::read_named_file(path, LARGEST).map_err(|error| wrong(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(wrong("holds no certificate; expected PEM (-----BEGIN CERTIFICATE-----)".to_owned())),
        Err(error) => Err(wrong(format!("no PEM: {error}"))),
    }
}

/// The client's private key, which must be private.
fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let wrong = |what: String| format!("key file {}: {what}", path.display());
    let absent = || wrong("there is no such file".to_owned());
    let file = tare_files::open_named(path).map_err(|error| wrong(error.to_string()))?.ok_or_else(absent)?;
    let mode = file.metadata().map_err(|error| wrong(error.to_string()))?.mode();
    if mode & OPEN_TO_OTHERS != 0 {
        return Err(wrong(format!("others may read or change it: chmod 0600 {}", path.display())));
    }
    let bytes = tare_files::read_all(file, path, LARGEST).map_err(|error| wrong(error.to_string()))?;
    PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|error| wrong(format!("no private key without a passphrase, as PEM: {error}")))
}
