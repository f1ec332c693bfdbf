/**
 * A bundle is one NATS message with several stream messages for the same connection, because a message costs more than its bytes. It is
 * published to `<connection>.b`:
 *
 *     <connection of the sender>\n
 *     <token> <reply token> <bytes>\n<bytes>        for each message; the reply token is `-` without a reply subject
 *
 * A connection is `_INBOX.<service>.<random>`. A token is the rest of a subject in its inbox.
 */
export interface BundledMessage {
  token: string;
  replyToken: string | undefined;
  data: Uint8Array;
}

const NEWLINE = 10;
const SPACE = 32;
const NO_REPLY = '-';

export function renderBundle(sender: string, messages: readonly BundledMessage[]): Buffer {
  const heads = messages.map(({ token, replyToken = NO_REPLY, data }) => `${token} ${replyToken} ${data.length}\n`);
  const first = `${sender}\n`;
  const bytes = messages.reduce((sum, { data }, index) => sum + (heads[index]?.length ?? 0) + data.length, first.length);
  const bundle = Buffer.allocUnsafe(bytes);
  let end = bundle.write(first, 0, 'latin1');
  messages.forEach(({ data }, index) => {
    end += bundle.write(heads[index] ?? '', end, 'latin1');
    bundle.set(data, end);
    end += data.length;
  });
  return bundle;
}

/** Calls `read` for each message, with the sender's connection. Stops at the first fault. */
export function readBundle(data: Uint8Array, read: (sender: string, message: BundledMessage) => void): void {
  const bundle = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  let end = bundle.indexOf(NEWLINE);
  if (end < 0) return;
  const sender = bundle.toString('latin1', 0, end);
  while (end + 1 < bundle.length) {
    const start = end + 1;
    const second = bundle.indexOf(SPACE, start) + 1;
    const third = second > 0 ? bundle.indexOf(SPACE, second) + 1 : 0;
    const body = third > 0 ? bundle.indexOf(NEWLINE, third) + 1 : 0;
    if (body === 0) return;
    const size = Number(bundle.toString('latin1', third, body - 1));
    end = body + size - 1;
    if (!Number.isSafeInteger(size) || size < 0 || end >= bundle.length) return;
    const reply = bundle.toString('latin1', second, third - 1);
    read(sender, {
      token: bundle.toString('latin1', start, second - 1),
      replyToken: reply === NO_REPLY ? undefined : reply,
      data: bundle.subarray(body, body + size),
    });
  }
}
