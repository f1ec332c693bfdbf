import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { LiveRequests, type Watcher } from './live-requests.js';
import { LiveTail, UNREAD_MAX } from './live-tail.js';

const request = (accountId: string | undefined, requestId = 'req_1'): EndedRequest => ({
  requestId,
  receivedAt: '2027-01-01T00:00:00.000Z',
  accountId,
  protocol: 'chat',
  stream: false,
  status: 200,
  endedMs: 1,
});

/** A client that has read all but `writableLength` bytes. */
class Client {
  writableLength = 0;
  readonly received: string[] = [];
  write = (text: string): boolean => this.received.push(text) > 0;
}

test('only requests of the account are sent; without one all, with those of no account', () => {
  const [own, all] = [new Client(), new Client()];
  for (const [client, account] of [[own, 'a'] as const, [all, undefined] as const]) {
    new LiveTail(client as never, account, (ended) => ended).send([request('b'), request('a'), request(undefined)]);
  }
  const data = ({ received }: Client) => received.map((text) => JSON.parse(text.replace('event: requests\ndata: ', '')) as EndedRequest[]);
  expect(
    data(own)
      .flat()
      .map(({ accountId }) => accountId),
  ).toEqual(['a']);
  expect(
    data(all)
      .flat()
      .map(({ accountId }) => accountId),
  ).toEqual(['b', 'a', undefined]);
});

test('only requests of the project are sent, when there is one', () => {
  const client = new Client();
  const ofProject = (projectId: string): EndedRequest => ({ ...request('a'), projectId });
  new LiveTail(client as never, 'a', (ended) => ended, 'p').send([
    ofProject('q'),
    { ...ofProject('p'), accountId: 'b' },
    request('a'),
    ofProject('p'),
  ]);
  expect(client.received).toEqual([`event: requests\ndata: ${JSON.stringify([ofProject('p')])}\n\n`]);
});

test('nothing is sent when no request is of the account', () => {
  const client = new Client();
  new LiveTail(client as never, 'a', (ended) => ended).send([request('b')]);
  expect(client.received).toEqual([]);
});

test('a client that does not read misses requests, and gets their number once it reads', () => {
  const client = new Client();
  const tail = new LiveTail(client as never, undefined, (ended) => ended);
  client.writableLength = UNREAD_MAX + 1;
  tail.send([request('a'), request('a')]);
  tail.send([request('a')]);
  expect(client.received).toEqual([]);
  client.writableLength = 0;
  tail.send([request('a', 'req_2')]);
  expect(client.received.map((text) => text.split('\n')[0])).toEqual(['event: skipped', 'event: requests']);
  expect(client.received[0]).toBe('event: skipped\ndata: {"count":3}\n\n');
});

test('an event has at most 50 requests, so that what a client has not read stays small', () => {
  const client = new Client();
  new LiveTail(client as never, undefined, (ended) => ended).send(Array.from({ length: 120 }, () => request('a')));
  expect(client.received.map((text) => text.split('"requestId"').length - 1)).toEqual([50, 50, 20]);
});

const noop = (): void => undefined;
const makeWatcher = (userId: string, accountId: string | undefined, rest: Partial<Watcher> = {}): Watcher => ({
  ...{ userId, accountId, receive: noop, end: noop, giveWay: noop },
  ...rest,
});

test('gateways are listened to while a page watches', () => {
  const messaging = new FakeMessaging();
  const live = new LiveRequests(messaging);
  const heard: string[] = [];
  const publish = (requestId: string): void => messaging.publish(requestsEnded, { requests: [request('a', requestId)] });
  const watch = (name: string) =>
    live.watch(makeWatcher(name, 'a', { receive: (requests) => heard.push(...requests.map(({ requestId }) => `${name} ${requestId}`)) }));
  const [stopOne, stopTwo] = [watch('one'), watch('two')];
  publish('1');
  stopOne();
  publish('2');
  stopTwo();
  publish('3');
  watch('three');
  publish('4');
  expect(heard).toEqual(['one 1', 'two 1', 'two 2', 'three 4']);
});

test('the seventh page of a person takes the place of their oldest, and pages of others stay [sec-panel-shares]', () => {
  const live = new LiveRequests(new FakeMessaging());
  const ended: string[] = [];
  const watch = (userId: string, page: string): void => void live.watch(makeWatcher(userId, 'a', { giveWay: () => ended.push(page) }));
  watch('other', 'other');
  for (const page of ['1', '2', '3', '4', '5', '6', '7', '8']) watch('one', page);
  expect(ended).toEqual(['1', '2']);
});

test('an account that takes all it can leaves room for others, and the number of all pages has a limit [sec-panel-shares]', () => {
  const live = new LiveRequests(new FakeMessaging());
  const stops: (() => void)[] = [];
  /** Opens pages of an account until one is refused. Returns their number. */
  const fill = (accountId: string | undefined): number => {
    for (let count = 0; ; count++) {
      try {
        stops.push(live.watch(makeWatcher(`${accountId} ${count}`, accountId)));
      } catch (error) {
        expect(error).toMatchObject({ code: 'unavailable' });
        return count;
      }
    }
  };
  expect([fill('a'), fill(undefined), fill('b')]).toEqual([400, 80, 16]);
  for (const stop of stops) stop();
  expect(fill('a')).toBe(400);
});

test('a page that gives way waits before it opens its stream again', () => {
  const client = new Client();
  new LiveTail(client as never, undefined, (ended) => ended).delayNextOpening();
  expect(client.received).toEqual(['retry: 60000\n\n']);
});
