import type { Messaging } from '#messaging/messaging.js';
import { runCli } from '../src/run-cli.js';

/** Runs a command. Resolves with its exit code and what it wrote. */
export async function collectRun(args: string[], connect: () => Promise<Messaging>): Promise<{ code: number; out: string; err: string }> {
  const result = { code: 0, out: '', err: '' };
  const output = {
    writeOut: (text: string) => {
      result.out += text;
    },
    writeErr: (text: string) => {
      result.err += text;
    },
  };
  result.code = await runCli(args, output, connect);
  return result;
}

/** Messaging of a command that only sends requests, which `answer` answers. */
export function answering(answer: (subject: string, payload: object) => unknown): () => Promise<Messaging> {
  const messaging = {
    request: async ({ subject }: { subject: string }, payload: object) => answer(subject, payload),
    close: async () => undefined,
  };
  return async () => messaging as Partial<Messaging> as Messaging;
}
