import 'reflect-metadata';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { collectWhenIdle } from '#observability/collect-when-idle.js';
import { parseLargeBody } from './parse-large-body.js';
import { type BodyAnswer, type BodyJob, renderFailure } from './worker-messages.js';

/** The entry of a worker thread that parses one large body after the other. */

/** Where cores are few, the event loop comes first. On Linux this is the priority of the thread; elsewhere it is that of the process. */
const NICENESS = 5;
if (process.platform === 'linux') setPriority(NICENESS);

parentPort?.on('message', ({ kind, body }: BodyJob) => {
  const answer = answerTo(kind, Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  parentPort?.postMessage(answer, 'parsed' in answer ? [answer.parsed.json.buffer] : []);
});
collectWhenIdle();

function answerTo(kind: BodyJob['kind'], body: Buffer): BodyAnswer {
  try {
    return { parsed: parseLargeBody(kind, body) };
  } catch (error) {
    return renderFailure(error);
  }
}
