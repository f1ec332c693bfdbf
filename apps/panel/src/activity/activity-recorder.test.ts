import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { ActivityRecorder } from './activity-recorder.js';

/** A recorder on a database that takes everything. `stop` writes a last mark. */
class Recorder {
  /** Intervals of recording: `begun`, then `extended` by each later mark. */
  readonly marks: string[] = [];
  readonly messaging = new FakeMessaging();
  dropped = 0;
  private readonly recorder: ActivityRecorder;

  constructor() {
    const activityRecording = {
      create: async () => void this.marks.push('begun'),
      update: async () => void this.marks.push('extended'),
    };
    const prisma = { $executeRaw: async () => 0, activityRecording };
    const metrics = {
      activityDropped: {
        inc: (count: unknown) => {
          this.dropped += Number(count);
        },
      },
      refusalsSummed: { inc: () => undefined },
    };
    this.recorder = new ActivityRecorder(prisma as never, this.messaging, createLogger('test', 'silent'), metrics, 30);
    this.recorder.onModuleInit();
  }

  flush = () => this.recorder.flush();
  stop = () => this.recorder.onApplicationShutdown();
}

const request: EndedRequest = {
  requestId: 'req_1',
  receivedAt: new Date().toISOString(),
  protocol: 'chat',
  stream: false,
  status: 200,
  endedMs: 1,
};

test('a replica that loses nothing extends its interval', async () => {
  const recorder = new Recorder();
  await recorder.flush();
  recorder.messaging.publish(requestsEnded, { requests: [request] });
  await recorder.stop();
  expect([recorder.marks, recorder.dropped]).toEqual([['begun', 'extended'], 0]);
});

test('requests beyond those that may wait are dropped and counted, and another interval begins', async () => {
  const recorder = new Recorder();
  await recorder.flush();
  recorder.messaging.publish(requestsEnded, { requests: Array.from({ length: 19_999 }, () => request) });
  recorder.messaging.publish(requestsEnded, { requests: [request, request, request] });
  await recorder.stop();
  expect([recorder.marks, recorder.dropped]).toEqual([['begun', 'begun'], 2]);
});

test('after a lost connection another interval begins', async () => {
  const recorder = new Recorder();
  await recorder.flush();
  recorder.messaging.reconnect();
  await recorder.stop();
  expect(recorder.marks).toEqual(['begun', 'begun']);
});

test('nothing is marked as recorded while NATS is away', async () => {
  const recorder = new Recorder();
  await recorder.flush();
  recorder.messaging.connected = false;
  await recorder.stop();
  expect(recorder.marks).toEqual(['begun']);
});
