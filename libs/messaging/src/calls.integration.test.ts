import { Controller } from '@nestjs/common';
import { ServiceError } from '#contracts/service-error.js';
import type { Logger } from '#observability/logger.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { Connections, double, echo, eventually, LAYOUTS, makeCalculator, TextRequest } from '../testing/test-services.js';
import { Serves } from './serves.js';

let server: TestNatsServer;
const connections = new Connections(() => server.url);

beforeAll(async () => {
  server = await startNatsServer();
});

afterEach(() => connections.closeAll());

afterAll(() => server.stop());

const { Calculator, seen, release } = makeCalculator();

async function eventuallyUnavailable(call: () => Promise<unknown>): Promise<void> {
  let kind: string | undefined;
  const attempt = async (): Promise<void> => {
    kind = await call().then(
      () => 'answered',
      (error) => error.kind,
    );
  };
  while (kind !== 'unavailable') await attempt();
}

describe.each(LAYOUTS)('%s', (layout) => {
  const start = (logger?: Logger) => connections.startPair(layout, [Calculator], logger && { logger });

  describe('a request', () => {
    test('returns the reply, and passes the context', async () => {
      const { caller } = await start();
      seen.length = 0;
      const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'vendor=1' };
      const actor = { actor: 'user/7', actorName: 'Ann', ip: '192.0.2.7', requestId: 'req_1' };
      expect(await caller.request(double, { count: 4 }, { trace, actor })).toEqual({ doubled: 8 });
      expect(seen.map(({ subject, trace, caller, signal }) => ({ subject, trace, caller, aborted: signal.aborted }))).toEqual([
        { subject: 'test.v1.count.double', trace, caller: { ...actor, via: null }, aborted: false },
      ]);
    });

    test('that breaks a rule is refused with the field at fault', async () => {
      const { caller } = await start();
      await expect(caller.request(double, { count: -1 })).rejects.toMatchObject({
        name: 'ServiceError',
        code: 'invalid_request',
        message: 'count must not be less than 0',
        param: 'count',
      });
    });

    test('whose handler fails gets internal_error; the reason is logged', async () => {
      const errors: unknown[] = [];
      const logger = { error: (fields: unknown) => errors.push(fields), warn: () => undefined, info: () => undefined } as unknown as Logger;
      const { caller } = await start(logger);
      await expect(caller.request(double, { count: 14 })).rejects.toEqual(
        new ServiceError('internal_error', 'The service failed to handle this request.'),
      );
      expect(errors).toEqual([{ err: new TypeError('secret detail'), subject: 'test.v1.count.double' }]);
    });

    test('without a listener fails at once', async () => {
      const { caller } = await connections.startPair(layout, []);
      await expect(caller.request(double, { count: 1 }, { timeoutMs: 60_000 })).rejects.toMatchObject({ kind: 'unavailable' });
    });

    test('that times out or is aborted fails', async () => {
      const { caller } = await start();
      await expect(caller.request(double, { count: 15 }, { timeoutMs: 20 })).rejects.toMatchObject({ kind: 'timeout' });
      const controller = new AbortController();
      const call = caller.request(double, { count: 15 }, { signal: controller.signal });
      controller.abort();
      await expect(call).rejects.toMatchObject({ kind: 'closed' });
      await expect(caller.request(double, { count: 1 }, { signal: controller.signal })).rejects.toMatchObject({ kind: 'closed' });
      release();
    });

    test('returns the whole typed error', async () => {
      const { caller } = await start();
      await expect(caller.request(double, { count: 13 })).rejects.toEqual(
        new ServiceError('conflict', 'Not that one.\nReally not.', 'count'),
      );
    });

    test('finishes running requests and refuses new ones', async () => {
      const { app, caller } = await start();
      const running = caller.request(double, { count: 15 });
      await caller.request(double, { count: 1 });
      const closed = app.close();
      await eventuallyUnavailable(() => caller.request(double, { count: 1 }));
      release();
      expect(await running).toEqual({ doubled: 30 });
      await closed;
    });

    test('of a caller refuses new calls', async () => {
      const { caller } = await start();
      await caller.close();
      await expect(caller.request(double, { count: 1 })).rejects.toMatchObject({ kind: 'closed' });
    });
  });

  describe('an overloaded service', () => {
    const waiting: (() => void)[] = [];

    @Controller()
    class Waiting {
      @Serves(echo, { sharedBy: ({ text }) => text.split(' ')[0] }) echo(request: TextRequest): Promise<TextRequest> {
        return new Promise((resolve) => waiting.push(() => resolve(request)));
      }
    }

    test('refuses the caller with the largest share, and no other', async () => {
      const { caller } = await connections.startPair(layout, [Waiting], { runningMax: 10 });
      const ask = (text: string): Promise<string> =>
        caller.request(echo, { text }, { timeoutMs: 60_000 }).then(
          ({ text: said }) => said,
          (error) => error.message,
        );
      const greedy = Array.from({ length: 9 }, () => ask('greedy'));
      const refusal = 'The caller has too many requests in progress.';
      expect(await Promise.race(greedy)).toBe(refusal);
      const other = ask('other');
      await eventually(() => waiting.length === 9);
      for (const answer of waiting.splice(0)) answer();
      expect([await other, (await Promise.all(greedy)).toSorted()]).toEqual(['other', [refusal, ...Array(8).fill('greedy')]]);
      const again = ask('greedy');
      await eventually(() => waiting.length === 1);
      waiting.splice(0)[0]?.();
      expect(await again).toBe('greedy');
    });

    test('limits the bytes of large requests, with room for other callers and small requests', async () => {
      const { caller } = await connections.startPair(layout, [Waiting], { largeRequestBytesMax: 1_000_000 });
      const ask = (who: string, bytes: number): Promise<string> =>
        caller.request(echo, { text: `${who} `.padEnd(bytes) }, { timeoutMs: 60_000 }).then(
          ({ text }) => text.trimEnd(),
          (error) => error.message,
        );
      const refusal = 'Too many large requests are in progress.';
      const greedy = Array.from({ length: 5 }, () => ask('greedy', 200_000));
      expect(await Promise.race(greedy)).toBe(refusal);
      expect(await ask('other', 2_000_000)).toBe(refusal);
      const others = [ask('other', 100_000), ask('greedy', 100)];
      await eventually(() => waiting.length === 6);
      for (const answer of waiting.splice(0)) answer();
      expect([await Promise.all(others), (await Promise.all(greedy)).toSorted()]).toEqual([
        ['other', 'greedy'],
        [refusal, ...Array(4).fill('greedy')],
      ]);
      const again = ask('greedy', 900_000);
      await eventually(() => waiting.length === 1);
      waiting.splice(0)[0]?.();
      expect(await again).toBe('greedy');
    });
  });
});
