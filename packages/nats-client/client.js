import { connect } from 'nats';

export class TollgateError extends Error {
  name = 'TollgateError';

  constructor(code, message, param) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

export async function connectTollgate({ servers, user, timeoutMs = 5_000, ...options }) {
  // The server refuses subscriptions to the inboxes of other users.
  const connection = await connect({ servers, user, inboxPrefix: `_INBOX.${user}`, ...options });
  return {
    async request(subject, body) {
      const reply = await connection.request(subject, JSON.stringify(body), { timeout: timeoutMs });
      const code = reply.headers?.get('Tollgate-Error-Code');
      if (!code) return reply.json();
      const { message, param } = reply.json();
      throw new TollgateError(code, message, param);
    },
    close: () => connection.drain(),
  };
}
