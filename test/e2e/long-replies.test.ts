import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { counting, DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { chunked, FaultServer, LAST_CHUNK, replyHead } from '#testing/fault-server.js';
import { CLIENT_FORMATS, type Fields } from '../chaos/client-format.js';
import { FaultStack, type SharedFaultStack } from './fault-stack.js';

/** A plain reply of 64,000 tokens that an upstream sends slowly, through the whole system. */
const TOKENS = 64_000;
const TEXT = 'word'.repeat(TOKENS);
const PIECES = 16;
const modelAt = (kind: string): string => `long-replies-${kind}`;

let stack: SharedFaultStack;
let server: FaultServer;
beforeAll(async () => {
  server = await FaultServer.start();
  stack = await FaultStack.share();
  await stack.offer(
    UPSTREAM_KINDS.map((kind) => ({ id: modelAt(kind), kind, baseUrl: `http://127.0.0.1:${server.port}/v1`, allowPrivateNetwork: true })),
  );
});
afterAll(async () => {
  await stack?.stop();
  await server?.stop();
});

test.each(UPSTREAM_KINDS)('a plain message of 64,000 tokens arrives whole from %s, with its usage and bill [T-50]', async (kind) => {
  const body = counting(DIALECT_STREAMS[kind].plain(TEXT), TOKENS);
  const pieces = Array.from({ length: PIECES }, (_, index) => {
    const at = (part: number): number => Math.ceil((body.length * part) / PIECES);
    return body.slice(at(index), at(index + 1));
  });
  server.behave(({ socket }) => {
    socket.write(replyHead({ 'content-type': 'application/json' }));
    for (const piece of pieces) socket.write(chunked(piece));
    socket.end(LAST_CHUNK);
  });
  const { requestId, status, text } = await stack.ask('messages', modelAt(kind), { stream: false, outputTokensMax: TOKENS });
  const reply: Fields = JSON.parse(text);
  expect({ status, isWhole: reply.content[0].text === TEXT, usage: CLIENT_FORMATS.messages.readUsage(reply) }).toEqual({
    status: 200,
    isWhole: true,
    usage: { promptTokens: 12, cachedTokens: 0, outputTokens: TOKENS },
  });
  expect(await stack.readBill(requestId)).toMatchObject({ reason: 'completed', usage: { promptTokens: 12, outputTokens: TOKENS } });
});
