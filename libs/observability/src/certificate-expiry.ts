import { readFileSync } from 'node:fs';
import { Gauge, type Registry } from 'prom-client';
import { pemCertificates } from '#config/pem-certificates.js';

/** A PEM file with the certificates of an authority, or with our own. */
export interface CertificateFile {
  readonly name: string;
  /** Returns undefined while the file is missing or unreadable. */
  read(): Buffer | undefined;
}

export function certificateFile(path: string): CertificateFile {
  const read = (): Buffer | undefined => {
    try {
      return readFileSync(path);
    } catch {
      return undefined;
    }
  };
  return { name: path, read };
}

/** Registers the end of the first certificate to expire in each file. `files` is called, and each file is read, at every scrape. */
export function registerCertificateExpiry(registry: Registry, files: () => Iterable<CertificateFile>): void {
  new Gauge({
    name: 'tollgate_certificate_expiry_timestamp_seconds',
    help: 'Time at which the first certificate of a file expires',
    labelNames: ['file'],
    registers: [registry],
    collect() {
      this.reset();
      for (const file of files()) {
        const expiry = firstExpiry(file);
        if (expiry !== undefined) this.set({ file: file.name }, expiry / 1_000);
      }
    },
  });
}

/** Returns undefined for a file without a certificate that can be read: connections fail for it, which other metrics show. */
function firstExpiry(file: CertificateFile): number | undefined {
  const content = file.read();
  if (content === undefined) return undefined;
  try {
    const ends = pemCertificates(content).map(({ validTo }) => Date.parse(validTo));
    return ends.length === 0 ? undefined : Math.min(...ends);
  } catch {
    return undefined;
  }
}
