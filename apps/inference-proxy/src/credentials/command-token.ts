import { execFile } from 'node:child_process';
import { readSecret } from '#config/load-config.js';
import type { CommandAuth } from '#contracts/upstream-auth.js';
import { assertSentTo } from '../transport/api-key.js';
import { type AuthUpstream, noCredential } from './credential.js';
import { issue, parseMoment, parseObject, readToken } from './token-answer.js';
import type { Issued } from './token-keeper.js';

const RUN_MS = 10_000;
const OUTPUT_BYTES_MAX = 64 * 1024;
/** A token in plain text says nothing about its end. */
const LIFETIME_MS = 300_000;
/** Variables of a command. The others hold secrets that are none of its business. */
const PASSED_ON = ['PATH', 'HOME', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];

/**
 * Runs the command of the operator's variable, without a shell, and returns the token that it prints: as plain text, as an OAuth answer
 * (`access_token`, `expires_in`), or as an `ExecCredential` of Kubernetes. The catalog names the variable, and never a command.
 */
export async function runTokenCommand({ auth, baseUrl }: AuthUpstream<CommandAuth>): Promise<Issued<string>> {
  assertSentTo(baseUrl, { variable: auth.command });
  const [program, ...parameters] = (readSecret(auth.command) ?? '').split(/\s+/).filter((word) => word !== '');
  if (program === undefined) throw noCredential(`no command in ${auth.command}`);
  const host = `the command of ${auth.command}`;
  const output = (await run(program, parameters, host)).trim();
  const fields = parseObject(output);
  if (fields === undefined) return issue({ host }, output, LIFETIME_MS);
  const { status } = fields as { status?: { token?: unknown; expirationTimestamp?: unknown } };
  if (status?.token === undefined) return readToken({ host, status: 200, headers: {}, text: output });
  const endsAt = parseMoment(status.expirationTimestamp);
  return issue({ host }, status.token, Number.isNaN(endsAt) ? LIFETIME_MS : endsAt - Date.now());
}

/** Does not show the error output of the program: it may hold a secret. */
function run(program: string, parameters: string[], host: string): Promise<string> {
  const env = Object.fromEntries(PASSED_ON.map((name) => [name, readSecret(name)]));
  return new Promise((resolve, reject) => {
    execFile(program, parameters, { env, timeout: RUN_MS, maxBuffer: OUTPUT_BYTES_MAX, killSignal: 'SIGKILL' }, (error, stdout) => {
      if (error === null) return resolve(stdout);
      const { code, killed } = error;
      if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return reject(noCredential(`${host} prints more than ${OUTPUT_BYTES_MAX} bytes`));
      if (killed) return reject(noCredential(`${host} has not ended within ${RUN_MS / 1_000} s`, { isPassing: true }));
      const why = typeof code === 'number' ? `has failed with exit code ${code}` : `cannot be run (${code})`;
      reject(noCredential(`${host} ${why}`, { isPassing: typeof code === 'number' }));
    });
  });
}
