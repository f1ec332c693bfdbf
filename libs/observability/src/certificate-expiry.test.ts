import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { TestAuthority } from '#testing/test-certificates.js';
import { certificateFile, registerCertificateExpiry } from './certificate-expiry.js';

const authority = new TestAuthority();
const ours = authority.issue('tollgate', { isExpired: true });
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'certificates-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Registers files with these contents. Returns the series at a scrape, by the name of the file. */
function watch(contents: Record<string, string>): () => Promise<Record<string, number>> {
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content);
  const registry = new Registry();
  registerCertificateExpiry(registry, () => [...Object.keys(contents), 'missing.pem'].map((name) => certificateFile(join(folder, name))));
  return async () => {
    const lines = (await registry.metrics()).matchAll(/^tollgate_certificate_expiry_timestamp_seconds\{file="(.*)"\} (\d+)$/gm);
    return Object.fromEntries(Array.from(lines, ([, file = '', value]) => [file.slice(folder.length + 1), Number(value)]));
  };
}

function readEnd(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo) / 1_000;
}

test('a file has the end of its first certificate to expire; one without a certificate has none', async () => {
  const scrape = watch({ 'ca.pem': authority.cert, 'chain.pem': authority.cert + ours.cert, 'key.pem': ours.key, 'bad.pem': BAD });
  expect(await scrape()).toEqual({ 'ca.pem': readEnd(authority.cert), 'chain.pem': readEnd(ours.cert) });
});

test('a renewed file counts from the next scrape on', async () => {
  const scrape = watch({ 'ours.pem': ours.cert });
  const before = await scrape();
  writeFileSync(join(folder, 'ours.pem'), authority.cert);
  expect([before, await scrape()]).toEqual([{ 'ours.pem': readEnd(ours.cert) }, { 'ours.pem': readEnd(authority.cert) }]);
});

const BAD = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
