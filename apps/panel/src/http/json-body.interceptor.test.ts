import { PassThrough } from 'node:stream';
import { lastValueFrom, of } from 'rxjs';
import { BODIES_BYTES_MAX, BODY_BYTES_MAX, JsonBodyInterceptor, PUBLIC_BODY_BYTES_MAX } from './json-body.interceptor.js';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Sends the head of a request. Returns its body, and the reply once the body has ended. */
function post(interceptor: JsonBodyInterceptor, headers: Record<string, string>) {
  const body = Object.assign(new PassThrough(), { method: 'POST', headers: { ...JSON_TYPE, ...headers } });
  const context = { switchToHttp: () => ({ getRequest: () => body }), getHandler: () => post };
  const reply = interceptor.intercept(context as never, { handle: () => of('done') }).then((handled) => lastValueFrom(handled));
  return { body, reply };
}

const interceptorOf = (access: string) => new JsonBodyInterceptor({ get: (() => ({ access })) as never });
const lengthOf = (bytes: number) => ({ 'content-length': String(bytes) });

test('bodies that do not fit together are refused until one has been handled', async () => {
  const interceptor = interceptorOf('own');
  const held = Array.from({ length: BODIES_BYTES_MAX / BODY_BYTES_MAX }, () => post(interceptor, { 'transfer-encoding': 'chunked' }));
  await expect(post(interceptor, lengthOf(2)).reply).rejects.toMatchObject({ code: 'unavailable', status: 503 });
  held[0]?.body.end('{}');
  held[1]?.body.end('{');
  expect(await held[0]?.reply).toBe('done');
  await expect(held[1]?.reply).rejects.toMatchObject({ code: 'invalid_json' });
  for (const length of [lengthOf(BODY_BYTES_MAX), lengthOf(BODY_BYTES_MAX)]) held.push(post(interceptor, length));
  for (const { body } of held) body.end('{}');
  await Promise.allSettled(held.map(({ reply }) => reply));
  const { body, reply } = post(interceptor, lengthOf(2));
  body.end('{}');
  expect(await reply).toBe('done');
});

test.each([
  ['own', BODY_BYTES_MAX],
  ['public', PUBLIC_BODY_BYTES_MAX],
])('a body of the route %s has at most %d bytes, whatever its head says', async (access, max) => {
  const interceptor = interceptorOf(access);
  await expect(post(interceptor, lengthOf(max + 1)).reply).rejects.toMatchObject({ code: 'request_too_large' });
  const { body, reply } = post(interceptor, { 'transfer-encoding': 'chunked' });
  body.end(Buffer.alloc(max + 1));
  await expect(reply).rejects.toMatchObject({ code: 'request_too_large' });
});
