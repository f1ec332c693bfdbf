import { buildConnector } from 'undici';
import type { UpstreamTls } from '#contracts/catalog.js';
import { secretFile } from './api-key.js';

/**
 * Connections with certificates of an upstream's own: its authority instead of the public ones, and who we are. Files that have
 * been replaced are used by the next connection; those that are open stay as they are. Without one of its files no connection is
 * made.
 */
export function tlsConnector(files: UpstreamTls, options: buildConnector.BuildOptions): buildConnector.connector {
  const named = (['ca', 'cert', 'key'] as const).flatMap((use) => {
    const name = files[`${use}File`];
    return name == null ? [] : [{ use, file: secretFile(name) }];
  });
  let current: buildConnector.connector | undefined;
  let currentVersions = '';
  return (to, callback) => {
    const material: Record<string, Buffer> = {};
    for (const { use, file } of named) {
      const content = file.read();
      if (content === undefined) {
        process.nextTick(callback, new TlsFileError(`no certificate or key in the file ${file.name}`), null);
        return;
      }
      material[use] = content;
    }
    const versions = named.map(({ file }) => file.version).join();
    try {
      // A new one with every change, since sessions are resumed without another look at certificates.
      if (current === undefined || versions !== currentVersions) current = buildConnector({ ...options, ...material });
      currentVersions = versions;
      return current(to, callback);
    } catch (error) {
      process.nextTick(callback, new TlsFileError((error as Error).message, { cause: error }), null);
    }
  };
}

/** A file of the operator's is missing, or is no certificate. */
export class TlsFileError extends Error {
  override readonly name = 'TlsFileError';
  readonly code = 'ERR_TLS_CERT_FILE';
}

/** Whether a connection failed over a certificate, theirs or ours: only an operator can mend that. */
export function isCertificateError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|ERR_OSSL|ERR_SSL_TLS/.test(code);
}
