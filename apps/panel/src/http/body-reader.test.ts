import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { BODIES_BYTES_MAX, BODY_BYTES_MAX, BODY_RATE, BodyReader, PROOF_BYTES_MAX, SHARE_BYTES_MAX } from './body-reader.js';

const PERSON = { access: 'own' } as const;
const SIGN_IN = { access: 'public' } as const;
const CONFIRMATION = { access: 'own', isProof: true } as const;
const CHUNKED = { 'transfer-encoding': 'chunked' };

interface Sender {
  userId?: string;
  address?: string;
}

/** Sends the head of a request. Returns its body, and its text once the body has ended. */
function post(
  reader: BodyReader,
  route: typeof PERSON | typeof SIGN_IN,
  { userId, address = '192.0.2.1' }: Sender,
  headers: object = CHUNKED,
) {
  const caller = userId === undefined ? undefined : { userId };
  const body = Object.assign(new PassThrough({ highWaterMark: 2 * BODY_BYTES_MAX }), { headers, caller, address, complete: false });
  const read = reader.read(body as never, route);
  read.catch(() => undefined); // some tests only look whether it is still read
  return { body, read };
}

/** Sends bodies of the largest size that do not end, until one is refused. Returns their number and the code of the refusal. */
async function fill(reader: BodyReader, route: typeof PERSON | typeof SIGN_IN, sender: Sender, bytes: number): Promise<[number, string]> {
  for (let count = 0; ; count++) {
    const { body, read } = post(reader, route, sender);
    let code: string | undefined;
    read.catch((error) => {
      code = error.code;
    });
    body.write(Buffer.alloc(bytes, ' '));
    await setImmediate();
    if (code !== undefined) return [count, code];
  }
}

test('bodies of one person that never end leave room for others, for sign-ins and confirmations [sec-panel-shares]', async () => {
  const reader = new BodyReader();
  expect(await fill(reader, PERSON, { userId: 'viewer' }, BODY_BYTES_MAX)).toEqual([4, 'rate_limit_exceeded']);
  const others = [post(reader, PERSON, { userId: 'other' }), post(reader, SIGN_IN, {}), post(reader, CONFIRMATION, { userId: 'viewer' })];
  for (const { body } of others) body.end('{}');
  expect(await Promise.all(others.map(async ({ read }) => (await read).text))).toEqual(['{}', '{}', '{}']);
});

test('bodies of many people leave room for small ones and for every sign-in [sec-panel-shares]', async () => {
  const reader = new BodyReader();
  for (let person = 0; person < BODIES_BYTES_MAX / SHARE_BYTES_MAX - 1; person++)
    expect(await fill(reader, PERSON, { userId: `${person}` }, BODY_BYTES_MAX)).toEqual([4, 'rate_limit_exceeded']);
  expect(await fill(reader, PERSON, { userId: 'large' }, BODY_BYTES_MAX)).toEqual([0, 'unavailable']);
  expect(await fill(reader, PERSON, { userId: 'small' }, 64 * 1024)).toEqual([64, 'rate_limit_exceeded']);
  expect(await fill(reader, PERSON, { userId: 'last' }, 1)).toEqual([0, 'unavailable']);
  const { body, read } = post(reader, SIGN_IN, {});
  body.end('{}');
  expect((await read).text).toBe('{}');
});

test('a body counts with what has arrived, whatever its head says [sec-panel-shares]', async () => {
  const reader = new BodyReader();
  const head = { 'content-length': String(BODY_BYTES_MAX) };
  const open = Array.from({ length: 64 }, () => post(reader, PERSON, { userId: 'one' }, head));
  for (const { body } of open) body.write('{');
  const { body, read } = post(reader, PERSON, { userId: 'one' });
  body.end(Buffer.alloc(BODY_BYTES_MAX, ' '));
  expect((await read).text).toHaveLength(BODY_BYTES_MAX);
});

test('addresses of one IPv6 network share a share; a body is released once it is handled, refused or left', async () => {
  const reader = new BodyReader();
  const held = Array.from({ length: SHARE_BYTES_MAX / PROOF_BYTES_MAX }, (_, at) =>
    post(reader, SIGN_IN, { address: `2001:db8::${(at + 1).toString(16)}` }),
  );
  for (const { body } of held) body.write(Buffer.alloc(PROOF_BYTES_MAX));
  await setImmediate();
  expect(await fill(reader, SIGN_IN, { address: '2001:db8::ffff' }, 1)).toEqual([0, 'rate_limit_exceeded']);
  const [handled, tooLarge, left] = held;
  handled?.body.end();
  (await handled?.read)?.release();
  tooLarge?.body.write('x');
  await expect(tooLarge?.read).rejects.toMatchObject({ code: 'request_too_large' });
  left?.body.destroy();
  await expect(left?.read).rejects.toMatchObject({ name: 'ClientLeftError' });
  expect(await fill(reader, SIGN_IN, { address: '2001:db8::ffff' }, PROOF_BYTES_MAX)).toEqual([3, 'rate_limit_exceeded']);
});

test.each([
  ['a person', PERSON, BODY_BYTES_MAX],
  ['a confirmation', CONFIRMATION, PROOF_BYTES_MAX],
  ['a sign-in', SIGN_IN, PROOF_BYTES_MAX],
])('a body of %s has a largest size, whatever its head says', async (_who, route, max) => {
  const reader = new BodyReader();
  const declared = post(reader, route, { userId: 'one' }, { 'content-length': String(max + 1) });
  await expect(declared.read).rejects.toMatchObject({ code: 'request_too_large' });
  const { body, read } = post(reader, route, { userId: 'one' });
  body.end(Buffer.alloc(max + 1));
  await expect(read).rejects.toMatchObject({ code: 'request_too_large' });
});

test('a body that is too slow is refused with 408 [sec-panel-shares]', async () => {
  const reader = new BodyReader({ ...BODY_RATE, bodyGraceMs: 0 });
  const { body, read } = post(reader, PERSON, { userId: 'one' });
  body.write('{');
  await expect(read).rejects.toMatchObject({ code: 'invalid_request', status: 408 });
});
