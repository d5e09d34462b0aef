//! Whom a mode believes.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Believe {
    /// Who must have signed it; none: it may be anybody's.
    pub chain: Option<Chain>,
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
    /// Whether it must be for the host that was requested.
    pub names: bool,
}

fn is_out_of_time(verdict: &Result<ServerCertVerified, Error>) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let Err(Error::InvalidCertificate(wrong)) = verdict else { return false };
    matches!(wrong, Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. })
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
        let is_own = chain.own.iter().any(|own| own == certificate);
        let verdict = chain.verifier.verify_server_cert(certificate, between, name, ocsp, now);
        let judged = match is_own {
            // When it is valid is looked at first, and holds of the user's own too.
            true if is_out_of_time(&verdict) => verdict,
            true if !chain.names => Ok(ServerCertVerified::assertion()),
            true => rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
                .map(|()| ServerCertVerified::assertion()),
            false => verdict,
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::RootCertStore;
    use rustls::crypto::aws_lc_rs;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// Signed by itself, for localhost, valid for a day from [`BEGINS_S`] on.
    const OWN: &str = "\
-----BEGIN CERTIFICATE-----
MIIBiTCCAS+gAwIBAgIUKXAsliTG+QClcfwH4ndaUDpjcK4wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEc2VsZjAeFw0yNjExMjMwNjQ2MzlaFw0yNjExMjQwNjQ2Mzla
MA8xDTALBgNVBAMMBHNlbGYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASRApoQ
WH9wOlma40nkEG7kIRF559UTBk0E1+4xJK5Bl7W5uJ2yMyi2dQ1tsd42xvcLlLug
hF3W497VdYLq2KADo2kwZzAdBgNVHQ4EFgQUV6KpzlJX02Di61rrWNbNj/5ihncw
HwYDVR0jBBgwFoAUV6KpzlJX02Di61rrWNbNj/5ihncwDwYDVR0TAQH/BAUwAwEB
/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDSAAwRQIgBAjkhDqx
0PTtyqjEEJsdsrd7XnzTEtoesp/ngMvJknUCIQCMntYl+disF5XYkKqQ9XKEz3wJ
EUeUFQNK/ezuOEYFHg==
-----END CERTIFICATE-----
";
    /// Seconds since 1970.
    const BEGINS_S: u64 = 1795416399;
    const HOUR_S: u64 = 3600;

    #[test]
    fn a_certificate_of_the_users_own_file_is_believed_only_while_it_is_valid() {
        let own = CertificateDer::from_pem_slice(OWN.as_bytes()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(own.clone()).unwrap();
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier = builder.build().unwrap();
        for names in [true, false] {
            let chain = Some(Chain { verifier: Arc::clone(&verifier), own: vec![own.clone()], names });
            let believe = Believe { chain, algorithms: provider.signature_verification_algorithms };
            let at = |seconds: u64, host: &'static str| {
                let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
                believe.verify_server_cert(&own, &[], &ServerName::try_from(host).unwrap(), &[], now).map(drop)
            };
            assert!(at(BEGINS_S + HOUR_S, "localhost").is_ok());
            for seconds in [BEGINS_S + 25 * HOUR_S, BEGINS_S - HOUR_S] {
                let wrong = at(seconds, "localhost").unwrap_err();
                assert!(is_out_of_time(&Err(wrong.clone())), "{names}: {wrong}");
            }
            assert_eq!(at(BEGINS_S + HOUR_S, "elsewhere").is_err(), names);
        }
    }
}
