import { randomUUID } from 'node:crypto';
import { digestApiKey } from '#contracts/api-key.js';
import { accountCreate } from '#contracts/billing/accounts.js';
import { keyChanged } from '#contracts/billing/events.js';
import {
  type CreatedKey,
  type KeyCreateRequest,
  type KeyRow,
  keyCreate,
  keyList,
  keyResolve,
  keyRevoke,
  keyRotate,
  keyUpdate,
} from '#contracts/billing/keys.js';
import { projectCreate } from '#contracts/billing/projects.js';
import { startBillingService } from '../../test/billing-service.js';

/** Keys that end, are changed and are replaced, over NATS. */
const service = await startBillingService();
const [cli, gateway] = await Promise.all([service.connect('cli'), service.connect('gateway')]);
const { accountId } = await cli.request(accountCreate, { name: 'Acme' });
const { projectId } = await cli.request(projectCreate, { accountId, name: 'main' });
afterAll(() => service.stop());

const HOUR_MS = 3_600_000;
const inHours = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();
const newKey = (fields: Partial<KeyCreateRequest> = {}): Promise<CreatedKey> => cli.request(keyCreate, { projectId, ...fields });
const read = async (keyId: string): Promise<KeyRow | undefined> => (await cli.request(keyList, { keyId })).keys[0];
const readStatus = async (keyId: string): Promise<string | undefined> => (await read(keyId))?.status;
const readCode = (refused: Promise<unknown>): Promise<[string, string] | undefined> =>
  refused.then(
    () => undefined,
    ({ code, param }) => [code, param],
  );
/** True when the gateway would accept the key. */
const resolves = async (key: string): Promise<boolean> => {
  const code = await readCode(gateway.request(keyResolve, { keyDigest: digestApiKey(key) }));
  if (code !== undefined) expect(code[0]).toBe('invalid_api_key');
  return code === undefined;
};

test('models and networks of a key change, go to the gateway and to the key that replaces it; an empty list clears them', async () => {
  const lists = { models: ['gpt-*', 'o3'], networks: ['10.0.0.0/8', '2001:db8::1'] };
  const resolved = async (key: string) => {
    const { models, networks } = await gateway.request(keyResolve, { keyDigest: digestApiKey(key) });
    return { models, networks };
  };
  const { key, keyId } = await newKey(lists);
  expect([await read(keyId), await resolved(key)]).toMatchObject([lists, lists]);
  const made = await cli.request(keyRotate, { keyId, graceSeconds: 60 });
  expect([made, await resolved(made.key)]).toMatchObject([lists, lists]);
  const fewer = { models: ['o3'], networks: [] };
  expect(await cli.request(keyUpdate, { keyId: made.keyId, ...fewer })).toMatchObject(fewer);
  expect(await resolved(made.key)).toEqual({ models: ['o3'], networks: undefined });
});

test('a key has who made it, by name if there is one, and the limits by model of its creation', async () => {
  const modelLimits = [{ model: 'gpt-*', requestsPerMinuteMax: 5 }];
  const actor = { actor: 'user/7', actorName: 'Ann' };
  const { keyId, ...made } = await cli.request(keyCreate, { projectId, modelLimits }, { actor });
  const nameless = await cli.request(keyRotate, { keyId, graceSeconds: 0 }, { actor: { actor: 'token/1' } });
  expect([made, nameless, nameless.replaced, await read(keyId)]).toMatchObject([
    { createdBy: 'Ann', modelLimits },
    { createdBy: 'token/1', modelLimits },
    { createdBy: 'Ann' },
    { createdBy: 'Ann', modelLimits },
  ]);
});

test.each([
  ['networks', ['10.0.0.0/33']],
  ['networks', ['10.0.0']],
  ['networks', ['2001:db8::/129']],
  ['networks', ['fe80::1%eth0']],
  ['networks', ['example.com']],
  ['models', ['']],
  ['models', Array(65).fill('a')],
])('a key with the %s %j is refused', async (field, value) => {
  expect(await readCode(newKey({ [field]: value }))).toEqual(['invalid_request', field]);
});

