import { type OwnKeyReceiptRequest, ownKeyReceipt, receiptKeys } from '#contracts/billing/receipts.js';
import { ServiceError } from '#contracts/service-error.js';
import { MessagingError } from '#messaging/messaging.js';
import { TEST_CALLER } from '#testing/fake-services.js';
import { KEY, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const RECEIPT = '/v1/requests/req_1/receipt';
const KEYS = '/.well-known/tollgate-receipt-keys';

test('a receipt is a file of lines, for the key of its request', async () => {
  const asked: OwnKeyReceiptRequest[] = [];
  gateway.fakes.messaging.answer(ownKeyReceipt, (request) => {
    asked.push(request);
    return {
      requestId: 'req_1',
      accountId: 'a',
      projectId: 'p',
      keyId: 'k',
      months: ['2027-01'],
      file: '{"type":"month"}\n{"type":"path"}\n',
    };
  });
  const response = await fetch(gateway.url + RECEIPT, { headers: KEY });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/jsonl']);
  expect(await response.text()).toBe('{"type":"month"}\n{"type":"path"}\n');
  expect(asked).toEqual([{ keyId: TEST_CALLER.keyId, requestId: 'req_1' }]);
});

test.each([
  [new ServiceError('not_found', 'No request with this id has held money.', 'requestId'), 'This key has no such request.'],
  [
    new ServiceError('conflict', 'The month of this request is not closed: its receipt is made then.', 'requestId'),
    'The month of this request is not closed: its receipt is made then.',
  ],
])('without a receipt it is 404, with the reason', async (error, message) => {
  gateway.fakes.messaging.answer(ownKeyReceipt, () => {
    throw error;
  });
  const response = await fetch(gateway.url + RECEIPT, { headers: KEY });
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: { message, type: 'not_found_error', param: null, code: 'invalid_request' } },
  ]);
});

test('the keys are served without a key, from memory for a minute, and on while billing is away', async () => {
  let asked = 0;
  const keys = { installation: 'i', keys: [], months: [] };
  gateway.fakes.messaging.answer(receiptKeys, () => {
    asked += 1;
    return keys;
  });
  for (let times = 0; times < 3; times += 1) expect(await (await fetch(gateway.url + KEYS)).json()).toEqual(keys);
  expect(asked).toBe(1);
  gateway.fakes.messaging.answer(receiptKeys, () => {
    throw new MessagingError('unavailable', 'nobody answers');
  });
  const now = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => now + 61_000);
  expect(await (await fetch(gateway.url + KEYS)).json()).toEqual(keys);
});

test('while billing is away from the start the keys are not available', async () => {
  gateway.fakes.messaging.answer(receiptKeys, () => {
    throw new MessagingError('unavailable', 'nobody answers');
  });
  expect((await fetch(gateway.url + KEYS)).status).toBe(503);
});
