import { once } from 'node:events';
import type { StreamEvent } from '#inference/stream-event.js';
import type { FakeEventStream } from '#testing/fake-messaging.js';
import { HELLO, TEST_KEY } from '#testing/fake-services.js';
import { reportedUsage } from '#testing/token-usage.js';
import { CHAT, CHAT_BODY, readError, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';
import { GatewayConfig } from '../../gateway.config.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

describe('the start of a stream', () => {
  const failure: StreamEvent = { type: 'completion-failure', code: 'model_capacity', message: 'The model is busy.', retryAfterSeconds: 7 };

  test('a failure before content keeps its status [error-model-capacity, C-35, R-10, T-33]', async () => {
    gateway = await startTestGateway();
    gateway.fakes.model = (stream) => {
      stream.write({ type: 'upstream-start', upstream: 'local' }, failure);
      stream.end();
    };
    const answer = await gateway.chat({ stream: true });
    expect([answer.status, answer.headers['retry-after'], readError(answer).code]).toEqual([429, '7', 'model_capacity']);
    expect(gateway.fakes.settles).toMatchObject([{ reason: 'failed' }]);
    expect(gateway.fakes.settles[0]?.usage).toBeUndefined();
  });

  test.each<[string, StreamEvent[][]]>([
    ['in a later batch', [HELLO.slice(0, -1), [failure]]],
    ['in the batch of the last content', [[...HELLO.slice(0, -1), failure]]],
  ])(
    'a failure after content, %s, is the last event of the stream [chat-event-failure, error-in-stream, C-34, T-33]',
    async (_name, batches) => {
      gateway = await startTestGateway();
      gateway.fakes.model = (stream) => {
        for (const batch of batches) stream.write(...batch);
        stream.end();
      };
      const { status, text } = await gateway.chat({ stream: true });
      expect(status).toBe(200);
      expect(text).toMatch(/"content":"lo\.".*\n\ndata: \{"error":\{"message":"The model is busy\.".*"code":"model_capacity"\}\}\n\n$/s);
      expect(text).not.toContain('[DONE]');
    },
  );

  test('the last content does not wait for a slow settlement, but the terminal frames do', async () => {
    gateway = await startTestGateway({ settleAnswerMs: 60_000 });
    let release: () => void = () => undefined;
    gateway.fakes.beforeApply = ({ settles }) =>
      settles.length === 0
        ? undefined
        : new Promise((resolve) => {
            release = resolve;
          });
    const response = await gateway.openStream();
    let text = '';
    response.on('data', (chunk) => {
      text += chunk;
    });
    await until(() => text.includes('lo.'));
    expect(text).not.toContain('"finish_reason":"stop"');
    release();
    await once(response, 'end');
    expect(text.match(/Hel|lo\.|"stop"|\[DONE\]/g)).toEqual(['Hel', 'lo.', '"stop"', '[DONE]']);
  });

  test('characters that some clients take for line ends stand as escapes', async () => {
    const said = 'one\u2028two\u2029three\u0085four';
    gateway = await startTestGateway();
    gateway.fakes.model = (stream) => {
      stream.write({ type: 'text-delta', text: said });
      stream.write({ type: 'completion-finish', reason: 'stop' });
      stream.end();
    };
    const response = await gateway.openStream();
    let text = '';
    response.on('data', (chunk) => {
      text += chunk;
    });
    await once(response, 'end');
    expect(text).not.toMatch(/[\u0085\u2028\u2029]/);
    expect(text).toContain(`"content":"one\\u2028two\\u2029three\\u0085four"`);
  });

  test('keep-alives are sent before and after the first content [C-33]', async () => {
    gateway = await startTestGateway({ peekMs: 20, keepAliveMs: 20 });
    let model: FakeEventStream<StreamEvent> | undefined;
    gateway.fakes.model = (stream) => {
      model = stream;
    };
    const response = await gateway.openStream();
    expect(response.statusCode).toBe(200);
    let text = '';
    response.on('data', (chunk) => {
      text += chunk;
    });
    await until(() => text.split(': keep-alive\n\n').length > 2);
    expect(text).toMatch(/^(: keep-alive\n\n)+$/);
    model?.write({ type: 'text-delta', text: 'Hello' });
    await until(() => /Hello.*: keep-alive\n\n/s.test(text));
    model?.write(failure);
    model?.end();
    await once(response, 'end');
    expect(text).toMatch(/data: \{"error":[^\n]*\}\n\n$/);
  });
});

describe('a client', () => {
  test('that disconnects within a stream stops the upstream and pays for the received content [H-9]', async () => {
    gateway = await startTestGateway();
    gateway.fakes.model = (stream) => {
      stream.write({ type: 'text-delta', text: 'Hello' });
      void stream.cancelled().then(() => {
        stream.write({
          type: 'usage-report',
          usage: reportedUsage(9, 2),
        });
        stream.end();
      });
    };
    const response = await gateway.openStream();
    await once(response, 'data');
    response.destroy();
    await until(() => gateway.fakes.settles.length === 1);
    expect(gateway.fakes.settles).toMatchObject([{ reason: 'client-disconnected', usage: { promptTokens: 9, outputTokens: 2 } }]);
  });

  test('that disconnects before a plain reply pays nothing when no content was received', async () => {
    gateway = await startTestGateway();
    gateway.fakes.model = (stream) => void stream.cancelled().then(() => stream.end());
    const socket = await gateway.connect();
    const body = JSON.stringify(CHAT_BODY);
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => gateway.fakes.opened.length === 1);
    socket.destroy();
    await until(() => gateway.fakes.settles.length === 1);
    expect(gateway.fakes.settles).toMatchObject([{ reason: 'client-disconnected' }]);
    expect(gateway.fakes.settles[0]?.usage).toBeUndefined();
  });

  test('that stops reading slows the model, is disconnected, and is billed', async () => {
    gateway = await startTestGateway({ drainMs: 300 });
    let taken = 0;
    gateway.fakes.model = (stream) => {
      const piece: StreamEvent = { type: 'text-delta', text: 'x'.repeat(100_000) };
      for (let count = 0; count < 1_000; count++) stream.write(piece);
      void stream.cancelled().then(() => {
        taken = stream.taken;
        stream.end();
      });
    };
    const socket = await gateway.connect();
    const body = JSON.stringify({ ...CHAT_BODY, stream: true });
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => gateway.fakes.settles.length === 1);
    // The model offered 100 MB; the gateway took only what the socket buffers hold.
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(300);
    expect(gateway.fakes.settles).toMatchObject([
      { reason: 'client-disconnected', usage: { promptSource: 'estimated', outputSource: 'counted', outputTokens: 500 } },
    ]);
    socket.destroy();
  });
});

test('the default PEEK_MS sends the head of a stream within 30 s, the first-byte timeout of common proxies [R-10]', () => {
  expect(new GatewayConfig().peekMs).toBeLessThanOrEqual(15_000);
});

test('the default KEEP_ALIVE_MS sends a sign of life every 15 s [M-32, T-36]', () => {
  expect(new GatewayConfig().keepAliveMs).toBe(15_000);
});