test('name, note, end and state of a key change; null clears them', async () => {
  const expiresAt = inHours(1);
  const { key, ...made } = await newKey({ name: 'ci', note: 'of the build server', expiresAt });
  const { keyId } = made;
  expect(made).toEqual({
    ...{
      keyId,
      rootKeyId: keyId,
      projectId,
      name: 'ci',
      note: 'of the build server',
      lastFour: key.slice(-4),
      createdAt: expect.any(String),
    },
    ...{
      createdBy: 'nats/cli',
      expiresAt,
      disabled: false,
      models: [],
      networks: [],
      requestsPerMinuteMax: null,
      concurrencyMax: null,
      tokensPerMinuteMax: null,
      replacedBy: null,
      revokedAt: null,
    },
  });
  expect(await cli.request(keyUpdate, { keyId })).toEqual(made);
  const later = inHours(2);
  const changed = { ...made, name: 'cd', note: 'of the releases', expiresAt: later, disabled: true };
  expect(await cli.request(keyUpdate, { keyId, name: 'cd', note: 'of the releases', expiresAt: later, disabled: true })).toEqual(changed);
  const cleared = { ...changed, name: null, note: null, expiresAt: null };
  expect(await cli.request(keyUpdate, { keyId, name: null, note: null, expiresAt: null })).toEqual(cleared);
  expect(await read(keyId)).toEqual({ ...cleared, status: 'disabled', lastUsedAt: null });
});

test('the keys that end before a moment are the active ones alone', async () => {
  const { accountId } = await cli.request(accountCreate, { name: 'of ends' });
  const { projectId } = await cli.request(projectCreate, { accountId, name: 'main' });
  const createKey = async (name: string, end?: number) =>
    (await newKey({ projectId, name, ...(end && { expiresAt: inHours(end) }) })).keyId;
  await createKey('never');
  await createKey('later', 3);
  const soon = [await createKey('soon', 1), await createKey('sooner', 0.5)];
  await cli.request(keyUpdate, { keyId: await createKey('disabled', 1), disabled: true });
  await cli.request(keyRevoke, { keyId: await createKey('revoked', 1) });
  const { keys } = await cli.request(keyList, { accountId, endsBefore: inHours(2) });
  expect(keys.map(({ keyId }) => keyId)).toEqual(soon);
});

test('a disabled key is refused until it is enabled again, and each change is published', async () => {
  const { keyId, key } = await newKey();
  const changes: unknown[] = [];
  const unsubscribe = gateway.subscribe(keyChanged, (event) => changes.push(event));
  await cli.request(keyUpdate, { keyId, disabled: true });
  expect([await resolves(key), await readStatus(keyId)]).toEqual([false, 'disabled']);
  await cli.request(keyUpdate, { keyId, disabled: false });
  expect([await resolves(key), await readStatus(keyId)]).toEqual([true, 'active']);
  while (changes.length < 2) await new Promise((resolve) => setImmediate(resolve));
  unsubscribe();
  expect(changes).toEqual([
    { keyId, projectId },
    { keyId, projectId },
  ]);
});

test('a key is refused from its end on, and accepted when its end moves', async () => {
  const expiresAt = new Date(Date.now() + 1_000).toISOString();
  const { keyId, key } = await newKey({ expiresAt });
  while (await resolves(key));
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt));
  expect(await readStatus(keyId)).toBe('expired');
  await cli.request(keyUpdate, { keyId, expiresAt: inHours(1) });
  expect([await resolves(key), await readStatus(keyId)]).toEqual([true, 'active']);
});

