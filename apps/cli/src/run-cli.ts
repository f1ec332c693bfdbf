import { CommanderError } from 'commander';
import { ConfigError } from '#config/load-config.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { CliCommand } from './command.js';
import { COMMANDS, GROUPS } from './commands/table.js';
import { kebab } from './parameters.js';
import { buildProgram, type ProgramOutput } from './program.js';
import { UsageError } from './usage-error.js';

export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/**
 * Runs one command line and returns the exit code. Writes the result to `writeOut`, errors to `writeErr`: a line, or with `--json` a
 * document. Never throws.
 */
export async function runCli(args: readonly string[], output: ProgramOutput, connect: () => Promise<Messaging>): Promise<number> {
  let messaging: Messaging | undefined;
  let failed = false;
  let running: CliCommand | undefined;
  const writeError = args.includes('--json')
    ? (fault: Fault) => output.writeErr(`${JSON.stringify({ error: fault })}\n`)
    : (fault: Fault) => output.writeErr(`error: ${nameOptions(fault.message, running)}${adviseOn(fault, running)}\n`);
  const program = buildProgram(COMMANDS, GROUPS, output, async (command, values, json) => {
    running = command;
    const connectOnce = async (): Promise<Messaging> => {
      messaging = await connect();
      return messaging;
    };
    const result = await command.run(values, json, connectOnce, output.writeOut);
    output.writeOut(`${result.text}\n`);
    failed = result.failed;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return failed ? EXIT.failed : EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    // Without a command commander has written the help, which is no error of its own.
    if (!(error instanceof CommanderError && error.code === 'commander.help')) writeError(describe(error));
    return error instanceof UsageError || error instanceof CommanderError ? EXIT.usage : EXIT.failed;
  } finally {
    await messaging?.close();
  }
}

/** Writes the fields that a service names as the options of the command: `allowPrivateNetwork` becomes `--allow-private-network`. */
function nameOptions(message: string, command: CliCommand | undefined): string {
  return message.replace(/\b[a-z]+[A-Z]\w*/g, (word) => {
    const kind = command && Object.hasOwn(command.parameters, word) ? command.parameters[word]?.kind : undefined;
    return kind === undefined || kind === 'argument' ? word : `--${kebab(word)}`;
  });
}

/** A request that was refused holds no money, so that billing does not know it: it is looked for elsewhere. */
function adviseOn({ code }: Fault, command: CliCommand | undefined): string {
  if (command?.name !== 'request show' || code !== 'not_found') return '';
  return ' A refused one holds none: tollgate trace finds it in the logs, and the panel among its requests.';
}

/** An error as `--json` shows it. */
interface Fault {
  /** Code of the service's error. Errors of the command line have `usage`, `settings`, `unavailable`, `timeout`, `connection_lost`, `unexpected`. */
  code: string;
  /** One line; a refused catalog has one line a fault. */
  message: string;
  /** Field of the request to which the service objects. */
  param?: string | undefined;
}

function describe(error: unknown): Fault {
  if (error instanceof ServiceError) {
    const { code, message, param } = error;
    const prefix = code === 'invalid_request' && param === 'yaml' ? 'nothing was applied\n' : '';
    return { code, message: prefix + message, param };
  }
  if (error instanceof MessagingError) return describeMessagingError(error);
  if (error instanceof CommanderError) {
    return {
      code: 'usage',
      message: error.message
        .replace(/^error: /, '')
        .trim()
        .replace(/\s*\n\s*/g, ' '),
    };
  }
  if (error instanceof UsageError) return { code: 'usage', message: error.message };
  if (error instanceof ConfigError) return { code: 'settings', message: error.message };
  return {
    code: 'unexpected',
    message: `unexpected error: ${error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)}`,
  };
}

function describeMessagingError({ kind, message }: MessagingError): Fault {
  switch (kind) {
    case 'unavailable':
      return { code: kind, message };
    case 'timeout':
      return { code: kind, message: `${message} The command may have been executed: check before you repeat it.` };
    case 'broken':
    case 'closed':
      return { code: 'connection_lost', message: `connection lost before the answer: ${message}` };
  }
}
