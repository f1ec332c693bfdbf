import type { Dispatcher } from 'undici';
import { type PostOptions, postStream, type UpstreamReply } from '../transport/post-stream.js';
import type { Credential, HeaderFields } from './credential.js';

/**
 * Posts with the credential of the upstream, as `postStream` does. When the upstream rejects it and there is another one, posts once more.
 * Rejects with `credential` failures too.
 */
export async function postAuthorized(
  credential: Credential,
  pool: Dispatcher,
  options: PostOptions,
  signal: AbortSignal,
): Promise<UpstreamReply> {
  const { path, headers, body } = options;
  const authorize = async (): Promise<HeaderFields> => {
    const added = credential.authorize({ method: 'POST', path, headers, body });
    return added instanceof Promise ? orAborted(added, signal) : added;
  };
  const post = (added: HeaderFields): Promise<UpstreamReply> => postStream(pool, { ...options, headers: { ...headers, ...added } }, signal);
  const added = await authorize();
  const reply = await post(added);
  if (reply.status !== 401 && reply.status !== 403) return reply;
  try {
    if (!(await orAborted(credential.renew(reply, added), signal))) return reply;
  } catch (error) {
    reply.close();
    throw error;
  }
  reply.close();
  return post(await authorize());
}

/** Rejects with the reason of the signal when that fires first. The token is still waited for by the others. */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