test('an end that has passed is refused', async () => {
  const { keyId } = await newKey();
  const expiresAt = inHours(-1);
  const refused = [
    await readCode(newKey({ expiresAt })),
    await readCode(cli.request(keyUpdate, { keyId, expiresAt })),
    await readCode(cli.request(keyRotate, { keyId, graceSeconds: 0, expiresAt })),
  ];
  expect(refused).toEqual(refused.map(() => ['invalid_request', 'expiresAt']));
});

describe('a rotation', () => {
  test('makes a key with the same settings; both work until the grace is over', async () => {
    const { key, ...old } = await newKey({ name: 'ci', note: 'of the build server' });
    const newKeyId = randomUUID();
    const before = Date.now();
    const { key: newSecret, replaced, ...made } = await cli.request(keyRotate, { keyId: old.keyId, newKeyId, graceSeconds: 60 });
    const createdAt = expect.any(String);
    expect(made).toEqual({ ...old, keyId: newKeyId, lastFour: newSecret.slice(-4), createdAt });
    expect(replaced).toEqual({ ...old, expiresAt: expect.any(String), replacedBy: newKeyId });
    const end = Date.parse(replaced.expiresAt ?? '') - 60_000;
    expect(end >= before - 1 && end <= Date.now() + 1).toBe(true);
    expect([await resolves(key), await resolves(newSecret)]).toEqual([true, true]);
    expect(await readStatus(old.keyId)).toBe('active');
  });

  test('without a grace ends the old key at once, and publishes it', async () => {
    const { keyId, key } = await newKey();
    const changes: unknown[] = [];
    const unsubscribe = gateway.subscribe(keyChanged, (event) => changes.push(event));
    const made = await cli.request(keyRotate, { keyId, graceSeconds: 0 });
    expect([await resolves(key), await resolves(made.key), await readStatus(keyId)]).toEqual([false, true, 'expired']);
    while (changes.length < 1) await new Promise((resolve) => setImmediate(resolve));
    unsubscribe();
    expect(changes).toEqual([{ keyId, projectId }]);
  });

  test('never lets the old key live longer; the new key has its end, another or none', async () => {
    const expiresAt = inHours(1);
    const ends: unknown[] = [];
    for (const wanted of [{}, { expiresAt: null }, { expiresAt: '2099-01-01' }]) {
      const { keyId } = await newKey({ expiresAt });
      const made = await cli.request(keyRotate, { keyId, graceSeconds: 7_200, ...wanted });
      ends.push([made.replaced.expiresAt, made.expiresAt]);
    }
    expect(ends).toEqual([
      [expiresAt, expiresAt],
      [expiresAt, null],
      [expiresAt, '2099-01-01T00:00:00.000Z'],
    ]);
  });

  test('is made once: a key that is not active or was replaced, and an id that was used, are a conflict', async () => {
    const [revoked, disabled, replaced, free] = await Promise.all([newKey(), newKey(), newKey(), newKey()]);
    const expired = await newKey({ expiresAt: new Date(Date.now() + 500).toISOString() });
    await cli.request(keyRevoke, { keyId: revoked.keyId });
    await cli.request(keyUpdate, { keyId: disabled.keyId, disabled: true });
    while ((await readStatus(expired.keyId)) === 'active');
    const newKeyId = randomUUID();
    const rotate = (keyId: string, id = newKeyId) => cli.request(keyRotate, { keyId, newKeyId: id, graceSeconds: 60 });
    await rotate(replaced.keyId);
    expect({
      revoked: await readCode(rotate(revoked.keyId)),
      disabled: await readCode(rotate(disabled.keyId)),
      expired: await readCode(rotate(expired.keyId)),
      again: await readCode(rotate(replaced.keyId)),
      'with another id': await readCode(rotate(replaced.keyId, randomUUID())),
      'an id that was used': await readCode(rotate(free.keyId)),
      unknown: await readCode(rotate(randomUUID())),
    }).toEqual({
      revoked: ['conflict', 'keyId'],
      disabled: ['conflict', 'keyId'],
      expired: ['conflict', 'keyId'],
      again: ['conflict', 'keyId'],
      'with another id': ['conflict', 'keyId'],
      'an id that was used': ['conflict', 'newKeyId'],
      unknown: ['not_found', 'keyId'],
    });
    expect(await read(free.keyId)).toMatchObject({ status: 'active', replacedBy: null, expiresAt: null });
  });

  test('of one key at the same time succeeds once', async () => {
    const { keyId } = await newKey();
    const rotate = () => readCode(cli.request(keyRotate, { keyId, graceSeconds: 60 }));
    const outcomes = await Promise.all([rotate(), rotate(), rotate()]);
    expect(outcomes.filter((code) => code === undefined)).toHaveLength(1);
    expect(outcomes.filter((code) => code?.[0] === 'conflict')).toHaveLength(2);
  });
});

