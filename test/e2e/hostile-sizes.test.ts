import { DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, LAST_CHUNK, replyHead, wholeReply } from '#testing/fault-server.js';
import { FaultStack, heard, type SharedFaultStack } from './fault-stack.js';

/** Replies just below the size limits pass through real processes unchanged. */
const MIB = 1024 * 1024;
const { opening, text, ending, plain } = DIALECT_STREAMS['openai-chat'];
const OUTPUT_TOKENS = 10_000_000;
const MODEL = 'hostile-sizes';

let stack: SharedFaultStack;
let server: FaultServer;
let fault: Fault;

beforeAll(async () => {
  [stack, server] = await Promise.all([FaultStack.share(), FaultServer.start((exchange) => fault(exchange))]);
  await stack.offer([{ id: MODEL, kind: 'openai-chat', baseUrl: `http://127.0.0.1:${server.port}/v1`, allowPrivateNetwork: true }]);
});
afterAll(async () => {
  await Promise.all([stack?.stop(), server?.stop()]);
});

test('a text of almost a megabyte in one event', async () => {
  const piece = 'é'.repeat(500_000);
  fault = ({ socket }) => void socket.write(replyHead() + chunked(opening, text(piece), text('!'), ending) + LAST_CHUNK);
  const answer = await stack.ask('chat', MODEL, { outputTokensMax: OUTPUT_TOKENS });
  const { ended, text: shown } = heard('chat', answer);
  expect({ ended, isWhole: shown === `${piece}!` }).toEqual({ ended: 'complete', isWhole: true });
});

test('a plain reply of 15 MiB [fault-total-size]', async () => {
  const content = 'x'.repeat(15 * MIB);
  const reply = wholeReply(plain(content));
  fault = ({ socket }) => void socket.write(reply);
  const { status, text: body } = await stack.ask('chat', MODEL, { stream: false, outputTokensMax: OUTPUT_TOKENS });
  expect({ status, isWhole: JSON.parse(body).choices[0].message.content === content }).toEqual({ status: 200, isWhole: true });
});
