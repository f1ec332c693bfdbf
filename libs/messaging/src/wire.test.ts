import { headers } from 'nats';
import { ServiceError } from '#contracts/service-error.js';
import {
  decodeJson,
  encodeJson,
  errorHeaders,
  readCaller,
  readError,
  readTimeout,
  readTrace,
  requestHeaders,
  toWireError,
} from './wire.js';

const message = (data: string, carried?: ReturnType<typeof headers>) => ({ subject: 'test', data: Buffer.from(data), headers: carried });

test('encodes undefined as null, and decodes an empty body as {}', () => {
  expect(String(encodeJson({ text: 'ä' }))).toBe('{"text":"ä"}');
  expect(String(encodeJson(undefined))).toBe('null');
  expect(decodeJson(Buffer.alloc(0))).toEqual({});
});

test('sends headers only if they are needed', () => {
  expect(requestHeaders(undefined, undefined)).toBeUndefined();
  const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'vendor=1' };
  const both = message('', requestHeaders(250, trace));
  expect([readTimeout(both), readTrace(both)]).toEqual([250, trace]);
  expect([readTimeout(message('')), readTrace(message(''))]).toEqual([undefined, undefined]);
});

test('the sender of a request is its actor, and the NATS user of its subject, whatever its reply subject is', () => {
  const actor = { actor: 'user/7', actorName: 'Zoë\nMüller', ip: '192.0.2.7', requestId: 'req_1' };
  const sent = { ...message('', requestHeaders(undefined, undefined, actor)), reply: '_INBOX.cli.abc.c1' };
  expect(readCaller(sent, 'panel')).toEqual({ ...actor, actorName: 'Zoë Müller', via: 'panel' });

  const customer = message('', requestHeaders(undefined, undefined, { ...actor, level: 'customer' }));
  expect(readCaller(customer, 'panel')).toEqual({ ...readCaller(sent, 'panel'), level: 'customer' });

  const nameless = message('', requestHeaders(undefined, undefined, { actor: 'token/1' }));
  expect(readCaller(nameless, 'panel')).toEqual({ actor: 'token/1', actorName: null, via: 'panel', ip: null, requestId: null });
});

test('a request without an actor is sent by its NATS user; a forged header has no control character and is cut', () => {
  const none = { actorName: null, ip: null, requestId: null };
  expect(readCaller(message(''), 'cli')).toEqual({ ...none, actor: 'nats/cli', via: 'cli' });
  expect(readCaller({ ...message(''), reply: '_INBOX.cli.abc.c1' }, null)).toEqual({ ...none, actor: 'nats/unknown', via: null });

  const forged = headers();
  forged.set('Tollgate-Actor', `user/\u0000\u001b7${'x'.repeat(1_000)}`);
  expect(readCaller(message('', forged), 'cli').actor).toBe(`user/ 7${'x'.repeat(249)}`);
});

test('errors survive encoding and decoding', () => {
  const error = new ServiceError('insufficient_balance', 'Line one.\nLine “two”.', 'amount', { details: { freePicoUsd: '12' } });
  const wire = toWireError(error);
  const read = readError(message(String(encodeJson(wire)), errorHeaders(wire)));
  expect({ ...read, message: read?.message }).toEqual({ ...error, message: error.message });
  expect(read?.details).toEqual({ freePicoUsd: '12' });
});

test('reads the error of a foreign service from its headers', () => {
  const theirs = headers();
  theirs.set('Nats-Service-Error-Code', '500');
  theirs.set('Nats-Service-Error', 'it broke');
  expect(readError(message('', theirs))).toEqual(new ServiceError('internal_error', 'it broke'));
  expect(readError(message('not json', theirs))).toEqual(new ServiceError('internal_error', 'it broke'));
});

test('hides errors that are not ServiceErrors', () => {
  expect(toWireError(new Error('password is 1234'))).toEqual({
    code: 'internal_error',
    message: 'The service failed to handle this request.',
  });
});
