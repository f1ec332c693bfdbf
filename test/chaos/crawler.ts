import { connect, JSONCodec, type NatsConnection } from 'nats';
import { type CrawlAct, type CrawlOrder, type CrawlReply, runCrawl } from '../simulation/crawl.ts';

/*
 * The service `crawler`: a process of its own, so that a test can kill it between a hold and its settlement. Its parent sends crawls, and gets
 * their steps. Node runs this file directly and strips its types.
 */

/** Where the service connects. */
export interface CrawlerStart {
  natsUrl: string;
  password: string;
}

const CALL_MS = 3_000;
const RECONNECT_MS = 100;
const codec = JSONCodec<object>();
let connection: NatsConnection;

process.on('message', (message: CrawlerStart | CrawlOrder) => {
  if ('natsUrl' in message) void start(message);
  else void runCrawl(message, call, (step) => void process.send?.(step));
});

async function start({ natsUrl: servers, password: pass }: CrawlerStart): Promise<void> {
  const inboxPrefix = '_INBOX.service.crawler';
  const again = { maxReconnectAttempts: -1, reconnectTimeWait: RECONNECT_MS, reconnectJitter: 0, waitOnFirstConnect: true };
  connection = await connect({ servers, user: 'crawler', pass, inboxPrefix, ...again });
  process.send?.('ready');
}

async function call(act: CrawlAct, request: object): Promise<CrawlReply> {
  const reply = await connection.request(`gateway.v1.item.${act}.by.crawler`, codec.encode(request), { timeout: CALL_MS });
  return codec.decode(reply.data) as CrawlReply;
}
