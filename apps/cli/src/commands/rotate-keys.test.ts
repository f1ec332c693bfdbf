import type { Endpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';
import { collectRun } from '../../test/collect-run.js';

const PROJECT = '0190a6f0-7c1e-7000-8000-000000000001';
const AT = '2027-01-01T00:00:00.000Z';

const makeKey = (digit: number, fields: object = {}) => ({
  ...{ keyId: `0190a6f0-7c1e-7000-8000-00000000001${digit}`, name: `key ${digit}`, status: 'active', replacedBy: null },
  ...{ createdAt: AT, expiresAt: null, ...fields },
});

/** Pages of keys, one a page, of which the third is refused when it is rotated. */
async function rotateAll(args: string[], pages: object[], refused = '') {
  const asked: unknown[] = [];
  const messaging = {
    request: async <Request extends object>({ subject }: Endpoint<Request, unknown>, payload: Request) => {
      if (subject === 'billing.v1.key.list') {
        const at = Number((payload as { cursor?: string }).cursor ?? 0);
        return { keys: [pages[at]], nextCursor: at + 1 < pages.length ? `${at + 1}` : null };
      }
      const { keyId } = payload as unknown as { keyId: string };
      asked.push(payload);
      if (keyId === refused) throw new ServiceError('conflict', 'The account has as many keys as it may have.', 'keyId');
      return { keyId: `new of ${keyId.at(-1)}`, key: `tg_live_${keyId.at(-1)}`, replaced: { keyId } };
    },
    close: async () => {},
  };
  const run = await collectRun(['key', 'rotate-all', '--project', PROJECT, ...args], async () => messaging as unknown as Messaging);
  return { ...run, asked };
}

const PLAYGROUND = { name: 'Playground of ada@example.com', expiresAt: '2027-01-01T01:00:00.000Z' };

test('every active key of all pages is rotated, except replaced ones and those of the playground', async () => {
  const others = [makeKey(2, { status: 'revoked' }), makeKey(3, { replacedBy: 'another' }), makeKey(4, PLAYGROUND)];
  const { asked, code, out } = await rotateAll(['--grace', '7d'], [makeKey(1, { name: 'a, b' }), ...others, makeKey(5)]);
  expect({ asked, code }).toEqual({
    asked: [makeKey(1), makeKey(5)].map(({ keyId }) => ({ keyId, graceSeconds: 604_800 })),
    code: 0,
  });
  expect(out).toBe('"a, b",tg_live_1\nkey 5,tg_live_5\nSave the keys now: they are not shown again. The old ones end in 168 hours.\n');
});

test('keys that were made before a failure are shown, and the exit code is 1', async () => {
  const keys = [makeKey(1), makeKey(2), makeKey(3)];
  const { code, out } = await rotateAll([], keys, makeKey(2).keyId);
  expect({ code, out }).toEqual({
    code: 1,
    out: 'key 1,tg_live_1\nSave the keys now: they are not shown again. The old ones end in 24 hours.\nkey 2 and those after it were not rotated: The account has as many keys as it may have.\n',
  });
  const document = JSON.parse((await rotateAll(['--json'], keys, makeKey(2).keyId)).out) as object;
  expect(document).toEqual({
    keys: [{ name: 'key 1', replaced: makeKey(1).keyId, keyId: 'new of 1', key: 'tg_live_1' }],
    error: expect.stringContaining('key 2 and those after it'),
  });
});

test('a project without active keys says so', async () => {
  expect((await rotateAll([], [makeKey(1, { status: 'expired' })])).out).toBe('no active keys\n');
});
