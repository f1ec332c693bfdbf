import { createHmac } from 'node:crypto';

/** The secrets that a message is signed with: during a rotation the former one as well. */
export interface SigningKeys {
  webhookId: string;
  version: number;
  /** True while the secret before is valid too. */
  hasPrevious: boolean;
}

const PREFIX = 'whsec_';

/**
 * Returns the secret of a webhook as its receiver gets it. It is derived from the pepper of the API keys and stored nowhere, so that no copy
 * of the database, log or list has it.
 */
export function webhookSecret(pepper: string, webhookId: string, version: number): string {
  return PREFIX + secretBytes(pepper, webhookId, version).toString('base64');
}

/**
 * Returns the headers of a message, by the scheme of Standard Webhooks: an HMAC-SHA256 of id, time and body, one for each valid secret.
 * `sentAt` is in seconds.
 */
export function signatureHeaders(
  pepper: string,
  { webhookId, version, hasPrevious }: SigningKeys,
  { id, body, sentAt }: { id: string; body: string; sentAt: number },
): Record<string, string> {
  const sign = (of: number): string =>
    `v1,${createHmac('sha256', secretBytes(pepper, webhookId, of))
      .update(`${id}.${sentAt}.${body}`)
      .digest('base64')}`;
  const versions = hasPrevious && version > 1 ? [version, version - 1] : [version];
  return { 'webhook-id': id, 'webhook-timestamp': String(sentAt), 'webhook-signature': versions.map(sign).join(' ') };
}

function secretBytes(pepper: string, webhookId: string, version: number): Buffer {
  return createHmac('sha256', pepper).update(`webhook ${webhookId} ${version}`).digest();
}
