import { plainToInstance } from 'class-transformer';
import { IsDefined, IsInt, registerDecorator, ValidateIf, ValidateNested, validateSync } from 'class-validator';
import fc from 'fast-check';
import { HoldApplyRequest } from '#contracts/billing/holds.js';
import { KeyUpdateRequest } from '#contracts/billing/keys.js';
import { BalanceGetRequest } from '#contracts/billing/money.js';
import { EmptyRequest } from '#contracts/catalog.js';
import { everyEndpoint, everyStreamEndpoint, everyTopic } from '#contracts/every-contract.js';
import { ServiceError } from '#contracts/service-error.js';
import { testCases } from '#testing/long-run.js';
import { describeSchema, type MessageSchema, validatePayload } from './validate-payload.js';

const ID = '0199d1f0-0000-7000-8000-000000000001';

test('a valid payload becomes an instance, without what is unknown or null', () => {
  const request = validatePayload(BalanceGetRequest, { accountId: ID, other: 1 });
  expect(request).toBeInstanceOf(BalanceGetRequest);
  expect(request).toEqual({ accountId: ID });
  expect(Object.keys(validatePayload(EmptyRequest, { other: 1 }))).toEqual([]);
});

test('null clears a field that may be cleared, and is dropped elsewhere', () => {
  const cleared = { keyId: ID, name: null, expiresAt: null };
  expect(validatePayload(KeyUpdateRequest, { ...cleared, disabled: null })).toEqual(cleared);
});

test.each([
  ['a field', BalanceGetRequest, { accountId: 'x' }, 'accountId must be a UUID', 'accountId'],
  ['a missing field', HoldApplyRequest, { settles: [] }, 'reserves is missing', 'reserves'],
  [
    'a nested field',
    HoldApplyRequest,
    { reserves: [], settles: [{ holdId: ID, accountId: ID, reason: 'completed', usage: { promptTokens: -1 } }] },
    'settles[0].usage.promptTokens must not be less than 0',
    'settles[0].usage.promptTokens',
  ],
])('%s at fault is named as a path', (_name, type, payload, message, param) => {
  expect(() => validatePayload<object>(type, payload)).toThrow(
    expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(message), param }),
  );
});

test.each([[null], [[]], ['text'], [1]])('%j is not a request', (payload) => {
  expect(() => validatePayload(EmptyRequest, payload)).toThrow(new ServiceError('invalid_request', 'The request must be a JSON object.'));
});

/** Values of fields: some that each rule accepts, and many that it refuses. */
const VALUES: unknown[] = [
  ...[null, true, false, 0, 1, 7, 200, -1, 1.5, 2 ** 31 - 1, 2 ** 31, Number.MAX_SAFE_INTEGER + 1],
  ...['', 'x', 'x\0', 'x'.repeat(128), 'x'.repeat(129), '😀'.repeat(200), 'x'.repeat(2_001), 'constructor', ID, ID.toUpperCase(), `${ID}0`],
  ...['0', '12.50', '-2.5', '1000000000000000000', '1000000000000000001', '9'.repeat(38), '9'.repeat(39), 'a'.repeat(64)],
  ...[
    '2027-01-31',
    '2027-02-31',
    '2027-01-31T12:00:00Z',
    '2027-01-31T12:00:00',
    'completed',
    'client-disconnected',
    'lease-expired',
    'reported',
    'whole',
  ],
  ...[
    'counted',
    'estimated',
    'gateway',
    'active',
    'admin',
    'owner',
    'topup',
    'day',
    'balance-low',
    '2027-01',
    'settlements',
    'project',
    'openai-chat',
    'user',
    'tag:team',
    'closed',
    'embedding-input',
    'chat',
    'http://host/v1',
    'http://u:p@host',
    'KEY',
    'f/k.pem',
    'tg_child_x',
    '1798761600-9f86d081884c7d65',
  ],
  ...[
    [],
    [1],
    ['project', 'key'],
    ['project', 'project'],
    ['topup'],
    ['10.0.0.0/8'],
    [ID, ID.toUpperCase()],
    [ID, 'x'],
    {},
    { length: 1 },
    { user: 'alice', 'tag:team': 'search' },
  ],
];

const contracts = [...everyEndpoint, ...everyStreamEndpoint].map(({ request }) => request);
const types = new Set([...contracts, ...everyTopic.map(({ event }) => event)]);

for (const type of types) {
  testCases(
    `${type.name}: the verdict is that of class-validator`,
    { usual: 100, long: 20_000 },
    arbitraryMessage(describeSchema(type)),
    (payload) => {
      const instance = plainToInstance(type, payload);
      const isValid = validateSync(instance, { whitelist: true, forbidUnknownValues: false }).length === 0;
      if (isValid) expect(validatePayload(type, payload)).toEqual(withoutNull(instance, describeSchema(type)));
      else expect(() => validatePayload(type, payload)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    },
  );
}

/** Messages that are mostly valid: of each field, one value in ten is any value, and one in ten is missing. */
function arbitraryMessage({ type, fields }: MessageSchema): fc.Arbitrary<object> {
  const values = fields.map(({ name, nested }): [string, fc.Arbitrary<unknown>] => {
    if (nested) {
      const one = arbitraryMessage(nested);
      const isList = isAccepted(type, name, []);
      const item = fc.oneof({ weight: 9, arbitrary: one }, fc.constantFrom(...VALUES));
      return [name, fc.oneof({ weight: 9, arbitrary: isList ? fc.array(item, { maxLength: 2 }) : one }, fc.constantFrom(...VALUES, [[]]))];
    }
    const accepted = VALUES.filter((value) => isAccepted(type, name, value));
    if (accepted.length === 0) throw new Error(`no value of ${type.name}.${name}`);
    return [name, fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...accepted) }, fc.constantFrom(...VALUES))];
  });
  const record = Object.fromEntries([...values, ['unknown', fc.constant(1)]]);
  return fc.oneof({ weight: 9, arbitrary: fc.record(record) }, fc.record(record, { requiredKeys: [] }));
}

function isAccepted(type: new () => object, name: string, value: unknown): boolean {
  return validateSync(plainToInstance(type, { [name]: value })).every(({ property }) => property !== name);
}

/** Returns a message without its nulls, except those that clear a field. */
function withoutNull(value: unknown, schema: MessageSchema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNull(item, schema));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).flatMap(([name, content]) => {
    const field = schema?.fields.find((one) => one.name === name);
    return content === null && !field?.isClearable ? [] : [[name, withoutNull(content, field?.nested)]];
  });
  return Object.fromEntries(kept);
}

describe('a decorator that is not supported fails when the schema is made', () => {
  class Defined {
    @IsDefined() field!: string;
  }
  class Conditional {
    @ValidateIf(() => true) @IsInt() field!: number;
  }
  class Grouped {
    @IsInt({ groups: ['one'] }) field!: number;
  }
  class Untyped {
    @ValidateNested() field!: Defined;
  }
  class Asynchronous {
    field!: string;
  }
  const validator = { validate: () => Promise.resolve(true) };
  registerDecorator({ name: 'isAsync', async: true, target: Asynchronous, propertyName: 'field', options: {}, validator });

  test.each([Defined, Conditional, Grouped, Untyped, Asynchronous])('%p', (type) => {
    expect(() => describeSchema(type)).toThrow(/^\w+\.field: the decorator \w+ is not supported/);
  });
});
