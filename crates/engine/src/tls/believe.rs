//! Whom a mode believes.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// What is asked of a server's certificate.
#[derive(Debug)]
pub(super) struct Believe {
    /// Who must have signed it; none: it may be anybody's.
    pub chain: Option<Chain>,
    /// What may be signed with.
    pub algorithms: WebPkiSupportedAlgorithms,
}

/// A certificate that someone signed who is believed.
#[derive(Debug)]
pub(super) struct Chain {
    /// The judge of signatures, times and names.
    pub verifier: Arc<WebPkiServerVerifier>,
    /// Certificates of the user's own file: a server that has one of them itself, as those that sign their own have, is
    /// believed too, which the judge does not do.
    pub own: Vec<CertificateDer<'static>>,
    /// Whether it must be for the host that was asked for.
    pub names: bool,
}

impl ServerCertVerifier for Believe {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let judged = match chain.own.iter().any(|own| own == certificate) {
            true if !chain.names => Ok(ServerCertVerified::assertion()),
            true => rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
                .map(|()| ServerCertVerified::assertion()),
            false => chain.verifier.verify_server_cert(certificate, between, name, ocsp, now),
        };
        match judged {
            // The name is what is looked at last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !chain.names => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.chain {
            Some(_) => verify_tls12_signature(message, certificate, signed, &self.algorithms),
            // Anyone who takes any certificate learns nothing from a signature made with it, and those of version 1,
            // which the manuals of both servers make, could not be read for it.
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.chain {
            Some(_) => verify_tls13_signature(message, certificate, signed, &self.algorithms),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
