import { isPanelErrorCode, PanelError } from '../errors/panel-error.js';

interface GatewayCall {
  /** Address of the gateway, without `/v1`. */
  url: string;
  /** The API key. */
  key: string;
  /** Body of `POST /v1/chat/completions`. */
  body: object;
  /** Id of the panel's request, which the gateway logs. */
  requestId: string;
}

/**
 * Sends a request to the gateway, as one of its clients does. Returns the reply when its head is there.
 * @throws {PanelError} `unavailable`, or the reason of the signal
 */
export async function askGateway({ url, key, body, requestId }: GatewayCall, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': requestId },
      body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
      // Another address must not get the key.
      redirect: 'error',
      signal,
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw new PanelError('unavailable', 'The gateway does not answer. Try again in a moment.', { cause });
  }
}

/** Reads a refusal of the gateway. Codes that the panel does not have become `unavailable`. */
export async function readRefusal(reply: Response): Promise<PanelError> {
  const body = (await reply.json().catch(() => null)) as { error?: { message?: string; param?: string | null; code?: string } } | null;
  const { message = `The gateway answered with status ${reply.status}.`, param, code = '' } = body?.error ?? {};
  const retryAfterSeconds = Number(reply.headers.get('retry-after')) || undefined;
  return new PanelError(isPanelErrorCode(code) ? code : 'unavailable', message, { param: param ?? undefined, retryAfterSeconds });
}
