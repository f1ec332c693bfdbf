import { pino } from 'pino';
import { holdRenew, holdSettle, type SettleRequest } from '#contracts/billing/holds.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { SettleForGateway } from './settle-for-gateway.js';

const FIELDS = { requestId: 'req_1', traceId: '0af7651916cd43dd8448eb211c80319c', keyId: 'key', holdId: 'h' };
const GONE = { callerIsThere: async () => false };
const SETTLE: SettleRequest = { holdId: 'h', accountId: 'a', reason: 'client-disconnected' };
const ASKED: SettleRequest = { ...SETTLE, settledBy: 'inference-proxy' };

function setUp(answers: ('settled' | 'already' | Error)[], isOpen: () => boolean = () => true) {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ base: {}, timestamp: false }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const messaging = new FakeMessaging();
  const asked: SettleRequest[] = [];
  messaging.answer(holdRenew, ({ ended = [] }) => ({ renewed: [], leaseMs: 1, unsettled: isOpen() ? ended : [] }));
  messaging.answer(holdSettle, (request) => {
    asked.push(request);
    const answer = answers.shift() ?? 'already';
    if (answer instanceof Error) throw answer;
    return { status: answer, holdId: request.holdId, costPicoUsd: '0' };
  });
  return { settlements: new SettleForGateway(messaging, logger, 5), asked, lines };
}

test('settles after the delay, with the usage known by then', async () => {
  const { settlements, asked } = setUp(['settled']);
  const settle = { ...SETTLE };
  settlements.schedule(() => settle, GONE, FIELDS);
  expect(asked).toEqual([]);
  settle.reason = 'completed';
  await settlements.close();
  expect(asked).toEqual([{ ...ASKED, reason: 'completed' }]);
});

test('retries while billing is away', async () => {
  const { settlements, asked } = setUp([new Error('away'), new Error('away'), 'already']);
  settlements.schedule(() => SETTLE, GONE, FIELDS);
  while (asked.length < 3) await new Promise(setImmediate);
  await settlements.close();
  expect(asked).toEqual([ASKED, ASKED, ASKED]);
});

test('each log line names the request, its trace and its key', async () => {
  const { settlements, lines } = setUp([new Error('away'), 'settled']);
  settlements.schedule(() => SETTLE, GONE, FIELDS);
  while (lines.length < 2) await new Promise(setImmediate);
  await settlements.close();
  expect(lines).toEqual([
    { ...FIELDS, level: 40, err: expect.anything(), attempt: 1, msg: 'settlement failed' },
    { ...FIELDS, level: 30, reason: 'client-disconnected', msg: 'hold settled for a gateway that is gone' },
  ]);
});

test('a shutdown does not wait endlessly', async () => {
  const { settlements, asked } = setUp([new Error('away'), new Error('away')]);
  settlements.schedule(() => SETTLE, GONE, FIELDS);
  await settlements.close();
  expect(asked).toHaveLength(1);
});

test('a live gateway settles itself, until it is gone', async () => {
  const { settlements, asked } = setUp(['settled']);
  const answers = [true, true, false];
  const askedBy: number[] = [];
  settlements.schedule(
    () => SETTLE,
    {
      callerIsThere: async () => {
        askedBy.push(asked.length);
        return answers.shift() ?? false;
      },
    },
    FIELDS,
  );
  while (asked.length === 0) await new Promise(setImmediate);
  await settlements.close();
  expect({ asked, askedBy }).toEqual({ asked: [ASKED], askedBy: [0, 0, 0] });
});

test('a hold that its gateway has settled is forgotten', async () => {
  let open = true;
  let looks = 0;
  const { settlements, asked } = setUp([], () => {
    looks++;
    return open;
  });
  settlements.schedule(() => SETTLE, { callerIsThere: async () => true }, FIELDS);
  while (looks < 2) await new Promise(setImmediate);
  open = false;
  while (looks < 3) await new Promise(setImmediate);
  await settlements.close(); // nothing is open
  expect({ asked, looks }).toEqual({ asked: [], looks: 3 });
});

describe('a hold that the gateway leaves to the proxy', () => {
  test('is settled as soon as its usage is known, and retried until billing answers', async () => {
    const { settlements, asked } = setUp([new Error('away'), 'settled']);
    const known = Promise.withResolvers<SettleRequest>();
    settlements.settleAfter(() => known.promise, FIELDS);
    await new Promise(setImmediate);
    expect(asked).toEqual([]);
    known.resolve(SETTLE);
    while (asked.length < 2) await new Promise(setImmediate);
    await settlements.close();
    expect(asked).toEqual([ASKED, ASKED]);
  });

  test('is settled at a shutdown with the usage so far', async () => {
    const { settlements, asked } = setUp(['settled']);
    settlements.settleAfter(
      (closing) => new Promise((resolve) => closing.addEventListener('abort', () => resolve({ ...SETTLE, reason: 'completed' }))),
      FIELDS,
    );
    await settlements.close();
    expect(asked).toEqual([{ ...ASKED, reason: 'completed' }]);
  });
});
