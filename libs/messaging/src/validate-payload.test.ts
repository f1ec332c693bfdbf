import { HoldApplyRequest } from '#contracts/billing/holds.js';
import { BalanceGetRequest } from '#contracts/billing/money.js';
import { EmptyRequest } from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import { validatePayload } from './validate-payload.js';

const ID = '0199d1f0-0000-7000-8000-000000000001';
const refusal = (type: new () => object, payload: unknown): unknown => {
  try {
    return validatePayload(type, payload);
  } catch (error) {
    return error;
  }
};

test('a valid payload becomes an instance, without what is unknown', () => {
  const request = validatePayload(BalanceGetRequest, { accountId: ID, other: 1 });
  expect(request).toBeInstanceOf(BalanceGetRequest);
  expect(request).toEqual({ accountId: ID });
  expect(validatePayload(EmptyRequest, { other: 1 })).toEqual({});
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
  const error = refusal(type, payload);
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({ code: 'invalid_request', param });
  expect((error as ServiceError).message).toContain(message);
});

test.each([[null], [[]], ['text'], [1]])('%j is not a request', (payload) => {
  expect(refusal(EmptyRequest, payload)).toEqual(new ServiceError('invalid_request', 'The request must be a JSON object.'));
});
