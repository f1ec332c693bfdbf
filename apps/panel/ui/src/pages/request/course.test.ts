import type { EndedRequest } from '../../../../src/shapes/overview.js';
import { describeCourse } from './course.js';

const REQUEST: EndedRequest = {
  requestId: 'req_1',
  receivedAt: '2027-01-01T00:00:00.000Z',
  protocol: 'chat',
  model: 'sim-fast',
  stream: true,
  status: 200,
  outcome: 'completed',
  heldMs: 4,
  firstContentMs: 131,
  lastContentMs: 870,
  endedMs: 874,
  attempts: [
    { upstream: 'first', startMs: 5, firstByteMs: 9, endMs: 10, failure: 'refused', status: 503, reason: 'overloaded 503' },
    { upstream: 'local', startMs: 10, firstByteMs: 60, endMs: 869 },
  ],
};

test('a failover has each call with its failure, then the content and the end', () => {
  expect(describeCourse(REQUEST)).toEqual([
    { ms: 0, title: 'Received', about: 'Chat Completions, streamed, for sim-fast.', tone: 'neutral' },
    {
      ms: 5,
      bar: { fromMs: 5, toMs: 10 },
      title: 'Call 1 of 2, first',
      about: 'First byte after 4 ms, failed after 5 ms: the upstream answered with an error, status 503. Reason: overloaded 503.',
      tone: 'bad',
    },
    {
      ms: 10,
      bar: { fromMs: 10, toMs: 869 },
      title: 'Call 2 of 2, local',
      about: 'First byte after 50 ms, ended after 859 ms.',
      tone: 'accent',
    },
    { ms: 131, title: 'First content', about: 'The client began to get the reply.', tone: 'good' },
    { ms: 870, bar: { fromMs: 131, toMs: 870 }, title: 'Reply complete', about: 'The model has ended.', tone: 'good' },
    { ms: 874, title: 'Answered with 200', about: 'The reply was written.', tone: 'good' },
  ]);
});

test('a refused request has its status and code', () => {
  const refused = describeCourse({
    requestId: 'req_1',
    receivedAt: '',
    protocol: 'messages',
    stream: false,
    status: 429,
    code: 'rate_limit_exceeded',
    endedMs: 2,
  });
  expect(refused.map(({ title, about, tone }) => [title, about, tone])).toEqual([
    ['Received', 'Messages, plain.', 'neutral'],
    ['Ended with 429 rate_limit_exceeded', 'The request was refused.', 'warn'],
  ]);
});

test('a client that left, and a reply that is read on', () => {
  const attempts = [{ upstream: 'local', startMs: 5, firstByteMs: 60 }];
  const { firstContentMs: _, lastContentMs: __, ...request } = REQUEST;
  expect(describeCourse({ ...request, outcome: 'client-disconnected', attempts }).map(({ title, about }) => [title, about])).toEqual([
    ['Received', 'Chat Completions, streamed, for sim-fast.'],
    ['Call of local', 'First byte after 55 ms, read on for its usage.'],
    ['Client left', 'It closed the connection.'],
  ]);
});
