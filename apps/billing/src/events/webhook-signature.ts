import { createHmac } from 'node:crypto';

/** The parts of a webhook's secret that its row has. */
export interface SecretParts {
  webhookId: string;
  /** Random, made with the row, so that a later webhook with the same id has other secrets. Empty for webhooks of 0.1.0. */
  salt: string;
  version: number;
}

/** The secrets that a message is signed with: during a rotation the former one as well. */
export interface SigningKeys extends SecretParts {
  /** True while the secret before is valid too. */
  hasPrevious: boolean;
}

const PREFIX = 'whsec_';

/**
 * Returns the secret of a webhook as its receiver gets it. It is derived from the pepper of the API keys and stored nowhere, so that no copy
 * of the database, log or list has it.
 */
export function webhookSecret(pepper: string, parts: SecretParts): string {
  return PREFIX + secretBytes(pepper, parts).toString('base64');
}

/**
 * Returns the headers of a message, by the scheme of Standard Webhooks: an HMAC-SHA256 of id, time and body, one for each valid secret.
 * `sentAt` is in seconds.
 */
export function signatureHeaders(
  pepper: string,
  { hasPrevious, ...parts }: SigningKeys,
  { id, body, sentAt }: { id: string; body: string; sentAt: number },
): Record<string, string> {
  const { version } = parts;
  const sign = (of: number): string =>
    `v1,${createHmac('sha256', secretBytes(pepper, { ...parts, version: of }))
      .update(`${id}.${sentAt}.${body}`)
      .digest('base64')}`;
  const versions = hasPrevious && version > 1 ? [version, version - 1] : [version];
  return { 'webhook-id': id, 'webhook-timestamp': String(sentAt), 'webhook-signature': versions.map(sign).join(' ') };
}

function secretBytes(pepper: string, { webhookId, salt, version }: SecretParts): Buffer {
  const text = `webhook ${webhookId} ${version}`;
  return createHmac('sha256', pepper)
    .update(salt === '' ? text : `${text} ${salt}`)
    .digest();
}
