import { headers } from 'nats';
import { untilCollected } from '#testing/until-collected.js';
import { offerPayload, type PayloadOffer, withPayload } from './large-payload.js';
import type { Link } from './link.js';
import type { Receiver } from './receiver.js';
import { PAYLOAD_BYTES_HEADER, PAYLOAD_FROM_HEADER } from './wire.js';

const MESSAGE_BYTES_MAX = 64 * 1024;
const PIECES = 4;

/** A link without a server. */
function newLink() {
  const receivers = new Map<string, Receiver>();
  const heartbeating = new Set<object>();
  const sent: number[] = [];
  const link = {
    inbox: {
      add: (kind: string, receiver: Receiver): string => {
        receivers.set(kind, receiver);
        return kind;
      },
      remove: (kind: string) => receivers.delete(kind),
    },
    heartbeat: { add: (one: object) => heartbeating.add(one), remove: (one: object) => heartbeating.delete(one) },
    outbox: { send: (_subject: string, data: Uint8Array) => sent.push(data.length) },
    messageBytesMax: MESSAGE_BYTES_MAX,
  };
  return { link: link as unknown as Link, receivers, heartbeating, sent };
}

function makeOffer(link: Link, onEnd?: () => void): { offer: PayloadOffer; bytes: WeakRef<Buffer> } {
  const bytes = Buffer.alloc(PIECES * MESSAGE_BYTES_MAX);
  return { offer: offerPayload(link, bytes, undefined, onEnd), bytes: new WeakRef(bytes) };
}

function fetchAll(receivers: Map<string, Receiver>, reply = '_INBOX.asker.1.2'): void {
  for (let piece = 0; piece < PIECES; piece++)
    receivers.get('payload')?.receive({ subject: 'payload', reply, data: Buffer.from(String(piece * MESSAGE_BYTES_MAX)) });
}

test.each<[string, (offer: PayloadOffer, receivers: Map<string, Receiver>) => void, number]>([
  ['delivered', (_offer, receivers) => fetchAll(receivers), PIECES],
  ['withdrawn', (offer) => offer.withdraw(), 0],
])('an offer does not keep a payload that was %s', async (_, end, pieces) => {
  const { link, receivers, heartbeating, sent } = newLink();
  let ends = 0;
  const { offer, bytes } = makeOffer(link, () => ends++);
  expect(offer.announcement.get(PAYLOAD_FROM_HEADER)).toBe('payload');
  end(offer, receivers);
  expect({ ends, sent, receivers: receivers.size, heartbeating: heartbeating.size }).toEqual({
    ends: 1,
    sent: Array(pieces).fill(MESSAGE_BYTES_MAX),
    receivers: 0,
    heartbeating: 0,
  });
  await untilCollected(bytes);
  offer.withdraw(); // the offer still exists
  expect(ends).toBe(1);
});

test('sends pieces only to an inbox', () => {
  const { link, receivers, sent } = newLink();
  const { offer } = makeOffer(link);
  fetchAll(receivers, 'catalog.v1.event.changed');
  expect([sent, receivers.size]).toEqual([[], 1]);
  offer.withdraw();
});

test('fetches payloads only from an inbox', async () => {
  const { link, sent } = newLink();
  const announcement = headers();
  announcement.set(PAYLOAD_BYTES_HEADER, '10');
  announcement.set(PAYLOAD_FROM_HEADER, 'catalog.v1.event.changed');
  const message = { subject: 'reply', data: Buffer.alloc(0), headers: announcement };
  await expect(withPayload(link, message, String)).rejects.toMatchObject({ kind: 'broken' });
  expect(sent).toEqual([]);
});
