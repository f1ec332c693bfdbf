import { connect, nkeyAuthenticator } from 'nats';
import { findSecrets } from './find-secrets.mjs';

// A policy that redacts secrets. Set NATS_URL, and NATS_POLICY_SEED or NATS_POLICY_PASSWORD.

const SUBJECT = 'policy.v1.decide.secrets';
/** Most spans of a verdict. */
const SPANS_MAX = 1_000;
const { NATS_URL = 'nats://127.0.0.1:4222', NATS_POLICY_SEED, NATS_POLICY_PASSWORD } = process.env;
const access = NATS_POLICY_SEED
  ? { authenticator: nkeyAuthenticator(new TextEncoder().encode(NATS_POLICY_SEED)) }
  : { user: 'policy', pass: NATS_POLICY_PASSWORD };

const connection = await connect({ servers: NATS_URL, name: 'policy-secrets', maxReconnectAttempts: -1, ...access });
// One of the replicas with the same queue gets each question.
const questions = connection.subscribe(SUBJECT, { queue: 'policy' });
await connection.flush();
console.log(`answers ${SUBJECT}`);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void stop());
for await (const question of questions) void answer(question);

/** Answers the questions that have come, and ends. Without a connection there is nothing to wait for: it ends after some seconds. */
async function stop() {
  setTimeout(() => process.exit(), 5_000).unref();
  await connection.drain();
}

/** Without an answer the policy fails, and the project says what that means. @param {import('nats').Msg} question */
async function answer(question) {
  try {
    const { texts = [] } = question.json();
    const redact = await findSecrets(texts);
    const verdict =
      redact.length > SPANS_MAX ? { verdict: 'deny', message: 'The prompt has too many secrets.' } : { verdict: 'allow', redact };
    question.respond(JSON.stringify(verdict));
  } catch {
    // The error may repeat the prompt.
    console.error('a question could not be answered');
  }
}
