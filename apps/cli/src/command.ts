import type { Endpoint } from '#contracts/endpoint.js';
import type { Messaging } from '#messaging/messaging.js';

/** One thing the user may say with a command. Its place in the table names it: `paymentId` is `--payment-id`. */
export interface Parameter<Value> {
  kind: 'option' | 'flag' | 'argument';
  required: boolean;
  /** What stands for the value in the help: `--account <id>`. */
  placeholder: string;
  description: string;
  /** Throws commander's `InvalidArgumentError`, saying what the value must be. */
  parse: (text: string) => Value;
}

// biome-ignore lint/suspicious/noExplicitAny: a table of parameters of any types
export type Parameters = Record<string, Parameter<any>>;

export type Values<Table extends Parameters> = { [Name in keyof Table]: Table[Name] extends Parameter<infer Value> ? Value : never };

interface Definition<Table extends Parameters, Request extends object, Reply> {
  /** A group and a verb: `account create`; or one word. */
  name: string;
  summary: string;
  parameters: Table;
  /** What follows `npm run -s tollgate --`. */
  examples: readonly string[];
  endpoint: Endpoint<Request, Reply>;
  /** Throws `UsageError` when the values do not go together. */
  request: (values: Values<Table>) => Request | Promise<Request>;
  /** For people. With `--json` the reply is printed as it came. */
  render: (reply: Reply) => string;
  /** How long an answer may take. Default: the connection's. */
  timeoutMs?: number;
  /** Whether the reply is bad news, for scripts: it is printed all the same. */
  isFailure?: (reply: Reply) => boolean;
}

/** What to print, and whether the exit code is to say that it is bad news. */
interface CommandResult {
  text: string;
  failed: boolean;
}

/** A row of the command table, its types closed over. */
export interface CliCommand {
  name: string;
  summary: string;
  parameters: Parameters;
  examples: readonly string[];
  /**
   * Checks and reads everything local first; `connect` is only called with a request in hand. What takes its time tells how far it has
   * come with `write`, whole lines, and never with `json`.
   */
  run(
    values: Record<string, unknown>,
    json: boolean,
    connect: () => Promise<Messaging>,
    write: (text: string) => void,
  ): Promise<CommandResult>;
}

/** Values that are fine one by one and make no sense together, or name a file that cannot be read. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function command<Table extends Parameters, Request extends object, Reply>(
  definition: Definition<Table, Request, Reply>,
): CliCommand {
  const { endpoint, request, render, timeoutMs, isFailure, ...rest } = definition;
  return {
    ...rest,
    async run(values, json, connect) {
      const payload = await request(values as Values<Table>);
      const messaging = await connect();
      const reply = await messaging.request(endpoint, payload, timeoutMs === undefined ? undefined : { timeoutMs });
      return { text: json ? JSON.stringify(reply, null, 2) : render(reply), failed: isFailure?.(reply) ?? false };
    },
  };
}
