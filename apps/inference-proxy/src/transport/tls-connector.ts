import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { buildConnector } from 'undici';
import { pemCertificates } from '#config/pem-certificates.js';
import type { SecretFile } from '#config/secret-file.js';
import type { UpstreamTls } from '#contracts/catalog.js';
import { ConnectionFault } from '../failures/connection-fault.js';
import { whyUnread } from './api-key.js';
import { secretFile, whyNotSentTo } from './secret-hosts.js';

type Use = 'ca' | 'cert' | 'key';
type Named = { use: Use; file: SecretFile };

/**
 * Returns a connector with an upstream's own certificates: its authority instead of the public ones, and our client certificate. A
 * replaced file is used from the next connection. A missing or invalid file fails the connection, and a key that is not declared for the host.
 */
export function tlsConnector(files: UpstreamTls, options: buildConnector.BuildOptions): buildConnector.connector {
  const named = (['ca', 'cert', 'key'] as const).flatMap((use): Named[] => {
    const name = files[`${use}File`];
    return name == null ? [] : [{ use, file: secretFile(name) }];
  });
  let current: buildConnector.connector | undefined;
  let currentVersions = '';
  return (to, callback) => {
    try {
      assertDeclared(files, `${to.protocol}//${to.host ?? to.hostname}`);
      const material = Object.fromEntries(named.map(({ use, file }) => [use, readContent(file)]));
      const versions = named.map(({ file }) => file.version).join();
      // A new connector for each change: a resumed TLS session would skip the check of certificates.
      if (current === undefined || versions !== currentVersions) {
        assertUsable(named, material);
        current = buildConnector({ ...options, ...material });
      }
      currentVersions = versions;
      return current(to, callback);
    } catch (error) {
      const fault = error instanceof ConnectionFault ? error : fileFault(`the files of tls cannot be used: ${(error as Error).message}`);
      process.nextTick(callback, fault, null);
    }
  };
}

/** The other side learns who we are: the key stays with the hosts that its owner has declared. */
function assertDeclared({ keyFile }: UpstreamTls, url: string): void {
  const refusal = keyFile == null ? undefined : whyNotSentTo(url, { file: keyFile });
  if (refusal !== undefined) throw fileFault(refusal);
}

function readContent(file: SecretFile): Buffer {
  const content = file.read();
  if (content !== undefined) return content;
  throw fileFault(file.fault === undefined ? `no certificate or key in the file ${file.name}` : whyUnread(file));
}

/** Node silently ignores an authority file that contains no certificate, so this throws `ConnectionFault` instead. */
function assertUsable(named: readonly Named[], material: Partial<Record<Use, Buffer>>): void {
  const findName = (use: Use): string => named.find((one) => one.use === use)?.file.name ?? '';
  const { ca, cert, key } = material;
  if (ca !== undefined) readCertificates(ca, findName('ca'));
  if (cert === undefined || key === undefined) return;
  const [ours] = readCertificates(cert, findName('cert'));
  if (ours?.checkPrivateKey(readKey(key, findName('key')))) return;
  throw fileFault(`the certificate in ${findName('cert')} and the key in ${findName('key')} do not belong together`);
}

function readCertificates(content: Buffer, name: string): X509Certificate[] {
  let certificates: X509Certificate[];
  try {
    certificates = pemCertificates(content);
  } catch {
    throw fileFault(`a certificate in the file ${name} cannot be read`);
  }
  if (certificates.length === 0) throw fileFault(`no certificate in the file ${name}: it has to be in PEM`);
  return certificates;
}

function readKey(content: Buffer, name: string): KeyObject {
  try {
    return createPrivateKey(content);
  } catch {
    throw fileFault(`no key in the file ${name}: it has to be in PEM, without a passphrase`);
  }
}

function fileFault(words: string): ConnectionFault {
  return new ConnectionFault('ERR_TLS_CERT_FILE', words);
}
