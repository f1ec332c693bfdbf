import 'reflect-metadata';
import { parentPort } from 'node:worker_threads';
import { parseLargeBody } from './parse-large-body.js';
import { type BodyAnswer, type BodyJob, renderFailure } from './worker-messages.js';

/** Entry point of a worker thread. It parses one large body at a time. */
parentPort?.on('message', ({ kind, body }: BodyJob) => {
  const answer = answerTo(kind, Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  parentPort?.postMessage(answer, 'parsed' in answer ? [answer.parsed.json.buffer] : []);
});

function answerTo(kind: BodyJob['kind'], body: Buffer): BodyAnswer {
  try {
    return { parsed: parseLargeBody(kind, body) };
  } catch (error) {
    return renderFailure(error);
  }
}
