import { CommanderError } from 'commander';
import { ConfigError } from '#config/load-config.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import { COMMANDS, GROUPS } from './commands/table.js';
import { buildProgram, type ProgramOutput } from './program.js';
import { UsageError } from './usage-error.js';

export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/** Runs one command line and returns the exit code. Writes the result to `writeOut`, errors to `writeErr`. Never throws. */
export async function runCli(args: readonly string[], output: ProgramOutput, connect: () => Promise<Messaging>): Promise<number> {
  let messaging: Messaging | undefined;
  let failed = false;
  const program = buildProgram(COMMANDS, GROUPS, output, async (command, values, json) => {
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
    // Commander has already written its error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    output.writeErr(`error: ${describe(error)}\n`);
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  } finally {
    await messaging?.close();
  }
}

/** One line; a refused catalog has one line a fault. */
function describe(error: unknown): string {
  if (error instanceof ServiceError)
    return error.code === 'invalid_request' && error.param === 'yaml' ? `nothing was applied\n${error.message}` : error.message;
  if (error instanceof MessagingError) return describeMessagingError(error);
  if (error instanceof UsageError || error instanceof ConfigError) return error.message;
  return `unexpected error: ${error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)}`;
}

function describeMessagingError({ kind, message }: MessagingError): string {
  switch (kind) {
    case 'unavailable':
      return message;
    case 'timeout':
      return `${message} The command may have been executed: check before you repeat it.`;
    case 'broken':
    case 'closed':
      return `connection lost before the answer: ${message}`;
  }
}
