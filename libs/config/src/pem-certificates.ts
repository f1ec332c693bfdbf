import { X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

/** Returns the certificates of a PEM file, in their order. Throws for one that cannot be read. */
export function pemCertificates(content: Buffer): X509Certificate[] {
  const blocks = content.toString('latin1').match(CERTIFICATE) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}