describe('a replaced key ends no later than its rotation allowed', () => {
  const changeEnd = (keyId: string, expiresAt: string | null) => readCode(cli.request(keyUpdate, { keyId, expiresAt }));

  test.each([
    ['without a grace', 0],
    ['with a grace', 3_600],
  ])('%s: a later end and none are a conflict [sec-replaced-key]', async (_name, graceSeconds) => {
    const { keyId, key } = await newKey();
    const { replaced } = await cli.request(keyRotate, { keyId, graceSeconds });
    expect([await changeEnd(keyId, inHours(2)), await changeEnd(keyId, '2099-01-01T00:00:00Z'), await changeEnd(keyId, null)]).toEqual(
      Array(3).fill(['conflict', 'expiresAt']),
    );
    expect([(await read(keyId))?.expiresAt, await resolves(key)]).toEqual([replaced.expiresAt, graceSeconds > 0]);
  });

  test('its end moves to an earlier time, and not back [sec-replaced-key]', async () => {
    const { keyId } = await newKey();
    const { replaced } = await cli.request(keyRotate, { keyId, graceSeconds: 7_200 });
    const end = replaced.expiresAt ?? '';
    const earlier = inHours(1);
    expect([await changeEnd(keyId, end), await changeEnd(keyId, earlier), await changeEnd(keyId, end)]).toEqual([
      undefined,
      undefined,
      ['conflict', 'expiresAt'],
    ]);
    expect((await read(keyId))?.expiresAt).toBe(earlier);
  });

  test('no other change, and no rotation of its successor, brings it back [sec-replaced-key]', async () => {
    const { keyId, key } = await newKey({ expiresAt: inHours(5) });
    const second = await cli.request(keyRotate, { keyId, graceSeconds: 0 });
    await cli.request(keyUpdate, { keyId, disabled: true });
    await cli.request(keyUpdate, { keyId, disabled: false, name: 'again' });
    const third = await cli.request(keyRotate, { keyId: second.keyId, graceSeconds: 0, expiresAt: null });
    await cli.request(keyUpdate, { keyId: third.keyId, expiresAt: inHours(9) });
    await cli.request(keyRevoke, { keyId: third.keyId });
    expect(await Promise.all([key, second.key, third.key].map(resolves))).toEqual([false, false, false]);
    expect([await readCode(cli.request(keyRotate, { keyId, graceSeconds: 3_600 })), await readStatus(keyId)]).toEqual([
      ['conflict', 'keyId'],
      'expired',
    ]);
  });

  test('a rotation and a later end at the same time leave no end beyond the grace [sec-replaced-key]', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { keyId, key } = await newKey();
        await Promise.all([cli.request(keyRotate, { keyId, graceSeconds: 0 }), changeEnd(keyId, inHours(1))]);
        return resolves(key);
      }),
    );
    expect(outcomes).toEqual(Array(8).fill(false));
  });
});

test('a revoked key does not change any more', async () => {
  const revoked = await newKey();
  await cli.request(keyRevoke, { keyId: revoked.keyId });
  expect(await readCode(cli.request(keyUpdate, { keyId: revoked.keyId, name: 'x' }))).toEqual(['conflict', 'keyId']);
});
